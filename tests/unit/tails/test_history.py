"""Days of histograms, weighted by their age."""

from datetime import date, timedelta

import numpy as np
import pytest

from heartbeat_tuner.tails import history
from heartbeat_tuner.tails.histogram import Histogram
from heartbeat_tuner.tails.history import Subject

TODAY = date(2026, 11, 21)
ORDERS = Subject("main", "shop", "orders", "java", "pollGap")
BILLS = Subject("main", "shop", "bills", "java", "pollGap")


def ago(days: int) -> date:
    """Return a day before today."""
    return TODAY - timedelta(days=days)


def test_a_day_halves_in_a_week() -> None:
    """Rows are sorted by subject; each keeps to its own days."""
    found = history.weighted(
        {
            (ORDERS, ago(7)): Histogram.from_counts({5: 4}),
            (ORDERS, ago(0)): Histogram.from_counts({5: 1, 6: 2}),
            (BILLS, ago(14)): Histogram.from_counts({9: 8}),
        },
        on=TODAY,
    )
    assert found.subjects == (BILLS, ORDERS)
    assert (found.counts[0, 9], found.counts[1, 5], found.counts[1, 6]) == (2.0, 3.0, 2.0)
    assert found.counts.sum() == 7.0


def test_order_of_days_does_not_matter() -> None:
    """To the last bit: the same content gives the same fit."""
    rng = np.random.default_rng(1)
    days = {(ORDERS, ago(age)): Histogram.of(rng.lognormal(0, 1, 100)) for age in range(20)}
    turned = dict(reversed(days.items()))
    assert np.array_equal(history.weighted(days, on=TODAY).counts, history.weighted(turned, on=TODAY).counts)


def test_weighted_days_tell_more_than_their_sum() -> None:
    """The mean of weighted values scatters as that of so many whole ones."""
    ages = range(30)
    days = {(ORDERS, ago(age)): Histogram.from_counts({5: 100}) for age in ages}
    found = history.weighted(days, on=TODAY)
    weights = np.array([0.5 ** (age / 7) for age in ages])
    rng = np.random.default_rng(2)
    means = (rng.standard_normal((4_000, 30, 100)).mean(axis=2) @ weights) / weights.sum()
    worth = found.counts.sum() * found.weight[0]
    assert worth == pytest.approx(1 / means.var(), rel=0.1)
    assert worth > 1.5 * found.counts.sum()


def test_empty_days_are_worth_what_they_hold() -> None:
    """Nothing; and no history is no error."""
    found = history.weighted({(ORDERS, TODAY): Histogram.of([])}, on=TODAY)
    assert (found.counts.sum(), found.weight.tolist()) == (0, [1.0])
    assert history.weighted({}, on=TODAY).subjects == ()


def test_days_to_come_are_refused() -> None:
    """A clock that is ahead is a fault to be told, not a weight above 1."""
    with pytest.raises(ValueError, match="day 2026-11-22 of orders: lies after 2026-11-21"):
        history.weighted({(ORDERS, ago(-1)): Histogram.of([1.0])}, on=TODAY)
    with pytest.raises(ValueError, match="half_life_days 0"):
        history.weighted({}, on=TODAY, half_life_days=0)
