"""Debian's own packages: what builds images and runs containers, installed by apt where the sandbox may.

`ensure` installs what is not there yet; `obstacle` says why it could not, so that a test can be skipped for it.
Nothing else in the sandbox changes the machine's system: all else is kept in the cache and in run folders.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable
from typing import Final

from sandbox import cache, commands
from sandbox.errors import PrerequisiteMissingError

_QUERY_TIMEOUT_S: Final = 30.0
_INSTALL: Final = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--option=DPkg::Lock::Timeout=300")


def obstacle(*packages: str) -> str | None:
    """Return why `packages` are neither here nor can be installed here, or None when nothing is in the way."""
    if shutil.which("apt-get") is None:
        return f"this needs a Debian system with the packages {' '.join(packages)}"
    missing = _missing(packages)
    if missing and os.geteuid() != 0:
        return f"only root can install what is missing: apt-get install --no-install-recommends {' '.join(missing)}"
    return None


def ensure(*packages: str) -> None:
    """Install those of `packages` that are not installed, without what they merely recommend.

    Raises:
        PrerequisiteMissingError: they are missing and this is no Debian system, or not run as root.
        SandboxError: apt failed; the message carries the end of what it said.
    """
    if reason := obstacle(*packages):
        raise PrerequisiteMissingError(f"The sandbox cannot install Debian packages: {reason}")
    with cache.lock("apt"):  # apt's own lock on its lists does not wait
        missing = _missing(packages)
        if missing:
            commands.run("apt", "reading the lists of packages", [*_INSTALL, "update"])
            install = [*_INSTALL, "install", "--no-install-recommends", *missing]
            commands.run("apt", f"installing {' '.join(missing)}", install)


def sources() -> str:
    """Return this machine's sources of Debian itself, as lines of a sources.list: those of its vendors are left out."""
    with cache.lock("apt"):
        shown = _sources()
        if not shown:  # images of Debian come without lists
            commands.run("apt", "reading the lists of packages", [*_INSTALL, "update"])
            shown = _sources()
    return shown


def _sources() -> str:
    form = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    shown = subprocess.run(
        ["apt-get", "indextargets", f"--format={form}", "Created-By: Packages", "Origin: Debian"],
        capture_output=True,
        text=True,
        timeout=_QUERY_TIMEOUT_S,
        check=True,
    )
    return "".join(f"{line}\n" for line in dict.fromkeys(shown.stdout.splitlines()))


def _missing(packages: Iterable[str]) -> list[str]:
    shown = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package}\n", *packages],
        capture_output=True,
        text=True,
        timeout=_QUERY_TIMEOUT_S,
        check=False,  # a package that it has never heard of is an error to it, and missing to us
    )
    installed = {line.removeprefix("installed ") for line in shown.stdout.splitlines() if line.startswith("installed ")}
    return [package for package in packages if package not in installed]
