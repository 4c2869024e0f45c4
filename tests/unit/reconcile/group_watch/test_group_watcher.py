import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from heartbeat_tuner.domain import exposed
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import WORKERS, GroupConfig, Member, UnreadableGroup
from heartbeat_tuner.domain.liveness import CurrentSettings, ValueSource
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.metrics.group_events.group_event import Certainty
from heartbeat_tuner.reconcile.gather.looks import Look
from heartbeat_tuner.reconcile.group_watch import group_watcher
from heartbeat_tuner.reconcile.group_watch.group_watcher import GroupWatcher
from heartbeat_tuner.reconcile.liveness.turns import Turns
from tests.support import worlds
from tests.support.worlds import NOW

POLICY = worlds.policy()
PLACE = (POLICY.cluster, POLICY.group_id)
PODS = worlds.pods(2)
WORKLOAD = worlds.workload()
FIRST, SECOND = (worlds.member(pod) for pod in PODS)
BACK = worlds.member(PODS[0], 1)


def at(seconds: float) -> datetime:
    """Return a moment of the test."""
    return NOW + timedelta(seconds=seconds)


def show(watcher: GroupWatcher, seconds: float, members: Sequence[Member] | None) -> None:
    """Have the watcher shown a description; None is one that failed."""
    group = None if members is None else worlds.group(members)
    watcher.answered(*PLACE, None if group is None else Look(group, at(seconds), 0.0))


async def catch_up(
    watcher: GroupWatcher,
    seconds: float,
    *,
    pods: Sequence[Pod] = PODS,
    proven: bool = True,
    policy: Policy = POLICY,
    current: CurrentSettings | None = WORKLOAD.current,
) -> dict[tuple[str, ...], float]:
    """Let it compare what it was shown; return its points by family and labels without the group."""
    workload = dataclasses.replace(WORKLOAD, pods=tuple(pods), current=current)
    await watcher.catch_up([policy], {policy.key: workload}, is_proven=lambda _: proven, now=at(seconds), turns=Turns())
    return {(point.family.name, *point.labels[1:]): point.number for point in watcher.points(policy.key)}


def evictions(points: dict[tuple[str, ...], float]) -> dict[tuple[str, str], float]:
    """Return what was counted by pod and certainty, where it is not zero."""
    name = exposed.GROUP_EVICTIONS.name
    return {(labels[1], labels[2]): number for labels, number in points.items() if labels[0] == name and number}


async def test_an_eviction_is_counted_for_its_pod() -> None:
    """And stays counted."""
    watcher = GroupWatcher()
    for seconds, members in ((0, [FIRST, SECOND]), (5, [SECOND]), (10, [BACK, SECOND]), (15, [BACK, SECOND])):
        show(watcher, seconds, members)
    points = await catch_up(watcher, 20)
    assert evictions(points) == {("orders-0", "certain"): 1.0}
    assert points["rebalances_total",] == 1.0
    assert points["rebalance_seconds_total",] == 5.0
    assert points["members", "inside"] == 2.0
    assert points["last_look_timestamp_seconds",] == at(15).timestamp()
    assert evictions(await catch_up(watcher, 80)) == {("orders-0", "certain"): 1.0}


@pytest.mark.parametrize(
    ("source", "certainty"), [(ValueSource.POD, "doubtful"), (ValueSource.DEFAULT, "certain"), (None, "certain")]
)
async def test_who_was_in_the_group_for_less_than_a_session_was_not_silent_for_one(
    source: ValueSource | None, certainty: str
) -> None:
    """As far as the session is known: it is not where pods differ, nor where it is assumed."""
    assert WORKLOAD.current is not None
    current = None if source is None else worlds.current(WORKLOAD.current.settings, source)
    watcher = GroupWatcher()
    for seconds, members in ((0, [SECOND]), (5, [FIRST, SECOND]), (10, [SECOND]), (15, [BACK, SECOND])):
        show(watcher, seconds, members)
    assert evictions(await catch_up(watcher, 25, current=current)) == {("orders-0", certainty): 1.0}


@pytest.mark.parametrize(("in_group_s", "certainty"), [(40, "certain"), (70, "doubtful")])
async def test_a_worker_of_connect_may_have_left_after_its_rebalance_timeout(in_group_s: int, certainty: str) -> None:
    """Its herder stood still for that long, perhaps: one minute by default, and what is set is not read."""
    watcher = GroupWatcher()
    looks = ([SECOND], [FIRST, SECOND], [SECOND], [BACK, SECOND])
    for seconds, members in zip((0, 5, in_group_s, in_group_s + 5), looks, strict=True):
        workers = dataclasses.replace(worlds.group(members), kind=WORKERS)
        watcher.answered(*PLACE, Look(workers, at(seconds), 0.0))
    assert evictions(await catch_up(watcher, in_group_s + 15)) == {("orders-0", certainty): 1.0}


