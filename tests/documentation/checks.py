"""All checks of the documentation, over all pages and texts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.documentation import links, shown_texts, typed, wording
from tests.documentation.findings import Finding
from tests.documentation.markdown import Page

RECORDS: Final = "docs/design/"
"""Decisions as they were written down on their day: links and lengths are checked, words are left."""


def pages(checkout: Path) -> list[Page]:
    """Return the pages that people read."""
    paths = [*checkout.glob("*.md"), *(checkout / "docs").rglob("*.md"), *(checkout / "charts").rglob("*.md")]
    return [Page.read(checkout, path) for path in sorted(paths) if not path.name.endswith(".tmpl.md")]


def all_findings(checkout: Path) -> Iterator[Finding]:
    """Yield what breaks a rule in a checkout."""
    every = pages(checkout)
    for page in every:
        yield from of_page(page, checkout)
    yield from links.unlisted(every, checkout)
    yield from of_texts(checkout)


def of_page(page: Page, checkout: Path) -> Iterator[Finding]:
    """Yield what breaks a rule on one page."""
    yield from wording.lengths(page)
    yield from links.check(page, checkout)
    yield from typed.check(page, checkout)
    if page.path != wording.GLOSSARY and not page.path.startswith(RECORDS):
        yield from wording.words(page, wording.rules(checkout))


def of_texts(checkout: Path) -> Iterator[Finding]:
    """Yield the words in texts outside pages that no user should meet."""
    rules = wording.rules(checkout)
    for shown in shown_texts.texts(checkout):
        yield from rules.check(shown.path, shown.line, shown.text)
