"""What the plugin's archives are compiled for, read from the first bytes of their files."""

import struct
from pathlib import Path
from typing import Final

from release.platforms import PLATFORMS, Platform, here

_OF_ELF: Final = {62: "x86_64", 183: "aarch64"}
_OF_MACH: Final = {0x01000007: "x86_64", 0x0100000C: "arm64"}
_SYSTEMS: Final = {b"\x7fELF": "linux", b"\xcf\xfa\xed\xfe": "darwin", b"\xca\xfe\xba\xbe": "darwin"}

_HEADERS: Final = 256
"""Enough for the headers of a universal file of a dozen processors."""


def made_platforms() -> tuple[Platform, Platform]:
    """Return this machine's platform, and one with another system and another processor."""
    own = here()
    assert own is not None, "no plugin is made for this machine's platform"
    other = next(made for made in PLATFORMS.values() if made.os != own.os and made.arch != own.arch)
    return own, other


def compiled_for(path: Path) -> set[tuple[str, str]]:
    """Return the systems and processors of a file, several of a universal one and none of one that is not compiled."""
    with path.open("rb") as stream:
        content = stream.read(_HEADERS)
    system = _SYSTEMS.get(content[:4])
    if system is None:
        return set()
    if system == "linux":
        return {(system, _OF_ELF[struct.unpack_from("<H", content, 18)[0]])}
    if content[:4] == b"\xca\xfe\xba\xbe":  # several, each with a header of 20 bytes
        (count,) = struct.unpack_from(">I", content, 4)
        return {(system, _OF_MACH[struct.unpack_from(">I", content, 8 + 20 * each)[0]]) for each in range(count)}
    return {(system, _OF_MACH[struct.unpack_from("<I", content, 4)[0]])}
