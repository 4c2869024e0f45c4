"""The simple commands in a block of shell: pipes, lists and loops taken apart, documents and comments left out."""

import dataclasses
import re
import shlex
from collections.abc import Iterator
from typing import Final

from tests.documentation.markdown import CodeBlock

LANGUAGES: Final = {"sh", "shell", "bash", "console"}

_HEREDOC: Final = re.compile(r"<<-?\s*'?(\w+)'?")
_SUBSTITUTION: Final = re.compile(r"\$\(([^()]*)\)", re.DOTALL)
_SEPARATORS: Final = {"|", "||", "&&", ";", "&", "(", ")"}
_KEYWORDS: Final = {"do", "then", "else"}
_REDIRECTIONS: Final = {">", ">>", "<", "<<", "2>"}


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments.

    Attributes:
        line: of the page, from 1.
        words: the program first.
    """

    line: int
    words: tuple[str, ...]


def commands(block: CodeBlock) -> Iterator[Command]:
    """Yield the commands of a block; of a console, those behind a prompt.

    Raises:
        ValueError: a quote does not end.
    """
    for line, text in _logical_lines(block):
        for inner in _SUBSTITUTION.findall(text):
            yield from _simple(line, inner)
        yield from _simple(line, _SUBSTITUTION.sub("substituted", text))


def _logical_lines(block: CodeBlock) -> Iterator[tuple[int, str]]:
    """Yield the lines with those that continue them, each with its number; documents (`<<EOF`) are skipped."""
    lines = block.text.splitlines()
    number = 0
    while number < len(lines):
        first, text = number, lines[number]
        number += 1
        if block.language == "console":
            if not text.startswith("$ "):
                continue
            text = text[2:]
        while (text.endswith("\\") or _open_quote(text)) and number < len(lines):
            text = text.removesuffix("\\") + ("" if text.endswith("\\") else "\n") + lines[number]
            number += 1
        if document := _HEREDOC.search(text):
            while number < len(lines) and lines[number].strip() != document[1]:
                number += 1
            number += 1
        yield block.line + first, text


def _open_quote(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def _simple(line: int, text: str) -> Iterator[Command]:
    lexer = shlex.shlex(_HEREDOC.sub("", text), posix=True, punctuation_chars="|&;()<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in _SEPARATORS:
            words.append(word)
            continue
        cut = next((place for place, each in enumerate(words) if each in _REDIRECTIONS), len(words))
        named = words[1:cut] if words and words[0] in _KEYWORDS else words[:cut]
        if named:
            yield Command(line, tuple(named))
        words = []
