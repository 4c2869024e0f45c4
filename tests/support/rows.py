"""Pytest plugin: which rows of a ring hold, as `build/RING.json`.

In the rings below each test proves one row of a list, which it names by the marker `row`. A row holds if it has tests
and all of them passed. The file is `{"rows": [{"id": "A1", "ok": true}, ...], "seconds": 12.3}`. Where only the tests
that failed last are run again, the other rows stay as they were.
"""

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

ROWS: Final[Mapping[str, Sequence[str]]] = {
    "trust": tuple(f"A{number}" for number in range(1, 10)),
    "hostile": (*(f"B{number}" for number in range(1, 10)), "Ca", "Cb", "Cc"),
}
"""Of each ring, in their order."""

_CHECKOUT: Final = Path(__file__).parents[2]


class Rows:
    """Collects the outcomes of one session."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._row_of: dict[str, tuple[str, str]] = {}
        self._outcomes: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note which row each test proves.

        Raises:
            pytest.UsageError: a marker names a row that its ring does not have.
        """
        for item in items:
            marker = item.get_closest_marker("row")
            if marker is None:
                continue
            ring, (row,) = item.path.parent.name, marker.args
            if row not in ROWS.get(ring, ()):
                raise pytest.UsageError(f"{item.nodeid}: ring {ring!r} has no row {row!r}")
            self._row_of[item.nodeid] = ring, row

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a test's set-up, call or tear-down ended; a skipped test proves nothing."""
        place = self._row_of.get(report.nodeid)
        if place is not None and (report.when == "call" or not report.passed):
            self._outcomes[place].append(report.passed)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write a file for each ring of which a test ran."""
        seconds = round(time.monotonic() - self._began, 1)
        for ring in sorted({ring for ring, _ in self._outcomes}):
            path = _CHECKOUT / "build" / f"{ring}.json"
            before = _standing(path) if session.config.getoption("lf", default=False) else {}
            rows = [
                {
                    "id": row,
                    "ok": all(self._outcomes[ring, row]) if (ring, row) in self._outcomes else before.get(row, False),
                }
                for row in ROWS[ring]
            ]
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({"rows": rows, "seconds": seconds}, indent=2) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to collect."""
    config.pluginmanager.register(Rows(), "rows")


def _standing(path: Path) -> dict[str, bool]:
    """Return which rows held when the ring was last run."""
    if not path.exists():
        return {}
    return {row["id"]: row["ok"] for row in json.loads(path.read_text())["rows"]}
