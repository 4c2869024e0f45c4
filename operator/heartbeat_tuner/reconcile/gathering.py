"""One `Situation` per policy, read in batches.

Metrics are read for all policies at once (`metrics_reading`), groups once per cluster; workloads one by one, a few at
a time.
What cannot be read becomes a value: a `Finding` where the policy names something that is not there, an `Unknown`
record where metrics are. A failure costs only the policies it concerns.
"""

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.domain.errors import ApiServerError, ClusterUnreachableError
from heartbeat_tuner.domain.evidence import Cluster, Group, MissingWorkload, Record, Unknown, UnreadableGroup, Workload
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.metrics import record, resolver
from heartbeat_tuner.metrics.conventions import custom
from heartbeat_tuner.metrics.record import Watched
from heartbeat_tuner.metrics.resolver import ClientKey, GroupKey
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.ports import Clock, Groups, MetricsSource, Workloads
from heartbeat_tuner.reconcile import mapped, own_client_ids, reading_plan, sightings
from heartbeat_tuner.reconcile.metrics_reading import MetricsReader
from heartbeat_tuner.reconcile.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.outcomes import Surprise
from heartbeat_tuner.reconcile.reading_plan import RECORD_WINDOW
from heartbeat_tuner.reconcile.sightings import Ledger

CONCURRENT_READS: Final = 10

Gathered = Situation | Finding | Surprise


@dataclasses.dataclass(frozen=True, slots=True)
class _KafkaView:
    """What one cluster answered in this cycle."""

    cluster: Cluster
    groups: Mapping[str, Group | UnreadableGroup | None]


