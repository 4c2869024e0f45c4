"""The group watcher's counters in, evictions by block out; a group that was not watched has none, not zero."""

import math

from heartbeat_tuner.metrics.absence import described_evictions
from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

BEGAN_S = 1_800_000_000.0 - 1_800_000_000.0 % BLOCK_S


def exported(pod: str, *steps: tuple[float, float], certainty: str = "certain") -> Series:
    """Return a counter of one pod, by seconds since the beginning."""
    labels = {"__name__": "heartbeat_tuner_group_evictions_total", "pod": pod, "certainty": certainty}
    return Series.from_raw(labels, [(BEGAN_S + at_s, value) for at_s, value in steps])


def test_each_growth_is_an_eviction_that_outlasted_the_session_of_that_time() -> None:
    """Of the pod's own block; how long the member was away, nobody saw."""
    counters = [exported("b", (0, 3), (100, 3), (200, 5)), exported("a", (0, 0), (100, 1))]
    found = described_evictions.evictions(
        {Quantity.EVICTIONS_SEEN: counters}, lambda at_s: 10.0 if at_s < BEGAN_S + 150 else None
    )
    assert found is not None
    events = [(event.block_s - BEGAN_S, event.pod, event.value_s, event.at_most_s) for event in found.events]
    assert events == [(90, "a", 10.0, math.inf), (180, "b", 0.0, math.inf), (180, "b", 0.0, math.inf)]
    assert [block_s - BEGAN_S for block_s in found.watched] == [0, 0, 90, 90, 180]


def test_what_was_there_when_the_counter_was_first_read_is_no_eviction_of_then() -> None:
    """It may be of any time before."""
    found = described_evictions.evictions({Quantity.EVICTIONS_SEEN: [exported("a", (0, 7), (60, 7))]}, lambda _: 10.0)
    assert found is not None
    assert found.events == ()


def test_a_group_that_nobody_watched_has_no_evictions_and_not_none_of_them() -> None:
    """Neither without the counters, nor with counters that were never scraped."""
    assert described_evictions.evictions({}, lambda _: 10.0) is None
    assert described_evictions.evictions({Quantity.EVICTIONS_SEEN: [exported("a")]}, lambda _: 10.0) is None


def test_new_ids_between_two_descriptions_are_counted_apart() -> None:
    """They outlasted nothing that anybody saw; where an older operator did not count them, they are not known."""
    certain = exported("a", (0, 0), (100, 1))
    unseen = exported("a", (0, 4), (100, 6), certainty="unseen")
    both = {Quantity.EVICTIONS_SEEN: [certain], Quantity.UNSEEN_REJOINS: [unseen]}
    found = described_evictions.unseen_rejoins(both)
    assert found is not None
    assert [(event.block_s - BEGAN_S, event.value_s) for event in found.events] == [(90, 0.0), (90, 0.0)]
    assert [block_s - BEGAN_S for block_s in found.watched] == [0, 90]
    seen = described_evictions.evictions(both, lambda _: 10.0)
    assert seen is not None
    assert [event.value_s for event in seen.events] == [10.0]
    assert described_evictions.unseen_rejoins({Quantity.EVICTIONS_SEEN: [certain]}) is None
