"""One `Situation` per policy, read in batches.

Metrics are read once per signal for all policies, groups once per cluster; workloads one by one, a few at a time.
What cannot be read becomes a value: a `Finding` where the policy names something that is not there, an `Unknown`
record where metrics are. A failure costs only the policies it concerns.
"""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.errors import ApiServerError, ClusterUnreachableError, MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Cluster, Group, MissingWorkload, Record, Situation, Unknown, Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.metrics import quantities, signals
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.signals import Signal
from heartbeat_tuner.ports import Clock, Groups, MetricsSource, Workloads
from heartbeat_tuner.reconcile import sightings
from heartbeat_tuner.reconcile.sightings import Ledger

RECORD_WINDOW: Final = timedelta(hours=1)
"""How far back the record reaches at most."""

BASELINE_MARGIN: Final = timedelta(minutes=5)
"""Read this much more, so that counters have a sample before the window."""

CONCURRENT_READS: Final = 10

Gathered = Situation | Finding


@dataclasses.dataclass(frozen=True, slots=True)
class _Metrics:
    """What Prometheus answered in this cycle."""

    found: quantities.Samples
    queries: Mapping[Signal, str]


@dataclasses.dataclass(frozen=True, slots=True)
class _KafkaView:
    """What one cluster answered in this cycle."""

    cluster: Cluster
    groups: Mapping[str, Group | None]


class Gatherer:
    """Reads everything that one cycle needs; remembers only member ids, which no single look can show."""

    def __init__(self, *, metrics: MetricsSource, groups: Groups, workloads: Workloads, clock: Clock) -> None:
        self._metrics = metrics
        self._groups = groups
        self._workloads = workloads
        self._clock = clock
        self._ledgers: dict[ObjectKey, Ledger] = {}

    async def gather(self, policies: Sequence[Policy]) -> dict[ObjectKey, Gathered]:
        """Return a situation per policy, or why there is none."""
        if not policies:
            return {}
        metrics, kafka, workloads = await asyncio.gather(
            self._read_metrics(policies), self._read_kafka(policies), self._read_workloads(policies)
        )
        self._ledgers = {policy.key: self._ledgers.get(policy.key, Ledger()) for policy in policies}
        return {
            policy.key: self._situation(policy, workloads[policy.key], kafka[policy.cluster], metrics)
            for policy in policies
        }

    def _situation(
        self, policy: Policy, workload: Workload | Finding, kafka: _KafkaView | Finding, metrics: _Metrics | Unknown
    ) -> Gathered:
        if isinstance(workload, Finding):
            return workload
        if isinstance(kafka, Finding):
            return kafka
        group = kafka.groups[policy.group_id]
        if group is None:
            sentence = f"Kafka cluster {policy.cluster} knows no consumer group {policy.group_id}"
            return Finding(Reason.GROUP_NOT_FOUND, sentence)
        now = self._clock.now()
        ledger = sightings.observe(
            self._ledgers[policy.key], workload.pods, group.members, now=now, keep_since=now - RECORD_WINDOW
        )
        self._ledgers[policy.key] = ledger
        record = _record(policy, workload, ledger, metrics, now=now)
        return Situation(now, policy, workload, group, kafka.cluster, record)

    async def _read_metrics(self, policies: Sequence[Policy]) -> _Metrics | Unknown:
        queries = {
            signal: signals.query(
                signal,
                namespaces={policy.key.namespace for policy in policies},
                group_ids={policy.group_id for policy in policies},
                window=RECORD_WINDOW + BASELINE_MARGIN,
            )
            for signal in signals.SIGNALS
        }
        now = self._clock.now()
        try:
            answers: list[Sequence[Series]] = await asyncio.gather(
                *(self._metrics.instant(query, at=now) for query in queries.values())
            )
        except MetricsUnavailableError as error:
            reason = Reason.PARTIAL_DATA if error.partial else Reason.PROMETHEUS_UNREACHABLE
            return Unknown(reason, str(error))
        return _Metrics(dict(zip(queries, answers, strict=True)), queries)

    async def _read_kafka(self, policies: Sequence[Policy]) -> dict[str, _KafkaView | Finding]:
        wanted: dict[str, list[str]] = {}
        for policy in policies:
            wanted.setdefault(policy.cluster, []).append(policy.group_id)
        views = await asyncio.gather(*(self._read_cluster(name, sorted(set(ids))) for name, ids in wanted.items()))
        return dict(zip(wanted, views, strict=True))

    async def _read_cluster(self, name: str, group_ids: Sequence[str]) -> _KafkaView | Finding:
        if not self._groups.configured(name):
            sentence = f"clusterRef {name!r} names no Kafka cluster of the operator's configuration"
            return Finding(Reason.CLUSTER_NOT_CONFIGURED, sentence)
        try:
            cluster, groups = await asyncio.gather(self._groups.cluster(name), self._groups.describe(name, group_ids))
        except ClusterUnreachableError as error:
            return Finding(Reason.CLUSTER_UNREACHABLE, str(error))
        return _KafkaView(cluster, groups)

    async def _read_workloads(self, policies: Sequence[Policy]) -> dict[ObjectKey, Workload | Finding]:
        limit = asyncio.Semaphore(CONCURRENT_READS)

        async def read(policy: Policy) -> Workload | Finding:
            async with limit:
                try:
                    workload = await self._workloads.read(policy)
                except ApiServerError as error:
                    return Finding(Reason.API_SERVER_ERROR, str(error))
            if isinstance(workload, MissingWorkload):
                return Finding(workload.reason, workload.message)
            return workload

        found = await asyncio.gather(*(read(policy) for policy in policies))
        return {policy.key: workload for policy, workload in zip(policies, found, strict=True)}


def _record(
    policy: Policy, workload: Workload, ledger: Ledger, metrics: _Metrics | Unknown, *, now: datetime
) -> Record | Unknown:
    """Return the record since the newest pod's start or our last change, whichever is later."""
    if isinstance(metrics, Unknown):
        return metrics
    starts = [pod.started for pod in workload.pods]
    changes = [policy.application.at] if policy.application is not None else []
    since = max([now - RECORD_WINDOW, *starts, *changes])
    return quantities.measure(
        policy,
        workload.pods,
        metrics.found,
        since=since,
        now=now,
        changed_member_ids=ledger.changes_since(since),
        queries=metrics.queries,
    )
