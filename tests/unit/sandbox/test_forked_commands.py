"""Our commands as forks: like processes that were started, but for what they import."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.forked_commands import OwnCommand, forks, run
from sandbox.processes import wait_until


@pytest.fixture(scope="module", autouse=True)
def _forks() -> Iterator[None]:
    with forks():
        yield


def command(folder: Path, *arguments: str | Path, **variables: str) -> OwnCommand:
    """Return a command with more in its environment than we have."""
    return OwnCommand("own", arguments, log=folder / "own.log", env={**os.environ, **variables})


def ended(process: OwnCommand) -> int | None:
    """Run a command to its end; return its exit status."""
    with process:
        wait_until(lambda: not process.alive(), part="own", what="its end")
    return process.returncode()


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[OwnCommand]:
    """A command that runs: it reads a file that never comes."""
    os.mkfifo(tmp_path / "config.yaml")
    with command(tmp_path, "run", "--config", tmp_path / "config.yaml") as process:
        yield process


def test_a_fork_is_asked_and_answers_as_a_start_does(tmp_path: Path) -> None:
    """Its arguments, its words in its log after those that are there, and how it ended."""
    words = ("run", "--config", tmp_path / "missing.yaml")
    folder = tmp_path / "plain"
    assert [ended(command(tmp_path, *words)) for _ in range(2)] == [2, 2]
    forker, OwnCommand.forker = OwnCommand.forker, None
    try:
        assert ended(command(folder, *words)) == 2
    finally:
        OwnCommand.forker = forker
    plain = (folder / "own.log").read_text()
    assert "missing.yaml" in plain
    assert (tmp_path / "own.log").read_text() == 2 * plain


def test_a_fork_has_an_environment_of_its_own(tmp_path: Path) -> None:
    """Whatever the process that forks has: here a kubeconfig that is not there, which the client looks for."""
    elsewhere = tmp_path / "kubeconfig"
    config = tmp_path / "config.yaml"
    config.write_text(
        "prometheus: {url: http://x}\nkafka: {clusters: {main: {bootstrapServers: 'x:1'}}}\n"
        "leaderElection: {namespace: here}\n"
    )
    assert ended(command(tmp_path, "run", "--config", config, KUBECONFIG=str(elsewhere))) not in {None, 0}
    assert str(elsewhere) in (tmp_path / "own.log").read_text()


def test_a_fork_is_paused_and_ended_as_a_child_is(waiting: OwnCommand) -> None:
    """It is a process of its own, in a session of its own."""
    assert os.getsid(waiting.pid) == waiting.pid
    waiting.pause()
    assert waiting.alive()
    waiting.stop(grace_s=60)
    assert waiting.returncode() == -signal.SIGTERM


def test_a_fork_ends_with_those_who_may_ask_for_forks(tmp_path: Path) -> None:
    """A test run that ends leaves no operator behind."""
    os.mkfifo(tmp_path / "config.yaml")
    with forks():
        process = command(tmp_path, "run", "--config", tmp_path / "config.yaml")
        process.start()
        pid = process.pid
        assert process.alive()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), part="own", what="its end")


def test_a_command_that_is_run_prints_what_a_start_would(tmp_path: Path) -> None:
    """Output and errors apart."""
    helped, refused = run("check", "--help"), run("report", "--json", "--prometheus", str(tmp_path))
    assert (helped.returncode, helped.stderr) == (0, "")
    assert helped.stdout.startswith("Usage: python -m heartbeat_tuner check")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert str(tmp_path) in refused.stderr


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """A test must not hang with it."""
    os.mkfifo(tmp_path / "config.yaml")
    with pytest.raises(subprocess.TimeoutExpired):
        run("run", "--config", str(tmp_path / "config.yaml"), timeout_s=0.2)
