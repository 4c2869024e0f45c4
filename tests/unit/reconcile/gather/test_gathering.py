"""Reading in batches: a constant number of queries, and failures told to whom they concern in their own terms."""

import asyncio
import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import pytest

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.errors import MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.kafka_groups import (
    Cluster,
    Group,
    GroupConfig,
    GroupOwnership,
    GroupState,
    Member,
    UnreadableGroup,
)
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.metrics.conventions import watched_groups
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.ports.metrics_source import MetricsSource
from heartbeat_tuner.reconcile.gather.cluster_looks import IN_A_CYCLE
from heartbeat_tuner.reconcile.gather.gathering import Gatherer
from heartbeat_tuner.reconcile.gather.group_memory import GroupMemory
from heartbeat_tuner.reconcile.outcomes import UnexpectedFailure
from heartbeat_tuner.reconcile.series import reading_plan
from heartbeat_tuner.reconcile.series.reading_plan import OF_CONSUMER_PROTOCOL, READ
from tests.support import counters, fakes, stages, worlds
from tests.support.stages import Stage
from tests.support.worlds import NOW


class ThreadedPrometheus:
    """A Prometheus that is down, whose queries fail in an order of their own."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order = order
        self.asked = 0

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Fail when it is this query's turn."""
        turn = self.order[self.asked]
        self.asked += 1
        for _ in range(turn):
            await asyncio.sleep(0)
        raise MetricsUnavailableError(f"Prometheus did not answer at {at}", tried=query)


class JavaPrometheus:
    """Tells of Java consumers that are well, and export no counters of joins."""

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what a query asks for, up to a moment."""

        def counted(quantity: Quantity) -> list[Series]:
            each_s = math.inf if quantity is Quantity.POLL_AGE else 5.0
            begins, client = at - worlds.HOUR, "consumer-orders-1"
            return [counters.counter(pod, begins, at, lambda s: s // each_s, client_id=client) for pod in worlds.pods()]

        found = {quantity: counted(quantity) for quantity in counters.JMX.needed}
        return counters.asked(query).of(counters.exported(found, counters.JMX), at)


class SlowPrometheus:
    """Another one that takes its time for each answer."""

    def __init__(self, stage: Stage, takes: timedelta) -> None:
        self.stage = stage
        self.takes = takes

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what was there at the moment asked for, later."""
        found = await self.stage.prometheus.instant(query, at=at)
        self.stage.clock.advance(self.takes)
        return found


async def situation_of(stage: Stage, policy: Policy, metrics: MetricsSource | None = None) -> DecisionInput:
    """Gather for one policy what must be there."""
    found = (await stage.gatherer(metrics).gather([policy]))[policy.key]
    assert isinstance(found, DecisionInput)
    return found


@pytest.mark.parametrize("count", [1, 40])
async def test_queries_are_as_many_as_quantities_however_many_policies(count: int) -> None:
    """Prometheus serves few queries at once; the broker answers for all groups in one request."""
    stage = stages.fleet(count)
    report = await stage.cycle()
    assert report.status_writes == count
    assert len(stage.groups.requests) == 1
    stage.prometheus.queries.clear()
    await stage.cycle()
    assert len(stage.prometheus.queries) == len(counters.KAFKAJS.metrics) + len(watched_groups.GROUP_WATCHER.needed)


async def test_record_begins_with_the_newest_pod() -> None:
    """A pod that replaced another changes the group: what was before is another group's record."""
    stage = stages.storm()
    pods = (worlds.pod(0), worlds.pod(1, started=NOW - worlds.seconds(300)))
    stage.workloads.stored[stages.CONSUMER] = worlds.workload(worlds.STORM, running=pods)
    record = (await situation_of(stage, worlds.policy())).record
    assert isinstance(record, Record)
    assert record.since == NOW - worlds.seconds(300)


async def test_record_begins_with_our_last_change() -> None:
    """Evictions under the old values say nothing of the new ones."""
    change = Application(worlds.settings(), worlds.STORM, NOW - worlds.seconds(60), "workload-1")
    record = (await situation_of(stages.storm(), worlds.policy(application=change))).record
    assert isinstance(record, Record)
    assert record.since == change.at


