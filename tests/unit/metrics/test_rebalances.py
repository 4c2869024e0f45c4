"""When a group rebalanced: what several members counted is one event, and what one counted is never lost."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics import rebalances
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.rebalances import Increase, Rebalance
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters


def member(*values: float, pod: str = "orders-0", start: float = 0.0, **labels: str) -> Series:
    """Return a member's counter of joins, scraped every 30 s."""
    pairs = ((start + 30.0 * number, value) for number, value in enumerate(values))
    return counters.series(pairs, pod=pod, **labels)


def events(
    *group: Series, latency_s: float = 1.0, cooperative: bool = False, causes: Collection[float] = ()
) -> list[Rebalance]:
    """Return a group's rebalances."""
    found = rebalances.increases(group)
    return rebalances.events(found, latency_s=latency_s, cooperative=cooperative, causes=causes)


def test_one_rebalance_of_three_members_is_one() -> None:
    """Each of them counted it, each at another scrape."""
    group = [
        member(3, 4, pod="orders-0"),
        member(3, 4, pod="orders-1", start=-9.0),
        member(7, 8, pod="orders-2", start=9.0),
    ]
    assert events(*group) == [Rebalance(since_s=-9.0, until_s=39.0, members=3, planned=False)]


def test_a_member_that_completes_later_saw_the_same_one() -> None:
    """The last one in may have waited for its assignment for 20 s: its scrapes allow for that."""
    late = member(3, 4, pod="orders-1", start=45.0)
    assert len(events(member(3, 4), late, latency_s=20.0)) == 1
    assert len(events(member(3, 4), late, latency_s=10.0)) == 2


def test_a_slow_scrape_of_the_same_rebalance_is_no_second_one() -> None:
    """A member that was not scraped for two minutes may have counted it long before."""
    frozen = counters.series([(0.0, 3.0), (150.0, 4.0)], pod="orders-1")
    assert len(events(member(3, 4, 4, 4, 4, 4), frozen)) == 1


def test_rebalances_apart_are_several() -> None:
    """Ten minutes lie between them."""
    assert len(events(member(1, 2, *[2] * 20, 3), member(5, 6, *[6] * 20, 7, pod="orders-1"))) == 2


def test_two_in_a_row_are_two_though_all_scrapes_overlap() -> None:
    """One member saw both, the other one the second: a real group, a member of which was removed and came back."""
    group = [
        counters.series([(98.2, 4.0), (103.2, 5.0), (108.2, 6.0)]),
        counters.series([(104.5, 4.0), (109.5, 5.0)], pod="b"),
    ]
    assert [(event.since_s, event.until_s, event.members) for event in events(*group)] == [
        (98.2, 103.2, 1),
        (103.2, 109.5, 2),
    ]


def test_several_between_two_scrapes_are_as_many_as_one_member_counted() -> None:
    """Nobody sees them apart, but the one that counted three has seen three."""
    assert [event.members for event in events(member(1, 4), member(1, 2, pod="orders-1"))] == [2, 1, 1]


def test_a_new_clients_first_join_counts() -> None:
    """Its first scrape holds it already: growth alone would not show it."""
    new = member(1, 1, 1, pod="orders-9", start=300.0)
    assert events(member(*[3] * 15), new) == [Rebalance(since_s=270.0, until_s=300.0, members=1, planned=False)]


def test_a_new_client_that_has_not_joined_yet_saw_no_rebalance() -> None:
    """Its first join counts when it is counted."""
    assert rebalances.increases([member(*[3] * 15), member(0, 0, pod="orders-9", start=300.0)]) == []
    (joined,) = rebalances.increases([member(*[3] * 15), member(0, 1, pod="orders-9", start=300.0)])
    assert (joined.since_s, joined.until_s) == (300.0, 330.0)


def test_a_past_that_was_not_scraped_does_not_count() -> None:
    """A series that appears with ninety joins had them before; one with none has none."""
    assert events(member(*[3] * 15), member(90, 90, pod="orders-9", start=300.0)) == []
    assert events(member(*[3] * 15), member(0, 0, pod="orders-9", start=300.0)) == []
    assert events(member(3, 3), member(pod="orders-9")) == []
    assert events() == []


def test_a_client_that_was_made_anew_counts_what_it_joined() -> None:
    """A reset is no negative number of rebalances."""
    assert len(events(member(9, 9, 1, 1))) == 1


def test_the_two_rounds_of_a_cooperative_rebalance_are_one() -> None:
    """Partitions are given up in the first and handed out in the second, which may fall into the next scrape."""
    group = [member(3, 5, 5), member(3, 4, 5, pod="orders-1")]
    (rebalance,) = events(*group, cooperative=True)
    assert (rebalance.since_s, rebalance.until_s, rebalance.members) == (0.0, 60.0, 2)
    assert len(events(*group, cooperative=False)) == 2
    assert len(events(member(3, 4, 5), cooperative=True)) == 1
    assert len(events(member(3, 6), cooperative=True)) == 2
    assert len(events(member(3, 4, 4, 4, 5), cooperative=True)) == 2


