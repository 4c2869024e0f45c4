"""A page as the checks read it: its sentences, links, anchors and commands, parsed as CommonMark with tables."""

import dataclasses
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER: Final = MarkdownIt("commonmark").enable("table")
_END: Final = re.compile(r"(?<=[.!?])[)\"”'*_]*\s+(?=[A-Z\"“(*`0-9])")
_NO_ENDS: Final = re.compile(r"\b(e\.g|i\.e|etc|vs|cf)\.\s")
_NOT_IN_ANCHORS: Final = re.compile(r"[^\w\- ]")
_APART: Final = {"th_open", "td_open", "heading_open"}

CODE: Final = "`code`"
"""What stands for a code span in a sentence, where it counts as one word."""


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text of a page.

    Attributes:
        line: where its block begins, from 1.
        text: without code spans' content, links' targets and markup.
        is_prose: whether it is a paragraph or an item of a list, rather than a heading or a cell of a table.
    """

    line: int
    text: str
    is_prose: bool

    @property
    def sentences(self) -> list[str]:
        """Its sentences."""
        text = _NO_ENDS.sub(r"\1, ", self.text)
        return [sentence for sentence in _END.split(text) if sentence.split()]


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """Where a page leads: the line of the block, and the target as written."""

    line: int
    target: str


@dataclasses.dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced block: its first line of code, its language, and its text."""

    line: int
    language: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation.

    Attributes:
        path: from the checkout, with slashes.
        text: its Markdown.
    """

    path: str
    text: str

    @classmethod
    def read(cls, checkout: Path, path: Path) -> "Page":
        """Return the page in a file below `checkout`."""
        return cls(path.relative_to(checkout).as_posix(), path.read_text())

    def passages(self) -> Iterator[Passage]:
        """Yield the pieces of text in their order."""
        for opened, token in _inlines(self.text):
            yield Passage(_line(token), _plain(token), is_prose=not _APART & set(opened))

    def links(self) -> Iterator[Link]:
        """Yield the links and the pictures."""
        for _, token in _inlines(self.text):
            for child in token.children or ():
                target = child.attrGet("href") or child.attrGet("src")
                if target is not None:
                    yield Link(_line(token), str(target))

    def anchors(self) -> frozenset[str]:
        """Return the names by which its headings can be linked, as GitHub makes them."""
        return _anchors(self.text)

    def code_blocks(self) -> Iterator[CodeBlock]:
        """Yield the fenced blocks."""
        for token in _tokens(self.text):
            if token.type == "fence":
                yield CodeBlock(_line(token) + 1, token.info.strip(), token.content)


@functools.lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[Token, ...]:
    return tuple(_PARSER.parse(text))


@functools.lru_cache(maxsize=512)
def _anchors(text: str) -> frozenset[str]:
    names: list[str] = []
    for opened, token in _inlines(text):
        if "heading_open" in opened:
            title = "".join(child.content for child in token.children or () if child.type in {"text", "code_inline"})
            name = _NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-")
            repeated = sum(1 for known in names if re.fullmatch(rf"{re.escape(name)}(-\d+)?", known))
            names.append(f"{name}-{repeated}" if name in names else name)
    return frozenset(names)


def _inlines(text: str) -> Iterator[tuple[tuple[str, ...], Token]]:
    """Yield the tokens that hold text, each with the blocks that it stands in."""
    opened: list[str] = []
    for token in _tokens(text):
        if token.nesting == 1:
            opened.append(token.type)
        elif token.nesting == -1:
            opened.pop()
        elif token.type == "inline":
            yield tuple(opened), token


def _plain(token: Token) -> str:
    words = {"softbreak": " ", "hardbreak": " ", "code_inline": CODE, "image": ""}
    return "".join(
        words.get(child.type, child.content if child.type == "text" else "") for child in token.children or ()
    )


def _line(token: Token) -> int:
    return (token.map or [0])[0] + 1
