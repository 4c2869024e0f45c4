"""Which tests can notice a change of a line: those that run it, quickest first.

A line that runs when its module is imported belongs to no test: a constant, a field's default, a decorator, a function
that is called there. For it the tests are asked that run the lines where what it defines is used, and those of the
files that import the module: a test may read a constant, and run nothing.
"""

import functools
import operator
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.mutants.modules import Module
from tests.mutants.shelves import KnownTest, Shelf
from tests.mutants.uses import Uses

MOST_SECONDS: Final = 15.0
"""Of tests for a mutant, as recorded: those that take longest are left out of a line that very many run."""

_FEW_FILES: Final = 4
_QUICK_SECONDS: Final = 1.0


class Covering:
    """Says which tests to run for a line.

    Args:
        shelves: what is known of the tests.
        product: all modules in which a name may be used.
        importers: the test files that import a module themselves, by its name.
    """

    def __init__(
        self, shelves: Iterable[Shelf], product: Sequence[Module], importers: Mapping[str, Collection[str]]
    ) -> None:
        self._importers = {module.path: importers.get(module.name, ()) for module in product}
        self._tests: list[KnownTest] = []
        self._lines: defaultdict[str, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
        for shelf in shelves:
            for module, masks in shelf.lines.items():
                for line, mask in masks.items():
                    self._lines[module][line] |= mask << len(self._tests)
            self._tests += shelf.tests
        self._siblings = Counter(test.file for test in self._tests)
        self._uses = Uses(product)

    def tests_for(self, path: str, line: int) -> list[KnownTest]:
        """Return the tests that can notice a change of a line, the quickest first, as many as `MOST_SECONDS` allow."""
        statement = self._uses.statement(path, line)
        mask = self._mask((path, near) for near in statement.lines)
        if statement.names or not mask:
            mask |= self._mask(self._uses.of_statement(path, statement))
            mask = mask or self._mask(self._uses.of_statement(path, statement, through_functions=True))
            mask |= self._reading(path)
        chosen = [test for number, test in enumerate(self._tests) if mask >> number & 1 and test.passes]
        return list(_affordable(sorted(chosen, key=lambda test: test.seconds)))

    def lots(self, path: str, tests: list[KnownTest]) -> list[list[KnownTest]]:
        """Return tests of a line in two lots: the quick ones of the few files that are about it, then all others.

        Most mutants die of the first lot, and importing a test file takes longer than most of its tests.
        """
        by_file: defaultdict[str, list[KnownTest]] = defaultdict(list)
        for test in tests:
            by_file[test.file].append(test)
        words = {*Path(path).parent.parts[2:], *Path(path).stem.split("_")}

        def distance(file: str) -> tuple[int, float, str]:
            """A file is near a line if its path has the module's names, and if most of its tests run the line."""
            named = sum(word in file for word in words)
            return -named, -len(by_file[file]) / self._siblings[file], file

        near = sorted(by_file, key=distance)[:_FEW_FILES]
        first = [test for test in tests if test.file in near and test.seconds <= _QUICK_SECONDS]
        others = set(tests) - set(first)
        rest = [test for test in tests if test in others]
        return [lot for lot in (first, rest) if lot]

    def _reading(self, path: str) -> int:
        """Return the tests of the files that import a module."""
        files = self._importers[path]
        return sum(1 << number for number, test in enumerate(self._tests) if test.file in files)

    def _mask(self, places: Iterable[tuple[str, int]]) -> int:
        return functools.reduce(operator.or_, (self._lines[path].get(line, 0) for path, line in places), 0)


def _affordable(tests: Iterable[KnownTest]) -> Iterator[KnownTest]:
    left = MOST_SECONDS
    for test in tests:
        left -= test.seconds
        if left < 0:
            return
        yield test