async def test_a_new_id_between_two_descriptions_is_unseen() -> None:
    """Groups whose members keep their ids have no such count: who is back there between two of them shows nothing."""
    watcher = GroupWatcher()
    show(watcher, 0, [FIRST, SECOND])
    show(watcher, 5, [BACK, SECOND])
    assert evictions(await catch_up(watcher, 15)) == {("orders-0", "unseen"): 1.0}
    watcher = GroupWatcher()
    show_at_broker(watcher, 0, [FIRST], "consumer")
    shown = {labels[2] for labels in await catch_up(watcher, 10) if labels[0] == exposed.GROUP_EVICTIONS.name}
    assert shown == {"certain", "doubtful"}


async def test_a_pod_that_is_gone_is_forgotten() -> None:
    """It has no series any more; a leadership of months sees many pods come and go."""
    watcher = GroupWatcher()
    for seconds, members in ((0, [FIRST, SECOND]), (5, [SECOND]), (10, [BACK, SECOND])):
        show(watcher, seconds, members)
    assert evictions(await catch_up(watcher, 20))
    show(watcher, 30, [SECOND])
    await catch_up(watcher, 40, pods=[PODS[1]])
    show(watcher, 50, [SECOND])
    assert not evictions(await catch_up(watcher, 60))


async def test_all_pods_begin_at_zero() -> None:
    """A counter that is born with its first event shows Prometheus none."""
    watcher = GroupWatcher()
    show(watcher, 0, [FIRST])
    points = await catch_up(watcher, 6)
    assert [points["evictions_total", pod.name, "certain"] for pod in PODS] == [0.0, 0.0]


async def test_a_description_waits_until_kubernetes_shows_who_had_restarted() -> None:
    """Kafka shows the restarted process first; by the time that it is compared it is known for what it is."""
    watcher = GroupWatcher()
    show(watcher, 0, [FIRST, SECOND])
    show(watcher, 5, [SECOND])
    await catch_up(watcher, 10)
    show(watcher, 12, [BACK, SECOND])
    assert not evictions(await catch_up(watcher, 13))
    again = dataclasses.replace(PODS[0], restarts=1, started=at(11))
    assert not evictions(await catch_up(watcher, 20, pods=[again, PODS[1]]))


async def test_a_failed_description_makes_new_ids_doubtful() -> None:
    """An unreachable cluster, a coordinator that is silent."""
    for failure in (None, Look(UnreadableGroup("no answer from its coordinator"), at(5), 0.0)):
        watcher = GroupWatcher()
        show(watcher, 0, [FIRST, SECOND])
        watcher.answered(*PLACE, failure)
        show(watcher, 7, [SECOND])
        show(watcher, 10, [BACK, SECOND])
        assert evictions(await catch_up(watcher, 20)) == {("orders-0", "doubtful"): 1.0}


async def test_a_group_that_is_not_described_any_more_has_no_counts() -> None:
    """A counter that stands still would say that nothing happens."""
    watcher = GroupWatcher()
    show(watcher, 0, [FIRST])
    assert ("rebalances_total",) in await catch_up(watcher, 100)
    assert set(await catch_up(watcher, 300)) == {("last_look_timestamp_seconds",)}


async def test_a_policy_without_a_member_in_its_own_pods_is_told_nothing() -> None:
    """Whoever may write policies could else watch any group."""
    watcher = GroupWatcher()
    show(watcher, 0, [FIRST])
    assert await catch_up(watcher, 10, proven=False) == {}


def show_at_broker(watcher: GroupWatcher, seconds: float, members: Sequence[Member], kind: str) -> None:
    """Have the watcher shown a description of a group whose session of 20 s is the broker's."""
    config = GroupConfig(worlds.seconds(20), worlds.seconds(1))
    group = dataclasses.replace(worlds.group(members), consumer_protocol=True, kind=kind, config=config)
    watcher.answered(*PLACE, Look(group, at(seconds), 0.0))


