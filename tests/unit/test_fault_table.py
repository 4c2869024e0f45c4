"""Each row of the fault table is a test, and each fault test is a row."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from tests.support import documents

PAGE: Final = documents.CHECKOUT / "docs" / "explanation" / "faults.md"
COLUMNS: Final = ["fault", "what you see", "the workload", "how it ends", "test"]
FAULT_TESTS: Final = (
    *documents.CHECKOUT.glob("tests/e2e/test_faults_of_*.py"),
    documents.CHECKOUT / "tests/e2e/test_metrics_faults.py",
    documents.CHECKOUT / "tests/e2e/test_leadership.py",
)

Row = list[str]


def table_rows() -> list[Row]:
    """Return the cells of all rows of all tables on the page, without their headings."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if row != COLUMNS and not set("".join(row)) <= set("-")]


def named_tests(row: Row) -> list[tuple[Path, str]]:
    """Return file and name of each test that a row's last cell links to."""
    links = re.findall(r"\[`(\w+)`\]\(([^)]+)\)", row[-1])
    return [((PAGE.parent / link).resolve(), name) for name, link in links]


def names_in(path: Path) -> set[str]:
    """Return the names of a file's tests, without running it."""
    tree = ast.parse(path.read_text())
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


@pytest.mark.parametrize("row", table_rows(), ids=lambda row: row[0])
def test_a_row_is_complete_and_shown_by_tests_that_exist(row: Row) -> None:
    """Nothing is promised that no test shows: a renamed or deleted test leaves no row behind."""
    assert len(row) == len(COLUMNS)
    assert all(row)
    named = named_tests(row)
    assert named
    assert [name for path, name in named if name not in names_in(path)] == []


def test_every_fault_test_has_a_row() -> None:
    """What was tried is told."""
    report = {test for row in table_rows() for test in named_tests(row)}
    written = {(path.resolve(), name) for path in FAULT_TESTS for name in names_in(path)}
    assert written - report == set()
