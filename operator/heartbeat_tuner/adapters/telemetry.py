"""The operator's own metrics and probes, over HTTP.

`/metrics` for Prometheus, `/readyz` (the first cycle is done), `/healthz` (a cycle finished lately: it fails when the
loop is stuck, not only when the process is gone).
"""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import prometheus_client
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.domain.verdicts import Verdict

MISSED_CYCLES: Final = 3
"""The loop counts as stuck when this many intervals passed without a finished cycle."""

GRACE: Final = timedelta(seconds=60)
"""And at least this long: a cycle may wait for a slow Prometheus once."""


class Telemetry:
    """What the operator tells about itself."""

    def __init__(self, *, interval: timedelta) -> None:
        self._stuck_after_s = max(GRACE, MISSED_CYCLES * interval).total_seconds()
        self._finished_at = time.monotonic()
        self._ready = False
        self._runner: web.AppRunner | None = None
        self.registry = CollectorRegistry()
        self._cycles = Histogram(
            "heartbeat_tuner_cycle_duration_seconds", "Length of one pass over all policies.", registry=self.registry
        )
        self._policies = Gauge(
            "heartbeat_tuner_policies", "Policies by verdict of the last pass.", ["verdict"], registry=self.registry
        )
        self._writes = Counter(
            "heartbeat_tuner_writes", "Writes to the API server by target.", ["target"], registry=self.registry
        )
        for verdict in Verdict:
            self._policies.labels(verdict.value)
        for target in ("workload", "status", "failed"):
            self._writes.labels(target)

    def cycle_finished(self, *, verdicts: Mapping[Verdict, int], writes: Mapping[str, int], duration_s: float) -> None:
        """Count one good pass."""
        self._finished_at, self._ready = time.monotonic(), True
        self._cycles.observe(duration_s)
        for verdict, count in verdicts.items():
            self._policies.labels(verdict.value).set(count)
        for target, count in writes.items():
            self._writes.labels(target).inc(count)

    async def serve(self, address: str, port: int) -> None:
        """Answer on `address`:`port` until `close`.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        app = web.Application()
        app.add_routes(
            [web.get("/metrics", self._metrics), web.get("/healthz", self._healthz), web.get("/readyz", self._readyz)]
        )
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, address, port).start()
        except OSError as error:
            await self.close()
            raise InvalidSettingsError(f"http: cannot listen on {address}:{port}: {error.strerror}") from error

    async def close(self) -> None:
        """Stop answering."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _metrics(self, _request: web.Request) -> web.Response:
        body = prometheus_client.generate_latest(self.registry)
        return web.Response(body=body, headers={"Content-Type": prometheus_client.CONTENT_TYPE_LATEST})

    async def _healthz(self, _request: web.Request) -> web.Response:
        silent_s = time.monotonic() - self._finished_at
        if silent_s > self._stuck_after_s:
            return web.Response(status=503, text=f"no cycle has finished for {silent_s:.0f} s\n")
        return web.Response(text="ok\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        if not self._ready:
            return web.Response(status=503, text="the first cycle is not done\n")
        return web.Response(text="ok\n")
