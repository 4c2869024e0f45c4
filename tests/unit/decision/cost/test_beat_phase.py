"""Periods, ages and silences: beside the cards, and beside drawn turns of a loop."""

import numpy as np
import pytest

from heartbeat_tuner.clients.catalogue import client
from heartbeat_tuner.decision.cost.beat_phase import by_clock, in_turns, period_of
from heartbeat_tuner.decision.cost.quadrature import quantile_nodes
from heartbeat_tuner.tails.law import Law

BUSY = [(2.0, 0.7, 16), (6.0, 0.6, 8), (0.2, 1.0, 60)]
"""Median of a turn in seconds, sigma of its logarithm, and more turns than any gap of 3 s has."""


@pytest.mark.parametrize(
    ("name", "interval", "wait", "period"),
    [
        ("java", 3.0, 0.5, 3.01),
        ("java-kip848", 5.0, 0.5, 5.0),
        ("confluent-kafka-python", 1.2, 0.5, 1.5),
        ("sarama", 1.0, 5.0, 5.0),
        ("kafka-go", 3.0, 10.0, 3.0),
    ],
)
def test_periods_are_those_of_the_cards(name: str, interval: float, wait: float, period: float) -> None:
    """P is what the card calls usual; the Java client's thread oversleeps a little."""
    assert period_of(client(name), interval_s=interval, wait_s=wait) == pytest.approx(period)


@pytest.mark.parametrize(("interval", "wait"), [(3.0, 5.0), (3.0, 0.1), (0.5, 0.1), (3.0, 2.9), (3.0, 3.0)])
def test_an_idle_loop_beats_in_whole_turns(interval: float, wait: float) -> None:
    """P = ceil(H / W) W, as near as a grid of H comes to turns that end just at H; not one turn more where W is H."""
    cadence = in_turns(Law.constant(0.1), idle=1.0, interval_s=interval, wait_s=wait)
    assert cadence.period_s == pytest.approx(np.ceil(interval / wait) * wait, rel=0.07)


@pytest.mark.no_cover
@pytest.mark.parametrize(("median", "sigma", "most_turns"), BUSY)
def test_a_busy_loop_is_as_its_turns_when_drawn(median: float, sigma: float, most_turns: int) -> None:
    """Period, age, silence and the wait for a beat, beside 200,000 drawn gaps of beats."""
    rng = np.random.default_rng(3)
    turns = rng.lognormal(np.log(median), sigma, (200_000, most_turns))
    ends = turns.cumsum(axis=1)
    assert ends[:, -1].min() >= 3.0  # each gap ends in one of the turns that are drawn
    last = (ends >= 3.0).argmax(axis=1)
    rows = np.arange(last.size)
    gaps, lasting = ends[rows, last], turns
    cadence = in_turns(Law.lognormal(median, sigma), idle=0.0, interval_s=3.0, wait_s=0.5)
    assert cadence.period_s == pytest.approx(gaps.mean(), rel=0.03)
    assert cadence.turns is not None
    assert cadence.turns.hears_weights @ cadence.turns.hears_s == pytest.approx(
        (gaps**2).mean() / (2 * gaps.mean()), rel=0.05
    )
    # Turns that belong to a gap, met in proportion to how long they last.
    inside = np.arange(most_turns) <= last[:, None]
    starts = np.where(inside, ends - turns, 0.0)
    weights = np.where(inside, lasting, 0.0)
    age = (weights * (starts + lasting / 2)).sum() / weights.sum()
    silence = (weights * (starts + lasting)).sum() / weights.sum()
    assert cadence.mean_age_s == pytest.approx(age, rel=0.1)
    assert cadence.silences_s is not None
    assert cadence.silences_s.mean() == pytest.approx(silence, rel=0.1)


def test_by_a_clock_the_age_is_anything_up_to_the_period() -> None:
    """A few ages stand for U(0, P): mean, mean square, and that of the fifth power."""
    cadence = by_clock(6.0)
    powers = [cadence.weights @ cadence.ages_s**power for power in (1, 2, 5)]
    assert powers == pytest.approx([6.0**power / (power + 1) for power in (1, 2, 5)])


def test_a_few_values_keep_the_mean_of_many() -> None:
    """The mean is kept, and none lies outside of what they stand for."""
    values, weights = np.array([5.0, 1.0, 9.0, 2.0]), np.array([1.0, 2.0, 1.0, 4.0])
    some = quantile_nodes(values, weights)
    assert some.mean() == pytest.approx(np.average(values, weights=weights))
    assert 1.0 <= some.min() <= some.max() <= 9.0 + 1e-9
    assert np.all(np.diff(some) >= -1e-12)
