"""One `DecisionInput` per policy, read in batches.

Workloads are looked up in a view that watches keep up to date (`policy_workloads`); then metrics are read for all
policies at once (`record_reading`), beside them groups (`kafka_looks`). `group_memory` knows of cycles before.

What cannot be read becomes a value: a `Finding` where the policy names something that is not there, an `Unknown`
record where metrics are. A failure costs only the policies it concerns.
"""

import asyncio
import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from heartbeat_tuner.decision import next_workload, workload_parts
from heartbeat_tuner.decision.at_broker import group_changes, last_write
from heartbeat_tuner.decision.gates import group_ownership, taken_back
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.evidence import Pod, Record, Unknown, Workload
from heartbeat_tuner.domain.exposed import MetricPoint
from heartbeat_tuner.domain.grants import Grants
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.limits import plausibility
from heartbeat_tuner.metrics.raw.resolver import NO_OWN_IDS, ClientKey, GroupKey
from heartbeat_tuner.ports.kubernetes_workloads import WorkloadViews
from heartbeat_tuner.ports.metrics_source import MetricsSource
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile import peer_pods
from heartbeat_tuner.reconcile.canaries import canary_looks
from heartbeat_tuner.reconcile.gather import kafka_looks, own_client_ids, policy_workloads, unread
from heartbeat_tuner.reconcile.gather.cluster_looks import Sleep
from heartbeat_tuner.reconcile.gather.group_looks import GroupLooks
from heartbeat_tuner.reconcile.gather.group_memory import GroupMemory
from heartbeat_tuner.reconcile.gather.kafka_looks import KafkaLooks, ReadCluster
from heartbeat_tuner.reconcile.gather.looks import ClusterLook
from heartbeat_tuner.reconcile.gather.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.gather.owners import Owners, Shown
from heartbeat_tuner.reconcile.gather.policy_workloads import Held, PolicyWorkloads, ReadWorkload
from heartbeat_tuner.reconcile.gather.record_reading import RecordReader
from heartbeat_tuner.reconcile.gather.resting import CycleView, Resting
from heartbeat_tuner.reconcile.gather.unread import LastRead
from heartbeat_tuner.reconcile.group_history import GroupLook
from heartbeat_tuner.reconcile.liveness.progress import Moved, MovingMetrics, nobody_looks
from heartbeat_tuner.reconcile.liveness.turns import Turns
from heartbeat_tuner.reconcile.outcomes import NotRead, UnexpectedFailure
from heartbeat_tuner.reconcile.stopping.fleet_guard import ChangedGroup
from heartbeat_tuner.reconcile.witness_pool import WitnessPool

