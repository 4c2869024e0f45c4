"""The glossary as the check reads it: the tables of `docs/reference/glossary.md`, and nothing beside them.

A table takes part if it has a column `not`. In a cell of it stands what is not used, each as a kind and a code span:

- ``parameter `of` ``, ``class `X` `` and so on: a thing of this kind with exactly this name, leading underscores aside;
- ``name `Xy` ``: a thing of any kind whose name has these words, as `Xy`, `xy`, `XY` or `_xys`;
- ``word `xy` ``: in docstrings, comments, messages and pages, however it is capitalised.

The column beside it, `say instead` or `in the code`, is what a finding proposes.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Final

from tests.architecture.bindings import Binding, Kind

_ROW: Final = re.compile(r"^\|(.*)\|\s*$")
_ITEM: Final = re.compile(r"(\w+) `([^`]+)`")
_CODE: Final = re.compile(r"`([^`]+)`")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_NOTHING: Final = re.compile(r"(?!)")

_ANY: Final = "name"
_WORD: Final = "word"
_KINDS: Final = {_ANY, _WORD, *(kind.value for kind in Kind)}


class GlossaryError(Exception):
    """The page is not what the check reads; the message names row, rule and fix."""


@dataclasses.dataclass(frozen=True, slots=True)
class Glossary:
    """The project's words.

    Attributes:
        terms: those that it uses, in the order of the page.
        in_code: what the code calls them.
        names: what a thing of a kind is not called, by kind and name; what to call it.
        spellings: what nothing is called, as words in lower case; what to call it.
        words: what no sentence says, in lower case; what to write.
    """

    terms: tuple[str, ...]
    in_code: tuple[str, ...]
    names: Mapping[tuple[str, str], str]
    spellings: Mapping[tuple[str, ...], str]
    words: Mapping[str, str]

    def better_name(self, binding: Binding) -> str | None:
        """Return what to call a thing whose name is ruled out; None if its name may stay."""
        exact = self.names.get((binding.kind, binding.name.lstrip("_")))
        if exact is not None:
            return exact
        parts = _parts(binding.name)
        if parts and parts not in self.spellings:
            parts = (*parts[:-1], parts[-1].removesuffix("s"))
        return self.spellings.get(parts)

    def words_in(self, text: str) -> Iterator[tuple[int, str, str]]:
        """Yield the words of a text that are ruled out: where they begin, what they are, and what to write instead."""
        for match in _pattern(tuple(self.words)).finditer(text):
            words = " ".join(match[0].split())
            yield match.start(), words, self.words[words.lower()]


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A place that the glossary rules out.

    Attributes:
        path: of the file.
        line: in it.
        kind: of thing, or where the word stands.
        what: the name or the words.
        instead: what the glossary proposes.
    """

    path: str
    line: int
    kind: str
    what: str
    instead: str


def parse(page: str) -> Glossary:
    """Return the glossary of a page.

    Raises:
        GlossaryError: a cell is not what the check reads, or a term or a rule stands there twice.
    """
    terms: list[str] = []
    in_code: list[str] = []
    rules: list[tuple[str, str]] = []
    instead: list[str] = []
    for row in _rows(page):
        if "term" in row:
            terms.append(row["term"])
            in_code += _CODE.findall(row["in the code"])
        items = list(_items(row["not"]))
        rules += items
        instead += [_CODE.sub(r"\1", row.get("say instead") or row["in the code"])] * len(items)
    for stated in (terms, in_code, rules):
        twice = next((entry for number, entry in enumerate(stated) if entry in stated[:number]), None)
        if twice is not None:
            raise GlossaryError(f"{twice} stands in the glossary more than once; leave one")
    ruled_out = list(zip(rules, instead, strict=True))
    return Glossary(
        terms=tuple(terms),
        in_code=tuple(in_code),
        names={(kind, name): better for (kind, name), better in ruled_out if kind not in {_ANY, _WORD}},
        spellings={_parts(name): better for (kind, name), better in ruled_out if kind == _ANY},
        words={words.lower(): better for (kind, words), better in ruled_out if kind == _WORD},
    )


def _rows(page: str) -> Iterator[dict[str, str]]:
    """Yield the rows of the tables that have a column `not`, by the names of their columns."""
    for is_table, lines in itertools.groupby(page.splitlines(), key=lambda line: line.startswith("|")):
        if not is_table:
            continue
        head, _rule, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        if "not" not in head:
            continue
        for cells in rows:
            if len(cells) != len(head):
                raise GlossaryError(
                    f"row {' | '.join(cells)}: {len(cells)} cells under {len(head)} columns; a cell has no |"
                )
            yield dict(zip(head, cells, strict=True))


def _items(cell: str) -> Iterator[tuple[str, str]]:
    """Yield the kinds and names of a cell."""
    for item in filter(None, (part.strip() for part in cell.split(", "))):
        match = _ITEM.fullmatch(item)
        if match is None or match[1] not in _KINDS:
            raise GlossaryError(f"{item}: must be one of {', '.join(sorted(_KINDS))} with a code span, as: name `Xy`")
        yield match[1], match[2]


def _parts(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case."""
    return tuple(part.lower() for part in _PARTS.findall(name))


@functools.cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return an expression that finds any of these, at a line's end as well."""
    if not words:
        return _NOTHING
    ends = (r"\b" if each[-1].isalnum() else "" for each in words)
    each = (r"\s+".join(map(re.escape, phrase.split())) + end for phrase, end in zip(words, ends, strict=True))
    return re.compile(rf"\b(?:{'|'.join(each)})", flags=re.IGNORECASE)
