"""Few witnesses, whom nobody can choose, and who seldom agree by chance."""

import dataclasses
import math
import time
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verifications import EvictionHistory
from heartbeat_tuner.verification import episodes, witnesses
from heartbeat_tuner.verification.witnesses import WitnessGroup, WitnessRing

WRITTEN = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
WRITTEN_S = WRITTEN.timestamp()
VALUES = LivenessSettings(timedelta(seconds=45), timedelta(seconds=3), timedelta(seconds=1))
OWN = ObjectKey("shop", "orders")
DAYS = 14


def group(name: str, namespace: str = "", *, episodes_of_record: int = 0) -> WitnessGroup:
    """Return a group that was watched for 14 days, with a namespace of its own unless it is named.

    It has an episode after the change, too, at a time that no other has.
    """
    record = np.linspace(WRITTEN_S - DAYS * DAY_S, WRITTEN_S, episodes_of_record + 2)[1:-1].tolist()
    own_s = WRITTEN_S + DAY_S + sum(ord(letter) * 257**place for place, letter in enumerate(reversed(name)))
    history = EvictionHistory(WRITTEN - timedelta(days=DAYS), VALUES, (*record, own_s))
    return WitnessGroup(ObjectKey(namespace or f"of-{name}", name), name, None, history)


def chosen(others: Sequence[WitnessGroup], own: ObjectKey = OWN) -> list[WitnessGroup]:
    """Return the groups that testify about a change of shop/orders, as they were chosen."""
    by_episodes = {other.history.episodes_s: other for other in others}
    return [by_episodes[times] for times in witnesses.chosen(own, "orders", WitnessRing(others), WRITTEN)]


def per_day(other: WitnessGroup) -> float:
    """Return the rate of a group of `group`, with one episode more than it had before the change."""
    return len(other.history.episodes_s) / DAYS


NAMES = st.text("abcxyz-0", min_size=1, max_size=3)
GROUPS = st.lists(
    st.builds(
        lambda name, namespace, count: group(name, namespace, episodes_of_record=count),
        NAMES,
        st.sampled_from(["shop", "a", "b", "c", "d", "e", ""]),
        st.integers(0, 60),
    ),
    max_size=40,
    unique_by=lambda other: other.group_id,
)


def test_quiet_groups_of_other_namespaces_testify() -> None:
    """And so do those of the own one, all of them."""
    others = [group("a"), group("b"), group("c", "shop"), group("d", "shop")]
    assert sorted(other.group_id for other in chosen(others)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("changed", "testifies"),
    [(timedelta(days=-1, seconds=-1), True), (timedelta(days=-1), False), (timedelta(days=3), False)],
)
def test_a_group_that_was_changed_lately_or_since_does_not(changed: timedelta, *, testifies: bool) -> None:
    """Its own new values may have done it, and a fit that harms many must not hide behind itself."""
    other = dataclasses.replace(group("a"), changed=WRITTEN + changed)
    assert chosen([other]) == [other] * testifies


@pytest.mark.parametrize(("days", "testifies"), [(1.0, True), (0.99, False), (-1.0, False)])
def test_a_group_that_was_watched_for_less_than_a_day_does_not(days: float, *, testifies: bool) -> None:
    """Nothing is known of its rate."""
    other = group("a")
    other = dataclasses.replace(
        other, history=dataclasses.replace(other.history, since=WRITTEN - timedelta(days=days), left_out=())
    )
    assert chosen([other]) == [other] * testifies


@pytest.mark.parametrize(("left_out_days", "testifies"), [(0.0, True), (11.0, True), (13.0, False), (20.0, False)])
def test_time_in_which_nothing_was_learnt_is_not_watched(left_out_days: float, *, testifies: bool) -> None:
    """Two episodes in three days are 1 a day with one more; in one day they are too many."""
    other = group("a", episodes_of_record=2)
    stretch = (WRITTEN_S - (DAYS + 1) * DAY_S, WRITTEN_S - (DAYS - left_out_days) * DAY_S)
    other = dataclasses.replace(other, history=dataclasses.replace(other.history, left_out=(stretch,)))
    assert chosen([other]) == [other] * testifies


def test_members_of_a_group_testify_once_and_never_for_themselves() -> None:
    """Two policies of two Deployments may share a group: what hits one hits the other."""
    twins = [dataclasses.replace(group(name), group_id="twins") for name in "ab"]
    own = dataclasses.replace(group("c"), group_id="orders")
    assert len(chosen([*twins, own])) == 1
    assert chosen([own]) == []


