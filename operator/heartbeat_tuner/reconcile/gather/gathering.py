"""One `DecisionInput` per policy, read in batches.

Metrics are read for all policies at once (`metrics_reading`), beside them groups, as far as they are not known from
between cycles (`group_looks`); workloads are looked up in a view that watches keep up to date.
What cannot be read becomes a value: a `Finding` where the policy names something that is not there, an `Unknown`
record where metrics are. A failure costs only the policies it concerns.
"""

import asyncio
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

import structlog

from heartbeat_tuner.decision.gates import taken_back
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.errors import ApiServerError, ClusterUnreachableError, WriteConflictError
from heartbeat_tuner.domain.evidence import Holdings, MissingWorkload, Record, Unknown, Workload
from heartbeat_tuner.domain.grants import Grants
from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.limits import plausibility
from heartbeat_tuner.metrics import record
from heartbeat_tuner.metrics.conventions import custom
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.resolver import NO_OWN_IDS, ClientKey, GroupKey
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.ports.kubernetes_workloads import WorkloadViews
from heartbeat_tuner.ports.metrics_source import MetricsSource
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile.gather import foreign_members, member_ids, own_client_ids, owners, unread
from heartbeat_tuner.reconcile.gather.foreign_members import ForeignMembers
from heartbeat_tuner.reconcile.gather.group_looks import GroupLooks, Sleep
from heartbeat_tuner.reconcile.gather.looks import ClusterLook, Look
from heartbeat_tuner.reconcile.gather.member_ids import Ledger
from heartbeat_tuner.reconcile.gather.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.gather.owners import Owners, Shown
from heartbeat_tuner.reconcile.gather.resting import CycleView, Resting
from heartbeat_tuner.reconcile.gather.unread import LastRead
from heartbeat_tuner.reconcile.liveness.progress import Moved, MovingMetrics, nobody_looks
from heartbeat_tuner.reconcile.liveness.turns import Turns
from heartbeat_tuner.reconcile.outcomes import NotRead, UnexpectedFailure
from heartbeat_tuner.reconcile.series import mapped, reading_plan
from heartbeat_tuner.reconcile.series.metrics_reading import MetricsReader
from heartbeat_tuner.reconcile.series.reading_plan import RECORD_WINDOW

STRANGERS_KEPT: Final = timedelta(minutes=15)
"""How long a foreign member is remembered after it was last seen; if it still disturbs the group, it shows by then."""

LOOKS_AGAIN: Final = 5
LOOK_AGAIN_AFTER_S: Final = 1.0
"""Together as long as KafkaJS waits for a fetch by default: in a storm each member joins once in that time."""

MOST_LOOKED_AT_AGAIN: Final = 100
"""Groups in one cycle: more would cost the brokers, and the others' decisions, too much."""

Gathered = DecisionInput | Finding | NotRead | UnexpectedFailure

_log = structlog.get_logger()


