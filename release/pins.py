"""What the core needs, and what the lock pins of it for a platform."""

import importlib.metadata
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.platforms import Platform
from sandbox.errors import SandboxError

NAME: Final = "heartbeat-tuner"
LOCK: Final = "dev.lock"
"""What the environment is installed from that tests and makes a release."""


class Pin(NamedTuple):
    """A package of the lock.

    Attributes:
        name: in its canonical spelling.
        version: as the lock has it.
        sums: the SHA-256 of each file of this version.
    """

    name: str
    version: str
    sums: tuple[str, ...]

    def line(self) -> str:
        """Return what pip reads, without a marker: pip would compare it with the machine that it runs on."""
        return " ".join([f"{self.name}=={self.version}", *(f"--hash=sha256:{digits}" for digits in self.sums)])


def distributions(markers: Mapping[str, str] | None = None) -> set[str]:
    """Return the names of the packages that the core needs, and those that these need.

    Args:
        markers: the platform; None for that of this environment, whose metadata is read in either case.

    Raises:
        SandboxError: a package is needed there and not here, so that nobody knows what it needs.
    """
    names, waiting = set[str](), [NAME]
    while waiting:
        package = waiting.pop()
        for text in _requires(package):
            requirement = Requirement(text)
            wanted = requirement.marker is None or requirement.marker.evaluate({**(markers or {}), "extra": ""})
            if wanted and requirement.name not in names:
                names.add(requirement.name)
                waiting.append(requirement.name)
    return names


def entries(lock: str) -> list[str]:
    """Return the entries of a lock's text: each has a package, and on further lines its hashes."""
    return re.findall(r"^\S.*(?:\n[ \t]+.*)*", lock, re.MULTILINE)


def pinned(lock: str, platform: Platform) -> list[Pin]:
    """Return what a lock pins of the core on a platform, ordered by name.

    Args:
        lock: its text, made for all platforms.
        platform: for which the lock's markers hold or not.

    Raises:
        SandboxError: the lock has no version, or several, of a package that the core needs there.
    """
    wanted = {canonicalize_name(name) for name in distributions(platform.markers())}
    pins: dict[str, Pin] = {}
    for entry in entries(lock):
        head, *options = entry.split(" \\\n")
        requirement = Requirement(head)
        name = canonicalize_name(requirement.name)
        holds = requirement.marker is None or requirement.marker.evaluate(platform.markers())
        if name not in wanted or not holds:
            continue
        if name in pins:
            raise SandboxError(f"requirements/{LOCK}: {name} has two versions for {platform.name}; run `make locks`")
        sums = tuple(option.strip().removeprefix("--hash=sha256:") for option in options)
        pins[name] = Pin(name, str(requirement.specifier).removeprefix("=="), sums)
    if missing := sorted(wanted - pins.keys()):
        raise SandboxError(f"requirements/{LOCK}: no {', '.join(missing)} for {platform.name}; run `make locks`")
    return [pins[name] for name in sorted(pins)]


def _requires(package: str) -> list[str]:
    try:
        return importlib.metadata.requires(package) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise SandboxError(f"{package}: it is not installed, so what it needs is unknown; install it here") from error
