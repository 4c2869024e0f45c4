"""Tests run against mutants: two at once, each in a process that has imported everything but the product.

The processes are forks, so that pytest, its plugins and what the tests import besides need not be imported anew. Each
has a limit of its own for the time it computes, which a busy machine does not shorten, and a far one for its life; a
mutant that exceeds one hangs, and any look at it would have shown that.
"""

import contextlib
import dataclasses
import enum
import gc
import importlib
import os
import resource
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NoReturn

import pytest

from tests.mutants import planted, session
from tests.mutants.shelves import KnownTest

_AT_ONCE: Final = 2
_PRELOADED: Final = (
    "_hypothesis_pytestplugin",
    "aiohttp",
    "cryptography.x509",
    "hypothesis.stateful",
    "hypothesis.strategies",
    "kubernetes.aio",
    "numpy",
    "pydantic",
    "pytest_asyncio.plugin",
    "pytest_randomly",
    "pytest_timeout",
    "structlog",
    "yaml",
)
"""What unit tests import, or the product does for them."""

_START_S: Final = 30
"""For importing the product and the tests."""
_SLOWER: Final = 5
"""Times as long as recorded: a mutant that is only slow does not hang."""
_WAITING: Final = 4
"""Times as long on the clock as in computing, on a machine that does other things, too."""
_LARGEST_BYTES: Final = 4 << 30
_POLL_S: Final = 0.01


class Outcome(enum.Enum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    UNTRIED = "untried"
    """No test was run: a survivor for the score, and something to look into."""


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """A changed module and what to run against it.

    Attributes:
        module: its name.
        path: its file.
        text: the changed source.
        lots: tests, in the order they are run in; a lot is run where the one before it passes.
    """

    module: str
    path: Path
    text: str
    lots: Sequence[Sequence[KnownTest]]


class Chosen:
    """Pytest plugin: runs some tests of the files that were collected, in a given order.

    A change may give a parametrized test other ids; a test with an id that nobody knows is run with its siblings.
    """

    def __init__(self, tests: Sequence[KnownTest]) -> None:
        self._places = {test.id: place for place, test in enumerate(tests)}
        self._functions = {_function(test.id): place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep those that are wanted."""
        known = self._places.keys() & {item.nodeid for item in items}
        missing = {_function(test) for test in self._places.keys() - known}
        order = {
            item: self._places.get(item.nodeid, self._functions.get(_function(item.nodeid), 0))
            for item in items
            if item.nodeid in known or _function(item.nodeid) in missing
        }
        items[:] = sorted(order, key=order.__getitem__)


def _function(test: str) -> str:
    return test.partition("[")[0]


def try_all(trials: Sequence[Trial], checkout: Path, scratch: Path) -> Iterator[tuple[int, Outcome]]:
    """Run all trials; yield the number and the outcome of each as soon as it is known.

    Args:
        trials: what to run.
        checkout: where the tests are.
        scratch: a folder of our own, for logs and for the files of tests.
    """
    _preload()
    waiting = deque((number, 0) for number, trial in enumerate(trials) if trial.lots)
    yield from ((number, Outcome.UNTRIED) for number, trial in enumerate(trials) if not trial.lots)
    running: dict[int, _Child] = {}
    try:
        while waiting or running:
            while waiting and len(running) < _AT_ONCE:
                number, lot = waiting.popleft()
                child = _Child.start(trials[number], number, lot, checkout, scratch)
                running[child.pid] = child
            for child in [child for child in running.values() if child.has_ended()]:
                del running[child.pid]
                outcome = child.outcome()
                if outcome is Outcome.SURVIVED and child.lot + 1 < len(trials[child.number].lots):
                    waiting.appendleft((child.number, child.lot + 1))
                else:
                    yield child.number, outcome
            time.sleep(_POLL_S)
    finally:
        for child in running.values():
            child.end()


@dataclasses.dataclass(slots=True)
class _Child:
    """A process that runs one lot of a trial."""

    pid: int
    number: int
    lot: int
    until: float
    log: Path
    status: int | None = None
    was_late: bool = False

    @classmethod
    def start(cls, trial: Trial, number: int, lot: int, checkout: Path, scratch: Path) -> "_Child":
        """Fork, and run the lot."""
        tests = trial.lots[lot]
        limit_s = _START_S + _SLOWER * sum(test.seconds for test in tests)
        log = scratch / f"{number}.log"
        pid = os.fork()
        if pid == 0:
            _run(trial, tests, checkout, log, int(limit_s))
        return cls(pid, number, lot, time.monotonic() + _WAITING * limit_s, log)

    def has_ended(self) -> bool:
        """Return whether it has ended, by itself or because its time is over."""
        if time.monotonic() > self.until:
            self.was_late = True
            self.end()
            return True
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.status = status
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # what tests started and left
        return True

    def end(self) -> None:
        """Kill it, and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def outcome(self) -> Outcome:
        """Return what the end says of the mutant."""
        if self.was_late or self.status is None:
            return Outcome.TIMED_OUT
        if os.WIFSIGNALED(self.status):
            return Outcome.TIMED_OUT if os.WTERMSIG(self.status) == signal.SIGXCPU else Outcome.KILLED
        match os.WEXITSTATUS(self.status):
            case pytest.ExitCode.OK:
                return Outcome.SURVIVED
            case pytest.ExitCode.NO_TESTS_COLLECTED | pytest.ExitCode.USAGE_ERROR:
                return Outcome.UNTRIED
        return Outcome.KILLED


def _preload() -> None:
    """Import what tests need besides the product, so that no fork has to."""
    os.environ.update(session.ENVIRONMENT)
    for name in _PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is there now is shared by all forks as long as nobody writes to it


def _run(trial: Trial, tests: Sequence[KnownTest], checkout: Path, log: Path, limit_s: int) -> NoReturn:
    """Run tests against a mutant, in a fork; end with pytest's status."""
    status: int = pytest.ExitCode.INTERNAL_ERROR
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 5))
        resource.setrlimit(resource.RLIMIT_AS, (_LARGEST_BYTES, _LARGEST_BYTES))
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, sys.stdout.fileno())
        os.dup2(output, sys.stderr.fileno())
        os.chdir(checkout)
        planted.plant(trial.module, trial.path, trial.text)
        files = dict.fromkeys(test.file for test in tests)
        own = log.with_suffix(".tmp")
        plugins = [session.Settled(), Chosen(tests)]
        status = pytest.main([*session.OPTIONS, "--exitfirst", f"--basetemp={own}", *files], plugins=plugins)
        shutil.rmtree(own, ignore_errors=True)
        sys.stdout.flush()
    finally:
        os._exit(status)  # nothing of the parent's may run here: its buffers, its children
