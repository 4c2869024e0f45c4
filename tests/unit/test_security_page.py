"""Each promise of the security model names the test that tries to break it."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.support import documents
from tests.unit.test_fault_table import names_in

PAGE: Final = documents.CHECKOUT / "docs" / "explanation" / "security.md"
PROMISES: Final = 30
"""At least so many: a table that is no longer read must not look like a page without promises."""


def promises() -> list[tuple[str, str]]:
    """Return the promises and their tests' cells, of all tables on the page."""
    rows = [line.strip("|\n").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [(row[0].strip(), row[-1].strip()) for row in rows if row[0].strip() != "promise"]


@pytest.mark.parametrize(("promise", "cell"), promises(), ids=lambda text: text[:40])
def test_a_promise_is_shown_by_a_test_that_exists(promise: str, cell: str) -> None:
    """A renamed or deleted test leaves no promise behind."""
    link = re.fullmatch(r"\[`(\w+)`\]\(([^)]+)\)", cell)
    assert promise
    assert link is not None
    assert link[1] in names_in(Path(PAGE.parent / link[2]).resolve())


def test_the_tables_are_read() -> None:
    """Each of the page's tables is one of promises."""
    assert len(promises()) >= PROMISES
