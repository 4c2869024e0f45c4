"""`heartbeat-tuner fit` as a process of its own, with all that it starts; and a small Spark cluster for it."""

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a run ended."""

    status: int
    stdout: str
    stderr: str
    took_s: float


class Fit:
    """A run in a session of its own, so that whatever it starts can be found by that."""

    def __init__(self, *options: str, env: Mapping[str, str] | None = None) -> None:
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "heartbeat_tuner", "fit", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **(env or {})},
        )

    def ended(self, within_s: float = 200.0) -> Ended:
        """Wait until it has ended by itself; end it if it does not."""
        try:
            out, err = self._process.communicate(timeout=within_s)
        except BaseException:  # of who waits for the test, too
            self.kill()
            raise
        return Ended(self._process.returncode, out, err, time.monotonic() - self._began)

    def kill(self) -> None:
        """Kill it and all its children at once, the programs that Java started among them."""
        for _ in range(20):
            there = members(self._process.pid)
            for pid in there:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not there:
                break
            time.sleep(0.05)
            self._process.poll()
        self._process.communicate()

    def killed_after(self, lines: int, wait_s: float) -> bool:
        """Let it say so many lines on stderr, and work on for a while, then kill it.

        Returns:
            whether it was still there to be killed.
        """
        assert self._process.stderr is not None
        try:
            for _ in range(lines):
                line = self._process.stderr.readline()
                assert line.startswith("{"), line + self._process.stderr.read()
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return True
        finally:
            self.kill()
        return False


def clean(ended: Ended) -> str:
    """Return all that was said, in one line; it holds no trace."""
    said = ended.stdout + ended.stderr
    assert "Traceback" not in said
    assert "\tat " not in said
    assert "Exception" not in said
    return " ".join(said.split())


def fit(*options: str, env: Mapping[str, str] | None = None) -> Ended:
    """Run it to its end."""
    return Fit(*options, env=env).ended()


def members(session: int) -> list[int]:
    """Return the processes of a session that are no zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


@contextlib.contextmanager
def cluster(folder: Path, *, workers: int) -> Iterator[str]:
    """Give the address of a Spark cluster of one-core workers on the loopback; end it by its processes' ids."""
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_daemon(folder / "master.log", "master.Master", "--host", "127.0.0.1", "--port", str(port)))
        _await_text(folder / "master.log", "I have been elected leader", started)
        for number in range(workers):
            log = folder / f"worker-{number}.log"
            options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / str(number)))
            started.append(_daemon(log, "worker.Worker", master, *options))
        for number in range(workers):
            _await_text(folder / f"worker-{number}.log", "Successfully registered with master", started)
        yield master
    finally:
        for item in started:
            for pid in members(item.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            item.wait(10)


def _daemon(log: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
    command: Sequence[str] = (
        str(SPARK_HOME / "bin" / "spark-class"),
        f"org.apache.spark.deploy.{name}",
        *options,
        "--webui-port",
        "0",
    )
    env = {**os.environ, "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as file:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, start_new_session=True
        )


def _await_text(log: Path, text: str, started: Sequence[subprocess.Popen[bytes]], within_s: float = 60.0) -> None:
    until = time.monotonic() + within_s
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > until or any(item.poll() is not None for item in started):
            raise AssertionError(f"no {text!r} within {within_s:g} s:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)
