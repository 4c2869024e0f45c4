"""Groups that are read once more since a member is gone, in a cycle and between two, and what that makes of it."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence

import pytest

from heartbeat_tuner.domain import exposed
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.reconcile.gather import cluster_looks
from heartbeat_tuner.reconcile.liveness.turns import Turns
from tests.support import worlds
from tests.unit.reconcile.gather.fresh_looks import Bench

POLICY = worlds.policy()
PODS = worlds.pods(2)
WORKLOAD = worlds.workload(running=PODS)
GROUP = POLICY.group_id
FIRST, SECOND = (worlds.member(pod) for pod in PODS)
BACK = worlds.member(PODS[0], 1)
BOTH = worlds.group([FIRST, SECOND])
FEWER = worlds.group([SECOND])
MADE_AGAIN = worlds.group([BACK, SECOND])


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A group of two members, kept fresh between cycles, and known."""
    fresh = Bench()
    async with fresh.looks.running():
        fresh.brokers.groups["main"][GROUP] = BOTH
        await fresh.look([GROUP])
        await fresh.time.run(9.5)
        fresh.forget_requests()
        yield fresh


def at(bench: Bench, later_s: float, group: Group) -> asyncio.Task[None]:
    """Have the broker show another group after some time."""

    async def shown() -> None:
        await bench.time.sleep(later_s)
        bench.brokers.groups["main"][GROUP] = group

    return asyncio.create_task(shown())


async def counted(bench: Bench) -> dict[str, float]:
    """Return what the group watcher counted, by certainty, where it is not zero."""
    policy = dataclasses.replace(POLICY, cluster="main")
    now = bench.clock.now() + worlds.seconds(10)
    watcher = bench.looks.watcher
    await watcher.catch_up([policy], {policy.key: WORKLOAD}, is_proven=lambda _: True, now=now, turns=Turns())
    evictions = [point for point in watcher.points(policy.key) if point.family is exposed.GROUP_EVICTIONS]
    return {point.labels[-1]: point.number for point in evictions if point.number}


async def test_a_member_that_is_gone_is_looked_for_half_a_second_later(bench: Bench) -> None:
    """Once, between two regular descriptions; where it stays away its absence was seen, as before."""
    bench.brokers.groups["main"][GROUP] = FEWER
    await bench.time.run(20)
    assert bench.brokers.asked_s == [14.0, 14.5, 19.0, 24.0, 29.0]
    bench.brokers.groups["main"][GROUP] = MADE_AGAIN
    await bench.time.run(10)
    assert await counted(bench) == {"certain": 1.0}


async def test_a_consumer_that_was_closed_and_made_again_when_its_group_was_described_is_unseen(bench: Bench) -> None:
    """It is out of its group for a tenth of a second."""
    tasks = [at(bench, 4.45, FEWER), at(bench, 4.55, MADE_AGAIN)]
    await bench.time.run(20)
    await asyncio.gather(*tasks)
    assert bench.brokers.asked_s == [14.0, 14.5, 19.0, 24.0, 29.0]
    assert await counted(bench) == {"unseen": 1.0}


async def test_a_cycles_own_description_is_followed_too(bench: Bench) -> None:
    """Whatever asked for it."""
    bench.brokers.groups["main"][GROUP] = FEWER
    await bench.look([GROUP])
    bench.brokers.groups["main"][GROUP] = MADE_AGAIN
    await bench.time.run(3)
    assert bench.brokers.asked_s == [9.5, 10.0]
    assert await counted(bench) == {"unseen": 1.0}


async def test_a_follow_up_that_is_not_answered_leaves_all_as_it_was(bench: Bench) -> None:
    """One that is late is no word on the coordinator: regular descriptions go on, and count as they did."""
    bench.brokers.groups["main"][GROUP] = FEWER
    await bench.time.run(4.8)
    bench.brokers.late = {GROUP}
    await bench.time.run(0.5)
    bench.brokers.late = set()
    bench.brokers.groups["main"][GROUP] = MADE_AGAIN
    await bench.time.run(20)
    assert bench.brokers.asked_s[:3] == [14.0, 14.5, 19.0]
    assert await counted(bench) == {"certain": 1.0}


async def test_a_follow_up_that_fails_stops_no_regular_description(bench: Bench) -> None:
    """The few groups of a follow-up may have a slow coordinator alone. It explains their new ids, as any failure."""
    bench.brokers.groups["main"][GROUP] = FEWER
    await bench.time.run(4.8)
    bench.brokers.down = {"main"}
    await bench.time.run(0.5)
    bench.brokers.down = set()
    bench.brokers.groups["main"][GROUP] = MADE_AGAIN
    await bench.time.run(10)
    assert bench.brokers.asked_s == [14.0, 14.5, 19.0, 24.0]
    assert await counted(bench) == {"doubtful": 1.0}


async def test_a_cluster_that_rests_has_no_follow_up(bench: Bench) -> None:
    """It did not answer: the next cycle finds out when it does again."""
    bench.brokers.groups["main"][GROUP] = FEWER
    await bench.time.run(4.8)
    bench.looks.at("main")._rests = True
    await bench.time.run(10)
    assert bench.brokers.asked_s == [14.0]


async def test_a_group_that_nobody_names_any_more_is_not_described_again(bench: Bench) -> None:
    """Its policy was deleted in that half a second."""
    bench.brokers.groups["main"][GROUP] = FEWER
    await bench.time.run(4.8)
    await bench.look(["another"])
    await bench.time.run(2)
    assert bench.read() == [GROUP, "another"]


def rolled(names: Sequence[str], number: int) -> dict[str, Group]:
    """Return groups of one member, another at each step, at an address that no step before for long had."""
    group = worlds.group([worlds.member(worlds.pod(number % 97), number)])
    return {name: dataclasses.replace(group, group_id=name) for name in names}


async def asked_in_a_minute(names: Sequence[str], *, moving: bool) -> tuple[int, int]:
    """Return how many descriptions there are between cycles, and in how many requests, where ids change or do not."""
    fresh = Bench()
    fresh.brokers.bounds = dataclasses.replace(fresh.brokers.bounds, describes_batches=True)
    async with fresh.looks.running():
        await fresh.look(names)
        fresh.forget_requests()
        for step in range(240):
            fresh.brokers.groups["main"].update(rolled(names, step if moving else 0))
            await fresh.time.run(0.25)
    return len(fresh.read()), len(fresh.brokers.requests)


@pytest.mark.parametrize("size", [50, 300, 1_000])
async def test_a_rollout_of_all_groups_costs_few_descriptions_more(size: int) -> None:
    """Though each description shows a member gone, those that follow another one, too."""
    names = [f"few-{number}" for number in range(size)]
    moving, calm = [await asked_in_a_minute(names, moving=moving) for moving in (True, False)]
    assert 500 < moving[0] - calm[0] <= cluster_looks.LOOKS_A_MINUTE / 4
    assert calm[1] < moving[1] <= 3 * calm[1]
