"""Our own commands as processes that need not import the product first.

Each start of `python -m heartbeat_tuner run` imports 1,500 modules, which takes a second of a core: more than many
tests let the operator work. While `forks` is entered, a process that has imported them forks for each start. The fork
is a process of its own, with the arguments, environment, log and signals of one that was started, and goes through
`__main__`. Who measures a start, or what a process costs, starts it without.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from sandbox.processes import Child, Process, die_with

_PACKAGE: Final = "heartbeat_tuner"
_CHECKOUT: Final = Path(__file__).parents[1]
_ENDS_WITHIN_S: Final = 30.0
_LARGEST: Final = 1 << 17
"""Bytes of a question: most of one is an environment."""

_IMPORTED: Final = tuple(
    f"heartbeat_tuner.cli.{name}" for name in ("run", "webhook", "doctor", "recommend", "explain", "simulate", "report")
)
"""The commands that tests start again and again."""


class OwnCommand(Process):
    """`python -m heartbeat_tuner` with some arguments: a fork while `forks` is entered, started from nothing else.

    Args:
        name: how progress lines call it.
        arguments: of the command line, the command's name first.
        log: file that gets stdout and stderr, appended.
        env: the whole environment.
    """

    forker: ClassVar["_Forker | None"] = None

    def __init__(self, name: str, arguments: Sequence[str | Path], *, log: Path, env: Mapping[str, str]) -> None:
        super().__init__(name, [sys.executable, "-m", _PACKAGE, *arguments], log=log, env=env)
        self._order = _order(arguments, log=log, errors=log, env=env)

    def _spawn(self) -> Child:
        return super()._spawn() if self.forker is None else self.forker.fork(self._order)


def run(*arguments: str, timeout_s: float = 100.0) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, as people do; return its exit status and what it printed.

    Args:
        arguments: of the command line, the command's name first.
        timeout_s: how long it may take.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    words = [sys.executable, "-m", _PACKAGE, *arguments]
    if OwnCommand.forker is None:
        return subprocess.run(words, check=False, capture_output=True, text=True, timeout=timeout_s)
    with tempfile.TemporaryDirectory() as folder:
        output, errors = (Path(folder) / name for name in ("output", "errors"))
        child = OwnCommand.forker.fork(_order(arguments, log=output, errors=errors, env=os.environ))
        try:
            status = child.wait(timeout_s)
        except BaseException:
            child.kill()
            child.wait()
            raise
        return subprocess.CompletedProcess(words, status, output.read_text(), errors.read_text())


def _order(
    arguments: Sequence[str | Path], *, log: Path, errors: Path, env: Mapping[str, str]
) -> dict[str, str | list[str] | dict[str, str]]:
    """Return what a fork has to do."""
    return {
        "arguments": [str(word) for word in arguments],
        "log": str(log.resolve()),
        "errors": str(errors.resolve()),
        "env": dict(env),
        "folder": str(Path.cwd()),
    }


class Forked:
    """A fork, as `subprocess.Popen` would show it: the kernel says when it ends, and its parent how.

    Args:
        forker: its parent, which keeps its process id until it is asked how it ended.
        pid: of the fork.
    """

    def __init__(self, forker: "_Forker", pid: int) -> None:
        self.pid = pid
        self._forker = forker
        self._end = os.pidfd_open(pid)
        self._asked = threading.Lock()
        self._returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit status, negative for a signal; None while it runs."""
        return self._ended_within(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, for so many seconds at most; return its exit status.

        Raises:
            subprocess.TimeoutExpired: it runs on.
        """
        returncode = self._ended_within(timeout)
        if returncode is None:
            raise subprocess.TimeoutExpired([_PACKAGE], timeout or 0.0)
        return returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _ended_within(self, timeout_s: float | None) -> int | None:
        with self._asked:
            if self._returncode is None:
                ends = select.poll()
                ends.register(self._end, select.POLLIN)
                if ends.poll(None if timeout_s is None else 1_000 * timeout_s):
                    self._returncode = self._forker.reap(self.pid)
                    os.close(self._end)
            return self._returncode


class _Forker:
    """The process that has imported the product, begun with the first fork that is asked for."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ours: socket.socket | None = None

    def fork(self, order: Mapping[str, Any]) -> Forked:
        """Return a new fork that does what is ordered."""
        return Forked(self, self._answer({"fork": order}))

    def reap(self, pid: int) -> int:
        """Return how a fork that has ended did so; its process id may be given to others then."""
        return self._answer({"reap": pid})

    def close(self) -> None:
        """End it; forks that still run are asked to end by the kernel."""
        if self._ours is not None and self._process is not None:
            self._ours.close()
            self._process.wait(_ENDS_WITHIN_S)

    def _answer(self, question: Mapping[str, Any]) -> int:
        with self._turn:
            if self._ours is None:
                self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    cwd=_CHECKOUT,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
                theirs.close()
            self._ours.sendall(json.dumps(question).encode())
            return int(self._ours.recv(_LARGEST))


@contextlib.contextmanager
def forks() -> Iterator[None]:
    """Fork each `OwnCommand` that starts meanwhile; where the kernel has no pidfds they start from nothing."""
    if not hasattr(os, "pidfd_open"):
        yield
        return
    outer, own = OwnCommand.forker, _Forker()
    OwnCommand.forker = own
    try:
        yield
    finally:
        OwnCommand.forker = outer
        own.close()


def _became_a_fork(questions: socket.socket) -> bool:
    """Answer questions until nobody asks any more, and return False; in each fork that is asked for return True."""
    while question := questions.recv(_LARGEST):
        asked = json.loads(question)
        answer = _forked(asked["fork"]) if "fork" in asked else _ended(asked["reap"])
        if answer == 0 and "fork" in asked:
            return True
        questions.sendall(str(answer).encode())
    return False


def _forked(order: Mapping[str, Any]) -> int:
    """Fork; return 0 in the fork, and its process id once it is what was ordered."""
    parent = os.getpid()
    ready, becoming = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(order, parent)
    os.close(becoming)
    os.read(ready, 1)  # until the fork has closed its end, too
    os.close(ready)
    return pid


def _ended(pid: int) -> int:
    """Return how a fork has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _become(order: Mapping[str, Any], parent: int) -> None:
    """Be from now on what a process would be that is started as it is ordered."""
    os.setsid()
    die_with(parent, signal.SIGTERM)()
    for standard, path in ((sys.stdout, order["log"]), (sys.stderr, order["errors"])):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(file, standard.fileno())
        os.close(file)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv[1:] = order["arguments"]


def main() -> None:
    """Import the product, and fork for whoever has the other end of the socket whose number is the argument."""
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a fork that looked through all of it would copy each page: 0.1 s of a core, and 0.4 s at its end
    with socket.socket(fileno=int(sys.argv[1])) as questions:
        forked = _became_a_fork(questions)
    if forked:
        runpy.run_module(_PACKAGE, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
