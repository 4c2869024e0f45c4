"""A control group for all pods of a node, in every hierarchy of the machine (one in version 2, many in version 1)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError

_MOUNTS: Final = Path("/proc/self/mounts")
_INHERITED: Final = ("cpuset.cpus", "cpuset.mems")
"""Version 1 makes a group without processors or memory, in which nothing can run."""

_EMPTYING_S: Final = 20.0


@contextmanager
def group(name: str) -> Iterator[None]:
    """Have a group of that name in every hierarchy; it is removed with all groups in it, whose processes must end.

    Raises:
        SandboxError: there were still processes in it a while later.
    """
    made = [root / name for root in _hierarchies()]
    try:
        for path in made:
            path.mkdir()
            _inherit(path)
        yield
    finally:
        for path in made:
            _remove(path)


def _hierarchies() -> list[Path]:
    """Return where the hierarchies are mounted."""
    mounts = (line.split() for line in _MOUNTS.read_text().splitlines())
    return sorted({Path(where) for _, where, kind, *_ in mounts if kind in {"cgroup", "cgroup2"}})


def _inherit(path: Path) -> None:
    for name in _INHERITED:
        if (path / name).exists() and not (path / name).read_text().strip():
            (path / name).write_text((path.parent / name).read_text())


def _remove(path: Path) -> None:
    """Remove a group and those below it, when the kernel has done away with their last processes."""
    deadline = time.monotonic() + _EMPTYING_S
    while path.exists():
        for folder, _, _ in os.walk(path, topdown=False):
            try:
                Path(folder).rmdir()
            except OSError as error:
                if time.monotonic() > deadline:
                    raise SandboxError(f"The control group {folder} could not be removed: {error}.") from error
        time.sleep(0.05)
