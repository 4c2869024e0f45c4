"""Child processes that end for sure.

`Process` starts one program with its own log file and session. The kernel is asked to end the child when this process
ends, however it ends (`PR_SET_PDEATHSIG`, Linux), so a crash or a SIGKILL leaves nothing behind; an orderly `stop` asks
first (SIGTERM) and insists later (SIGKILL). `wait_until` awaits a condition, and fails early, with the end of the
child's log, when the child has died.

PDEATHSIG follows the *thread* that started the child: start processes from a thread that lives as long as they should.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, Self

from sandbox import progress
from sandbox.errors import PartNotReadyError

_PR_SET_PDEATHSIG: Final = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with(parent_pid: int, death_signal: signal.Signals) -> Callable[[], None]:
    """Return what runs in the child after the fork: end when the parent does."""

    def prepare() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, death_signal)
            if os.getppid() != parent_pid:  # the parent ended before the request was in place
                os._exit(1)

    return prepare


class Child(Protocol):
    """What a `Process` needs of its child, such as a `subprocess.Popen`."""

    pid: int

    def poll(self) -> int | None:
        """Return its exit status, negative for a signal; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit status."""

    def send_signal(self, number: int, /) -> None:
        """Send it a signal, unless it has ended."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it at once."""


class Process:
    """One supervised program; use as a context manager, or call `start` and `stop`.

    Args:
        name: how progress lines call it.
        argv: the program and its arguments.
        log: file that gets stdout and stderr, appended.
        env: the whole environment; None inherits ours.
        cwd: working directory; None inherits ours.
        death_signal: what the kernel sends the child when this process has ended; SIGKILL also ends a paused child.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        death_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.name = name
        self.argv = [str(word) for word in argv]
        self.log = log
        self._env = None if env is None else dict(env)
        self._cwd = cwd
        self._death_signal = death_signal
        self._child: Child | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The child's process id; only meaningful after `start`."""
        if self._child is None:
            raise ValueError(f"{self.name} was not started")
        return self._child.pid

    def alive(self) -> bool:
        """Whether the child was started and has not ended."""
        return self._child is not None and self._child.poll() is None

    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None before the end."""
        return None if self._child is None else self._child.poll()

    def start(self) -> None:
        """Start the child; it must not be running."""
        if self.alive():
            raise ValueError(f"{self.name} is running already")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._child = self._spawn()

    def _spawn(self) -> Child:
        """Return a new child."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
                # Two calls into libc, loaded before the fork.
                preexec_fn=die_with(os.getpid(), self._death_signal),  # noqa: PLW1509
            )

    def stop(self, *, grace_s: float = 10.0) -> None:
        """Ask the child to end, insist after `grace_s` seconds; does nothing when it has ended."""
        if self._child is None:
            return
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGCONT)  # a paused child could not hear the next one
            self._child.terminate()
            try:
                self._child.wait(grace_s)
            except subprocess.TimeoutExpired:
                progress.say(self.name, f"did not end within {grace_s:.0f} s of SIGTERM, killing it")
                self._child.kill()
        self._child.wait()

    def kill(self) -> None:
        """End the child at once (SIGKILL), as a crash would."""
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def pause(self) -> None:
        """Freeze the child (SIGSTOP)."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen child go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of the child's log."""
        if not self.log.exists():
            return "(no log)"
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def wait_until(
    condition: Callable[[], bool],
    *,
    part: str,
    what: str,
    timeout_s: float = 90.0,
    process: Process | None = None,
    poll_s: float = 0.1,
) -> None:
    """Wait until `condition()` is true, reporting progress as `part`.

    Args:
        condition: asked every `poll_s` seconds; must not raise for "not yet".
        part: who waits, for the progress line.
        what: what is awaited, as in "waiting for <what>".
        timeout_s: after this long it is an error.
        process: the child that must stay alive meanwhile.
        poll_s: pause between two questions.

    Raises:
        PartNotReadyError: the time ran out or the child ended; the message carries the end of its log.
    """
    deadline = time.monotonic() + timeout_s
    with progress.step(part, f"waiting for {what}"):
        while not condition():
            if process is not None and not process.alive():
                raise PartNotReadyError(
                    f"{part} ended with status {process.returncode()} while waiting for {what}.\n"
                    f"The end of {process.log}:\n{process.log_tail()}"
                )
            if time.monotonic() > deadline:
                tail = "" if process is None else f"\nThe end of {process.log}:\n{process.log_tail()}"
                raise PartNotReadyError(f"{part}: waited {timeout_s:.0f} s for {what} in vain.{tail}")
            time.sleep(poll_s)