async def test_a_record_ends_when_reading_began() -> None:
    """However long Prometheus takes: what was fresh when it was read is not stale, and what came later is not known."""
    stage = stages.storm()
    situation = await situation_of(stage, worlds.policy(), SlowPrometheus(stage, worlds.seconds(20)))
    assert isinstance(situation.record, Record)
    assert situation.record.until == NOW
    assert situation.now > NOW + worlds.seconds(60)


async def test_a_change_of_another_container_is_none_of_this_one() -> None:
    """Who renames a container starts again: the values are not in it, and no cooldown holds them back."""
    change = Application(worlds.settings(), worlds.STORM, NOW - worlds.seconds(60), "workload-1", "before")
    assert (await situation_of(stages.storm(), worlds.policy(application=change))).policy.application is None
    change = dataclasses.replace(change, container=worlds.policy().workload.container)
    assert (await situation_of(stages.storm(), worlds.policy(application=change))).policy.application == change


async def test_record_reaches_back_an_hour_at_most() -> None:
    """Older evictions may have had causes that are repaired."""
    stage = stages.storm()
    old = tuple(dataclasses.replace(pod, started=NOW - 9 * worlds.HOUR) for pod in worlds.pods())
    stage.workloads.stored[stages.CONSUMER] = worlds.workload(worlds.STORM, running=old)
    record = (await situation_of(stage, worlds.policy())).record
    assert isinstance(record, Record)
    assert record.span == worlds.HOUR


async def test_changed_member_ids_are_counted_between_cycles() -> None:
    """What no single look shows, and no metric tells of consumers that count no joins."""
    stage, policy = stages.calm(), worlds.java_policy()
    stage.workloads.stored[stages.CONSUMER] = worlds.workload(worlds.java_settings())
    gatherer = stage.gatherer(JavaPrometheus())
    for number in range(4):
        stage.groups.groups["main"]["orders"] = worlds.group([worlds.member(pod, number) for pod in worlds.pods()])
        stage.clock.advance(stages.MINUTE)
        found = (await gatherer.gather([policy]))[policy.key]
    assert isinstance(found, DecisionInput)
    assert isinstance(found.record, Record)
    assert found.record.evictions == 9


async def test_a_policy_that_was_away_begins_a_new_ledger() -> None:
    """What is remembered is remembered of policies that are there."""
    stage, policy = stages.calm(), worlds.policy()
    gatherer = stage.gatherer()
    for number, wanted in enumerate(([policy], [dataclasses.replace(policy, key=ObjectKey("shop", "b"))], [policy])):
        stage.groups.groups["main"]["orders"] = worlds.group([worlds.member(pod, number) for pod in worlds.pods()])
        stage.clock.advance(stages.MINUTE)
        found = await gatherer.gather(wanted)
    situation = found[policy.key]
    assert isinstance(situation, DecisionInput)
    assert isinstance(situation.record, Record)
    assert situation.record.evictions == 0


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
async def test_an_outage_is_told_in_the_same_words_whichever_query_fails_first(order: Sequence[int]) -> None:
    """A sentence that changes by chance would be a status write each cycle."""
    record = (await situation_of(stages.storm(), worlds.policy(), ThreadedPrometheus(order))).record
    assert isinstance(record, Unknown)
    assert 'tried {__name__=~"kafka_consumer_heartbeat_total"' in record.message


async def test_an_outage_is_told_to_each_policy_with_its_own_query() -> None:
    """One query serves all tenants; a tenant's status names none but its own namespace, and stays short."""
    stage = stages.fleet(300)
    policies = [
        worlds.policy(
            key=ObjectKey(f"team{number}", f"g{number}"),
            group_id=f"g{number}",
            workload=dataclasses.replace(worlds.policy().workload, key=ObjectKey("shop", f"g{number}-consumer")),
        )
        for number in range(300)
    ]
    found = (await stage.gatherer(ThreadedPrometheus(range(5))).gather(policies))[policies[7].key]
    assert isinstance(found, DecisionInput)
    assert isinstance(found.record, Unknown)
    assert found.record.reason is Reason.PROMETHEUS_UNREACHABLE
    assert 'namespace=~"team7"' in found.record.message
    assert "team8" not in found.record.message


async def test_missing_series_are_told_with_the_policys_own_query() -> None:
    """Likewise where Prometheus answered, and had nothing."""
    stage = stages.fleet(3)
    await stage.cycle()
    message = stage.message("MetricsAvailable", ObjectKey("shop", "g1"))
    name = "kafkajs_consumer_group_join_seconds_count"
    assert f'tried {{__name__=~"{name}",namespace=~"shop"}}[3900s]' in message


