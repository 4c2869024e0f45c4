"""Evictions are absences that did not show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.profile.censored import outlasting, with_evictions
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.tails.law import TIMES_S, Law

SHORT = FailureProcess(20.0, Law.lognormal(0.1, 0.5), 20.0 * Law.lognormal(0.1, 0.5).exceedances)


def test_without_evictions_nothing_is_added() -> None:
    """The record has nothing to say."""
    assert with_evictions(SHORT, 0, 14.0, session_s=30.0, period_s=4.0) is SHORT


def at(found: FailureProcess, time_s: float) -> tuple[float, float]:
    """Return how often a day something lasts longer, on average and at most."""
    assert found.upper_per_day is not None
    return found.per_day * float(found.law.sf(time_s)), float(np.interp(time_s, TIMES_S, found.upper_per_day))


SEEN = (10 + 1.645 * 10**0.5 + 1.35) / 40


def test_evictions_are_as_often_longer_than_the_session_less_half_a_period() -> None:
    """Ten in 40 member-days, at a session of 30 s: a law of 0.1 s alone would say never."""
    found = with_evictions(SHORT, 10, 40.0, session_s=30.0, period_s=4.0)
    mean, upper = at(found, 28.0)
    assert mean == pytest.approx(0.25, rel=0.01)
    assert upper == pytest.approx(SEEN, rel=0.03)


def test_where_nothing_shows_how_fast_they_fall_it_is_as_slowly_as_what_nobody_has_seen() -> None:
    """The scale is 0.4 of the time, that of a Pareto law; the shapes are those of delays."""
    found = with_evictions(SHORT, 10, 40.0, session_s=30.0, period_s=4.0)
    scale_s = 0.4 * 28.0
    mean, upper = at(found, 128.0)
    assert mean == pytest.approx(0.25 * (1 + 0.15 * 100 / scale_s) ** (-1 / 0.15), rel=0.03)
    assert upper == pytest.approx(SEEN * (1 + 0.25 * 100 / scale_s) ** -4, rel=0.03)


def test_they_fall_as_fast_as_what_shows() -> None:
    """Of an exponential law that is cut at 28 s the rest is found again, with a tail a little heavier."""
    exponential = Law.of(lambda times_s: np.exp(-times_s / 4.0))
    whole = 1000.0 * exponential.exceedances
    evicted = float(np.interp(28.0, TIMES_S, whole))
    shows = np.maximum(whole - evicted, 0.0)
    cut = FailureProcess(float(shows[0]), Law.table(shows / shows[0]), shows)
    found = with_evictions(cut, round(100_000 * evicted), 100_000.0, session_s=30.0, period_s=4.0)
    for time_s, most in ((8.0, 1.05), (28.0, 1.05), (36.0, 2.0), (44.0, 5.0)):
        true = float(np.interp(time_s, TIMES_S, whole))
        mean, upper = at(found, time_s)
        assert 0.95 * true <= mean <= most * true
        assert upper >= mean


def test_a_law_that_has_the_evictions_already_gets_them_no_second_time() -> None:
    """A fit counts each eviction as an absence without an end; the record of the same days must not add it again."""
    once = with_evictions(SHORT, 10, 40.0, session_s=30.0, period_s=4.0)
    twice = with_evictions(once, 10, 40.0, session_s=30.0, period_s=4.0)
    for time_s in (0.1, 8.0, 27.0, 60.0):
        assert at(twice, time_s) == pytest.approx(at(once, time_s), rel=0.03)


@given(
    evictions=st.integers(1, 3_000),
    more=st.integers(1, 3_000),
    time_s=st.floats(0.5, 400.0),
    from_s=st.floats(1.0, 90.0),
)
def test_more_evictions_never_give_a_lower_bound(evictions: int, more: int, time_s: float, from_s: float) -> None:
    """Neither at the session that evicted, nor anywhere else."""
    assert SHORT.upper_per_day is not None
    few, many = (outlasting(SHORT, count, 40.0, from_s=from_s) for count in (evictions, evictions + more))
    assert float(np.interp(time_s, TIMES_S, SHORT.upper_per_day)) <= at(few, time_s)[1] * (1 + 1e-9)
    assert at(few, time_s)[1] <= at(many, time_s)[1] * (1 + 1e-9)


@given(evictions=st.integers(1, 3_000), from_s=st.floats(1.0, 60.0), later_s=st.floats(0.1, 60.0))
def test_evictions_at_a_longer_session_never_give_a_lower_bound(evictions: int, from_s: float, later_s: float) -> None:
    """Who outlasted more did not outlast less: beyond the longer of both sessions, where both may be asked."""
    early, late = (outlasting(SHORT, evictions, 40.0, from_s=start) for start in (from_s, from_s + later_s))
    for factor in (1.0, 1.5, 3.0):
        time_s = factor * (from_s + later_s)
        assert at(early, time_s)[1] <= at(late, time_s)[1] * 1.03  # tables have a time every 2 %


def test_what_was_seen_to_be_more_often_stays() -> None:
    """Short absences are as they were; so are long ones that show in full."""
    found = with_evictions(SHORT, 1, 40.0, session_s=30.0, period_s=4.0)
    assert found.per_day * found.law.sf(0.1) == pytest.approx(10.0, rel=0.01)
    many = FailureProcess(20.0, Law.constant(60.0))
    stored = with_evictions(many, 1, 40.0, session_s=30.0, period_s=4.0)
    assert stored.per_day * stored.law.sf(50.0) == pytest.approx(20.0)
    assert stored.per_day == pytest.approx(20.0), "who was evicted after 28 s is among those who were away for 60 s"
    assert stored.upper_per_day is None
