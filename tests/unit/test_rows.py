"""No row of the rings trust and hostile is without a test."""

import ast
from pathlib import Path

import pytest

from tests.support.rows import ROWS

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("ring", ROWS)
def test_every_row_has_a_test(ring: str) -> None:
    """By the markers in the ring's modules."""
    found = {row for path in (TESTS / ring).glob("test_*.py") for row in _rows(path)}
    assert found == set(ROWS[ring])


def _rows(path: Path) -> set[str]:
    """Return the rows that the markers of a test module name."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return {
        str(call.args[0].value)
        for call in calls
        if ast.unparse(call.func) == "pytest.mark.row" and isinstance(call.args[0], ast.Constant)
    }