class Gatherer:
    """Reads everything that one cycle needs; remembers what no single look can show: samples, and member ids."""

    def __init__(
        self,
        *,
        metrics: MetricsSource,
        groups: GroupLooks,
        workloads: WorkloadViews,
        models: ModelShelf,
        clock: Clock,
        sleep: Sleep,
        grants: Grants = MappingProxyType({}),
        moved: Moved = nobody_looks,
    ) -> None:
        self.moved = moved
        """Called whenever an answer was read, or a policy's input was put together."""
        self._metrics = MovingMetrics(metrics, moved)
        self._reader = MetricsReader(self._metrics)
        self._mapped: Mapping[ObjectKey, mapped.Read] = {}
        self._groups = groups
        self._workloads = workloads
        self._models = models
        self._clock = clock
        self._sleep = sleep
        self._owners = Owners(grants)
        self._ledgers: dict[ObjectKey, Ledger] = {}
        self._settled: dict[ObjectKey, Group] = {}
        self._last_reads: dict[ObjectKey, LastRead] = {}
        self._strangers: dict[ObjectKey, ForeignMembers] = {}
        self._own_ids: Mapping[ClientKey, GroupKey] | None = None
        self._turns = Turns()
        self._resting = Resting[DecisionInput]()
        self.workloads: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure] = {}
        """Of each policy that was looked at last, or why it could not be read; the rest may hide behind a finding."""
        self.holdings: dict[ObjectKey, Holdings] = {}
        """What of ours stands in the workloads of these policies, those too whose settings cannot be read."""
        self.seen: Mapping[ObjectKey, Policy] = {}
        """The policies whose workload was seen, with what was last applied to it and what of it was taken back."""

    async def gather(
        self, policies: Sequence[Policy], *, healthy: Collection[ObjectKey] = ()
    ) -> dict[ObjectKey, Gathered]:
        """Return what a decision rests on for each policy, or why there is nothing.

        Args:
            policies: all of them.
            healthy: those that may rest: all is well with what is set, by the decision of the cycle before. The same
                input as then is returned of one that rests.
        """
        before, self.holdings = self.workloads, {}
        self.workloads = workloads = await self._read_workloads(policies)
        if self._own_ids is None:
            # Before the metrics: where a client.id names no group, the broker says whose it is. Later the ids of the
            # cycle before do; the series of a new one are read again a cycle later.
            kafka, shown = await self._look(policies, workloads, before)
            read_at = self._clock.now()  # what comes later was not read, however long reading takes
            failure = await self._read_metrics(policies, now=read_at)
        else:
            read_at = self._clock.now()
            async with asyncio.TaskGroup() as reading:
                looking = reading.create_task(self._look(policies, workloads, before))
                measuring = reading.create_task(self._read_metrics(policies, now=read_at))
            (kafka, shown), failure = looking.result(), measuring.result()
        self._ledgers = {policy.key: self._ledgers.get(policy.key, Ledger()) for policy in policies}
        self._strangers = {policy.key: self._strangers.get(policy.key, ForeignMembers()) for policy in policies}
        self._settled = {policy.key: self._settled[policy.key] for policy in policies if policy.key in self._settled}
        self._last_reads = {
            policy.key: self._last_reads[policy.key] for policy in policies if policy.key in self._last_reads
        }
        self._resting.begin(self._ledgers.keys(), healthy)
        gathered: dict[ObjectKey, Gathered] = {}
        for policy in policies:
            gathered[policy.key] = self._gathered(
                policy, workloads[policy.key], kafka[policy.cluster], failure, shown, read_at=read_at
            )
            self.moved()
            await self._turns.give()  # thousands of records take seconds, and probes have to be answered meanwhile
        return gathered

    async def _look(
        self,
        policies: Sequence[Policy],
        workloads: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure],
        before: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure],
    ) -> tuple[Mapping[str, ClusterLook | Finding | UnexpectedFailure], Shown]:
        """Look at the groups; return what is seen of them, and what of it each policy is shown.

        Args:
            policies: that name them.
            workloads: of each policy.
            before: in the cycle before.
        """
        kafka = await self._read_kafka(policies, changed=frozenset(_with_other_pods(workloads, before)))
        await self._look_again(policies, kafka, workloads)
        now = self._clock.now()
        shown = await self._owners.seen(policies, _described(policies, kafka, workloads), self._turns)
        seen: dict[ObjectKey, Policy] = {}
        for policy in policies:
            held = self.holdings.get(policy.key)
            if held is not None:
                seen[policy.key] = taken_back.seen(policy, held, now=now)
                await self._turns.give()
        self.seen = seen
        ids = own_client_ids.ClientIdObservation(self._own_ids or {})
        for look in _looks(policies, shown, workloads):
            ids.add(look)
            await self._turns.give()
        self._own_ids = ids.settled()
        return kafka, shown

    async def as_of_now(self, inputs: DecisionInput) -> Group:
        """Return the group of a decision's input as it was seen a few seconds ago at most.

        Raises:
            WriteConflictError: it cannot be seen any more.
        """
        policy = inputs.policy
        if not inputs.workload.pods:
            return inputs.group  # it may be another than Kafka's, of which the policy is shown nothing
        try:
            look = await self._groups.at(policy.cluster).look_lately(policy.group_id)
        except ClusterUnreachableError as error:
            raise WriteConflictError(f"group {policy.group_id} could not be looked at again: {error}") from error
        if not isinstance(look.group, Group):
            raise WriteConflictError(f"group {policy.group_id} is not described any more")
        return look.group

    @property
    def oldest_look_s(self) -> float:
        """The age of the oldest description of a group; 0 if there is none."""
        return self._groups.oldest_s

    def _gathered(
        self,
        policy: Policy,
        workload: Workload | Finding | UnexpectedFailure,
        kafka: ClusterLook | Finding | UnexpectedFailure,
        failure: UnexpectedFailure | None,
        shown: Shown,
        *,
        read_at: datetime,
    ) -> Gathered:
        if isinstance(workload, UnexpectedFailure):
            return workload
        if isinstance(kafka, UnexpectedFailure):
            return kafka
        if failure is not None:
            return failure
        try:
            return self._input(policy, workload, kafka, shown, read_at=read_at)
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return UnexpectedFailure(error)

    def _input(
        self,
        policy: Policy,
        workload: Workload | Finding,
        kafka: ClusterLook | Finding,
        shown: Shown,
        *,
        read_at: datetime,
    ) -> DecisionInput | Finding | NotRead:
        if isinstance(workload, Finding):
            return workload
        if isinstance(kafka, Finding):
            return kafka
        now = self._clock.now()
        is_left = unread.is_unread(shown[policy.key]) and self._is_passed_over(policy, now)
        group = NotRead() if is_left else _group(policy, shown)
        if isinstance(group, Finding | NotRead):
            return group
        looked_at = kafka.groups[policy.group_id].at
        seen = CycleView(
            policy=self.seen.get(policy.key, policy),
            workload=workload,
            group=group,
            cluster=kafka.cluster,
            model=self._models.of(policy, now=now),
            ownership=self._owners.noted(policy),
        )
        resting = self._rests(policy, seen, now=now)
        if resting is not None:
            self._last_reads[policy.key] = LastRead(looked_at)
            return resting
        whole = self._whole(policy, seen, looked_at=looked_at, read_at=read_at, now=now)
        if isinstance(whole, DecisionInput) and isinstance(whole.record, Record):
            self._resting.found(policy.key, seen, whole)
        return whole

    def _rests(self, policy: Policy, seen: CycleView, *, now: datetime) -> DecisionInput | None:
        """Return the input of the cycle before, if it may stand; else it is forgotten."""
        stands_still = not policy.naming.maps and self._reader.stands_still(policy)
        before = self._resting.before(policy.key, seen, now=now) if stands_still else None
        if before is None:
            self._resting.forget(policy.key)
        return before

    def _whole(
        self, policy: Policy, seen: CycleView, *, looked_at: datetime, read_at: datetime, now: datetime
    ) -> DecisionInput | Finding | NotRead:
        """Return the input after a look at all that there is of a group.

        Args:
            policy: as it was parsed.
            seen: what is at hand.
            looked_at: when the group was.
            read_at: when its metrics were.
            now: the time.
        """
        workload, group = seen.workload, seen.group
        ledger = member_ids.observe(
            self._ledgers[policy.key],
            _as_of(workload, looked_at).pods,
            group.members,
            now=looked_at,
            keep_since=looked_at - RECORD_WINDOW,
        )
        self._ledgers[policy.key] = ledger
        self._strangers[policy.key] = foreign_members.observe(
            self._strangers[policy.key],
            workload.pods,
            group.members,
            now=looked_at,
            keep_since=looked_at - STRANGERS_KEPT,
        )
        application = taken_back.last_application(policy, workload.uid, workload.applications)
        policy = self.seen.get(policy.key, dataclasses.replace(policy, application=application))
        if workload.current is not None:
            misread = plausibility.unreadable(policy, workload.current, group, seen.cluster)
            if misread is not None:
                return misread
            workload = dataclasses.replace(workload, current=group.prescribed(workload.current))
        if group.partitions:
            self._settled[policy.key] = group
        measured = self._record(policy, workload, ledger, now=read_at)
        if not unread.is_left_over(measured):
            self._last_reads[policy.key] = LastRead(looked_at)
        elif self._is_passed_over(policy, now):
            return NotRead()
        return DecisionInput(
            now,
            policy,
            workload,
            group,
            seen.cluster,
            measured,
            seen.model,
            self._settled.get(policy.key),
            ownership=seen.ownership,
            strangers=self._strangers[policy.key].members,
        )

    def _is_passed_over(self, policy: Policy, now: datetime) -> bool:
        """Note that this cycle did not reach a policy's group; return whether its status stands all the same."""
        last = unread.missed(self._last_reads.get(policy.key), now=now)
        self._last_reads[policy.key] = last
        return unread.keeps(policy, last, now=now)

    def _record(self, policy: Policy, workload: Workload, ledger: Ledger, *, now: datetime) -> Record | Unknown:
        """Return the record since the newest pod's start or our last change, whichever is later, as far as was read."""
        maps = policy.naming.maps
        unknown = self._mapped[policy.key] if maps else self._reader.of(policy)
        if isinstance(unknown, Unknown):
            return unknown
        candidates = tuple(unknown) if maps else custom.of_policy(policy.naming, policy.library)
        read_since = now - RECORD_WINDOW if maps else self._reader.since(policy)
        starts = [pod.started for pod in workload.pods]
        changes = [policy.application.at] if policy.application is not None else []
        current = workload.current
        watched = RecordScope(
            policy=policy,
            pods=workload.pods,
            poll_limit=None if current is None else current.settings.max_poll_interval,
            changes=ledger.changes,
            since=max([now - RECORD_WINDOW, read_since, *starts, *changes]),
            now=now,
        )
        convention, observed = resolver.followed(unknown, candidates)
        return record.measure(watched, observed, convention, query=lambda quantity: _tried(quantity, policy))

    async def _read_metrics(self, policies: Sequence[Policy], *, now: datetime) -> UnexpectedFailure | None:
        try:
            usual = [policy for policy in policies if not policy.naming.maps]
            await self._reader.read(usual, now=now, own_ids=self._own_ids or NO_OWN_IDS)
            self._mapped = await mapped.read(self._metrics, policies, at=now)
        except Exception as error:  # noqa: BLE001 - a surprise must not end the cycle
            return UnexpectedFailure(error)
        return None

    async def _read_kafka(
        self, policies: Sequence[Policy], *, changed: Collection[ObjectKey]
    ) -> dict[str, ClusterLook | Finding | UnexpectedFailure]:
        wanted = _by_cluster(policies)
        first = _by_cluster([policy for policy in policies if policy.key in changed])
        await self._groups.want(wanted)
        views = await asyncio.gather(
            *(self._read_cluster(name, ids, first.get(name, ())) for name, ids in wanted.items())
        )
        return dict(zip(wanted, views, strict=True))

    async def _read_cluster(
        self, name: str, group_ids: Sequence[str], first: Sequence[str]
    ) -> ClusterLook | Finding | UnexpectedFailure:
        if not self._groups.configured(name):
            phrase = "clusterRef {cluster} names no Kafka cluster of the operator's configuration"
            return Finding(Reason.CLUSTER_NOT_CONFIGURED, say(phrase, cluster=repr(name)))
        try:
            return await self._groups.at(name).look(group_ids, first=first)
        except ClusterUnreachableError as error:
            return Finding(Reason.CLUSTER_UNREACHABLE, str(error))
        except Exception as error:  # noqa: BLE001 - one cluster's surprise is not the others' loss
            return UnexpectedFailure(error)
        finally:
            self.moved()

    async def _look_again(
        self,
        policies: Sequence[Policy],
        kafka: dict[str, ClusterLook | Finding | UnexpectedFailure],
        workloads: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure],
    ) -> None:
        """Look a few times more for members of groups that none was seen of, and replace these groups in `kafka`.

        A group in a storm has members for a second in five: one look finds none as often as not.
        """
        for _ in range(LOOKS_AGAIN):
            described = _described(policies, kafka, workloads)
            missing = await self._owners.missing(described, self._turns, most=MOST_LOOKED_AT_AGAIN)
            if not missing:
                return
            await self._sleep(LOOK_AGAIN_AFTER_S)
            wanted = _by_cluster(missing)
            answers = await asyncio.gather(*(self._look_now(name, ids) for name, ids in wanted.items()))
            for name, looks in zip(wanted, answers, strict=True):
                view = kafka[name]
                if isinstance(view, ClusterLook):
                    kafka[name] = dataclasses.replace(view, groups={**view.groups, **looks})

    async def _look_now(self, cluster: str, group_ids: Sequence[str]) -> Mapping[str, Look]:
        """Return what is said of groups at this moment; what was said before stands where nothing is."""
        try:
            return await self._groups.at(cluster).look_now(group_ids)
        except ClusterUnreachableError:
            return {}  # the next cycle says so, if it lasts
        except Exception:  # noqa: BLE001 - a surprise in one more look must not end the cycle
            _log.exception("groups not looked at again", cluster=cluster)
            return {}
        finally:
            self.moved()

    async def _read_workloads(
        self, policies: Sequence[Policy]
    ) -> dict[ObjectKey, Workload | Finding | UnexpectedFailure]:
        await self._workloads.cover(policies)
        read_workloads: dict[ObjectKey, Workload | Finding | UnexpectedFailure] = {}
        for policy in policies:
            read_workloads[policy.key] = await self._read_workload(policy)
            await self._turns.give()
        return read_workloads

    async def _read_workload(self, policy: Policy) -> Workload | Finding | UnexpectedFailure:
        try:
            workload = await self._workloads.read(policy)
        except ApiServerError as error:
            return Finding(Reason.API_SERVER_ERROR, str(error))
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return UnexpectedFailure(error)
        finally:
            self.moved()
        held = workload.holdings
        if held is not None:
            self.holdings[policy.key] = held
        if isinstance(workload, MissingWorkload):
            return Finding(workload.reason, workload.message)
        return workload


