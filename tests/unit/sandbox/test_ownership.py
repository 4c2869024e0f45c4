"""A run folder has one owner, and only the owner is ever ended."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import ownership
from sandbox.errors import SandboxError
from sandbox.processes import wait_until

_CHECKOUT = Path(__file__).parents[3]
_OWNER = """
import signal, sys, threading
from pathlib import Path
from sandbox import ownership
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with ownership.claim(Path(sys.argv[1])):
    threading.Event().wait()
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that owns `tmp_path / "run"`."""
    command = [sys.executable, "-c", textwrap.dedent(_OWNER), str(tmp_path / "run")]
    with subprocess.Popen(command, cwd=_CHECKOUT) as child:
        wait_until(lambda: ownership.living_owner(tmp_path / "run") == child.pid, part="test", what="the owner")
        yield child
        child.kill()


def test_a_folder_in_use_is_refused_and_left_alone(owner: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """A second sandbox does not empty the folder under the first one's feet."""
    (tmp_path / "run" / "data").touch()
    with pytest.raises(SandboxError, match=f"process {owner.pid}.*make down"), ownership.claim(tmp_path / "run"):
        pass
    assert (tmp_path / "run" / "data").exists()


def test_the_owner_is_ended_in_an_orderly_way(owner: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """`down` asks, waits, and the owner cleans up after itself."""
    assert ownership.end_owner(tmp_path / "run")
    assert owner.wait(10) == 0
    assert not (tmp_path / "run" / "owner.json").exists()
    assert not ownership.end_owner(tmp_path / "run")


def test_a_killed_owner_s_folder_is_free_and_emptied(owner: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """After a crash the next run starts, and starts afresh."""
    (tmp_path / "run" / "data").touch()
    owner.kill()
    owner.wait()
    with ownership.claim(tmp_path / "run"):
        assert not (tmp_path / "run" / "data").exists()
        assert ownership.living_owner(tmp_path / "run") == os.getpid()


def test_a_process_id_given_to_another_program_is_not_signalled(tmp_path: Path) -> None:
    """A stale file that names a living process of another start time names no owner."""
    (tmp_path / "owner.json").write_text(json.dumps({"pid": os.getpid(), "started": "1"}))
    assert ownership.living_owner(tmp_path) is None
    assert not ownership.end_owner(tmp_path)
