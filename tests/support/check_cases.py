"""The collection of tests/check_cases: settings files as people have them, with verdicts written by hand.

A verdict comes from knowledge of the libraries, not from the rules: it names the errors and warnings that a reader who
knows the library would raise, and the values that stand in the file.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tests.support import documents

FOLDER: Final = documents.CHECKOUT / "tests" / "check_cases"

LETTERS: Final = {
    "S": "sessionTimeout",
    "H": "heartbeatInterval",
    "W": "fetchWait",
    "M": "maxPollInterval",
    "R": "rebalanceTimeout",
}


@dataclasses.dataclass(frozen=True)
class CheckCase:
    """One case.

    Attributes:
        name: unique in the collection.
        family: the file of the collection that it stands in.
        files: texts by path.
        client: what the command line says; empty where the files have to be enough.
        arguments: other options.
        paths: what is checked; all files where nothing else is said.
        reads: the consumers that stand in the files, each a client and its values by letter, as durations.
        expect: the rules of the errors and warnings, in any order.
    """

    name: str
    family: str
    files: Mapping[str, str]
    client: str
    arguments: Sequence[str]
    paths: Sequence[str]
    reads: Sequence[Mapping[str, str]]
    expect: Sequence[str]

    def __str__(self) -> str:
        """Return the name, as a test's."""
        return self.name

    def write(self, folder: Path) -> list[str]:
        """Write the files into a folder, and return the arguments that check them there."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        client = [f"--client={self.client}"] if self.client else []
        return [*client, *self.arguments, *(str(folder / path) for path in self.paths)]


def cases() -> list[CheckCase]:
    """Return the collection.

    Raises:
        ValueError: two cases have one name.
    """
    collection = [
        _case(family.stem, entry)
        for family in sorted(FOLDER.glob("*.yaml"))
        for entry in yaml.safe_load(family.read_text())
    ]
    names = [case.name for case in collection]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two cases have one name: {', '.join(sorted(twice))}")
    return collection


def _case(family: str, entry: Mapping[str, Any]) -> CheckCase:
    return CheckCase(
        name=entry["name"],
        family=family,
        files=entry["files"],
        client=entry.get("client", ""),
        arguments=[str(argument) for argument in entry.get("args", ())],
        paths=entry.get("paths", list(entry["files"])),
        reads=entry["reads"],
        expect=entry["expect"],
    )