def _tried(quantity: Quantity, policy: Policy) -> str:
    return mapped.query([policy]) if policy.naming.maps else reading_plan.whole_query(quantity, policy)


def _by_cluster(policies: Sequence[Policy]) -> dict[str, list[str]]:
    """Return the groups of each cluster, each once and in a fixed order."""
    group_ids: dict[str, set[str]] = {}
    for policy in policies:
        group_ids.setdefault(policy.cluster, set()).add(policy.group_id)
    return {name: sorted(ids) for name, ids in group_ids.items()}


def _with_other_pods(
    workloads: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure],
    before: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure],
) -> Iterator[ObjectKey]:
    """Yield the policies whose pods are not those of the cycle before: their groups have other members, too."""
    for key, workload in workloads.items():
        known = before.get(key)
        if isinstance(workload, Workload) and isinstance(known, Workload) and workload.pods != known.pods:
            yield key


def _as_of(workload: Workload, at: datetime) -> Workload:
    """Return a workload without the pods that began after its group was looked at.

    A member that was seen at a pod's address before the pod began is another's: of the pod's life before, or of
    the pod that had the address.
    """
    if all(pod.started <= at for pod in workload.pods):
        return workload
    return dataclasses.replace(workload, pods=tuple(pod for pod in workload.pods if pod.started <= at))


