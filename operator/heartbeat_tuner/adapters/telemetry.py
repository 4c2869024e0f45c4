"""The operator's own metrics; what they say comes from outside."""

from collections.abc import Callable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from heartbeat_tuner.adapters.pages import Complaint, Pages
from heartbeat_tuner.adapters.policy_series import PolicySeries
from heartbeat_tuner.domain.exposed import Point
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verdicts import Verdict


class Telemetry:
    """What the operator tells about itself."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._pages = Pages(self.registry)
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
        self._series = PolicySeries()
        self.registry.register(self._series)
        for verdict in Verdict:
            self._policies.labels(verdict.value)
        for target in ("workload", "status", "failed"):
            self._writes.labels(target)

    def cycle_finished(
        self,
        *,
        verdicts: Mapping[Verdict, int],
        writes: Mapping[str, int],
        points: Mapping[ObjectKey, Sequence[Point]],
        duration_s: float,
    ) -> None:
        """Count one good pass, and tell what it found of each policy; those that are gone are told of no more."""
        self._series.points = points
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
        """Tell of no policies: another replica does, and a sum over all must not count them twice."""
        self._series.points = {}
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
        await self._pages.serve(address, port, unhealthy=unhealthy, unready=unready)

    async def close(self) -> None:
        """Stop answering."""
        await self._pages.close()
