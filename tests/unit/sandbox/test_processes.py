"""Children end: when asked to, when frozen, and when their parent is gone."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.errors import PartNotReadyError
from sandbox.processes import Process, wait_until

_CHECKOUT = Path(__file__).parents[3]
_PARENT = """
import sys, time
from pathlib import Path
from sandbox.processes import Process
child = Process("child", ["sleep", "1000"], log=Path(sys.argv[1]) / "child.log")
child.start()
(Path(sys.argv[1]) / "pid").write_text(f"{child.pid}\\n")
time.sleep(1000)
"""


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _await(condition: Callable[[], bool]) -> None:
    wait_until(condition, part="test", what="the expected end", timeout_s=30)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_with_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    """A crashed test run must leave no broker behind."""
    parent = Process("parent", [sys.executable, "-c", _PARENT, tmp_path], log=tmp_path / "parent.log", cwd=_CHECKOUT)
    with parent:
        pid_file = tmp_path / "pid"
        _await(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
        pid = int(pid_file.read_text())
        assert _runs(pid)
        os.kill(parent.pid, number)
        _await(lambda: not _runs(pid))


def test_stop_ends_a_paused_child_without_waiting_for_the_grace(tmp_path: Path) -> None:
    """A frozen child cannot hear SIGTERM: it has to be thawed first, or every such stop costs the whole grace."""
    process = Process("child", ["sleep", "1000"], log=tmp_path / "log")
    process.start()
    process.pause()
    began = time.monotonic()
    process.stop(grace_s=60)
    assert process.returncode() == -signal.SIGTERM
    assert time.monotonic() - began < 50


def test_stop_kills_a_child_that_does_not_listen(tmp_path: Path) -> None:
    """A stop that waits for ever would hang the teardown of every test."""
    process = Process(
        "child", ["bash", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"], log=tmp_path / "log"
    )
    process.start()
    _await(lambda: process.log_tail() == "up")
    process.stop(grace_s=0.2)
    assert process.returncode() == -signal.SIGKILL


def test_a_stopped_child_can_be_started_again(tmp_path: Path) -> None:
    """Tests take parts away and bring them back; the log goes on."""
    process = Process("child", ["bash", "-c", "echo up; exec sleep 1000"], log=tmp_path / "log")
    for _ in range(2):
        with process:
            assert process.alive()
            _await(lambda: process.log_tail().endswith("up"))
        assert not process.alive()


def test_waiting_for_a_dead_child_fails_at_once_with_its_last_words(tmp_path: Path) -> None:
    """The reason is in the log; without it a port clash looks like slowness."""
    process = Process("child", ["sh", "-c", "echo address in use; exit 3"], log=tmp_path / "log")
    process.start()
    with pytest.raises(PartNotReadyError, match=r"(?s)ended with status 3 .*the port.*address in use"):
        wait_until(lambda: False, part="child", what="the port", process=process, timeout_s=50)


def test_waiting_in_vain_fails_with_what_was_awaited(tmp_path: Path) -> None:
    """A part that hangs is reported, with its log."""
    with Process("child", ["sh", "-c", "echo still busy; exec sleep 1000"], log=tmp_path / "log") as process:
        _await(lambda: process.log_tail() == "still busy")
        with pytest.raises(PartNotReadyError, match=r"(?s)for the port in vain.*still busy"):
            wait_until(lambda: False, part="child", what="the port", process=process, timeout_s=0.1)
