"""Programs that only the machine's owner can install: are they here, and new enough?

`findings` looks at the machine and is what `doctor` prints; `require` turns what is wrong into one error that names
everything at once, so that nobody installs one program per attempt. `judge` is the pure core: found versions in,
findings out. What the sandbox can get by itself (`binaries`, Kafka, client libraries) is not its subject.

`python3 -m sandbox.prerequisites` runs before anything is installed, so it needs the standard library only, and reads
on a Python that is too old for the rest.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sandbox.errors import PrerequisiteMissingError

Version = tuple[int, ...]
"""A version's leading numbers: (1, 26, 8)."""

NOT_FOUND: Final = "not found"
_PROBE_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True)
class Prerequisite:
    """One program that must be on PATH.

    Attributes:
        minimum: oldest version that works; empty when any does.
        version_argv: prints the version.
        pattern: finds the version in what that prints.
        how_to_get: advice for a person.
    """

    program: str
    minimum: Version
    version_argv: tuple[str, ...]
    pattern: str
    how_to_get: str


@dataclass(frozen=True)
class Finding:
    """What was found out about one prerequisite."""

    program: str
    required: str
    found: str
    ok: bool
    how_to_get: str


PREREQUISITES: Final = (
    Prerequisite("python", (3, 11), (sys.executable, "--version"), r"Python (\d[\d.]*)", "Debian: python3"),
    Prerequisite("go", (1, 26), ("go", "version"), r"go(\d[\d.]*)", "see the Go project's own site; Debian's is older"),
    Prerequisite("java", (17,), ("java", "-version"), r'version "(\d[\d.]*)', "Debian: openjdk-17-jdk-headless"),
    Prerequisite("javac", (17,), ("javac", "-version"), r"javac (\d[\d.]*)", "Debian: openjdk-17-jdk-headless"),
    Prerequisite("mvn", (), ("mvn", "-version"), r"Maven (\d[\d.]*)", "Debian: maven"),
    Prerequisite("node", (18,), ("node", "--version"), r"v(\d[\d.]*)", "Debian: nodejs"),
    Prerequisite("npm", (), ("npm", "--version"), r"(\d[\d.]*)", "Debian: npm"),
    Prerequisite("make", (), ("make", "--version"), r"Make (\d[\d.]*)", "Debian: make"),
)


def parse_version(text: str) -> Version:
    """Return the numbers of a dotted version: "1.26.8" gives (1, 26, 8)."""
    return tuple(int(number) for number in text.strip(".").split("."))


def judge(found: Mapping[str, Version | None], programs: Iterable[str]) -> list[Finding]:
    """Compare found versions with what is needed.

    Args:
        found: by program; None or absent means that it is not there.
        programs: which prerequisites count; the order of the result is that of `PREREQUISITES`.
    """
    wanted = set(programs)
    return [
        _finding(prerequisite, found.get(prerequisite.program))
        for prerequisite in PREREQUISITES
        if prerequisite.program in wanted
    ]


def findings(*, go_needed: bool) -> list[Finding]:
    """Look at this machine.

    Args:
        go_needed: False when every program that would be built with Go is already here (`Binaries.to_build`).
    """
    programs = [prerequisite.program for prerequisite in PREREQUISITES if go_needed or prerequisite.program != "go"]
    return judge({program: _installed_version(program) for program in programs}, programs)


def require(*programs: str) -> None:
    """Check that these programs are here and new enough.

    Raises:
        PrerequisiteMissingError: names each one that is not, and how to get it.
    """
    wrong = [
        item for item in judge({program: _installed_version(program) for program in programs}, programs) if not item.ok
    ]
    if wrong:
        lines = [f"  {item.program} {item.required}: {item.found} ({item.how_to_get})" for item in wrong]
        raise PrerequisiteMissingError("\n".join(["The sandbox needs programs that are missing or too old:", *lines]))


def main() -> None:
    """Check everything; say what is missing and exit with status 1, or say nothing."""
    try:
        require(
            *(prerequisite.program for prerequisite in PREREQUISITES if prerequisite.program != "go" or _go_is_needed())
        )
    except PrerequisiteMissingError as error:
        sys.exit(str(error))


def _go_is_needed() -> bool:
    if sys.version_info < PREREQUISITES[0].minimum:
        return True
    from sandbox.binaries import Binaries  # noqa: PLC0415 - an older Python could not read that module

    return bool(Binaries().to_build())


def _finding(needed: Prerequisite, found: Version | None) -> Finding:
    return Finding(
        program=needed.program,
        required=f">= {_dotted(needed.minimum)}" if needed.minimum else "any version",
        found=NOT_FOUND if found is None else _dotted(found),
        ok=found is not None and found >= needed.minimum,
        how_to_get=needed.how_to_get,
    )


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _installed_version(program: str) -> Version | None:
    needed = next(prerequisite for prerequisite in PREREQUISITES if prerequisite.program == program)
    try:
        shown = subprocess.run(
            needed.version_argv, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(needed.pattern, shown.stdout + shown.stderr)  # java answers on stderr
    return parse_version(match[1]) if match else None


if __name__ == "__main__":
    main()