async def test_an_outage_of_a_fleet_fits_into_every_status() -> None:
    """A query that names hundreds of groups is longer than a condition may be."""
    stage = stages.fleet(300)
    stage.prometheus.error = MetricsUnavailableError("Prometheus did not answer " + "x" * 9_000)
    report = await stage.cycle()
    assert (report.status_writes, report.failed_writes) == (300, 0)


async def test_nothing_is_read_for_nobody() -> None:
    """An operator without policies asks nobody anything."""
    assert await stages.storm().gatherer().gather([]) == {}


async def test_what_was_read_for_the_last_policy_is_forgotten_with_it() -> None:
    """A policy that comes back is looked at again: what Prometheus had then may not be what it has now."""
    stage = stages.storm()
    gatherer = stage.gatherer()
    await gatherer.gather([worlds.policy()])
    await gatherer.gather([])
    stage.prometheus.answers = {}
    found = (await gatherer.gather([worlds.policy()]))[worlds.policy().key]
    assert isinstance(found, DecisionInput)
    assert isinstance(found.record, Unknown)
    assert found.record.reason is Reason.NO_SERIES


async def test_a_broker_outage_is_told_in_the_words_of_one_request() -> None:
    """Two requests that fail in turn would be a status write each time."""
    stage = stages.storm()
    stage.groups.down = {"main"}
    await stage.cycle()
    assert stage.message("Ready") == "Kafka cluster main did not answer describe"


async def test_a_surprise_while_a_situation_is_made_is_kept_apart() -> None:
    """Not only reading may raise what nobody foresaw."""
    stage = stages.storm()
    stage.groups.forgetful = True
    found = (await stage.gatherer().gather([worlds.policy()]))[worlds.policy().key]
    assert isinstance(found, UnexpectedFailure)


async def test_a_group_that_may_not_be_described_costs_only_its_own_policy() -> None:
    """One tenant's missing right on the broker is not a cluster that is down."""
    stage = stages.storm()
    stage.groups.groups["main"]["orders"] = UnreadableGroup(
        "Kafka cluster main does not describe orders: not authorized"
    )
    await stage.cycle()
    assert stage.message("Ready") == "Kafka cluster main does not describe orders: not authorized"
    assert stage.workloads.writes == []


async def test_pods_that_differ_have_no_poll_limit_to_compare_with() -> None:
    """A rollout under way is gathered all the same."""
    stage = stages.storm()
    stage.workloads.stored[stages.CONSUMER] = worlds.workload(mixed=True, rolling_out=True)
    assert (await situation_of(stage, worlds.policy())).workload.current is None


async def test_what_the_broker_prescribes_is_what_is_set() -> None:
    """In a KIP-848 group the pods' own S and H are not in force."""
    stage = stages.storm()
    config = GroupConfig(session_timeout=worlds.seconds(45), heartbeat_interval=worlds.seconds(5))
    stage.groups.groups["main"]["orders"] = dataclasses.replace(worlds.group(), consumer_protocol=True, config=config)
    current = (await situation_of(stage, worlds.policy())).workload.current
    assert current is not None
    assert current.settings == worlds.settings("45s", "5s", "5s")


def test_a_lock_that_somebody_changes_forgets_no_fencing() -> None:
    """A record begins where S or H were changed; how long records are locked fences nobody."""
    memory, workload, at = GroupMemory(), worlds.workload(), worlds.NOW
    config = GroupConfig(worlds.seconds(45), worlds.seconds(5), record_lock=worlds.seconds(30))
    longer = dataclasses.replace(config, record_lock=worlds.seconds(60))
    other = dataclasses.replace(longer, session_timeout=worlds.seconds(50))
    for minutes, seen, since in ((0, config, 0), (1, longer, 0), (2, other, 2)):
        group = dataclasses.replace(worlds.group(), consumer_protocol=True, kind="share", config=seen)
        memory.see(workload, group, (), at=at + minutes * stages.MINUTE)
        assert memory.config_since == at + since * stages.MINUTE


