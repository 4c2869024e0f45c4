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
from heartbeat_tuner.domain.evidence import (
    Cluster,
    Group,
    MissingWorkload,
    Record,
    Situation,
    Unknown,
    UnreadableGroup,
    Workload,
)
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.metrics import queries, record, resolver
from heartbeat_tuner.metrics.conventions import catalogue, custom
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.record import Watched
from heartbeat_tuner.metrics.resolver import GroupKey, Observed
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.ports import Clock, Groups, MetricsSource, Workloads
from heartbeat_tuner.reconcile import mapped, sightings
from heartbeat_tuner.reconcile.outcomes import Surprise
from heartbeat_tuner.reconcile.sightings import Ledger

RECORD_WINDOW: Final = timedelta(hours=1)
"""How far back the record reaches at most."""

BASELINE_MARGIN: Final = timedelta(minutes=5)
"""Read this much more, so that counters have a sample before the window."""

CONCURRENT_READS: Final = 10

Gathered = Situation | Finding | Surprise


READ: Final = (
    Quantity.HEARTBEATS,
    Quantity.HEARTBEAT_REQUESTS,
    Quantity.REBALANCE_NOTICES,
    Quantity.FAILED_REBALANCES,
    Quantity.JOIN_ANSWERS,
    Quantity.POLL_GAP_MAX,
    Quantity.POLL_AGE,
    Quantity.REBALANCES,
    Quantity.REBALANCE_TIME,
)
"""What a record is made of, in the order in which it is read and told."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Series:
    """What Prometheus has: by group, and apart for the policies that map names or labels."""

    groups: Mapping[GroupKey, Mapping[Convention, Observed]]
    own: Mapping[ObjectKey, mapped.Read]

    def of(self, policy: Policy) -> mapped.Read:
        """Return the series of one policy, by convention."""
        place = (policy.key.namespace, policy.group_id)
        return self.own[policy.key] if policy.naming.maps else self.groups.get(place, {})


@dataclasses.dataclass(frozen=True, slots=True)
class _Refusal:
    """Prometheus did not answer the query that reads a quantity of all groups."""

    quantity: Quantity
    query: str
    error: MetricsUnavailableError

    def told_to(self, policy: Policy) -> Unknown:
        """Return it for one policy: its own query, since others' names are not its business and would not fit."""
        reason = Reason.PARTIAL_DATA if self.error.partial else Reason.PROMETHEUS_UNREACHABLE
        return Unknown(reason, str(self.error).replace(self.query, _query(self.quantity, [policy])))


