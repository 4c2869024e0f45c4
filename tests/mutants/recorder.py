"""Run test files, and note how long each test computes and which lines of the product it runs.

`python -m tests.mutants.recorder FILE ...` fills the shelves of these files. It is a process of its own, since coverage
has to be there before the product is imported.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import coverage
import pytest

from tests.mutants import modules, session
from tests.mutants.shelves import KnownTest, Shelf, Shelves, file_of

_PRODUCT: Final = modules.CHECKOUT / modules.ROOT


class Notes:
    """Pytest plugin: how long each test computed, whether it passed; coverage hears which one runs."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Count the lines that run from now on as this test's."""
        self._measured.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began  # what a test takes on a quiet machine
            self._measured.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that does not pass."""
        if not report.passed:
            self.failed.add(report.nodeid)

    def tests(self) -> dict[str, list[KnownTest]]:
        """Return the tests of each file, in the order they ran in."""
        tests: defaultdict[str, list[KnownTest]] = defaultdict(list)
        for test, took in self.seconds.items():
            tests[file_of(test)].append(KnownTest(test, round(took, 4), test not in self.failed))
        return tests


def record(files: list[str]) -> dict[str, Shelf]:
    """Run test files; return what is known of each."""
    measured = coverage.Coverage(data_file=None, source=[str(_PRODUCT)], config_file=False)
    notes = Notes(measured)
    measured.start()
    status = pytest.main([*session.OPTIONS, *files], plugins=[session.Settled(), notes])
    measured.stop()
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        sys.exit(f"the unit tests could not be run: pytest ended with {status!r}")
    tests = notes.tests()
    lines = _lines(tests, measured.get_data())
    return {file: Shelf(tuple(tests[file]), lines[file]) for file in files}


def _lines(
    tests: Mapping[str, Sequence[KnownTest]], data: coverage.CoverageData
) -> defaultdict[str, dict[str, dict[int, int]]]:
    """Return which tests ran which line of which module, by test file."""
    bits = {test.id: 1 << number for shelf in tests.values() for number, test in enumerate(shelf)}
    lines: defaultdict[str, dict[str, dict[int, int]]] = defaultdict(dict)
    for path in data.measured_files():
        module = Path(path).relative_to(modules.CHECKOUT).as_posix()
        for line, contexts in data.contexts_by_lineno(path).items():
            for test in filter(None, contexts):
                masks = lines[file_of(test)].setdefault(module, {})
                masks[line] = masks.get(line, 0) | bits.get(test, 0)
    return lines


if __name__ == "__main__":
    shelves = Shelves()
    for name, shelf in record(sys.argv[1:]).items():
        shelves.put(name, shelf)