async def test_a_quantity_is_asked_once_whatever_it_is_called() -> None:
    """Two libraries in one fleet, and five exporters' names: Prometheus is asked once for each thing to know."""
    stage = stages.calm()
    java = dataclasses.replace(worlds.java_policy(), key=ObjectKey("shop", "payments"), group_id="payments")
    gatherer = stage.gatherer()
    await gatherer.gather([worlds.policy(), java])
    stage.prometheus.queries.clear()
    stage.clock.advance(stages.MINUTE)
    await gatherer.gather([worlds.policy(), java])
    asked = [set(counters.names_in(query)) for query in stage.prometheus.queries]
    of_both = [each for each in READ if any(reading_plan.needs(library, each) for library in ("java", "kafkajs"))]
    assert len(asked) == len(set(of_both) - OF_CONSUMER_PROTOCOL)
    assert any(
        {"kafka_consumer_heartbeat_total", counters.JMX.by_quantity[Quantity.HEARTBEATS].names[0]} <= item
        for item in asked
    )


async def test_a_policy_is_measured_by_what_its_own_library_exports() -> None:
    """Series of KafkaJS consumers in a group whose policy says Java are not read by Java's rules."""
    stage = stages.calm()
    record = (await situation_of(stage, worlds.java_policy())).record
    assert isinstance(record, Unknown)
    assert record.reason is Reason.NO_SERIES


async def test_a_group_is_remembered_as_it_last_stood_still() -> None:
    """While partitions are being moved nobody can count them; who was never seen still has nothing to remember."""
    stage = stages.calm()
    gatherer, policy = stage.gatherer(), worlds.policy()
    still = worlds.group([dataclasses.replace(worlds.member(pod), partitions=4) for pod in worlds.pods()])

    async def gathered(*, rebalancing: bool) -> DecisionInput:
        group = worlds.group(rebalancing=True) if rebalancing else still
        stage.groups.groups = {policy.cluster: {policy.group_id: group}}
        found = (await gatherer.gather([policy]))[policy.key]
        assert isinstance(found, DecisionInput)
        return found

    assert (await gathered(rebalancing=True)).settled is None
    assert (await gathered(rebalancing=False)).settled == still
    moving = await gathered(rebalancing=True)
    assert (moving.group.partitions, moving.settled) == (None, still)
    await gatherer.gather([])  # its policy was deleted
    assert (await gathered(rebalancing=True)).settled is None


def fleet_policies(count: int) -> list[Policy]:
    """Return the policies of a fleet's groups."""
    return [
        worlds.policy(
            key=ObjectKey("shop", f"g{number}"),
            group_id=f"g{number}",
            workload=dataclasses.replace(worlds.policy().workload, key=ObjectKey("shop", f"g{number}-consumer")),
        )
        for number in range(count)
    ]


async def test_groups_whose_pods_have_changed_are_read_first() -> None:
    """In a fleet that no cycle reads whole: what was seen of them before was of other members."""
    stage, policies = stages.fleet(IN_A_CYCLE + 50), fleet_policies(IN_A_CYCLE + 50)
    gatherer = stage.gatherer()
    await gatherer.gather(policies)
    stage.clock.advance(stages.MINUTE)
    for name in ("g999", "g998"):
        restarted = tuple(dataclasses.replace(pod, restarts=1, started=NOW + stages.MINUTE) for pod in worlds.pods())
        stage.workloads.edit(ObjectKey("shop", f"{name}-consumer"), pods=restarted)
    await gatherer.gather(policies)
    _, asked = stage.groups.requests[-1]
    assert (len(asked), set(asked[:2])) == (IN_A_CYCLE, {"g998", "g999"})


