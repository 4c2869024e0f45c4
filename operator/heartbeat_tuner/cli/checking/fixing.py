"""`check --fix`: values of env files, properties files and manifests changed where they stand, and nowhere else.

A fix is made only where it is safe: the library is known, the value stands once on its line as it was read, and what
would hold names another one. Nothing is added and nothing is taken out; a placeholder stays as it is.
"""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from heartbeat_tuner.cli.checking.check_output import CheckVerdict
from heartbeat_tuner.cli.checking.settings_sources import CheckInput
from heartbeat_tuner.lint.found_settings import FileEntry
from heartbeat_tuner.lint.suggestions import Remedy


@dataclasses.dataclass(frozen=True, slots=True)
class FixedFile:
    """A file with its new text.

    Attributes:
        path: of the file.
        diff: what changes, as `diff -u` shows it.
    """

    path: Path
    text: str
    diff: str


def fixed(verdicts: Sequence[CheckVerdict], gathered: CheckInput) -> list[FixedFile]:
    """Return the files that change."""
    files = []
    for name, path in gathered.paths.items():
        before = gathered.texts[name]
        after = _with_values(before, _changes(verdict for verdict in verdicts if verdict.subject.consumer.file == name))
        if after != before:
            old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
            diff = "".join(difflib.unified_diff(old, new, fromfile=name, tofile=name))
            files.append(FixedFile(path, after, diff))
    return files


def _changes(verdicts: Iterable[CheckVerdict]) -> Iterator[tuple[FileEntry, str]]:
    """Yield the entries whose value changes, with the new one."""
    for verdict in verdicts:
        if not isinstance(verdict.remedy, Remedy) or verdict.inspected is None or not verdict.findings:
            continue
        render = verdict.inspected.client.format.render
        for setting, value in verdict.remedy.changes.items():
            entry = verdict.subject.consumer.places.get(setting)
            if entry is not None and entry.line and entry.text and re.fullmatch(r"[0-9]+[a-z]*", entry.text):
                yield entry, _like(entry.text, render(value))


def _like(before: str, after: str) -> str:
    """Return a value in the form of the one that it replaces: with a unit, or without one."""
    return f"{after}ms" if after.isdigit() and not before.isdigit() else after


def _with_values(text: str, changes: Iterable[tuple[FileEntry, str]]) -> str:
    lines = text.splitlines(keepends=True)
    for entry, value in changes:
        # The value of a variable in a manifest stands on the line of its name, or on the next one.
        for index in range(entry.line - 1, min(entry.line + 1, len(lines))):
            pattern = re.compile(rf"(?<![\w.]){re.escape(entry.text or '')}(?![\w.])")
            if len(pattern.findall(lines[index])) == 1:
                lines[index] = pattern.sub(value, lines[index])
                break
    return "".join(lines)


def write(files: Iterable[FixedFile]) -> None:
    """Write the new texts."""
    for file in files:
        file.path.write_text(file.text, "utf-8")