def test_there_are_at_most_20() -> None:
    """Though a thousand are quiet; each group has others."""
    others = [group(f"g{number}") for number in range(1_000)]
    assert len(chosen(others)) == witnesses.MOST
    assert chosen(others) != chosen(others, ObjectKey("shop", "payments"))


def test_of_busy_groups_there_are_fewer() -> None:
    """Eight with an episode a day are as many as chance allows, and a quiet one fits beside them."""
    busy = [group(f"g{number}", episodes_of_record=DAYS - 1) for number in range(40)]
    assert len(chosen(busy)) == math.floor(witnesses.MOST_PER_DAY) == 8
    assert group("quiet") in chosen([*busy, group("quiet")])


@given(GROUPS, st.randoms())
def test_the_order_of_the_others_makes_no_difference(others: list[WitnessGroup], random: Random) -> None:
    """Every leader lists them as it likes."""
    shuffled = list(others)
    random.shuffle(shuffled)
    assert chosen(shuffled) == chosen(others)


@given(GROUPS)
def test_of_a_foreign_namespace_a_single_group_testifies(others: list[WitnessGroup]) -> None:
    """Whoever has many groups is not heard more often."""
    foreign = [other.policy.namespace for other in chosen(others) if other.policy.namespace != OWN.namespace]
    assert len(foreign) == len(set(foreign))


@given(GROUPS)
def test_three_seldom_agree_by_chance(others: list[WitnessGroup]) -> None:
    """In a window of 15 minutes with a probability of 1 in 10,000 at most, and each has a fifth of that sum at most."""
    rates = [per_day(other) for other in chosen(others)]
    expected = sum(rates) / DAY_S * episodes.WITHIN_S
    assert -math.expm1(-expected) - math.exp(-expected) * (expected + expected**2 / 2) <= witnesses.BY_CHANCE * 1.000001
    assert all(rate <= witnesses.MOST_OF_A_WITNESS for rate in rates)


@given(GROUPS, NAMES, st.integers(0, 60))
def test_a_further_group_takes_no_place_before_its_own(others: list[WitnessGroup], name: str, count: int) -> None:
    """Those that are asked before it testify as they did; too busy a group changes nothing at all."""
    further = group(f"{name}!", episodes_of_record=count)
    before, after = chosen(others), chosen([*others, further])
    if further in after:
        assert after[: after.index(further)] == before[: after.index(further)]
    else:
        assert after == before
    assert further not in after or per_day(further) <= witnesses.MOST_OF_A_WITNESS


@given(GROUPS, st.lists(st.tuples(NAMES, st.integers(0, 60)), max_size=30, unique_by=lambda pair: pair[0]))
def test_a_tenant_who_chooses_names_pushes_no_more_out_than_a_place(
    others: list[WitnessGroup], evil: list[tuple[str, int]]
) -> None:
    """Four others at least testify beside it if there are as many, so an event of three is still seen."""
    fakes = [group(f"{name}!", "evil", episodes_of_record=count) for name, count in evil]
    honest = [other for other in chosen([*others, *fakes]) if other.policy.namespace != "evil"]
    assert len(honest) >= min(4, len(chosen(others)))


@given(GROUPS, st.lists(st.floats(0.0, 28 * DAY_S), max_size=40).map(sorted))
def test_what_happens_since_does_not_change_the_choice(others: list[WitnessGroup], since_s: list[float]) -> None:
    """A look after an incident asks those whom a look before it asked."""

    def later(other: WitnessGroup) -> WitnessGroup:
        *record, own_s = other.history.episodes_s
        times = (*record, *(WRITTEN_S + at_s for at_s in since_s), own_s + 30 * DAY_S)
        stretch = ((WRITTEN_S + DAY_S, WRITTEN_S + 9 * DAY_S),)
        return dataclasses.replace(
            other, history=dataclasses.replace(other.history, episodes_s=times, left_out=stretch)
        )

    now = [other.group_id for other in chosen([later(other) for other in others])]
    assert now == [other.group_id for other in chosen(others)]


def test_what_is_older_than_14_days_does_not_change_the_choice() -> None:
    """It is forgotten before the last look at the change."""
    others = [group(f"g{number}", episodes_of_record=number % 20) for number in range(100)]
    older = tuple(WRITTEN_S - (DAYS + 0.01 * number) * DAY_S for number in range(50, 0, -1))
    longer = [
        dataclasses.replace(
            other,
            history=dataclasses.replace(
                other.history, since=WRITTEN - timedelta(days=28), episodes_s=(*older, *other.history.episodes_s)
            ),
        )
        for other in others
    ]
    assert [other.group_id for other in chosen(longer)] == [other.group_id for other in chosen(others)]


