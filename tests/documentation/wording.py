"""The rules of words: which ones no user should meet, and how long sentences may be.

The words are those of the table "Words that no user meets" in `docs/reference/glossary.md`. A row has words or phrases
as code spans, and what to write instead. They are matched whole, however they are capitalised and broken over lines.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.documentation.findings import Finding
from tests.documentation.markdown import Page

WORDS_PER_SENTENCE: Final = 25
"""On average, on each page."""

README_LINES: Final = 80
README_WORDS: Final = 30
"""In its longest sentence."""

README: Final = "README.md"
GLOSSARY: Final = "docs/reference/glossary.md"
_HEADING: Final = "## Words that no user meets"
_ROW: Final = re.compile(r"^\| (`.+`) \| (.+) \|$", re.MULTILINE)
_CODE: Final = re.compile(r"`([^`]+)`")


class WordRules:
    """What to write instead of which words.

    Args:
        instead: for each word or phrase in lower case, what to write.
    """

    def __init__(self, instead: dict[str, str]) -> None:
        self._instead = instead
        phrases = sorted(instead, key=len, reverse=True)
        self._pattern = re.compile(
            r"\b(?:" + "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases) + r")\b",
            flags=re.IGNORECASE,
        )

    @classmethod
    def parse(cls, page: str) -> "WordRules":
        """Return the rules in the table of the glossary.

        Raises:
            ValueError: the page has no such table.
        """
        _, heading, rest = page.partition(_HEADING)
        rows = _ROW.findall(rest.partition("\n## ")[0])
        if not heading or not rows:
            raise ValueError(f"{GLOSSARY}: no table under the heading {_HEADING!r}; write one")
        return cls({phrase.lower(): instead for cell, instead in rows for phrase in _CODE.findall(cell)})

    def check(self, path: str, line: int, text: str) -> Iterator[Finding]:
        """Yield the words in a text that no user should meet."""
        for match in self._pattern.finditer(text):
            words = " ".join(match[0].split())
            where = line + text.count("\n", 0, match.start()) if line else 0
            yield Finding(path, where, f"{words!r}: write {self._instead[words.lower()]}")


@functools.lru_cache(maxsize=1)
def rules(checkout: Path) -> WordRules:
    """Return the rules of the glossary in a checkout."""
    return WordRules.parse((checkout / GLOSSARY).read_text())


def words(page: Page, word_rules: WordRules) -> Iterator[Finding]:
    """Yield the words on a page that no user should meet."""
    for passage in page.passages():
        yield from word_rules.check(page.path, passage.line, passage.text)


def lengths(page: Page) -> Iterator[Finding]:
    """Yield a page whose sentences are too long, with its longest ones, and what is too long in the README."""
    sentences = [
        (len(sentence.split()), passage.line, sentence)
        for passage in page.passages()
        if passage.is_prose
        for sentence in passage.sentences
    ]
    if not sentences:
        return
    average = sum(length for length, _, _ in sentences) / len(sentences)
    if average > WORDS_PER_SENTENCE:
        longest = ", ".join(f"line {line} ({length})" for length, line, _ in sorted(sentences, reverse=True)[:5])
        yield Finding(
            page.path,
            1,
            f"{average:.1f} words in a sentence, {WORDS_PER_SENTENCE} is the limit: divide the longest, of {longest}",
        )
    if page.path != README:
        return
    lines = page.text.count("\n")
    if lines >= README_LINES:
        yield Finding(page.path, lines, f"{lines} lines, it must have fewer than {README_LINES}: move some to docs/")
    for length, line, sentence in sentences:
        if length > README_WORDS:
            yield Finding(page.path, line, f"{length} words, {README_WORDS} is the limit: divide {sentence[:60]!r}...")
