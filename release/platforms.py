"""The platforms that the kubectl plugin is made for, in the words of krew, of pip and of Python.

A platform is listed if there is a wheel of each package that the core needs. `linux` means the GNU C library: musl's
Python has other wheels, and krew cannot tell the two apart.
"""

import dataclasses
import platform
from typing import Final

PYTHON: Final = "3.11"
"""The CPython that the packages are compiled for: Debian 12's, and the oldest that the project takes."""

DIGITS: Final = PYTHON.replace(".", "")
"""The version as the names of wheels and of compiled modules have it."""

_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@dataclasses.dataclass(frozen=True, slots=True)
class Platform:
    """A platform.

    Attributes:
        os: in krew's words, such as linux.
        arch: in krew's words, such as amd64.
        machine: the processor, as Python and `uname -m` name it there.
        tags: which wheels run on it, as pip's `--platform` takes them.
        suffix: how the names of compiled modules end there, in CPython.
        needs: the oldest system that takes these wheels.
    """

    os: str
    arch: str
    machine: str
    tags: tuple[str, ...]
    suffix: str
    needs: str

    @property
    def name(self) -> str:
        """Both words of krew, such as linux/amd64."""
        return f"{self.os}/{self.arch}"

    def markers(self) -> dict[str, str]:
        """Return what the markers of requirements are compared with on this platform."""
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{PYTHON}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_system": self.os.capitalize(),
            "python_full_version": f"{PYTHON}.0",
            "python_version": PYTHON,
            "sys_platform": self.os,
        }


def _linux(arch: str, machine: str) -> Platform:
    # NumPy's wheels need glibc 2.28; pip takes these tags as they are, without the older ones that each includes.
    tags = tuple(f"{tag}_{machine}" for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014"))
    return Platform("linux", arch, machine, tags, f".cpython-{DIGITS}-{machine}-linux-gnu.so", "glibc 2.28")


def _darwin(arch: str, machine: str) -> Platform:
    return Platform("darwin", arch, machine, (f"macosx_11_0_{machine}",), f".cpython-{DIGITS}-darwin.so", "macOS 11")


PLATFORMS: Final = {
    made.name: made
    for made in (
        _linux("amd64", "x86_64"),
        _linux("arm64", "aarch64"),
        _darwin("amd64", "x86_64"),
        _darwin("arm64", "arm64"),
    )
}


def here() -> Platform | None:
    """Return the platform of this machine, or None if no plugin is made for it."""
    arch = _MACHINES.get(platform.machine(), "")
    return PLATFORMS.get(f"{platform.system().lower()}/{arch}")
