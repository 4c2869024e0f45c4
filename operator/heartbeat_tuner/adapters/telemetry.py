"""The operator's own metrics; what they say comes from outside."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from heartbeat_tuner.adapters.pages import Complaint, Pages
from heartbeat_tuner.adapters.policy_series import PolicySeries
from heartbeat_tuner.domain.exposed import Point
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verdicts import Verdict

LAG_BOUNDS_S: Final = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 30.0)
"""Close to each other where it matters: the longest delay is known by the bound that none exceeded."""


class Telemetry:
    """What the operator tells about itself.

    Attributes:
        registry: its own metrics, and behind them those of policies, which are written for the page once a pass.
    """

    def __init__(self) -> None:
        own, self._series = CollectorRegistry(), PolicySeries()
        self._pages = Pages(own, large=self._series)
        self.registry = CollectorRegistry()
        self.registry.register(own)
        self.registry.register(self._series)
        self._cycles = Histogram(
            "heartbeat_tuner_cycle_duration_seconds", "Length of one pass over all policies.", registry=own
        )
        self._overrun = Gauge(
            "heartbeat_tuner_cycle_overrun_seconds",
            "By how much the last pass took longer than the interval; 0 if it did not.",
            registry=own,
        )
        self._group_age = Gauge(
            "heartbeat_tuner_kafka_group_age_seconds",
            "The age of the oldest description of a Kafka group when the last pass looked; 0 without groups.",
            registry=own,
        )
        self._lag = Histogram(
            "heartbeat_tuner_event_loop_lag_seconds",
            "How late a task was woken that sleeps for 50 ms again and again.",
            buckets=LAG_BOUNDS_S,
            registry=own,
        )
        self._policies = Gauge(
            "heartbeat_tuner_policies", "Policies by verdict of the last pass.", ["verdict"], registry=own
        )
        self._writes = Counter(
            "heartbeat_tuner_writes", "Writes to the API server by target.", ["target"], registry=own
        )
        self._requests = Counter(
            "heartbeat_tuner_prometheus_requests",
            "Requests to Prometheus, those that were sent again among them.",
            registry=own,
        )
        self._samples = Counter("heartbeat_tuner_prometheus_samples", "Samples received from Prometheus.", registry=own)
        self._leader = Gauge("heartbeat_tuner_leader", "Whether this replica leads: 1 or 0.", registry=own)
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
        overrun_s: float,
    ) -> None:
        """Count one good pass, and tell what it found of each policy; those that are gone are told of no more."""
        self._series.points = points
        self._cycles.observe(duration_s)
        self._overrun.set(overrun_s)
        for verdict, count in verdicts.items():
            self._policies.labels(verdict.value).set(count)
        for target, count in writes.items():
            self._writes.labels(target).inc(count)

    def prometheus_read(self, *, requests: int, samples: int) -> None:
        """Count what was asked of Prometheus, and what it gave."""
        self._requests.inc(requests)
        self._samples.inc(samples)

    def groups_read(self, *, oldest_s: float) -> None:
        """Tell how old the oldest description of a Kafka group is."""
        self._group_age.set(oldest_s)

    def loop_lagged(self, lag_s: float) -> None:
        """Count how late the event loop came to a task."""
        self._lag.observe(lag_s)

    def leadership_ended(self) -> None:
        """Tell of no policies: another replica does, and a sum over all must not count them twice."""
        self._series.points = {}
        self._overrun.set(0)
        self._group_age.set(0)
        for verdict in Verdict:
            self._policies.labels(verdict.value).set(0)

    async def serve(
        self,
        address: str,
        port: int,
        *,
        probe_port: int,
        leads: Callable[[], bool],
        unhealthy: Complaint,
        unready: Complaint,
    ) -> None:
        """Answer until `close`.

        Args:
            address: where to listen.
            port: for the metrics.
            probe_port: for the probes.
            leads: whether this replica leads now.
            unhealthy: why this process should be started anew.
            unready: why it could not lead now.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        self._leader.set_function(lambda: float(leads()))
        await self._pages.serve(address, port, probe_port=probe_port, unhealthy=unhealthy, unready=unready)

    async def close(self) -> None:
        """Stop answering."""
        await self._pages.close()
