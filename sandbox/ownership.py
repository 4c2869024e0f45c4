"""Which process runs the sandbox in a run folder, so that another one can end it, and no two use one folder.

`claim` empties the folder, writes `owner.json` into it and removes that at the end. The owner is known by process id
*and* start time, so that a process id that was given to another program later is never signalled.
"""

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox import progress
from sandbox.errors import SandboxError

END_TIMEOUT_S: Final = 60.0
_FILE: Final = "owner.json"


@contextlib.contextmanager
def claim(run_dir: Path) -> Iterator[None]:
    """Own `run_dir`, emptied, for the time of the context.

    Raises:
        SandboxError: another living process owns it.
    """
    owner = living_owner(run_dir)
    if owner is not None:
        raise SandboxError(f"A sandbox runs in {run_dir} already (process {owner}); end it with: make down")
    shutil.rmtree(run_dir, ignore_errors=True)
    run_dir.mkdir(parents=True)
    (run_dir / _FILE).write_text(json.dumps({"pid": os.getpid(), "started": _start_time(os.getpid())}))
    try:
        yield
    finally:
        (run_dir / _FILE).unlink(missing_ok=True)


def living_owner(run_dir: Path) -> int | None:
    """Return the process id of the owner of `run_dir`; None if there is none, or it is gone."""
    try:
        owner = json.loads((run_dir / _FILE).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    pid: int = owner["pid"]
    return pid if _start_time(pid) == owner["started"] else None


def end_owner(run_dir: Path) -> bool:
    """Ask the owner of `run_dir` to end, and wait until it has; False if there is none.

    Raises:
        SandboxError: it did not end in time.
    """
    owner = living_owner(run_dir)
    if owner is None:
        return False
    os.kill(owner, signal.SIGTERM)
    deadline = time.monotonic() + END_TIMEOUT_S
    with progress.step("sandbox", f"waiting for process {owner} to end"):
        while living_owner(run_dir) == owner:
            if time.monotonic() > deadline:
                raise SandboxError(f"Process {owner} did not end within {END_TIMEOUT_S:.0f} s of SIGTERM.")
            time.sleep(0.1)
    return True


def _start_time(pid: int) -> str | None:
    """Return when a process started, in clock ticks since boot; None if there is no such process, or it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]