def chosen_by_asking_all(others: Sequence[WitnessGroup], own: ObjectKey = OWN) -> list[str]:
    """Return the ids of the groups that are chosen when each is asked in its turn."""

    def place(policy: ObjectKey) -> tuple[int, ObjectKey]:
        return zlib.crc32(str(policy).encode()), policy

    ring = sorted(others, key=lambda other: place(other.policy))
    behind = [other for other in ring if place(other.policy)[0] < place(own)[0]]
    witnesses_of: list[WitnessGroup] = []
    for other in [*ring[len(behind) :], *behind]:
        namespaces = {item.policy.namespace for item in witnesses_of} - {own.namespace}
        rates = [per_day(item) for item in [*witnesses_of, other]]
        if (
            len(witnesses_of) < witnesses.MOST
            and other.policy.namespace not in namespaces
            and rates[-1] <= witnesses.MOST_OF_A_WITNESS
            and sum(rates) <= witnesses.MOST_PER_DAY
        ):
            witnesses_of.append(other)
    return [other.group_id for other in witnesses_of]


@given(
    st.integers(0, 99_999),
    st.integers(80, 400),
    st.integers(1, 400),
    st.sampled_from([2, 16, 22]),
    st.sampled_from([0, 9]),
)
def test_who_is_passed_over_at_once_would_not_be_chosen(
    seed: int, count: int, namespaces: int, most: int, busy_of_ten: int
) -> None:
    """Of many groups those that are too busy are not asked one by one; at the end of the ring it goes on."""
    random = np.random.default_rng(seed)
    busy = random.integers(10, size=count) < busy_of_ten
    others = [
        group(
            f"g{number}",
            f"n{number % namespaces}",
            episodes_of_record=60 if busy[number] else int(random.integers(most + 1)),
        )
        for number in range(count)
    ]
    own = others[seed % count].policy
    assert [other.group_id for other in chosen(others, own)] == chosen_by_asking_all(others, own)


@pytest.mark.parametrize("episodes_of_record", [1, 14, 60])
def test_ten_thousand_groups_hold_nobody_up(episodes_of_record: int) -> None:
    """A new leader asks for all changes at once. It takes a tenth of that time, more while coverage is measured."""
    ring = WitnessRing([group(f"g{number}", episodes_of_record=episodes_of_record) for number in range(10_000)])
    began = time.process_time()
    for number in range(300):
        witnesses.chosen(ObjectKey("shop", f"g{number}"), "orders", ring, WRITTEN)
    assert time.process_time() - began < 1.5


def fleet_of(count: int, random: np.random.Generator, *, hit_s: Sequence[float] = ()) -> list[WitnessGroup]:
    """Return groups with an episode a day over 42 days, at any time, and moments at which all of them are evicted."""
    fleet = []
    for number in range(count):
        times = WRITTEN_S + random.uniform(-DAYS * DAY_S, 28 * DAY_S, random.poisson(42))
        other = group(f"g{number}")
        begun = tuple(episodes.starts([*times, *hit_s]).tolist())
        fleet.append(dataclasses.replace(other, history=dataclasses.replace(other.history, episodes_s=begun)))
    return fleet


def part_left_out(times: Sequence[Sequence[float]]) -> float:
    """Return the part of 42 days in which three groups coincide."""
    return sum(until_s - since_s for since_s, until_s in episodes.broker_wide(times)) / (42 * DAY_S)


def test_by_chance_a_large_fleet_leaves_out_hardly_any_time() -> None:
    """A thousand groups with an episode a day: nearly all of the time if all testify, not an hour a week if few do."""
    fleet = fleet_of(1_000, np.random.default_rng(7))
    assert part_left_out([other.history.episodes_s for other in fleet]) > 0.99
    testimonies = witnesses.chosen(OWN, "orders", WitnessRing(fleet), WRITTEN)
    assert len(testimonies) >= 5
    assert part_left_out(testimonies) < 0.005


def test_what_hits_all_groups_is_seen() -> None:
    """However few of them testify."""
    hit_s = WRITTEN_S + 5.4 * DAY_S
    fleet = WitnessRing(fleet_of(1_000, np.random.default_rng(8), hit_s=[hit_s]))
    testimonies = witnesses.chosen(OWN, "orders", fleet, WRITTEN)
    assert any(since_s <= hit_s < until_s for since_s, until_s in episodes.broker_wide(testimonies))