@pytest.mark.parametrize(
    ("kind", "families"),
    [
        ("consumer", {"last_look_timestamp_seconds", "members", "evictions_total"}),
        ("share", {"last_look_timestamp_seconds", "members", "evictions_total"}),
        ("streams", {"last_look_timestamp_seconds", "members"}),
    ],
)
async def test_groups_whose_values_are_at_the_broker_have_no_counts_of_rebalances(
    kind: str, families: set[str]
) -> None:
    """Members are moved one by one there; those of Kafka Streams show their fencings themselves."""
    watcher = GroupWatcher()
    show_at_broker(watcher, 0, [FIRST], kind)
    assert {name for name, *_ in await catch_up(watcher, 10)} == families


@pytest.mark.parametrize(("joined_s", "certainty"), [(0, "certain"), (5, "doubtful")])
async def test_the_session_of_a_member_is_what_its_broker_prescribes(joined_s: float, certainty: str) -> None:
    """What its client is set to is not in force there: 10 s."""
    watcher = GroupWatcher()
    for seconds in (0, 5, 10):
        show_at_broker(watcher, seconds, [FIRST, SECOND] if seconds >= joined_s else [SECOND], "consumer")
    show_at_broker(watcher, 15, [SECOND], "consumer")
    show_at_broker(watcher, 20, [FIRST, SECOND], "consumer")
    assert evictions(await catch_up(watcher, 30)) == {("orders-0", certainty): 1.0}


async def test_a_group_that_is_not_there_for_a_moment_says_nothing_of_its_members() -> None:
    """A group whose members are all fenced stays; one that vanishes was deleted, or its coordinator is another."""
    watcher = GroupWatcher()
    show_at_broker(watcher, 0, [FIRST, SECOND], "share")
    watcher.answered(*PLACE, Look(None, at(5), 0.0))
    show_at_broker(watcher, 10, [FIRST, SECOND], "share")
    show_at_broker(watcher, 15, [SECOND], "share")
    show_at_broker(watcher, 20, [FIRST, SECOND], "share")
    assert evictions(await catch_up(watcher, 30)) == {("orders-0", "doubtful"): 1.0}


async def test_a_policy_that_names_another_group_counts_that_one_from_zero() -> None:
    """And the first one again when it is named again."""
    watcher = GroupWatcher()
    for seconds, members in ((0, [FIRST, SECOND]), (5, [SECOND]), (10, [BACK, SECOND])):
        show(watcher, seconds, members)
    assert evictions(await catch_up(watcher, 20))
    other = dataclasses.replace(POLICY, group_id="others")
    assert not evictions(await catch_up(watcher, 25, policy=other))
    show(watcher, 30, [FIRST, SECOND])
    assert not evictions(await catch_up(watcher, 40))


async def test_a_session_that_a_broker_does_not_show_calls_nothing_doubtful() -> None:
    """Its right to describe configurations may be missing."""
    watcher = GroupWatcher()
    for seconds, members in ((0, [SECOND]), (5, [FIRST, SECOND]), (10, [SECOND]), (15, [FIRST, SECOND])):
        group = dataclasses.replace(worlds.group(members), consumer_protocol=True)
        watcher.answered(*PLACE, Look(group, at(seconds), 0.0))
    assert evictions(await catch_up(watcher, 25)) == {("orders-0", "certain"): 1.0}


async def test_memory_is_bounded() -> None:
    """By the newest descriptions of a group, and by the pods that have series."""
    watcher = GroupWatcher()
    many = [
        dataclasses.replace(worlds.pod(number), ip=f"10.0.{number // 250}.{number % 250 + 1}") for number in range(150)
    ]
    for seconds in range(1_000):
        show(watcher, seconds, [FIRST])
    points = await catch_up(watcher, 2_000, pods=many)
    assert points == {("last_look_timestamp_seconds",): at(999).timestamp()}
    assert len(watcher._waiting[PLACE]) == 0
    points = await catch_up(watcher, 1_010, pods=many)
    assert len([name for name, *_ in points if name == "evictions_total"]) == len(Certainty) * group_watcher.MOST_PODS


async def test_a_group_that_is_gone_has_no_members() -> None:
    """It is there again when its members are."""
    watcher = GroupWatcher()
    show(watcher, 0, [FIRST])
    watcher.answered(*PLACE, Look(None, at(5), 0.0))
    points = await catch_up(watcher, 12)
    assert points["members", "inside"] == 0.0


async def test_a_policy_that_is_deleted_leaves_nothing() -> None:
    """Nor do the descriptions of its group."""
    watcher = GroupWatcher()
    show(watcher, 0, [FIRST])
    await catch_up(watcher, 10)
    other = dataclasses.replace(POLICY, key=ObjectKey("shop", "other"), group_id="other")
    await catch_up(watcher, 20, policy=other)
    assert watcher.points(POLICY.key) == ()
    assert not watcher._waiting
