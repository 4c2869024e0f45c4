"""Groups read in lots between cycles: how many, when, in which order, and what a cycle is left with."""

import asyncio
import dataclasses
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from heartbeat_tuner.domain.errors import ClusterUnreachableError
from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.reconcile.gather import cluster_looks
from heartbeat_tuner.reconcile.gather.cluster_looks import (
    IN_A_CYCLE,
    IN_A_CYCLE_WITHIN,
    LARGEST_LOT,
    LOT_WITHIN,
    ClusterLooks,
)
from tests.support import worlds
from tests.support.fakes import FakeClock
from tests.unit.reconcile.gather.fresh_looks import INTERVAL_S, LATE, Bench

MANY = [f"g{number:05d}" for number in range(10_000)]
FEW = MANY[:IN_A_CYCLE]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A view that is kept fresh between cycles."""
    found = Bench()
    async with found.looks.running():
        yield found


async def test_a_cycle_reads_all_of_a_small_fleet(bench: Bench) -> None:
    """As fresh as can be, in the time that there ever was."""
    for _ in range(3):
        bench.forget_requests()
        assert await bench.look(FEW) == set()
        assert [ids for _, ids in bench.brokers.requests] == [tuple(FEW)]
        assert bench.brokers.times == [None]
        await bench.time.run(INTERVAL_S)


@pytest.mark.parametrize(
    ("size", "looks", "batches"),
    [
        (1, 12, False),
        (50, 12, False),
        (500, 1, False),
        (1_000, 0, False),
        (300, 12, True),
        (500, 7, True),
        (1_000, 3, True),
    ],
)
async def test_a_small_fleet_is_read_more_often_for_the_group_watcher(
    bench: Bench, size: int, looks: int, *, batches: bool
) -> None:
    """Every five seconds, as long as a thousand descriptions a minute are enough for that, or 4,000 in batches."""
    bench.brokers.bounds = dataclasses.replace(bench.brokers.bounds, describes_batches=batches)
    few = [f"few-{number}" for number in range(size)]
    await bench.look(few)
    bench.forget_requests()
    await bench.time.run(60)
    counts = Counter(bench.read())
    assert (
        sum(counts.values()) <= min(size * 12, (4_000 if batches else 1_000) - size) * 61 / 60 + 1
    )  # the lot of the 60th second is in it
    assert all(abs(counts[name] - looks) <= 1 for name in few)


async def test_each_answer_is_shown_to_the_group_watcher(bench: Bench) -> None:
    """What was not answered is, too: an outage explains new member ids."""
    shown: list[tuple[str, str, bool]] = []
    looks = ClusterLooks(
        "main",
        bench.brokers,
        FakeClock(),
        interval=timedelta(seconds=INTERVAL_S),
        monotonic=lambda: 0.0,
        answered=lambda cluster, group_id, look: shown.append((cluster, group_id, look is not None)),
    )
    await looks.look(["a", "b"])
    bench.brokers.down.add("main")
    with pytest.raises(ClusterUnreachableError):
        await looks.look(["a"])
    assert shown == [("main", "a", True), ("main", "b", True), ("main", "a", False)]


async def test_the_first_look_reads_all(bench: Bench) -> None:
    """Nothing is known yet, and a start is to be over soon."""
    assert await bench.look(MANY) == set()
    assert bench.read() == MANY
    assert bench.brokers.times == [None]


async def test_a_steady_cycle_asks_for_a_part_that_brokers_describe_in_a_second(bench: Bench) -> None:
    """And has all groups none the less, each of them as of the last interval."""
    await bench.look(MANY)
    for _ in range(5):
        await bench.time.run(INTERVAL_S)
        assert bench.looks.oldest_s <= INTERVAL_S + 2
        bench.forget_requests()
        assert await bench.look(MANY) == set()
        assert bench.brokers.times == [IN_A_CYCLE_WITHIN]
        assert len(bench.read()) == IN_A_CYCLE


async def test_brokers_see_a_steady_trickle(bench: Bench) -> None:
    """Between two cycles each of the other groups once, so many a second."""
    await bench.look(MANY)
    bench.forget_requests()
    await bench.time.run(INTERVAL_S)
    lots = [len(ids) for _, ids in bench.brokers.requests]
    assert max(lots) == min(lots) == (len(MANY) - IN_A_CYCLE) / INTERVAL_S
    assert [later - earlier for earlier, later in itertools.pairwise(bench.brokers.asked_s)] == [1.0] * (len(lots) - 1)
    assert set(bench.brokers.times) == {LOT_WITHIN}
    assert len(set(bench.read())) == len(bench.read())


async def test_who_was_asked_for_longest_ago_is_next(bench: Bench) -> None:
    """In lots and in cycles; before them come those that were never read, and those with other pods."""
    await bench.look(MANY)
    await bench.time.run(INTERVAL_S)
    in_lots = set(bench.read()[len(MANY) :])
    bench.forget_requests()
    await bench.look([*MANY, "new"], first=["g00042", "g00001"])
    expected = ["new", "g00042", "g00001", *(item for item in MANY if item not in in_lots)]
    assert bench.read()[: len(expected)] == expected


async def test_many_new_groups_are_read_soon_and_none_is_called_unreadable(bench: Bench) -> None:
    """The cycle waits for a thousand; the others come at once, in larger lots than in peace."""
    await bench.look(MANY[:1_100])
    await bench.time.run(INTERVAL_S)
    unread = await bench.look(MANY)
    assert len(unread) == len(MANY) - 1_100 - IN_A_CYCLE
    bench.forget_requests()
    await bench.time.run(len(unread) / LARGEST_LOT + 2)
    assert {len(ids) for _, ids in bench.brokers.requests[:10]} == {LARGEST_LOT}
    assert unread <= set(bench.read())


async def test_a_slow_broker_has_a_rest_after_each_lot(bench: Bench) -> None:
    """A lot that takes long is followed by as much silence."""
    await bench.look(MANY)
    bench.brokers.each_s = 0.02
    bench.forget_requests()
    await bench.time.run(INTERVAL_S)
    lot_s = len(bench.brokers.requests[0][1]) * bench.brokers.each_s
    assert lot_s > 1.0
    gaps_s = [later - earlier for earlier, later in itertools.pairwise(bench.brokers.asked_s)]
    assert min(gaps_s) >= 2 * lot_s - 0.001


async def test_what_is_late_in_a_small_fleet_is_unread(bench: Bench) -> None:
    """Whatever was said of it a minute ago: the cycle waited for as long as it can."""
    await bench.look(FEW)
    bench.brokers.late = set(FEW[5:25])
    assert await bench.look(FEW) == bench.brokers.late


async def test_what_is_late_comes_first_and_is_as_it_was(bench: Bench) -> None:
    """Like all that the cycle did not ask for, unless its pods have changed; the log names one, not hundreds."""
    await bench.look(MANY)
    bench.brokers.late = set(MANY[5:25])
    with capture_logs() as logs:
        assert await bench.look(MANY, first=["g00007", "g09999"]) == {"g00007"}
    (line,) = logs
    assert (line["log_level"], line["groups"], line["asked"]) == ("warning", 20, IN_A_CYCLE)
    assert str(logs).count("g000") == 1
    bench.forget_requests()
    assert await bench.look(MANY) == set()
    assert sorted(bench.read()[:20]) == MANY[5:25]


async def test_a_look_that_is_too_old_is_none(bench: Bench) -> None:
    """Lots that are late for half an interval leave groups unread, until they are through."""
    await bench.look(MANY)
    bench.brokers.late = set(MANY)
    await bench.time.run(INTERVAL_S)
    assert await bench.look(MANY) == set()
    await bench.time.run(INTERVAL_S * (cluster_looks.USABLE_INTERVALS - 1) + 1)
    assert await bench.look(MANY) == set(MANY)


async def test_what_a_cycle_has_just_read_is_not_too_old() -> None:
    """However short the interval is: an answer that took longer than it is still the newest there is."""
    bench = Bench(interval_s=0.5)
    bench.brokers.each_s = 0.1
    looking = asyncio.create_task(bench.look(MANY[:20]))
    await bench.time.run(3.0)
    assert await looking == set()


async def test_a_cluster_that_is_down_costs_the_others_nothing(bench: Bench) -> None:
    """Neither their lots, nor their looks; it is asked by cycles alone until it is back."""
    await bench.look(MANY)
    await bench.look(MANY, "other")
    bench.brokers.down = {"other"}
    bench.forget_requests()
    await bench.time.run(INTERVAL_S)
    assert len(set(bench.read())) >= len(MANY) - IN_A_CYCLE
    assert len([name for name, _ in bench.brokers.requests if name == "other"]) == 1
    with pytest.raises(ClusterUnreachableError):
        await bench.look(MANY, "other")
    assert await bench.look(MANY) == set()
    bench.brokers.down = set()
    assert await bench.look(MANY, "other") == set()
    bench.forget_requests()
    await bench.time.run(10)
    assert len(set(bench.read("other"))) >= 10 * 150


async def test_a_lot_that_fails_is_logged_and_delays_no_other_cluster(bench: Bench) -> None:
    """What nobody foresaw ends neither the task nor the cycle."""
    await bench.look(MANY)
    bench.brokers.error = KeyError("a surprise")
    with capture_logs() as logs:
        await bench.time.run(10)
    assert [line["event"] for line in logs] == ["groups not read between cycles, the next cycle tries again"]
    bench.brokers.error = None
    assert await bench.look(MANY) == set()
    bench.forget_requests()
    await bench.time.run(10)
    assert len(bench.read()) >= 10 * 150


async def test_groups_and_clusters_that_nobody_names_are_forgotten(bench: Bench) -> None:
    """Those of a lot under way, too."""
    await bench.look(MANY)
    await bench.look(MANY, "other")
    bench.brokers.each_s = 0.001
    await bench.time.run(1.05)  # lots are under way
    bench.brokers.each_s = 0.0
    await bench.look(MANY[:5])
    await bench.time.run(5)
    view = bench.looks.at("main")
    assert set(view._looks) == set(view._in_turn) == set(MANY[:5])
    assert not view._never
    await bench.looks.want(["main"])
    bench.forget_requests()
    await bench.time.run(5)
    assert bench.read("other") == []
    assert set(bench.looks._clusters) == {"main"}


async def test_what_has_not_changed_is_the_same_object(bench: Bench) -> None:
    """Ten thousand groups are kept once, however many remember them; what has changed is seen."""
    looks = bench.looks.at("main")
    before = (await looks.look(["g"])).groups["g"]
    await bench.time.run(INTERVAL_S)
    after = (await looks.look(["g"])).groups["g"]
    assert after.group is before.group
    assert after.at - before.at == timedelta(seconds=INTERVAL_S)
    bench.brokers.groups["main"]["g"] = worlds.group(rebalancing=True)
    assert (await looks.look(["g"])).groups["g"].group == worlds.group(rebalancing=True)


async def test_a_write_has_a_look_of_its_own_where_the_last_is_older_than_a_few_seconds(bench: Bench) -> None:
    """One group, now."""
    await bench.look(MANY)
    looks = bench.looks.at("main")
    bench.forget_requests()
    assert (await looks.look_lately(MANY[-1])).group == Group(MANY[-1], worlds.group().state, ())
    assert bench.read() == []
    await bench.time.run(cluster_looks.FRESH_S + 0.5)
    bench.forget_requests()
    bench.brokers.groups["main"][MANY[-1]] = worlds.group(rebalancing=True)
    assert (await looks.look_lately(MANY[-1])).group == worlds.group(rebalancing=True)
    assert bench.read() == [MANY[-1]]


async def test_nothing_is_read_after_the_end() -> None:
    """A leadership that is over asks no broker."""
    bench = Bench()
    async with bench.looks.running():
        await bench.look(MANY)
    bench.forget_requests()
    await bench.time.run(INTERVAL_S)
    assert bench.read() == []
    assert bench.looks.oldest_s == INTERVAL_S


async def test_an_early_look_reads_only_what_is_not_known(bench: Bench) -> None:
    """A new group, and one whose pods have changed; all others are as they were read last, and none is forgotten."""
    await bench.look(FEW)
    bench.forget_requests()
    await bench.time.run(5.0)
    found = await bench.looks.at("main").look_early([*FEW[:3], "new"], first=FEW[:1])
    assert bench.read() == [FEW[0], "new"]
    assert bench.brokers.times == [IN_A_CYCLE_WITHIN]
    assert [found.groups[name].asked_s for name in (*FEW[:3], "new")] == [5.0, 0.0, 0.0, 5.0]
    bench.forget_requests()
    again = await bench.looks.at("main").look_early([FEW[-1], "new"], first=())
    assert bench.read() == []
    assert not any(isinstance(look.group, UnreadableGroup) for look in again.groups.values())


async def test_who_is_late_in_an_early_look_is_unread(bench: Bench) -> None:
    """Whatever was said of it before its pods changed."""
    await bench.look(FEW)
    bench.brokers.late = {FEW[0]}
    found = await bench.looks.at("main").look_early(FEW[:2], first=FEW[:1])
    assert [found.groups[name].group == LATE for name in FEW[:2]] == [True, False]


async def test_an_early_look_does_not_wait_for_a_cluster_that_was_out_of_reach(bench: Bench) -> None:
    """Until a cycle has reached it; the other cluster is looked at."""
    await bench.look(FEW)
    bench.brokers.down.add("main")
    with pytest.raises(ClusterUnreachableError) as outage:
        await bench.look(FEW)
    bench.brokers.down.clear()
    bench.forget_requests()
    with pytest.raises(ClusterUnreachableError, match=str(outage.value)):
        await bench.looks.at("main").look_early(["new"], first=())
    assert bench.read() == []
    assert (await bench.looks.at("other").look_early(["new"], first=())).groups["new"].group is not None
    await bench.look(FEW)
    assert (await bench.looks.at("main").look_early(["new"], first=())).groups["new"].group is not None
