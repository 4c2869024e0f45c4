"""Wheels unpacked into one folder, as pip would install them, but without programs and headers."""

import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from release.archives import Entry
from sandbox.errors import SandboxError

_LIBRARIES: Final = {"purelib", "platlib"}
"""The folders of a wheel's `.data` that are modules; the others are for places that an archive does not have."""


def unpacked(wheels: Iterable[Path], folder: str) -> list[Entry]:
    """Return the files of wheels below a folder of an archive, all with one mode.

    Args:
        wheels: of packages that do not share a file.
        folder: a path in the archive.

    Raises:
        SandboxError: a file leads out of the folder, or two wheels have it.
    """
    files: dict[str, Entry] = {}
    owners: dict[str, str] = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            for member in packed.infolist():
                place = _place(member, wheel)
                if place is None:
                    continue
                if place in files:
                    raise SandboxError(f"{owners[place]} and {wheel.name} both have {place}")
                owners[place] = wheel.name
                files[place] = Entry(f"{folder}/{place}", packed.read(member))
    return list(files.values())


def _place(member: zipfile.ZipInfo, wheel: Path) -> str | None:
    """Return where a file of a wheel goes, or None if it goes nowhere."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts:
        raise SandboxError(f"{wheel.name}: {member.filename} leads out of the folder that it is unpacked into")
    if member.is_dir():
        return None
    folder, *rest = path.parts
    if not rest or not folder.endswith(".data"):
        return path.as_posix()
    return "/".join(rest[1:]) if rest[0] in _LIBRARIES else None