class Gatherer:
    """Reads everything that one cycle needs; remembers what no single look can show: samples, and member ids."""

    def __init__(
        self, *, metrics: MetricsSource, groups: Groups, workloads: Workloads, models: ModelShelf, clock: Clock
    ) -> None:
        self._metrics = metrics
        self._reader = MetricsReader(metrics)
        self._mapped: Mapping[ObjectKey, mapped.Read] = {}
        self._groups = groups
        self._workloads = workloads
        self._models = models
        self._clock = clock
        self._ledgers: dict[ObjectKey, Ledger] = {}
        self._settled: dict[ObjectKey, Group] = {}
        self._own_ids: Mapping[ClientKey, GroupKey] = {}
        self.workloads: Mapping[ObjectKey, Workload | Finding | Surprise] = {}
        """Of each policy that was looked at last, or why it could not be read; the rest may hide behind a finding."""

    async def gather(self, policies: Sequence[Policy]) -> dict[ObjectKey, Gathered]:
        """Return a situation per policy, or why there is none."""
        kafka, workloads = await asyncio.gather(self._read_kafka(policies), self._read_workloads(policies))
        self.workloads = workloads
        # Before the metrics: where a client.id names no group, the broker says whose it is.
        self._own_ids = own_client_ids.observe(self._own_ids, _looks(policies, kafka, workloads))
        read_at = self._clock.now()  # what comes later was not read, however long reading takes
        surprise = await self._read_metrics(policies, now=read_at)
        self._ledgers = {policy.key: self._ledgers.get(policy.key, Ledger()) for policy in policies}
        self._settled = {one.key: self._settled[one.key] for one in policies if one.key in self._settled}
        found: dict[ObjectKey, Gathered] = {}
        for policy in policies:
            found[policy.key] = self._gathered(
                policy, workloads[policy.key], kafka[policy.cluster], surprise, read_at=read_at
            )
            await asyncio.sleep(0)  # hundreds of records take seconds, and the lease has to be renewed meanwhile
        return found

    def _gathered(
        self,
        policy: Policy,
        workload: Workload | Finding | Surprise,
        kafka: _KafkaView | Finding | Surprise,
        surprise: Surprise | None,
        *,
        read_at: datetime,
    ) -> Gathered:
        if isinstance(workload, Surprise):
            return workload
        if isinstance(kafka, Surprise):
            return kafka
        if surprise is not None:
            return surprise
        try:
            return self._situation(policy, workload, kafka, read_at=read_at)
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return Surprise(error)

    def _situation(
        self, policy: Policy, workload: Workload | Finding, kafka: _KafkaView | Finding, *, read_at: datetime
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
            self._ledgers[policy.key], workload.pods, group.members, now=read_at, keep_since=read_at - RECORD_WINDOW
        )
        self._ledgers[policy.key] = ledger
        policy = dataclasses.replace(policy, application=_last_application(policy, workload))
        if workload.current is not None:
            workload = dataclasses.replace(workload, current=group.prescribed(workload.current))
        if group.partitions:
            self._settled[policy.key] = group
        return Situation(
            now,
            policy,
            workload,
            group,
            kafka.cluster,
            self._record(policy, workload, ledger, now=read_at),
            self._models.of(policy, now=now),
            self._settled.get(policy.key),
        )

    def _record(self, policy: Policy, workload: Workload, ledger: Ledger, *, now: datetime) -> Record | Unknown:
        """Return the record since the newest pod's start or our last change, whichever is later, as far as was read."""
        maps = policy.naming.maps
        found = self._mapped[policy.key] if maps else self._reader.of(policy)
        if isinstance(found, Unknown):
            return found
        candidates = tuple(found) if maps else custom.of_policy(policy.naming, policy.library)
        read_since = now - RECORD_WINDOW if maps else self._reader.since(policy)
        starts = [pod.started for pod in workload.pods]
        changes = [policy.application.at] if policy.application is not None else []
        current = workload.current
        watched = Watched(
            policy=policy,
            pods=workload.pods,
            poll_limit=None if current is None else current.settings.max_poll_interval,
            changes=ledger.changes,
            since=max([now - RECORD_WINDOW, read_since, *starts, *changes]),
            now=now,
        )
        convention, observed = resolver.followed(found, candidates)
        return record.measure(watched, observed, convention, query=lambda quantity: _tried(quantity, policy))

    async def _read_metrics(self, policies: Sequence[Policy], *, now: datetime) -> Surprise | None:
        try:
            usual = [policy for policy in policies if not policy.naming.maps]
            await self._reader.read(usual, now=now, own_ids=self._own_ids)
            self._mapped = await mapped.read(self._metrics, policies, at=now)
        except Exception as error:  # noqa: BLE001 - a surprise must not end the cycle
            return Surprise(error)
        return None

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


def _tried(quantity: Quantity, policy: Policy) -> str:
    return mapped.query([policy]) if policy.naming.maps else reading_plan.whole_query(quantity, policy)


def _looks(
    policies: Sequence[Policy],
    kafka: Mapping[str, _KafkaView | Finding | Surprise],
    workloads: Mapping[ObjectKey, Workload | Finding | Surprise],
) -> Iterator[own_client_ids.Look]:
    """Yield what is seen of each policy's group: its pods, and its members if the broker shows them."""
    for policy in policies:
        workload, view = workloads[policy.key], kafka[policy.cluster]
        group = view.groups.get(policy.group_id) if isinstance(view, _KafkaView) else None
        pods = workload.pods if isinstance(workload, Workload) else None
        yield (policy.key.namespace, policy.group_id), pods, group.members if isinstance(group, Group) else ()


def _last_application(policy: Policy, workload: Workload) -> Application | None:
    """Return our last write to the policy's container of this very object, from its own note or from the status.

    Either may be the newer: the status may not have been written, and the note may be gone with a replaced manifest.
    A container of another name has not been written to: it was made, or renamed, by a rollout of the owner's.
    """
    container = policy.workload.container
    noted = (policy.application, workload.applications.get(container))
    ours = [
        one
        for one in noted
        if one is not None and one.workload_uid == workload.uid and one.container in {"", container}
    ]
    return max(ours, key=lambda one: one.at, default=None)
