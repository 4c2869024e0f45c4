"""Keys and values of documents: YAML, JSON and TOML become keys whose parts are separated by dots."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.files import text_entries
from heartbeat_tuner.adapters.files.manifest_yaml import UnquotedNumber
from heartbeat_tuner.lint.found_settings import FileEntry

_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")

DEEPEST: Final = 60


def flattened(document: Any, prefix: str = "", depth: int = 0) -> Iterator[FileEntry]:
    """Yield the values of a document; a variable's name, and the name of a `name`/`value` pair, stand alone."""
    if depth > DEEPEST:
        return
    if isinstance(document, Mapping):
        name = document.get("name")
        if isinstance(name, str) and "value" in document and _is_scalar(document["value"]):
            yield FileEntry(name, scalar(document["value"]))
            return
        for key, value in document.items():
            word = str(key)
            alone = _VARIABLE.fullmatch(word) is not None
            yield from flattened(value, word if alone or not prefix else f"{prefix}.{word}", depth + 1)
    elif isinstance(document, list | tuple):
        for number, item in enumerate(document):
            yield from flattened(item, f"{prefix}.{number}" if prefix else str(number), depth + 1)
    elif prefix:
        yield FileEntry(prefix, scalar(document))


def scalar(value: Any) -> str:
    """Return a value as its reader sees it: numbers without the underscores that YAML allows in them."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).replace("_", "") if isinstance(value, UnquotedNumber) else str(value)


def expanded(entries: Iterable[FileEntry]) -> Iterator[FileEntry]:
    """Yield entries with those that stand inside of others: options of a Java machine, Spring's JSON."""
    for entry in entries:
        yield entry
        if entry.text is None:
            continue
        if text_entries.JAVA_OPTIONS.fullmatch(entry.key):
            yield from text_entries.argument_entries([entry.text], entry.line)
        elif entry.key == "SPRING_APPLICATION_JSON":
            try:
                document = json.loads(entry.text)
            except (ValueError, RecursionError):
                continue
            yield from (FileEntry(inner.key, inner.text, entry.line) for inner in flattened(document))


def placed(entries: Iterable[FileEntry], text: str) -> list[FileEntry]:
    """Return entries with the lines of a text on which the last words of their keys stand first."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        for word in re.findall(r"[A-Za-z_][\w.\-]*", line):
            lines.setdefault(word, number)
    return [entry if entry.line else _placed(entry, lines) for entry in entries]


def _placed(entry: FileEntry, lines: Mapping[str, int]) -> FileEntry:
    parts = entry.key.split(".")
    for start in range(len(parts)):
        number = lines.get(".".join(parts[start:]))
        if number:
            return FileEntry(entry.key, entry.text, number, entry.field, entry.missing)
    return entry


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | UnquotedNumber)