def _described(
    policies: Sequence[Policy],
    kafka: Mapping[str, ClusterLook | Finding | UnexpectedFailure],
    workloads: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure],
) -> Iterator[owners.Look]:
    """Yield what was read of each policy, where both its workload and its group were."""
    for policy in policies:
        workload, view = workloads[policy.key], kafka[policy.cluster]
        if isinstance(workload, Workload) and isinstance(view, ClusterLook):
            look = view.groups[policy.group_id]
            yield policy, _as_of(workload, look.at), look.group, look.at


def _group(policy: Policy, shown: Shown) -> Group | Finding:
    """Return the policy's group, or why there is none that it may be shown."""
    group = shown[policy.key]
    if group is None:
        phrase = "Kafka cluster {cluster} knows no consumer group {group}"
        return Finding(Reason.GROUP_NOT_FOUND, say(phrase, cluster=policy.cluster, group=policy.group_id))
    if isinstance(group, UnreadableGroup):
        return Finding(Reason.GROUP_UNREADABLE, group.message)
    return group


def _looks(
    policies: Sequence[Policy], shown: Shown, workloads: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure]
) -> Iterator[own_client_ids.Look]:
    """Yield what is seen of each policy's group: its pods, and its members if they may be shown to it."""
    for policy in policies:
        workload, group = workloads[policy.key], shown.get(policy.key)
        pods = workload.pods if isinstance(workload, Workload) else None
        yield (policy.key.namespace, policy.group_id), pods, group.members if isinstance(group, Group) else ()
