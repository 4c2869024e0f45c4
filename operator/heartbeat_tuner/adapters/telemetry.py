"""The operator's own metrics and probes, over HTTP.

`/metrics` for Prometheus, `/healthz` (fails when this process should be started anew) and `/readyz` (fails while it
could not lead); what they say comes from outside.
"""

from collections.abc import Awaitable, Callable, Mapping

import prometheus_client
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from heartbeat_tuner.domain.errors import InvalidSettingsError
from heartbeat_tuner.domain.verdicts import Verdict

Complaint = Callable[[], str]
"""Says what is wrong; an empty text if nothing is."""


class Telemetry:
    """What the operator tells about itself."""

    def __init__(self) -> None:
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
        self._requests = Counter(
            "heartbeat_tuner_prometheus_requests",
            "Requests to Prometheus, those that were sent again among them.",
            registry=self.registry,
        )
        self._samples = Counter(
            "heartbeat_tuner_prometheus_samples", "Samples received from Prometheus.", registry=self.registry
        )
        self._leader = Gauge("heartbeat_tuner_leader", "Whether this replica leads: 1 or 0.", registry=self.registry)
        for verdict in Verdict:
            self._policies.labels(verdict.value)
        for target in ("workload", "status", "failed"):
            self._writes.labels(target)

    def cycle_finished(self, *, verdicts: Mapping[Verdict, int], writes: Mapping[str, int], duration_s: float) -> None:
        """Count one good pass."""
        self._cycles.observe(duration_s)
        for verdict, count in verdicts.items():
            self._policies.labels(verdict.value).set(count)
        for target, count in writes.items():
            self._writes.labels(target).inc(count)

    def prometheus_read(self, *, requests: int, samples: int) -> None:
        """Count what was asked of Prometheus, and what it gave."""
        self._requests.inc(requests)
        self._samples.inc(samples)

    def leadership_ended(self) -> None:
        """Count no policies: another replica does, and a sum over all must not count them twice."""
        for verdict in Verdict:
            self._policies.labels(verdict.value).set(0)

    async def serve(
        self, address: str, port: int, *, leads: Callable[[], bool], unhealthy: Complaint, unready: Complaint
    ) -> None:
        """Answer on `address`:`port` until `close`.

        Args:
            address: where to listen.
            port: likewise.
            leads: whether this replica leads now.
            unhealthy: why this process should be started anew.
            unready: why it could not lead now.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        self._leader.set_function(lambda: float(leads()))
        app = web.Application()
        app.add_routes(
            [
                web.get("/metrics", self._metrics),
                web.get("/healthz", _probe(unhealthy)),
                web.get("/readyz", _probe(unready)),
            ]
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


def _probe(complaint: Complaint) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return what answers a probe."""

    async def answer(_request: web.Request) -> web.Response:
        wrong = complaint()
        return web.Response(status=503, text=f"{wrong}\n") if wrong else web.Response(text="ok\n")

    return answer