Gathered = DecisionInput | Finding | NotRead | UnexpectedFailure


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
        self.unled_since: datetime | None = None
        """Since when nobody looked before this leadership; None where that is not known."""
        self._records = RecordReader(MovingMetrics(metrics, moved))
        self._groups = groups
        self._models = models
        self._clock = clock
        self._owners = Owners(grants)
        self._memories: dict[ObjectKey, GroupMemory] = {}
        self._own_ids: Mapping[ClientKey, GroupKey] | None = None
        self._read_at = clock.now()
        self._turns = Turns()
        self._policy_workloads = PolicyWorkloads(workloads, self._turns, moved)
        self._kafka = KafkaLooks(groups, self._owners, sleep=sleep, turns=self._turns, moved=moved)
        self._resting = Resting[DecisionInput]()
        self._witnesses = WitnessPool(())
        self._peers: Mapping[ObjectKey, tuple[Pod, ...]] = {}
        self.workloads: Mapping[ObjectKey, ReadWorkload] = {}
        """Of each policy that was looked at last, or why it could not be read; the rest may hide behind a finding."""
        self.holdings: Held = {}
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
        self.workloads = workloads = await self._policy_workloads.read(policies, policies, self.holdings)
        if self._own_ids is None:
            # Before the metrics: where a client.id names no group, the broker says whose it is. Later the ids of the
            # cycle before do; the series of a new one are read again a cycle later.
            kafka, shown = await self._look(policies, workloads, before)
            read_at = self._clock.now()  # what comes later was not read, however long reading takes
            failure = await self._records.read(policies, now=read_at, own_ids=self._own_ids or NO_OWN_IDS)
        else:
            read_at = self._clock.now()
            async with asyncio.TaskGroup() as reading:
                looking = reading.create_task(self._look(policies, workloads, before))
                measuring = reading.create_task(
                    self._records.read(policies, now=read_at, own_ids=self._own_ids or NO_OWN_IDS)
                )
            (kafka, shown), failure = looking.result(), measuring.result()
        self._read_at = read_at
        self._memories = {
            policy.key: self._memories.get(policy.key) or GroupMemory.since(self.unled_since) for policy in policies
        }
        self._peers = peer_pods.peer_pods(policies, workloads, self.is_proven)
        self._resting.begin(self._memories.keys(), healthy)
        self._witnesses = WitnessPool(policies)
        await self._groups.watcher.catch_up(
            policies, workloads, is_proven=self.is_proven, now=self._clock.now(), turns=self._turns
        )
        return await self._put_together(policies, kafka, failure, shown)

    async def gather_early(self, policies: Sequence[Policy], edited: Sequence[Policy]) -> dict[ObjectKey, Gathered]:
        """Return what a decision on edited policies rests on, between two cycles.

        What the last cycle read is not read again: metrics end when it read them, and groups are as they were described
        last. So nothing is asked about a policy whose group and workload are the same as before. Only a cycle forgets.

        Args:
            policies: all of them.
            edited: those of them that are looked at.
        """
        before, began, self.holdings = self.workloads, self._clock.now(), {}
        workloads = await self._policy_workloads.read(policies, edited, self.holdings)
        self.workloads = {**before, **workloads}
        changed = frozenset(policy_workloads.with_other_pods(workloads, before))
        kafka = await self._kafka.read_early(edited, changed=changed)
        await self._kafka.look_again([*kafka_looks.read_since(began, edited, kafka)], kafka, workloads)
        shown = await self._shown(policies, edited, kafka, workloads)
        failure = await self._records.read_early(edited, at=self._read_at)
        for policy in edited:
            self._memories.setdefault(policy.key, GroupMemory())
        return await self._put_together(edited, kafka, failure, shown)

    async def _put_together(
        self,
        policies: Sequence[Policy],
        kafka: Mapping[str, ReadCluster],
        failure: UnexpectedFailure | None,
        shown: Shown,
    ) -> dict[ObjectKey, Gathered]:
        gathered: dict[ObjectKey, Gathered] = {}
        for policy in policies:
            gathered[policy.key] = self._gathered(
                policy, self.workloads[policy.key], kafka[policy.cluster], failure, shown
            )
            if not isinstance(gathered[policy.key], DecisionInput):
                self._memories[policy.key].unseen(self._clock.now(), kafka[policy.cluster])
            self.moved()
            await self._turns.give()  # thousands of records take seconds, and probes have to be answered meanwhile
        return gathered

    async def _look(
        self,
        policies: Sequence[Policy],
        workloads: Mapping[ObjectKey, ReadWorkload],
        before: Mapping[ObjectKey, ReadWorkload],
    ) -> tuple[Mapping[str, ReadCluster], Shown]:
        """Look at the groups; return what is seen of them, and what of it each policy is shown.

        Args:
            policies: that name them.
            workloads: of each policy.
            before: in the cycle before.
        """
        kafka = await self._kafka.read(policies, changed=frozenset(policy_workloads.with_other_pods(workloads, before)))
        await self._kafka.look_again(policies, kafka, workloads)
        shown = await self._shown(policies, policies, kafka, workloads)
        ids = own_client_ids.ClientIdObservation(self._own_ids or {})
        for look in kafka_looks.shown_members(policies, shown, workloads):
            ids.add(look)
            await self._turns.give()
        self._own_ids = ids.settled()
        return kafka, shown

    async def _shown(
        self,
        policies: Sequence[Policy],
        looked: Sequence[Policy],
        kafka: Mapping[str, ReadCluster],
        workloads: Mapping[ObjectKey, ReadWorkload],
    ) -> Shown:
        """Return what those that are looked at are shown of their groups, and note how they were seen."""
        now = self._clock.now()
        shown = await self._owners.seen(policies, kafka_looks.described(looked, kafka, workloads), self._turns)
        self.seen = await policy_workloads.seen(looked, self.holdings, self._turns, now=now)
        return shown

    async def as_of_now(self, inputs: DecisionInput) -> Group:
        """Return the group of a decision's input as it was seen a few seconds ago at most.

        Raises:
            WriteConflictError: it cannot be seen any more.
        """
        if not inputs.workload.pods or inputs.group == group_ownership.by_note(inputs.policy, inputs.workload):
            return inputs.group  # it may be another than Kafka's, of which the policy is shown nothing
        return await self._kafka.read_lately(inputs.policy)

    def is_proven(self, policy: Policy) -> bool:
        """Whether a member of the policy's group was seen in its workload's pods, during this leadership."""
        return self._owners.noted(policy) is not None

    @property
    def changed(self) -> list[ChangedGroup]:
        """The groups whose values were changed, with what was counted since."""
        followed = (memory.following.changed for memory in self._memories.values())
        return [changed for changed in followed if changed is not None]

    def group_points(self, policy: ObjectKey) -> tuple[MetricPoint, ...]:
        """Return what the group watcher knows of a policy's group."""
        return self._groups.watcher.points(policy)

    @property
    def oldest_look_s(self) -> float:
        """The age of the oldest description of a group; 0 if there is none."""
        return self._groups.oldest_s

    def _gathered(
        self,
        policy: Policy,
        workload: ReadWorkload,
        kafka: ReadCluster,
        failure: UnexpectedFailure | None,
        shown: Shown,
    ) -> Gathered:
        if isinstance(workload, UnexpectedFailure):
            return workload
        if isinstance(kafka, UnexpectedFailure):
            return kafka
        if failure is not None:
            return failure
        try:
            return self._input(policy, workload, kafka, shown)
        except Exception as error:  # noqa: BLE001 - one policy's surprise is not the others' loss
            return UnexpectedFailure(error)

    def _input(
        self, policy: Policy, workload: Workload | Finding, kafka: ClusterLook | Finding, shown: Shown
    ) -> DecisionInput | Finding | NotRead:
        if isinstance(workload, Finding):
            return workload
        now, memory = self._clock.now(), self._memories[policy.key]
        if isinstance(kafka, Finding):
            return kafka
        is_left = unread.is_unread(shown[policy.key]) and memory.is_passed_over(policy, now)
        group = NotRead() if is_left else kafka_looks.group_of(policy, shown)
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
            peers=self._peers.get(policy.key, ()),
        )
        resting = self._rests(policy, seen, now=now)
        if resting is not None:
            memory.last_read = LastRead(looked_at)
            return resting
        whole = self._whole(policy, seen, looked_at=looked_at, now=now)
        if isinstance(whole, DecisionInput) and isinstance(whole.record, Record):
            self._resting.found(policy.key, seen, whole)
        return whole

    def _rests(self, policy: Policy, seen: CycleView, *, now: datetime) -> DecisionInput | None:
        """Return the input of the cycle before, if it may stand; else it is forgotten."""
        stands_still = self._records.stands_still(policy)
        before = self._resting.before(policy.key, seen, now=now) if stands_still else None
        if before is None:
            self._resting.forget(policy.key)
        return before

    def _record(self, policy: Policy, memory: GroupMemory, group: Group, workload: Workload) -> Record | Unknown:
        missing = workload_parts.missing(workload)
        if missing is not None:
            return Unknown(missing.reason, missing.message)  # the rest of a group says nothing of the whole
        since = memory.config_since if group.consumer_protocol else None
        return self._records.record(policy, workload, memory.ledger, group, now=self._read_at, config_since=since)

    def _whole(
        self, policy: Policy, seen: CycleView, *, looked_at: datetime, now: datetime
    ) -> DecisionInput | Finding | NotRead:
        """Return the input after a look at all that there is of a group.

        Args:
            policy: as it was parsed.
            seen: what is at hand.
            looked_at: when the group was.
            now: the time.
        """
        workload, group, memory = seen.workload, seen.group, self._memories[policy.key]
        memory.see(workload, group, seen.peers, at=looked_at)
        application = taken_back.last_application(policy, workload.uid, workload.applications)
        policy = self.seen.get(policy.key, dataclasses.replace(policy, application=application))
        current = workload.current
        if current is not None and (misread := plausibility.unreadable(policy, current, group, seen.cluster)):
            return misread
        workload = workload_parts.prescribed(workload, group)
        policy = last_write.after_look(policy, group, looked_at)
        record_of = functools.partial(self._record, policy, memory, group)
        measured = record_of(canary_looks.without_canary(workload))
        if not unread.is_left_over(measured):
            memory.last_read = LastRead(looked_at)
        elif memory.is_passed_over(policy, now):
            return NotRead()
        at_broker = group_changes.change_of(policy, workload, group)
        look = GroupLook(policy, workload, measured, now, at_broker)
        followed, history = memory.follow(look, functools.partial(self._witnesses.chosen, policy))
        policy = next_workload.turned(policy, workload, followed, now)
        return DecisionInput(
            now,
            policy,
            workload,
            group,
            seen.cluster,
            measured,
            seen.model,
            memory.settled,
            ownership=seen.ownership,
            strangers=memory.strangers.members,
            followed=followed,
            history=history,
            peers=seen.peers,
            canary=canary_looks.look(policy, workload, group, seen.cluster.brokers, record_of),
            looked_at=looked_at,
        )
