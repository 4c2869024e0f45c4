"""Members of a share group that leave because they do not poll: what Java's share consumer counts, and what follows.

As measured (docs/design/0042): a member that does not poll for max.poll.interval.ms leaves, and joins again with its
next poll; its own counter of joins moves then, and those of the others when it leaves and when it is back.
"""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics import share_polls
from heartbeat_tuner.metrics.conventions import share_groups
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.conventions.java_metrics import SHARE_CONSUMER
from heartbeat_tuner.metrics.conventions.watched_groups import GROUP_WATCHER
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, worlds
from tests.support.counters import Answers
from tests.support.worlds import NOW

PODS: Final = worlds.pods(2)
OLD: Final = NOW - timedelta(minutes=30)
"""When the scrapes begin."""

SINCE: Final = NOW - timedelta(minutes=25)
LIMIT: Final = timedelta(minutes=5)
HELD_S: Final = 600.0
"""When, in seconds after the scrapes begin, the first pod polls last before its handler begins."""

Count = Callable[[float], float]


def joins(*ages_s: float) -> Count:
    """Return a counter of joins: of one before the scrapes, and of one at each of these times."""
    return lambda age_s: 1.0 + sum(age_s >= each for each in ages_s)


def life(gap_s: float, *, own: Count, others: Count) -> Answers:
    """Return what two pods export, the first of which does not poll for a time; what the broker shows is nothing.

    Args:
        gap_s: for how long it does not.
        own: counts its joins.
        others: counts those of the second pod.
    """
    back_s = HELD_S + gap_s
    ages: list[Count] = [lambda age_s: age_s - HELD_S if HELD_S <= age_s < back_s else 0.0, lambda _: 0.0]
    longest: list[Count] = [lambda age_s: gap_s if back_s <= age_s < back_s + 75 else 0.1, lambda _: 0.1]
    counts: dict[Quantity, list[Count]] = {
        Quantity.HEARTBEATS: [lambda age_s: age_s // 5] * 2,
        Quantity.REBALANCES: [own, others],
        Quantity.POLL_AGE: ages,
        Quantity.POLL_GAP_MAX: longest,
        Quantity.EVICTIONS_SEEN: [lambda _: 0.0] * 2,
        Quantity.DOUBTFUL_EVICTIONS: [lambda _: 0.0] * 2,
    }
    return {
        quantity: [counters.counter(pod, OLD, NOW, count) for pod, count in zip(PODS, each, strict=True)]
        for quantity, each in counts.items()
    }


def recorded(
    answers: Answers,
    *,
    limit: timedelta | None = LIMIT,
    convention: Convention = share_groups.RECORDS[SHARE_CONSUMER],
) -> Record:
    """Return the record of both pods."""
    policy = dataclasses.replace(worlds.policy(), library="java")
    scope = RecordScope(policy, PODS, limit, [], SINCE, NOW, consumer_protocol=True)
    record = records.measure(scope, answers, convention, query=lambda quantity: quantity.camel)
    assert isinstance(record, Record)
    return record


def test_a_member_that_did_not_poll_has_left_and_nobody_was_fenced() -> None:
    """It is back after 400 s; the other member gets its share when it leaves, and less when it is back."""
    record = recorded(life(400.0, own=joins(1_005.0), others=joins(905.0, 1_010.0)))
    assert (record.evictions, record.poll_gap_evictions, record.poll_gap_pods) == (0, 1, ("orders-0",))
    assert record.hidden is None


def test_a_member_that_is_away_still_explains_what_the_others_got() -> None:
    """Its last poll is longer ago than its limit, so it has left."""
    away_s = (NOW - OLD).total_seconds() - HELD_S
    record = recorded(life(away_s + 60.0, own=joins(), others=joins(905.0)))
    assert (record.poll_gap_evictions, record.hidden) == (0, None)


def test_joins_that_no_gap_explains_may_be_those_of_a_fenced_member() -> None:
    """Long before the member left, or long after it was back."""
    for others in (joins(700.0), joins(905.0, 1_400.0)):
        record = recorded(life(400.0, own=joins(1_005.0), others=others))
        assert record.poll_gap_evictions == 1
        assert record.hidden is not None
        assert record.hidden.message.startswith("pod orders-1 took part in a rebalance")


@pytest.mark.parametrize("limit", [timedelta(minutes=10), None])
def test_a_gap_within_the_limit_explains_nothing(limit: timedelta | None) -> None:
    """Nor does one where the limit is not known."""
    record = recorded(life(400.0, own=joins(1_005.0), others=joins()), limit=limit)
    assert record.poll_gap_evictions == 0
    assert record.hidden is not None
    assert record.hidden.message.startswith("pod orders-0 took part in a rebalance")


def test_who_left_is_not_counted_where_a_record_needs_no_counter_of_joins() -> None:
    """What the broker's descriptions alone show says nothing of polls."""
    record = recorded(life(400.0, own=joins(1_005.0), others=joins()), convention=GROUP_WATCHER)
    assert record.poll_gap_evictions == 0


def test_two_joins_after_one_leave_count_once() -> None:
    """Members that are back at the same time have their assignments changed twice."""
    twice = recorded(life(400.0, own=joins(1_005.0, 1_010.0), others=joins(1_010.0)))
    assert (twice.poll_gap_evictions, twice.hidden) == (1, None)


def test_a_longest_gap_may_have_ended_well_before_the_scrape_that_shows_it() -> None:
    """It is shown for up to 90 s; the age of the last poll is of the scrape itself."""
    for quantity, shown_s in ((Quantity.POLL_GAP_MAX, 90.0), (Quantity.POLL_AGE, 0.0)):
        answers = {quantity: [counters.series([(1_000.0, 400.0)], pod=PODS[0].name)]}
        assert share_polls.late_s(PODS, answers, limit=LIMIT) == ((900.0 - shown_s, 1_000.0),)


@given(
    gap_s=st.integers(10, 1_100),
    ages_s=st.lists(st.integers(305, 1_795), max_size=4),
    limit_s=st.integers(5, 1_200),
)
def test_nobody_leaves_who_polled_in_time_or_did_not_join_again(gap_s: int, ages_s: list[int], limit_s: int) -> None:
    """At most one leave for each join, and none without a gap as long as the limit."""
    answers = life(float(gap_s), own=joins(*ages_s), others=joins())
    late = share_polls.left(PODS, answers, limit=timedelta(seconds=limit_s), since=SINCE)
    assert len(late) <= len(ages_s)
    assert all(change.pod == "orders-0" and change.at > SINCE for change in late)
    if gap_s < limit_s:
        assert not late
        assert not share_polls.late_s(PODS, answers, limit=timedelta(seconds=limit_s))
