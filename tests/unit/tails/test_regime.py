"""A change for the worse is noticed within days; what comes each week is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.tails import regime
from heartbeat_tuner.tails.gpd import Array

BLOCKS = 960.0 * 6


def counted(per_day: Array, seed: int) -> Array:
    """Return counts of one group, days x 1 x 1 in the order that the regime asks for, from the oldest on."""
    drawn = np.random.default_rng(seed).poisson(per_day).astype(np.float64)
    return drawn[::-1, None, None]


def newest(per_day: Array, seed: int = 1, watched: Array | None = None) -> int:
    """Return how many of the newest days are of another regime."""
    time = np.full((per_day.size, 1), BLOCKS) if watched is None else watched[::-1, None]
    return int(regime.newest_days(counted(per_day, seed), time)[0])


@pytest.mark.parametrize(("before", "factor"), [(2.0, 10.0), (10.0, 4.0), (50.0, 3.0), (50.0, 10.0)])
def test_a_regime_that_began_at_day_ten_is_noticed_two_days_later(before: float, factor: float) -> None:
    """And stays noticed, with its first day, as long as a week of older days is there; in nine of ten groups."""
    for days_after in (2, 4, 7):
        rates = np.concatenate([np.full(10, before), np.full(days_after, before * factor)])
        found = [newest(rates, seed) for seed in range(40)]
        assert np.mean(np.array(found) == days_after) >= 0.8
        assert all(item <= days_after for item in found)


def test_one_day_is_no_regime() -> None:
    """It may have been any day."""
    assert newest(np.concatenate([np.full(20, 5.0), [200.0]])) == 0


def test_a_batch_on_each_sunday_is_none() -> None:
    """Nor is a weekend, whichever day is asked."""
    for days in range(16, 29):
        sundays, weekends = (np.where(np.isin(np.arange(days) % 7, some), 90.0, 5.0) for some in ([6], [5, 6]))
        assert newest(sundays) == 0
        assert newest(weekends) == 0


@given(rate=st.floats(0.0, 300.0), days=st.integers(1, 28), seed=st.integers(0, 10_000))
def test_nothing_is_noticed_where_nothing_changed(rate: float, days: int, seed: int) -> None:
    """Chance alone makes none."""
    assert newest(np.full(days, rate), seed) == 0


@given(rate=st.floats(20.0, 300.0), seed=st.integers(0, 10_000))
def test_what_became_better_is_none(rate: float, seed: int) -> None:
    """It fades: to forget the worse days at once would be to hope."""
    assert newest(np.concatenate([np.full(10, rate), np.full(5, rate / 10)]), seed) == 0


def test_a_group_that_grew_is_none() -> None:
    """Three times the members have three times the absences."""
    grown = np.where(np.arange(16) < 10, BLOCKS, 3 * BLOCKS)
    assert newest(40.0 * grown / BLOCKS, watched=grown) == 0


def test_days_that_nobody_watched_do_not_count() -> None:
    """Neither as quiet ones before, nor as days of the regime."""
    watched = np.where(np.arange(14) < 6, 0.0, BLOCKS)
    rates = np.where(np.arange(14) < 12, 5.0, 60.0) * (watched > 0)
    assert newest(rates, watched=watched) == 0


@pytest.mark.parametrize("day", [3, 12], ids=["an old day", "a new day"])
def test_a_day_of_a_minute_hides_no_regime(day: int) -> None:
    """Metrics were lost but for one block: one value in it is the highest rate of all days, and none the lowest."""
    per_day = np.where(np.arange(14) < 10, 5.0, 60.0)
    per_day[day] = 0.0
    watched = np.where(np.arange(14) == day, 1.0, BLOCKS)
    counts = counted(per_day, 1)
    counts[13 - day] = 1.0 if day < 10 else 0.0
    assert int(regime.newest_days(counts, watched[::-1, None])[0]) == 4
