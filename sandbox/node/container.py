"""One container: starts its process, watches it, restarts it as the pod's policy says, and ends it when asked to."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sandbox.node.api import Document
from sandbox.node.env import ContainerConfigError, expand
from sandbox.node.files import PodFiles
from sandbox.node.probes import Probes, Target
from sandbox.node.status import CONFIG_ERROR, CRASH_LOOP, ContainerRecord, Running, Terminated, Waiting, restarts
from sandbox.processes import Process

FIRST_BACK_OFF_S: Final = 1.0
LONGEST_BACK_OFF_S: Final = 30.0
STABLE_AFTER_S: Final = 60.0
"""A container that ran this long starts its back-off again."""

_POLL_S: Final = 0.05
_CONFIG_RETRY_S: Final = 1.0
_CANNOT_START: Final = 128  # the kubelet's exit code for StartError


@dataclass(frozen=True)
class Surroundings:
    """What a container gets from its pod.

    Attributes:
        resolve_env: makes the environment, again for each start.
        grace_s: the pod's terminationGracePeriodSeconds.
        on_change: called after each change of the record.
    """

    pod_ip: str
    files: PodFiles
    restart_policy: str
    grace_s: float
    resolve_env: Callable[[Document], Awaitable[dict[str, str]]]
    on_change: Callable[[], None]


class Container:
    """Runs one container of one pod.

    Attributes:
        record: what to tell the API.
    """

    def __init__(self, spec: Document, record: ContainerRecord, surroundings: Surroundings) -> None:
        self.record = record
        self._spec = spec
        self._around = surroundings
        self._stopping = asyncio.Event()
        self._news = asyncio.Event()
        """Of a running process: it has ended, or is to end, or sooner than it was asked to."""
        self._grace_s = surroundings.grace_s
        self._back_off_s = FIRST_BACK_OFF_S

    def stop(self, grace_s: float) -> None:
        """Ask the container to end and not to start again; a later call may shorten the grace."""
        self._grace_s = grace_s
        self._stopping.set()
        self._news.set()

    async def run(self) -> None:
        """Run until the container has ended for good."""
        while not self._stopping.is_set():
            if isinstance(self.record.state, Terminated):
                if not restarts(self._around.restart_policy, self.record.state.exit_code):
                    return
                await self._back_off(self.record.state)
                continue
            try:
                process, target = await self._start()
            except ContainerConfigError as error:
                self._set_waiting(Waiting(CONFIG_ERROR, str(error)))
                await self._pause(_CONFIG_RETRY_S)
            except OSError as error:
                now = datetime.now(UTC)
                self._ended(Terminated(_CANNOT_START, "StartError", now, now, f"cannot start: {error}"))
            else:
                await self._attend(process, target)

    async def _start(self) -> tuple[Process, Target]:
        env = await self._around.resolve_env(self._spec)
        self._around.files.scratch.mkdir(parents=True, exist_ok=True)
        cwd = Path(self._spec.get("workingDir", self._around.files.scratch))
        words = (*self._spec["command"], *self._spec.get("args", ()))
        process = Process(
            self.record.name,
            [expand(word, env) for word in words],
            log=self._around.files.log(self.record.name),
            env=env,
            cwd=cwd,
            death_signal=signal.SIGKILL,  # a node that has crashed takes its containers along, paused ones too
        )
        process.start()
        ports = {port["name"]: port["containerPort"] for port in self._spec.get("ports", ()) if "name" in port}
        return process, Target(self._around.pod_ip, ports, env, cwd)

    async def _attend(self, process: Process, target: Target) -> None:
        """Stay with a running process until it has ended, killing it when asked to or when a probe demands it."""
        began, pid_file = datetime.now(UTC), self._around.files.pid(self.record.name)
        if self.record.last is not None:
            self.record.restart_count += 1
        self.record.state, self.record.pid = Running(began), process.pid
        whole = pid_file.with_suffix(".new")  # whoever looks meanwhile sees no empty file
        whole.write_text(str(process.pid))
        whole.replace(pid_file)
        probes = Probes(self._spec, target, lambda: self._take_verdicts(probes))
        probing = asyncio.create_task(probes.run())
        self._around.on_change()
        try:
            await self._until_ended(process, probes)
        finally:
            probing.cancel()
            # Children the process has left behind, and the process itself if this task was cancelled.
            _signal_group(process.pid, signal.SIGKILL)
            process.kill()
            pid_file.unlink(missing_ok=True)
        await asyncio.wait([probing])
        if not probing.cancelled():
            probing.result()  # a fault of ours must not look like a probe that never answers
        self._ended(_termination(process, began, probes.failure))

    async def _until_ended(self, process: Process, probes: Probes) -> None:
        asked_at: float | None = None
        with _ending(process, self._news.set):
            while process.alive():
                self._news.clear()
                if asked_at is None and (self._stopping.is_set() or probes.failure):
                    asked_at = time.monotonic()
                    os.kill(process.pid, signal.SIGTERM)
                left_s = None if asked_at is None else asked_at + self._grace_s - time.monotonic()
                if left_s is not None and left_s <= 0:
                    _signal_group(process.pid, signal.SIGKILL)
                    left_s = _POLL_S
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), left_s)

    def _take_verdicts(self, probes: Probes) -> None:
        self.record.started, self.record.ready = probes.started, probes.ready
        if probes.failure:
            self._news.set()
        self._around.on_change()

    def _set_waiting(self, state: Waiting) -> None:
        if self.record.state != state:
            self.record.state = state
            self._around.on_change()

    def _ended(self, state: Terminated) -> None:
        self.record.state = state
        self.record.started = self.record.ready = False
        self.record.pid = None
        self._around.on_change()

    async def _back_off(self, ended: Terminated) -> None:
        if (ended.finished_at - ended.started_at).total_seconds() >= STABLE_AFTER_S:
            self._back_off_s = FIRST_BACK_OFF_S
        delay_s = self._back_off_s
        self._back_off_s = min(2 * delay_s, LONGEST_BACK_OFF_S)
        self.record.last = ended
        self._set_waiting(Waiting(CRASH_LOOP, f"back-off {delay_s:.0f}s restarting failed container"))
        await self._pause(delay_s)
        if self._stopping.is_set():
            self._ended(ended)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


@contextlib.contextmanager
def _ending(process: Process, then: Callable[[], None]) -> Iterator[None]:
    """Call `then` when a process has ended, as long as the block lasts: the kernel says it, and nobody asks again."""
    loop, descriptor = asyncio.get_running_loop(), os.pidfd_open(process.pid)
    try:
        loop.add_reader(descriptor, then)
        yield
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _termination(process: Process, began: datetime, why: str) -> Terminated:
    status = process.returncode()
    if status is None:
        raise ValueError(f"{process.name} has not ended")
    code = status if status >= 0 else 128 - status  # -9, ended by SIGKILL, is 137 in Kubernetes
    return Terminated(code, "Completed" if code == 0 else "Error", began, datetime.now(UTC), why)


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
