"""Where people read sentences: docstrings, comments and messages of a module, and the text of a page.

Messages are string literals with a space inside: what users are told. Code in pages, fenced or in spans, is no prose,
and neither is what stands in the braces of an f-string.
"""

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterable, Iterator
from typing import Final

from tests.architecture.glossary import Finding, Glossary
from tests.architecture.source import Module, Page

Passage = tuple[str, int, str]
"""Where it stands (`docstring`, `comment`, `message`), its first line, and its text, line by line as in the file."""

_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_SPAN: Final = re.compile(r"``.+?``|`[^`\n]+`|\]\([^)\n]*\)")
_BRACES: Final = re.compile(r"\{[^{}]*\}")
_BODIES: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def in_module(module: Module, glossary: Glossary) -> Iterator[Finding]:
    """Yield the words of a module's prose that the glossary rules out."""
    for where, line, text in passages(module):
        yield from _in_text(module.path, line, where, text, glossary)


def in_pages(pages: Iterable[Page], glossary: Glossary) -> Iterator[Finding]:
    """Yield the words of pages that the glossary rules out."""
    for page in pages:
        text = _SPAN.sub(_blank, _FENCE.sub(_blank, page.text))
        yield from _in_text(page.path, 1, "page", text, glossary)


def passages(module: Module) -> Iterator[Passage]:
    """Yield the prose of a module."""
    docstrings = set(_docstrings(module))
    lines = module.text.encode().split(b"\n")
    for node in _literals(module):
        text = _segment(lines, node)
        if node in docstrings:
            yield "docstring", node.lineno, text
            continue
        message = _BRACES.sub(_blank, text) if isinstance(node, ast.JoinedStr) else text
        if " " in message.strip():
            yield "message", node.lineno, message
    yield from _comments(module.text)


def _literals(module: Module) -> Iterator[ast.expr]:
    """Yield the string literals, an f-string as one."""
    parts = {
        part
        for node in module.nodes
        if isinstance(node, ast.JoinedStr)
        for part in itertools.islice(ast.walk(node), 1, None)
    }
    for node in module.nodes:
        if node in parts:
            continue
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield node


def _segment(lines: list[bytes], node: ast.expr) -> str:
    """Return a literal as it stands in the file; `ast.get_source_segment` splits the whole file for each."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    segment = lines[first : last + 1]
    segment[-1] = segment[-1][: node.end_col_offset]
    segment[0] = segment[0][node.col_offset :]
    return b"\n".join(segment).decode()


def _docstrings(module: Module) -> Iterator[ast.expr]:
    """Yield the literals that stand for themselves: docstrings, and those below a variable."""
    for node in module.nodes:
        if isinstance(node, _BODIES):
            yield from (
                statement.value
                for statement in node.body
                if isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            )


def _comments(text: str) -> Iterator[Passage]:
    """Yield comments; those of lines that follow each other as one."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    for _, block in itertools.groupby(enumerate(comments), key=lambda numbered: numbered[1][0] - numbered[0]):
        lines = [comment for _, comment in block]
        yield "comment", lines[0][0], "\n".join(comment.lstrip("# ") for _, comment in lines)


def _in_text(path: str, line: int, where: str, text: str, glossary: Glossary) -> Iterator[Finding]:
    for start, words, instead in glossary.words_in(text):
        yield Finding(path, line + text.count("\n", 0, start), where, words, instead)


def _blank(match: re.Match[str]) -> str:
    """Return as much emptiness, on as many lines."""
    return re.sub(r"[^\n]", " ", match[0])