async def test_a_pod_proves_nothing_by_a_look_at_its_address_from_before_it_began() -> None:
    """Kubernetes has given it another's address since: the member that was seen there is that other's."""
    count = IN_A_CYCLE + 2
    stage, policies = stages.fleet(count), fleet_policies(count)
    stage.grants = {}
    theirs = {policy.group_id: worlds.group([Member("payments-1", "10.9.9.9")]) for policy in policies}
    stage.groups.groups = {"main": {**theirs}}
    gatherer = stage.gatherer()
    await gatherer.gather(policies)
    stage.clock.advance(stages.MINUTE)
    reused = (dataclasses.replace(worlds.pod(7), ip="10.9.9.9", started=NOW + worlds.seconds(30)),)
    for policy in policies:
        stage.workloads.edit(policy.workload.key, pods=reused)
    stage.groups.groups = {"main": {policy.group_id: worlds.group() for policy in policies}}
    found = await gatherer.gather(policies)
    asked = {item for _, ids in stage.groups.requests[len(stage.groups.requests) // 2 :] for item in ids}
    assert len(asked) == IN_A_CYCLE  # two were not looked at since
    assert {item.reason for item in found.values() if isinstance(item, Finding)} == {Reason.GROUP_NOT_OWNED}
    assert len(found) == count
    assert all(isinstance(item, Finding) for item in found.values())


class Rendezvous:
    """Kafka and Prometheus that answer only when both have been asked."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.together = asyncio.Event()
        self.waits = False

    @property
    def clusters(self) -> Collection[str]:
        """Their names."""
        return self.stage.groups.clusters

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Wait until Prometheus is asked, too."""
        if self.waits:
            await asyncio.wait_for(self.together.wait(), 10)
        return await self.stage.groups.describe(cluster, group_ids, within=within)

    async def cluster(self, cluster: str) -> Cluster:
        """Return the cluster."""
        return await self.stage.groups.cluster(cluster)

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Let Kafka answer."""
        self.together.set()
        return await self.stage.prometheus.instant(query, at=at)


async def test_kafka_and_prometheus_are_asked_beside_each_other() -> None:
    """But for the first cycle, in which nobody knows yet whose a client.id is."""
    stage = stages.storm()
    both = Rendezvous(stage)
    gatherer = Gatherer(
        metrics=both,
        groups=fakes.looks_at(both, stage.clock),
        workloads=stage.workloads,
        models=stage.shelf,
        clock=stage.clock,
        sleep=fakes.no_sleep,
        grants=stage.grants,
    )
    await gatherer.gather([worlds.policy()])
    assert len(stage.groups.requests) == 1
    both.together.clear()
    both.waits = True
    stage.clock.advance(stages.MINUTE)
    assert isinstance((await gatherer.gather([worlds.policy()]))[worlds.policy().key], DecisionInput)


class LateLooks(fakes.FakeGroups):
    """Kafka that takes so long to answer."""

    def __init__(self, stage: Stage, takes: timedelta) -> None:
        super().__init__(stage.groups.groups)
        self._clock = stage.clock
        self._takes = takes
        self.answered = stage.clock.now()

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups, later."""
        self._clock.advance(self._takes)
        self.answered = self._clock.now()
        return await super().describe(cluster, group_ids, within=within)


async def test_a_changed_member_id_was_seen_when_the_group_was_read() -> None:
    """Not when the cycle began, nor when its metrics had been read."""
    stage, policy = stages.calm(), worlds.java_policy()
    stage.workloads.stored[stages.CONSUMER] = worlds.workload(worlds.java_settings())
    groups = LateLooks(stage, worlds.seconds(7))
    gatherer = Gatherer(
        metrics=SlowPrometheus(stage, worlds.seconds(2)),
        groups=fakes.looks_at(groups, stage.clock),
        workloads=stage.workloads,
        models=stage.shelf,
        clock=stage.clock,
        sleep=fakes.no_sleep,
        grants=stage.grants,
    )
    for number in range(2):
        stage.groups.groups["main"]["orders"] = worlds.group([worlds.member(pod, number) for pod in worlds.pods()])
        stage.clock.advance(stages.MINUTE)
        await gatherer.gather([policy])
    changes = gatherer._memories[policy.key].ledger.changes
    assert {change.at for change in changes} == {groups.answered}
    assert stage.clock.now() > groups.answered


async def test_a_group_that_is_not_shown_is_not_looked_at_for_a_write() -> None:
    """A workload without pods has a group of its own by the note in its status: Kafka's may be somebody else's."""
    stage = stages.storm()
    stage.grants = {}
    stage.workloads.edit(stages.CONSUMER, pods=())
    stage.groups.groups = {"main": {"orders": worlds.group([Member("payments-1", "10.9.9.9")])}}
    note = GroupOwnership("main", "orders", "workload-1", since=NOW - stages.MINUTE)
    gatherer = stage.gatherer()
    policy = worlds.policy(ownership=note)
    situation = (await gatherer.gather([policy]))[policy.key]
    assert isinstance(situation, DecisionInput)
    stage.clock.advance(stages.MINUTE)
    asked = len(stage.groups.requests)
    assert await gatherer.as_of_now(situation) == situation.group == Group("orders", GroupState.EMPTY, ())
    assert len(stage.groups.requests) == asked
