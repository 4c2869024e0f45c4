"""The clock of a group: whole days are days, busy hours are long, and left-out time does not pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.verification import episodes, exposure
from heartbeat_tuner.verification.exposure import EVEN, ExposureClock

DAY = 86_400.0
HOURS = st.lists(st.floats(0.1, 5.0), min_size=24, max_size=24)
STRETCHES = st.lists(st.tuples(st.floats(0, 5 * DAY), st.floats(0, 5 * DAY)), max_size=6)


def clock_of(hours: list[float], stretches: list[tuple[float, float]]) -> ExposureClock:
    """Return a clock with such hours, brought to a mean of 1."""
    mean = sum(hours) / 24
    return ExposureClock(tuple(hour / mean for hour in hours), tuple(episodes.merged(stretches)))


@given(HOURS, st.floats(0, 1e6), st.integers(0, 30))
def test_whole_days_are_days(hours: list[float], since_s: float, days: int) -> None:
    """Whatever the hours are."""
    clock = clock_of(hours, [])
    assert float(clock.days(since_s, since_s + days * DAY)) == pytest.approx(days, abs=1e-9)


@given(HOURS, STRETCHES, st.lists(st.floats(0, 5 * DAY), min_size=3, max_size=3))
def test_exposure_adds_up_and_never_falls(
    hours: list[float], stretches: list[tuple[float, float]], times: list[float]
) -> None:
    """The exposure of a time is that of its parts, so that two quiet periods are as one."""
    clock = clock_of(hours, stretches)
    first, middle, last = sorted(times)
    whole, parts = float(clock.days(first, last)), [float(clock.days(first, middle)), float(clock.days(middle, last))]
    assert min(parts) >= -1e-9
    assert whole == pytest.approx(sum(parts), abs=1e-9)


@given(HOURS, STRETCHES)
def test_exposure_is_the_sum_over_minutes_that_are_not_left_out(
    hours: list[float], stretches: list[tuple[float, float]]
) -> None:
    """Beside a sum that knows nothing of running totals."""
    clock = clock_of(hours, stretches)
    seconds = np.arange(30.0, 2 * DAY, 60.0)
    rates = np.array(clock.hours)[(seconds // 3600 % 24).astype(int)]
    isin = np.isin(seconds, episodes.outside(seconds, clock.left_out))
    summed = (rates * isin).sum() / 1440
    assert float(clock.days(0.0, 2 * DAY)) == pytest.approx(summed, abs=0.06)


def test_a_time_before_the_beginning_has_no_exposure() -> None:
    """Rather than a negative one."""
    assert ExposureClock(EVEN, ()).days(100.0, np.array([50.0, 100.0])).tolist() == [0.0, 0.0]


def test_few_episodes_make_no_hours() -> None:
    """Three at the same hour may be chance; none say nothing; less than a day was not seen whole."""
    at_noon = np.array([0.5, 2.6, 5.4]) * DAY
    spread = np.arange(14.0) * 1.29 * DAY
    assert exposure.clock(np.array([]), 0, 14 * DAY, []).hours == EVEN
    assert exposure.clock(at_noon, 0, 0.9 * DAY, []).hours == EVEN
    assert max(exposure.clock(spread, 0, 20 * DAY, []).hours) < 1.5


def test_many_episodes_show_the_hours() -> None:
    """A swing of 90 % is learnt to a fifth of 140 episodes, and no hour is nothing."""
    numbers = np.random.default_rng(3)
    times = numbers.uniform(0, 14 * DAY, 400)
    times = times[numbers.random(400) < 0.5 * (1 + 0.9 * np.cos(2 * np.pi * (times / DAY - 0.5)))]
    hours = exposure.clock(np.sort(times), 0, 14 * DAY, []).hours
    assert hours[12] == pytest.approx(1.9, rel=0.2)
    assert 0 < min(hours) < 0.4
    assert sum(hours) == pytest.approx(24)


def test_hours_that_were_watched_less_are_not_quieter() -> None:
    """Scrapes were missing every night, and episodes came evenly while they were there."""
    nights = [(day * DAY, day * DAY + 8 * 3600.0) for day in range(14)]
    times = np.array([day * DAY + hour * 3600.0 + 600 for day in range(14) for hour in range(8, 24)])
    blind = exposure.clock(times, 0, 14 * DAY, [])
    seeing = exposure.clock(times, 0, 14 * DAY, nights)
    assert blind.hours[2] < 0.3
    assert abs(max(seeing.hours) - 1) < abs(max(blind.hours) - 1)


def test_a_record_that_is_left_out_whole_has_even_hours() -> None:
    """Nothing was watched, so nothing is known, and nothing is divided by it."""
    assert exposure.clock(np.array([DAY]), 0, 2 * DAY, [(0, 2 * DAY)]).hours == EVEN