@dataclasses.dataclass(frozen=True, slots=True)
class _KafkaView:
    """What one cluster answered in this cycle."""

    cluster: Cluster
    groups: Mapping[str, Group | UnreadableGroup | None]


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
        found: dict[ObjectKey, Gathered] = {}
        for policy in policies:
            found[policy.key] = self._gathered(policy, workloads[policy.key], kafka[policy.cluster], metrics)
            await asyncio.sleep(0)  # hundreds of records take seconds, and the lease has to be renewed meanwhile
        return found

    def _gathered(
        self,
        policy: Policy,
        workload: Workload | Finding | Surprise,
        kafka: _KafkaView | Finding | Surprise,
        series: _Series | _Refusal | Surprise,
    ) -> Gathered:
        if isinstance(workload, Surprise):
            return workload
        if isinstance(kafka, Surprise):
            return kafka
        if isinstance(series, Surprise):
            return series
        try:
            return self._situation(policy, workload, kafka, series)
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return Surprise(error)

    def _situation(
        self,
        policy: Policy,
        workload: Workload | Finding,
        kafka: _KafkaView | Finding,
        metrics: _Series | _Refusal,
    ) -> Situation | Finding:
        if isinstance(workload, Finding):
            return workload
        if isinstance(kafka, Finding):
            return kafka
        group = kafka.groups[policy.group_id]
        if group is None:
            sentence = f"Kafka cluster {policy.cluster} knows no consumer group {policy.group_id}"
            return Finding(Reason.GROUP_NOT_FOUND, sentence)
        if isinstance(group, UnreadableGroup):
            return Finding(Reason.GROUP_UNREADABLE, group.message)
        now = self._clock.now()
        ledger = sightings.observe(
            self._ledgers[policy.key], workload.pods, group.members, now=now, keep_since=now - RECORD_WINDOW
        )
        self._ledgers[policy.key] = ledger
        policy = dataclasses.replace(policy, application=_last_application(policy, workload))
        if workload.current is not None:
            workload = dataclasses.replace(workload, current=group.prescribed(workload.current))
        record = _record(policy, workload, ledger, metrics, now=now)
        return Situation(now, policy, workload, group, kafka.cluster, record)

    async def _read_metrics(self, policies: Sequence[Policy]) -> _Series | _Refusal | Surprise:
        """Return what is known of all those policies' groups: one query per quantity, whatever it is called."""
        now = self._clock.now()

        async def ask(quantity: Quantity) -> Sequence[Series] | _Refusal | Surprise:
            query = _query(quantity, policies)
            try:
                return await self._metrics.instant(query, at=now)
            except MetricsUnavailableError as error:
                return _Refusal(quantity, query, error)
            except Exception as error:  # noqa: BLE001 - likewise
                return Surprise(error)

        own = await mapped.read(self._metrics, policies, at=now, window=RECORD_WINDOW + BASELINE_MARGIN)
        policies = [policy for policy in policies if policy.key not in own]
        libraries = {policy.library for policy in policies}
        asked = [one for one in READ if any(catalogue.names(catalogue.of_library(name), one) for name in libraries)]
        answers = await asyncio.gather(*map(ask, asked))
        # Which query fails first is chance; which one is told must not be, or the status would change with it.
        for answer in answers:
            if isinstance(answer, _Refusal | Surprise):
                return answer
        found = [one for answer in answers if not isinstance(answer, _Refusal | Surprise) for one in answer]
        groups = {(policy.key.namespace, policy.group_id) for policy in policies}
        return _Series(resolver.by_group(found, catalogue.CONVENTIONS, groups), own)

    async def _read_kafka(self, policies: Sequence[Policy]) -> dict[str, _KafkaView | Finding | Surprise]:
        wanted: dict[str, list[str]] = {}
        for policy in policies:
            wanted.setdefault(policy.cluster, []).append(policy.group_id)
        views = await asyncio.gather(*(self._read_cluster(name, sorted(set(ids))) for name, ids in wanted.items()))
        return dict(zip(wanted, views, strict=True))

    async def _read_cluster(self, name: str, group_ids: Sequence[str]) -> _KafkaView | Finding | Surprise:
        if not self._groups.configured(name):
            sentence = f"clusterRef {name!r} names no Kafka cluster of the operator's configuration"
            return Finding(Reason.CLUSTER_NOT_CONFIGURED, sentence)
        try:
            # One after the other, so that an outage is always told in the words of the same request.
            groups = await self._groups.describe(name, group_ids)
            cluster = await self._groups.cluster(name)
        except ClusterUnreachableError as error:
            return Finding(Reason.CLUSTER_UNREACHABLE, str(error))
        except Exception as error:  # noqa: BLE001 - one cluster's surprise is not the others' loss
            return Surprise(error)
        return _KafkaView(cluster, groups)

    async def _read_workloads(self, policies: Sequence[Policy]) -> dict[ObjectKey, Workload | Finding | Surprise]:
        limit = asyncio.Semaphore(CONCURRENT_READS)

        async def read(policy: Policy) -> Workload | Finding | Surprise:
            async with limit:
                try:
                    workload = await self._workloads.read(policy)
                except ApiServerError as error:
                    return Finding(Reason.API_SERVER_ERROR, str(error))
                except Exception as error:  # noqa: BLE001 - likewise
                    return Surprise(error)
            if isinstance(workload, MissingWorkload):
                return Finding(workload.reason, workload.message)
            return workload

        found = await asyncio.gather(*(read(policy) for policy in policies))
        return {policy.key: workload for policy, workload in zip(policies, found, strict=True)}


def _last_application(policy: Policy, workload: Workload) -> Application | None:
    """Return our last write to the policy's container of this very object, from its own note or from the status.

    Either may be the newer: the status may not have been written, and the note may be gone with a replaced manifest.
    """
    noted = (policy.application, workload.applications.get(policy.workload.container))
    ours = [one for one in noted if one is not None and one.workload_uid == workload.uid]
    return max(ours, key=lambda one: one.at, default=None)


def _record(
    policy: Policy, workload: Workload, ledger: Ledger, metrics: _Series | _Refusal, *, now: datetime
) -> Record | Unknown:
    """Return the record since the newest pod's start or our last change, whichever is later."""
    if isinstance(metrics, _Refusal):
        return metrics.told_to(policy)
    starts = [pod.started for pod in workload.pods]
    changes = [policy.application.at] if policy.application is not None else []
    current = workload.current
    watched = Watched(
        policy=policy,
        pods=workload.pods,
        poll_limit=None if current is None else current.settings.max_poll_interval,
        changes=ledger.changes,
        since=max([now - RECORD_WINDOW, *starts, *changes]),
        now=now,
    )
    mine = metrics.of(policy)
    if isinstance(mine, Unknown):
        return mine
    candidates = tuple(mine) if policy.naming.maps else custom.of_policy(policy.naming, policy.library)
    convention, observed = resolver.followed(mine, candidates)
    return record.measure(watched, observed, convention, query=lambda quantity: _query(quantity, [policy]))


def _query(quantity: Quantity, policies: Sequence[Policy]) -> str:
    """Return the query that reads a quantity of these policies' groups, by all names that their libraries may give."""
    if policies[0].naming.maps:  # it is told alone
        return mapped.query(policies, window=RECORD_WINDOW + BASELINE_MARGIN)
    libraries = {policy.library for policy in policies}
    conventions = [convention for name in libraries for convention in catalogue.of_library(name)]
    return queries.raw(
        catalogue.names(conventions, quantity),
        namespaces={policy.key.namespace for policy in policies},
        window=RECORD_WINDOW + BASELINE_MARGIN,
        matchers=catalogue.matchers(conventions, quantity),
    )
