"""Days of histograms, weighted by their age."""

import numpy as np
import pytest

from heartbeat_tuner.tails import day_weights
from heartbeat_tuner.tails.day_weights import Weighted
from heartbeat_tuner.tails.histogram import BUCKETS, Histogram, dense_of_table


def weighted(*lines: tuple[int, int, int, int], height: int = 1, half_life_days: float = 7.0) -> Weighted:
    """Return the counts of lines of row, age in days, bucket and count."""
    rows, ages, buckets, counts = np.array(lines, dtype=np.int64).reshape(-1, 4).T
    days = []
    for age in np.unique(ages).tolist():
        mine = ages == age
        days.append((age, dense_of_table(rows[mine], buckets[mine], counts[mine], height=height)))
    return day_weights.weighted(days, height=height, half_life_days=half_life_days)


def test_a_day_halves_in_a_week() -> None:
    """Each row keeps to its own days, and lines of one cell are added up."""
    found = weighted((1, 7, 5, 4), (1, 0, 5, 1), (1, 0, 6, 2), (0, 14, 9, 6), (0, 14, 9, 2), height=2)
    assert (found.counts[0, 9], found.counts[1, 5], found.counts[1, 6]) == (2.0, 3.0, 2.0)
    assert found.counts.sum() == 7.0


def test_order_of_lines_does_not_matter() -> None:
    """To the last bit: the same content gives the same fit."""
    rng = np.random.default_rng(1)
    lines = [
        (row, age, bucket, count)
        for age in range(20)
        for row in range(3)
        for bucket, count in Histogram.of(rng.lognormal(0, 1, 100)).to_counts().items()
    ]
    turned = [lines[place] for place in rng.permutation(len(lines))]
    ordered, other = weighted(*lines, height=3), weighted(*turned, height=3)
    assert np.array_equal(ordered.counts, other.counts)
    assert np.array_equal(ordered.weight, other.weight)


def test_weighted_days_tell_more_than_their_sum() -> None:
    """The mean of weighted values scatters as that of so many whole ones."""
    found = weighted(*((0, age, 5, 100) for age in range(30)))
    weights = np.array([0.5 ** (age / 7) for age in range(30)])
    rng = np.random.default_rng(2)
    means = (rng.standard_normal((4_000, 30, 100)).mean(axis=2) @ weights) / weights.sum()
    worth = found.counts.sum() * found.weight[0]
    assert worth == pytest.approx(1 / means.var(), rel=0.1)
    assert worth > 1.5 * found.counts.sum()


def test_empty_rows_are_worth_what_they_hold() -> None:
    """Nothing; and no history is no error."""
    found = weighted((1, 0, 5, 1), height=2)
    assert (found.counts[0].sum(), found.weight.tolist()) == (0, [1.0, 1.0])
    assert weighted(height=0).counts.shape[0] == 0


def test_days_to_come_are_refused() -> None:
    """A clock that is ahead is a fault to be told, not a weight above 1."""
    with pytest.raises(ValueError, match="age -1: the day lies after the newest day"):
        weighted((0, -1, 5, 1))
    day = np.zeros((1, BUCKETS))
    for ages in ((1, 0), (1, 1)):
        with pytest.raises(ValueError, match=f"age {ages[1]} after 1: each day once, the newest first"):
            day_weights.weighted([(age, day) for age in ages], height=1)
    with pytest.raises(ValueError, match="half_life_days 0"):
        weighted(half_life_days=0)
