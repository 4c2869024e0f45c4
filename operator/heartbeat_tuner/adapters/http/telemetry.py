"""The operator's own metrics; what they say comes from outside."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from heartbeat_tuner.adapters.http.pages import Complaint, Pages
from heartbeat_tuner.adapters.http.policy_series import PolicySeries
from heartbeat_tuner.domain.exposed import MetricPoint
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verdicts import Verdict

LAG_BOUNDS_S: Final = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 30.0)
"""Close to each other where it matters: the longest delay is known by the bound that none exceeded."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Pass:
    """What the last pass over a shard found."""

    verdicts: Mapping[Verdict, int]
    points: Mapping[ObjectKey, Sequence[MetricPoint]]
    overrun_s: float
    oldest_look_s: float
    fleet_stopped: bool


class Telemetry:
    """What the operator shows about itself.

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
        self._early = Histogram(
            "heartbeat_tuner_early_look_duration_seconds",
            "Length of one look at policies that were edited since the last pass over all.",
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
        self._leader = Gauge(
            "heartbeat_tuner_leader", "How many shards this replica leads; without shards 1 or 0.", registry=own
        )
        self._shards = Gauge(
            "heartbeat_tuner_shards", "How many shards there are, each of which must have a leader.", registry=own
        )
        self._stopped = Gauge(
            "heartbeat_tuner_fleet_stopped",
            "1: no change of values begins until a person resumes, in all of the fleet or in a part; 0 if they may.",
            registry=own,
        )
        self._left = _left_gauge(own)
        self._passes: dict[int, _Pass] = {}
        self._left_of: dict[int, Mapping[str, int]] = {}
        for verdict in Verdict:
            self._policies.labels(verdict.value)
        for target in ("workload", "status", "failed"):
            self._writes.labels(target)

    def cycle_finished(
        self,
        *,
        verdicts: Mapping[Verdict, int],
        writes: Mapping[str, int],
        points: Mapping[ObjectKey, Sequence[MetricPoint]],
        duration_s: float,
        overrun_s: float,
        oldest_look_s: float = 0.0,
        fleet_stopped: bool = False,
        shard: int = 0,
    ) -> None:
        """Count one good pass, and show what it found of each policy; policies that are gone are no longer shown."""
        self._cycles.observe(duration_s)
        self._passes[shard] = _Pass(verdicts, points, overrun_s, oldest_look_s, fleet_stopped)
        self._show_passes()
        self._count(writes)

    def left_to_others(self, namespaces: Mapping[str, int], *, shard: int = 0) -> None:
        """Show how many namespaces of a shard another installation owns, by why it does."""
        self._left_of[shard] = namespaces
        self._show_left()

    def looked_early(self, *, writes: Mapping[str, int], duration_s: float) -> None:
        """Count one look at edited policies; what is shown of policies follows with the next pass over all."""
        self._early.observe(duration_s)
        self._count(writes)

    def prometheus_read(self, *, requests: int, samples: int) -> None:
        """Count what was asked of Prometheus, and what it gave."""
        self._requests.inc(requests)
        self._samples.inc(samples)

    def loop_lagged(self, lag_s: float) -> None:
        """Count how late the event loop came to a task."""
        self._lag.observe(lag_s)

    def leadership_ended(self, shard: int = 0) -> None:
        """Show no policy of a shard: another replica does, and a sum over all must not count them twice."""
        self._passes.pop(shard, None)
        self._left_of.pop(shard, None)
        self._show_passes()
        self._show_left()

    def _count(self, writes: Mapping[str, int]) -> None:
        for target, count in writes.items():
            self._writes.labels(target).inc(count)

    def _show_left(self) -> None:
        """Show the namespaces that are left to others by the shards that are led here."""
        self._left.clear()
        for why, count in (pair for counts in self._left_of.values() for pair in counts.items()):
            self._left.labels(why).inc(count)

    def _show_passes(self) -> None:
        """Show what the last pass found over each shard that is led here."""
        passes = list(self._passes.values())
        self._series.points = {key: points for pass_ in passes for key, points in pass_.points.items()}
        self._overrun.set(max((pass_.overrun_s for pass_ in passes), default=0.0))
        self._stopped.set(any(pass_.fleet_stopped for pass_ in passes))
        self._group_age.set(max((pass_.oldest_look_s for pass_ in passes), default=0.0))
        for verdict in Verdict:
            self._policies.labels(verdict.value).set(sum(pass_.verdicts.get(verdict, 0) for pass_ in passes))

    async def serve(
        self,
        address: str,
        port: int,
        *,
        probe_port: int,
        led: Callable[[], int],
        shards: int = 1,
        unhealthy: Complaint,
        unready: Complaint,
    ) -> None:
        """Answer until `close`.

        Args:
            address: where to listen.
            port: for the metrics.
            probe_port: for the probes.
            led: how many shards this replica leads now.
            shards: how many there are.
            unhealthy: why this process should be started again.
            unready: why it could not lead now.

        Raises:
            InvalidSettingsError: nothing can listen there.
        """
        self._leader.set_function(lambda: float(led()))
        self._shards.set(shards)
        await self._pages.serve(address, port, probe_port=probe_port, unhealthy=unhealthy, unready=unready)

    async def close(self) -> None:
        """Stop answering."""
        await self._pages.close()


def _left_gauge(registry: CollectorRegistry) -> Gauge:
    return Gauge(
        "heartbeat_tuner_namespaces_left",
        "Namespaces that the last pass left to another installation of the operator, by why that one owns them.",
        ["why"],
        registry=registry,
    )
