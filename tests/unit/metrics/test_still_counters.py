"""Counters that stand still, and those that never do, are looked at more quickly, and tell the same."""

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import MemberChange
from heartbeat_tuner.metrics import evictions
from heartbeat_tuner.metrics.raw import counter_steps
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, worlds
from tests.support.worlds import NOW, seconds

SINCE_S = (NOW - timedelta(minutes=30)).timestamp()


def lost(failed: float, *, started_s: float, rejoined: bool) -> list[MemberChange]:
    """Return the lost ids of a pod whose counters stand, or in the end move by a join that was asked for."""
    pod = worlds.pod(0, started=NOW - seconds(started_s))

    def counter(value: float, at_the_end: float) -> Series:
        times = [NOW.timestamp() - number * 15.0 for number in range(239, -1, -1)]
        pairs = [(at, value) for at in times if at >= pod.started.timestamp()]
        return counters.series([*pairs[:-1], (pairs[-1][0], value + at_the_end)], pod=pod.name)

    moved = float(rejoined)
    found = {
        Quantity.FAILED_REBALANCES: [counter(failed, 0.0)],
        Quantity.JOIN_ANSWERS: [counter(1.0, moved)],
        Quantity.REBALANCES: [counter(1.0, moved)],
    }
    return evictions.lost_ids(pod, found, since_s=SINCE_S)


@pytest.mark.parametrize("started_s", [600.0, 1790.0, 1810.0, 7200.0])
@pytest.mark.parametrize("failed", [0.0, 1.0, 3.0])
def test_a_pod_whose_counters_stand_still_lost_what_it_had_lost_before(failed: float, started_s: float) -> None:
    """A join at the end that was answered and completed changes nothing, but is looked at scrape by scrape."""
    found = lost(failed, started_s=started_s, rejoined=False)
    assert found == lost(failed, started_s=started_s, rejoined=True)
    assert len(found) == (max(0, round(failed) - 1) if started_s < 1800 else 0)


def unannounced(joined: float, *, started_s: float, rejoined: bool, namesake: bool) -> list[MemberChange]:
    """Return the evictions of a pod whose joins and notices stand, or in the end move by an announced rejoin.

    Half of its heartbeats were refused, two of them before its first scrape; a namesake may have been there before it.
    """
    pod = worlds.pod(0, started=NOW - seconds(started_s))
    times = [NOW.timestamp() - number * 15.0 for number in range(239, -1, -1)]
    mine = [at for at in times if namesake or at >= pod.started.timestamp()]

    def counter(values: list[float]) -> list[Series]:
        return [counters.series(list(zip(mine, values, strict=True)), pod=pod.name)]

    moved = [0.0] * (len(mine) - 1) + [float(rejoined)]
    found = {
        Quantity.HEARTBEATS: counter([number * 1.0 for number in range(len(mine))]),
        Quantity.HEARTBEAT_REQUESTS: counter([number * 2.0 + 2.0 for number in range(len(mine))]),
        Quantity.REBALANCE_NOTICES: counter(moved),
        Quantity.REBALANCES: counter([joined + item for item in moved]),
    }
    return evictions.unannounced(pod, found, since_s=SINCE_S)


@pytest.mark.parametrize("namesake", [False, True])
@pytest.mark.parametrize("started_s", [600.0, 1790.0, 1800.0, 1810.0, 7200.0])
@pytest.mark.parametrize("joined", [0.0, 1.0, 3.0])
def test_a_pod_whose_joins_stand_still_was_evicted_as_often_as_before(
    joined: float, started_s: float, *, namesake: bool
) -> None:
    """A rejoin at the end that was announced changes nothing, but is looked at scrape by scrape."""
    found = unannounced(joined, started_s=started_s, rejoined=False, namesake=namesake)
    assert found == unannounced(joined, started_s=started_s, rejoined=True, namesake=namesake)
    assert len(found) == (max(0, round(joined) - 1) if started_s < 1800 else 0)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=30), st.lists(st.integers(5, 40), min_size=30, max_size=30))
def test_beats_that_never_stand_still_hide_no_more_than_their_longest_step(grown: list[int], apart: list[int]) -> None:
    """Scrape by scrape, as it is said: the time of a step less that of its beats."""
    pairs, at, value = [(0.0, 0.0)], 0.0, 0.0
    for by, after in zip(grown, apart, strict=False):
        at, value = at + after, value + by
        pairs.append((at, value))
    beats = counters.series(pairs)
    mean_s = at / value
    steps = [after - by * mean_s for by, after in zip(grown, apart, strict=False)]
    joins = counters.series([(item, 1.0) for item, _ in pairs])
    for rejoins in (None, joins):
        found = counter_steps.longest_silence_s(beats, since_s=-math.inf, joins=rejoins)
        assert found == pytest.approx(max(0.0, *steps))
