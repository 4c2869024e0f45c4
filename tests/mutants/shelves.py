"""What is known of each test file: its tests, how long they take, and which lines of the product each of them runs.

Recording takes as long as the unit tests do, so it is kept in `build/mutants/recorded/`, one JSON for a test file, and
used as long as neither the product nor the test file nor what tests share has changed.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tests.mutants import reach
from tests.mutants.modules import CHECKOUT, PACKAGES, ROOT

TESTS: Final = "tests/unit"
_SHARED: Final = ("tests/support", "tests/golden", "tests/data")


@dataclasses.dataclass(frozen=True, slots=True)
class KnownTest:
    """One test: its id, how long it computes, and whether it passes as things are."""

    id: str
    seconds: float
    passes: bool

    @property
    def file(self) -> str:
        """The test file it stands in."""
        return file_of(self.id)


@dataclasses.dataclass(frozen=True, slots=True)
class Shelf:
    """The tests of one file, and which of them ran a line: bit n of a number stands for test n."""

    tests: tuple[KnownTest, ...]
    lines: dict[str, dict[int, int]]


class Shelves:
    """Reads and writes shelves of one checkout, as its files are at this moment."""

    def __init__(self, checkout: Path = CHECKOUT) -> None:
        self._checkout = checkout
        sources = [ROOT, *_SHARED]
        files = (path for source in sources for path in sorted((checkout / source).rglob("*")) if path.is_file())
        self._shared = self._digest(path for path in files if path.suffix in {".py", ".yaml", ".json"})

    def files(self) -> list[str]:
        """Return the test files that can run what is changed, by path from the checkout."""
        paths = sorted((self._checkout / TESTS).rglob("test_*.py"))
        files = [path.relative_to(self._checkout).as_posix() for path in paths]
        return reach.files_that_reach(PACKAGES, files, self._checkout)

    def missing(self) -> list[str]:
        """Return the test files of which nothing is known, or what is known is old."""
        return [file for file in self.files() if self._stored(file).get("key") != self._key(file)]

    def put(self, file: str, shelf: Shelf) -> None:
        """Keep what was recorded."""
        path = self._path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = {
            module: {line: f"{mask:x}" for line, mask in sorted(masks.items())}
            for module, masks in sorted(shelf.lines.items())
        }
        tests = [dataclasses.asdict(test) for test in shelf.tests]
        path.write_text(json.dumps({"key": self._key(file), "tests": tests, "lines": lines}))

    def get(self, file: str) -> Shelf:
        """Return what is known of a test file."""
        raw = self._stored(file)
        lines = {
            module: {int(line): int(mask, 16) for line, mask in masks.items()} for module, masks in raw["lines"].items()
        }
        return Shelf(tuple(KnownTest(**test) for test in raw["tests"]), lines)

    def _stored(self, file: str) -> dict[str, Any]:
        path = self._path(file)
        stored: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return stored

    def _path(self, file: str) -> Path:
        return self._checkout / "build/mutants/recorded" / f"{file.replace('/', '.')}.json"

    def _key(self, file: str) -> str:
        return f"{self._shared} {self._digest([self._checkout / file])}"

    def _digest(self, paths: Iterable[Path]) -> str:
        digest = hashlib.sha256()
        for path in paths:
            digest.update(path.relative_to(self._checkout).as_posix().encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()


def file_of(test: str) -> str:
    """Return the test file of a test's id."""
    return test.partition("::")[0]
