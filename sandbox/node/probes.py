"""Readiness, liveness and startup probes of one running container, as the kubelet runs them."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from sandbox.node.api import Document
from sandbox.processes import Process

_EXEC_POLL_S: Final = 0.05
_HTTP_OK: Final = range(200, 400)


@dataclass(frozen=True)
class Target:
    """What probes are aimed at.

    Attributes:
        host: the pod's address.
        ports: the container's named ports.
        env: of the container, for exec probes.
        cwd: likewise.
    """

    host: str
    ports: Mapping[str, int]
    env: Mapping[str, str]
    cwd: Path


class UnknownPortError(Exception):
    """A probe names a port that its container does not declare; to the kubelet a failed attempt."""


class Probes:
    """Runs a container's probes and keeps their verdicts.

    Attributes:
        started: the startup probe has succeeded, or there is none.
        ready: the readiness probe says so, or there is none.
        failure: why the container must be killed; empty while it need not.
    """

    def __init__(self, container: Document, target: Target, on_change: Callable[[], None]) -> None:
        self.started = False
        self.ready = False
        self.failure = ""
        self._container = container
        self._target = target
        self._on_change = on_change

    async def run(self) -> None:
        """Probe until cancelled, or until the container must be killed."""
        startup = self._container.get("startupProbe")
        if startup is not None and not await self._verdict(startup):
            self._fail("startup")
            return
        self.started = True
        self.ready = "readinessProbe" not in self._container
        self._on_change()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_readiness())
            group.create_task(self._watch_liveness())

    async def _watch_readiness(self) -> None:
        probe = self._container.get("readinessProbe")
        while probe is not None:
            self.ready = await self._verdict(probe, changed_from=self.ready)
            probe = probe | {"initialDelaySeconds": probe.get("periodSeconds", 10)}
            self._on_change()

    async def _watch_liveness(self) -> None:
        probe = self._container.get("livenessProbe")
        if probe is not None:
            await self._verdict(probe, changed_from=True)
            self._fail("liveness")

    def _fail(self, kind: str) -> None:
        self.failure = f"{kind} probe failed"
        self.ready = False
        self._on_change()

    async def _verdict(self, probe: Document, *, changed_from: bool | None = None) -> bool:
        """Probe until a threshold is reached, and return on which side.

        Args:
            probe: one of the container's.
            changed_from: reaching this side again does not count.
        """
        await asyncio.sleep(probe.get("initialDelaySeconds", 0))
        thresholds = {True: probe.get("successThreshold", 1), False: probe.get("failureThreshold", 3)}
        last, row = None, 0
        while True:
            result = await attempt(probe, self._target)
            row = row + 1 if result is last else 1
            last = result
            if row >= thresholds[result] and result is not changed_from:
                return result
            await asyncio.sleep(probe.get("periodSeconds", 10))


async def attempt(probe: Document, target: Target) -> bool:
    """Probe once."""
    timeout_s = float(probe.get("timeoutSeconds", 1))
    try:
        if "httpGet" in probe:
            return await _http_get(probe["httpGet"], target, timeout_s)
        if "tcpSocket" in probe:
            return await _tcp_socket(probe["tcpSocket"], target, timeout_s)
        return await _exec(probe["exec"]["command"], target, timeout_s)
    except (aiohttp.ClientError, OSError, TimeoutError, UnknownPortError):
        return False


async def _http_get(action: Document, target: Target, timeout_s: float) -> bool:
    scheme, host = action.get("scheme", "HTTP").lower(), action.get("host", target.host)
    url = f"{scheme}://{host}:{_port(action, target)}{action.get('path', '/')}"
    headers = {header["name"]: header["value"] for header in action.get("httpHeaders", ())}
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    async with (
        aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(ssl=False)) as session,
        session.get(url, headers=headers) as response,
    ):
        return response.status in _HTTP_OK


async def _tcp_socket(action: Document, target: Target, timeout_s: float) -> bool:
    async with asyncio.timeout(timeout_s):
        _, writer = await asyncio.open_connection(action.get("host", target.host), _port(action, target))
    writer.close()
    return True


async def _exec(command: list[str], target: Target, timeout_s: float) -> bool:
    process = Process(
        "probe",
        command,
        log=Path(os.devnull),
        env=target.env,
        cwd=target.cwd,
        death_signal=signal.SIGKILL,
    )
    process.start()
    deadline = time.monotonic() + timeout_s
    try:
        while process.alive() and time.monotonic() < deadline:  # noqa: ASYNC110 - a process offers no event
            await asyncio.sleep(_EXEC_POLL_S)
        return process.returncode() == 0
    finally:
        process.kill()


def _port(action: Document, target: Target) -> int:
    port = action["port"]
    if isinstance(port, int):
        return port
    if port not in target.ports:
        raise UnknownPortError(port)
    return target.ports[port]
