"""Evictions that come together are one episode, and what many groups have at once is nobody's own."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.verification import episodes

TIMES = st.lists(st.floats(0, 1e6), max_size=60)
STRETCHES = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=12)


def test_evictions_within_15_minutes_of_the_first_are_one_episode() -> None:
    """The quarter of an hour is open at its end."""
    assert episodes.starts([0, 60, 899.9]).tolist() == [0]
    assert episodes.starts([0, 60, 900]).tolist() == [0, 900]


def test_a_storm_without_a_pause_is_many_episodes() -> None:
    """Each eviction comes within 15 minutes of the one before; were that the rule, a day of storm would count once."""
    assert len(episodes.starts(np.arange(0, 86_400, 300.0))) == 96


def test_times_that_are_no_numbers_are_left_out() -> None:
    """Whoever sends them has not seen an eviction."""
    assert episodes.starts([np.nan, 5.0, np.inf, -np.inf]).tolist() == [5.0]
    assert episodes.starts([]).size == 0


def test_times_that_no_clock_shows_come_to_an_end() -> None:
    """A float of that size and 15 minutes more are the same float."""
    assert episodes.starts([1e20, 1e20, 1e21]).tolist()[-1] == 1e21


@given(TIMES)
def test_episodes_are_evictions_that_are_apart(times: list[float]) -> None:
    """In order, at least 15 minutes apart, and every eviction is within 15 minutes after the start of one."""
    begun = episodes.starts(times)
    assert set(begun.tolist()) <= set(times)
    assert np.all(begun[1:] >= begun[:-1] + episodes.WITHIN_S)
    assert all(any(at <= time < at + episodes.WITHIN_S for at in begun.tolist()) for time in times)


@given(TIMES)
def test_order_and_repetition_make_no_difference(times: list[float]) -> None:
    """Pods report in any order, and a slice that is read twice tells nothing new."""
    again = [*reversed(times), *times]
    assert episodes.starts(again).tolist() == episodes.starts(times).tolist()


def test_three_other_groups_at_once_are_an_event_of_the_broker() -> None:
    """The stretch is all that lies within 15 minutes of all three."""
    assert episodes.broker_wide([[1000], [1300], [1600]]) == [(700, 1900)]


def test_two_groups_or_one_group_thrice_are_not() -> None:
    """Witnesses are different groups."""
    assert episodes.broker_wide([[1000, 1001], [1300]]) == []
    assert episodes.broker_wide([[1000, 1900, 2800]]) == []


def test_groups_that_are_too_far_apart_are_not() -> None:
    """The third came when the first was over."""
    assert episodes.broker_wide([[1000], [1300], [1901]]) == []


def test_events_of_the_broker_that_touch_are_one() -> None:
    """A fourth group makes it longer."""
    assert episodes.broker_wide([[1000], [1300], [1600], [2000]]) == [(700, 2200)]


@given(STRETCHES, st.lists(st.floats(0, 1e6), max_size=30))
def test_outside_is_what_no_stretch_holds(stretches: list[tuple[float, float]], times: list[float]) -> None:
    """A stretch holds its beginning, and not its end."""
    joined = episodes.merged(stretches)
    assert all(first[1] < second[0] for first, second in itertools.pairwise(joined))
    expected = [time for time in times if not any(since <= time < until for since, until in stretches)]
    assert episodes.outside(np.array(times), joined).tolist() == pytest.approx(expected)
