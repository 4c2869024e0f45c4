"""The record before a change, what was promised, and incidents in which values are changed."""

import math

import numpy as np
import pytest

from heartbeat_tuner.tails import count_bounds
from heartbeat_tuner.verification import references
from heartbeat_tuner.verification.e_process import PastCount
from heartbeat_tuner.verification.exposure import EVEN, ExposureClock
from heartbeat_tuner.verification.references import Before

DAY = 86_400.0
CLOCK = ExposureClock(EVEN, ())


def record(*days: float, span: float = 14.0) -> Before:
    """Return what episodes say that came so many days after the beginning of a record."""
    return references.before(np.array(sorted(days)) * DAY, 0.0, span * DAY, CLOCK)


def test_an_even_record_has_garwood_s_bounds() -> None:
    """One a day for a fortnight."""
    even = record(*(day + 0.5 for day in range(14)))
    assert (even.episodes, even.days, even.dispersion, even.in_incident) == (14, 14.0, 1.0, False)
    assert (even.lower, even.upper) == count_bounds.garwood(14, 14.0, alpha=0.05)
    assert even.mean == 1.0
    assert even.whole == even.calm == PastCount(14, 14.0)
    assert even.possible_dispersion == 1.0
    uneven = record(*(day + 0.5 for day in range(0, 14, 2)))
    assert uneven.dispersion == 1.0
    assert uneven.possible_dispersion > 1.05
    assert uneven.middle_dispersion == 0.5 * (1.0 + uneven.possible_dispersion)


def test_a_record_without_exposure_is_none() -> None:
    """Nothing is compared with it."""
    empty = record(span=0.0)
    assert not empty.is_known
    assert math.isnan(empty.mean)
    assert references.by_record(empty) is None


def test_a_record_without_an_episode_has_a_bound_all_the_same() -> None:
    """3.7 in the time that was watched."""
    reference = references.by_record(record())
    assert reference == pytest.approx(3.689 / 14, rel=1e-3)


def test_a_storm_in_the_last_hours_is_an_incident() -> None:
    """And is no rate that a change could claim to have bettered."""
    quiet = [day + 0.5 for day in range(13)]
    stormy = record(*quiet, *(13.9 + 0.01 * place for place in range(8)))
    assert stormy.in_incident
    assert stormy.upper >= count_bounds.garwood(21, 14.0, alpha=0.05).upper
    short = record(1.5, 3.5, 5.5, 7.5, 9.5, 11.5, 13.96, 13.97, 13.98, 13.99)
    assert short.in_incident
    assert short.whole.episodes == 10
    assert short.calm.episodes == 6
    assert short.calm.days == pytest.approx(14.0 - 1 / 24)
    assert short.lower == pytest.approx(count_bounds.garwood(6, 14.0 - 1 / 24, alpha=0.1).lower, rel=0.05)


def test_three_in_the_last_day_of_a_busy_group_are_none() -> None:
    """Nor is a storm that fills the whole record: there is no rest to compare it with."""
    busy = [day + part for day in range(14) for part in (0.1, 0.5, 0.9)]
    assert not record(*busy).in_incident
    assert not record(0.001, 0.01, 0.02, 0.03, span=0.04).in_incident


@pytest.mark.parametrize("promise", [None, 0.0, -1.0, math.inf, math.nan])
def test_what_is_no_rate_promises_nothing(promise: float | None) -> None:
    """A model that says nothing, or nonsense, is not held against a change."""
    assert references.by_promise(promise) is None


def test_of_two_references_the_larger_allows_more() -> None:
    """And of one, that one."""
    assert references.larger(1.0, 2.0) == references.larger(2.0, 1.0) == 2.0
    assert references.larger(1.0, None) == references.larger(None, 1.0) == 1.0
    assert references.larger(None, None) is None