@pytest.mark.parametrize(
    ("cause_s", "planned"), [(31.0, True), (-60.0, True), (150.0, True), (-61.0, False), (151.0, False)]
)
def test_a_rebalance_near_a_pods_start_or_end_is_planned(cause_s: float, planned: bool) -> None:  # noqa: FBT001 - column
    """90 s before the scrape that had not seen it yet, to 90 s after the one that had."""
    (rebalance,) = events(member(3, 3, 4), causes=[cause_s])
    assert (rebalance.since_s, rebalance.until_s) == (30.0, 60.0)
    assert rebalance.planned is planned


def test_pods_that_start_are_ready_and_end_are_causes_and_crashes_are_not() -> None:
    """A container that is started again in its pod was nobody's plan."""
    platform = {
        quantity: [counters.series([(0.0, value), (30.0, value)])]
        for quantity, value in (
            (Quantity.POD_STARTED, 100.0),
            (Quantity.POD_READY, 120.0),
            (Quantity.POD_DELETED, 500.0),
            (Quantity.CONTAINER_STARTED, 300.0),
        )
    }
    assert rebalances.causes(platform) == [100.0, 120.0, 500.0]
    calm = {Quantity.CONTAINER_RESTARTS: [counters.series([(0.0, 0.0), (30.0, 0.0)])]}
    assert rebalances.causes({**platform, **calm}) == [100.0, 120.0, 500.0]
    crashed = {Quantity.CONTAINER_RESTARTS: [counters.series([(0.0, 0.0), (30.0, 1.0)])]}
    assert rebalances.causes({**platform, **crashed}) == [100.0, 500.0]


def test_members_complete_a_rebalance_as_far_apart_as_a_join_lasts() -> None:
    """Where that is not exported, as far as two scrapes."""
    group = [member(1, 1, 1)]
    assert rebalances.latency_s({Quantity.REBALANCES: group}) == 30.0
    latency = [counters.series([(0.0, 2.0), (30.0, 4.5)])]
    assert rebalances.latency_s({Quantity.REBALANCES: group, Quantity.REBALANCE_LATENCY_MAX: latency}) == 4.5
    assert rebalances.latency_s({}) == 0.0


INCREASES = st.lists(
    st.builds(
        lambda member, until_s, took_s, joins: Increase(member, until_s - took_s, until_s, joins),
        st.integers(0, 4),
        st.floats(0, 2_000),
        st.floats(1, 120),
        st.integers(1, 5),
    ),
    max_size=25,
)


@given(INCREASES, st.floats(0, 120), st.booleans())
def test_a_group_has_no_more_rebalances_than_its_members_counted(
    found: list[Increase],
    latency_s: float,
    cooperative: bool,  # noqa: FBT001 - drawn
) -> None:
    """And no fewer than any single member did, but where two rounds are one."""
    ordered = sorted(found, key=lambda rebalance: (rebalance.until_s, rebalance.since_s))
    events = rebalances.events(ordered, latency_s=latency_s, cooperative=cooperative)
    by_member = {item.member: 0 for item in found}
    for item in found:
        by_member[item.member] += item.joins
    most = max(by_member.values(), default=0)
    assert (most / 2 if cooperative else most) <= len(events) <= sum(by_member.values())


@given(st.lists(st.floats(1, 3_000), max_size=12), st.integers(1, 4), st.floats(0.5, 60))
def test_no_rebalance_is_invented(times: list[float], members: int, scrape_s: float) -> None:
    """Of real rebalances that all members took part in, each scraped at its own moments, no more are found."""
    group = []
    for number in range(members):
        scrapes = [number * scrape_s / members + scrape_s * step for step in range(int(3_000 / scrape_s) + 3)]
        counted = ((at_s, 1.0 + sum(time_s <= at_s for time_s in times)) for at_s in scrapes)
        group.append(counters.series(counted, pod=f"orders-{number}"))
    assert len(events(*group, latency_s=0.0)) <= len(times)


def test_a_rebalance_took_as_long_as_its_slowest_member() -> None:
    """All wait for it; what one counted in several joins is their mean, and of a new client all that it spent."""
    joins = [member(3, 3, 4), member(5, 5, 7, pod="orders-1"), member(1, 1, 1, pod="orders-2", start=300.0)]
    spent = [member(9, 9, 10), member(9, 9, 13, pod="orders-1"), member(0.5, 0.5, 0.5, pod="orders-2", start=300.0)]
    found = rebalances.events(rebalances.increases(joins, spent), latency_s=1.0)
    assert [item.took_s for item in found] == [2.0, 2.0, 0.5]
    assert [event.took_s for event in events(*joins)] == [None, None, None]


def test_time_that_was_not_scraped_with_the_joins_says_nothing() -> None:
    """A series that begins later than its twin has not the same past."""
    joins = [member(*[1] * 9), member(1, 1, 1, 2, pod="orders-1", start=90.0)]
    spent = [member(*[1] * 9), member(7, 7, 7, pod="orders-1", start=135.0)]
    assert [increase.took_s for increase in rebalances.increases(joins, spent)] == [None, None]
