"""Compose files: the environment of each service, from the file itself and from the env files that it names."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from heartbeat_tuner.adapters.files import text_entries, tree_entries
from heartbeat_tuner.lint.found_settings import FileEntry, FoundSettings


def is_compose(document: Any) -> bool:
    """Whether a document has services as Compose has them."""
    services = document.get("services") if isinstance(document, Mapping) else None
    return (
        isinstance(services, Mapping)
        and "kind" not in document
        and any(
            isinstance(service, Mapping) and {"image", "build", "environment", "env_file", "command"} & service.keys()
            for service in services.values()
        )
    )


def services(document: Mapping[str, Any], file: str, beside: Callable[[str], str | None]) -> Iterator[FoundSettings]:
    """Yield the settings of each service.

    Args:
        document: the file's.
        file: as sentences call it.
        beside: reads a file by its path from the Compose file; None where there is none.
    """
    shell = {entry.key: entry.text or "" for entry in text_entries.env_entries(beside(".env") or "")}
    for name, service in document["services"].items():
        if not isinstance(service, Mapping):
            continue
        entries = [*_env_files(service, beside), *_environment(service)]
        arguments = [str(word) for key in ("entrypoint", "command") for word in _listed(service.get(key))]
        entries += text_entries.argument_entries(arguments)
        filled = [_filled(entry, shell) for entry in entries]
        yield FoundSettings(
            f"{file}, service {name}", file, list(tree_entries.expanded(filled)), image=str(service.get("image", ""))
        )


def _environment(service: Mapping[str, Any]) -> Iterator[FileEntry]:
    environment = service.get("environment")
    if isinstance(environment, Mapping):
        yield from (
            FileEntry(str(name), None if value is None else tree_entries.scalar(value))
            for name, value in environment.items()
        )
    for line in _listed(environment) if not isinstance(environment, Mapping) else ():
        name, sign, value = str(line).partition("=")
        yield FileEntry(name.strip(), value if sign else None)  # without a value it comes from the shell


def _env_files(service: Mapping[str, Any], beside: Callable[[str], str | None]) -> Iterator[FileEntry]:
    for named in _listed(service.get("env_file")):
        path = named.get("path") if isinstance(named, Mapping) else named
        text = beside(str(path))
        for entry in text_entries.env_entries(text or ""):
            yield FileEntry(entry.key, entry.text)


def _filled(entry: FileEntry, shell: Mapping[str, str]) -> FileEntry:
    text = entry.text
    if text is None or "$" not in text:
        return entry
    for name, value in shell.items():
        for written in (f"${{{name}}}", f"${name}"):
            text = value if text == written else text
        if text.startswith((f"${{{name}:-", f"${{{name}-")) and text.endswith("}") and value:
            text = value
    return FileEntry(entry.key, text, entry.line)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
