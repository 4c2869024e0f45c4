"""What is missing is found and said all at once."""

import sys
from pathlib import Path

import pytest

from sandbox import prerequisites
from sandbox.errors import PrerequisiteMissingError
from sandbox.prerequisites import judge, parse_version

_NAMES = [prerequisite.program for prerequisite in prerequisites.PREREQUISITES]


def test_versions_compare_as_numbers() -> None:
    """1.9 is older than 1.26: comparing text would say the opposite."""
    (finding,) = judge({"go": parse_version("1.9")}, ["go"])
    assert not finding.ok
    (finding,) = judge({"go": parse_version("1.26.8")}, ["go"])
    assert finding.ok


@pytest.mark.parametrize(
    ("program", "version", "ok"),
    [
        ("java", (1, 8, 0), False),  # how Java 8 calls itself
        ("java", (17,), True),
        ("java", (21, 0, 2), True),
        ("node", (16, 20), False),
        ("mvn", (3, 8, 7), True),
        ("make", None, False),
    ],
)
def test_each_program_has_its_own_minimum(program: str, version: tuple[int, ...] | None, *, ok: bool) -> None:
    """A program that is too old or absent is not accepted, and any version of some is."""
    (finding,) = judge({program: version}, [program])
    assert finding.ok is ok


def test_go_is_not_asked_for_when_nothing_is_to_be_built() -> None:
    """A machine that has all binaries must not be told to install a compiler."""
    assert "go" not in [finding.program for finding in prerequisites.findings(go_needed=False)]


def test_every_missing_program_is_in_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody wants to install one program per attempt: on a PATH with an old Go and nothing else, all are named."""
    old_go = tmp_path / "go"
    old_go.write_text("#!/bin/sh\necho go version go1.2 linux/amd64\n")
    old_go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteMissingError) as raised:
        prerequisites.require("go", "node", "make")
    message = str(raised.value)
    assert "go >= 1.26: 1.2 " in message
    assert "node >= 18: not found" in message
    assert "make any version: not found" in message


def test_what_is_installed_is_recognised() -> None:
    """The version is read from what a real program prints, here this Python."""
    findings = {finding.program: finding for finding in prerequisites.findings(go_needed=True)}
    assert list(findings) == _NAMES
    assert findings["python"].ok
    assert findings["python"].found == ".".join(map(str, sys.version_info[:3]))
