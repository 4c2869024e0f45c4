"""Laws whose threshold lies below a kink: they follow the many values near it, and not where the few far ones end."""

import dataclasses
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from heartbeat_tuner.tails.fit import tail_estimate, threshold
from heartbeat_tuner.tails.fit.tail_estimate import Fleet
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S
from heartbeat_tuner.tails.model import TailModel, ThresholdSource

POLLS = 180
"""Gaps between polls in a block, of which the longest is the value."""


def longest_gaps(size: int, slow_share: float, median_s: float, seed: int) -> Array:
    """Return counts of longest gaps of blocks, where a small share of handlers takes ten times as long."""

    def longer(time_s: float) -> float:
        usual, slow = (1.0 - NormalDist().cdf(math.log(time_s / times / median_s) / 0.6) for times in (1.0, 10.0))
        return float(1.0 - (1.0 - (1.0 - slow_share) * usual - slow_share * slow) ** POLLS)

    shares = np.array([1.0, *(longer(float(edge)) for edge in EDGES_S[1:BUCKETS]), 0.0])
    falling = np.maximum(-np.diff(shares), 0.0)
    return np.random.default_rng(seed).multinomial(size, falling / falling.sum()).astype(np.float64)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_law_that_expects_far_more_than_was_seen_begins_at_a_smaller_share(seed: int) -> None:
    """14 members whose longest gap in a fortnight was 40 s were believed to poll later than after 60 s every third day.

    In truth they do so once in two years; a shape of 0.44 is just below what is refused by itself.
    """
    rng = np.random.default_rng(seed)
    others = [
        longest_gaps(100_000, float(10 ** rng.uniform(-5.0, -2.3)), 0.4 * math.exp(0.25 * rng.normal()), 100 + number)
        for number in range(17)
    ]
    found, *_ = tail_estimate.models(Fleet.of(np.array([longest_gaps(188_160, 2e-4, 0.4, seed), *others])))
    assert isinstance(found, TailModel)
    a_month = found.samples / 14.0 * 30.0
    assert a_month * float(found.sf(np.array([60.0]))[0]) < 2.0
    assert a_month * float(found.exceedance_upper(np.array([60.0]))[0]) > 0.05, "and the bound still holds the truth"


@pytest.mark.parametrize("seed", [3, 4])
def test_a_few_slow_handlers_are_not_lost_among_many_usual_ones(seed: int) -> None:
    """Five gaps or more of a fortnight were over 10 s: a law of thousands of gaps of 2 s expects half of them.

    The others of the namespace have either more slow handlers or none, and say that the law may begin there.
    """
    rng = np.random.default_rng(seed)
    shares = [float(10 ** rng.uniform(-3.0, -2.3)) for _ in range(9)] + [1e-9] * 31
    others = [longest_gaps(100_000, share, 0.4, 200 + number) for number, share in enumerate(shares)]
    mine = longest_gaps(134_400, 6e-6, 0.4, seed)
    seen = mine[int(np.searchsorted(EDGES_S, 10.0)) :].sum()
    assert seen >= 5
    found, *_ = tail_estimate.models(Fleet.of(np.array([mine, *others])), few_values=True)
    assert isinstance(found, TailModel)
    expected = found.samples * float(found.sf(np.array([10.0]))[0])
    assert 0.5 * seen < expected < 2.0 * seen, (found.fraction, seen, expected)


@pytest.mark.parametrize(("values", "share"), [(100.0, 0.05), (6_000.0, 0.05), (6_001.0, 0.02), (80_000.0, 0.0025)])
def test_a_law_rests_on_a_few_hundred_values(values: float, share: float) -> None:
    """The largest share that leaves no more than 300."""
    assert threshold.FRACTIONS[threshold.places_of_few(np.array([values]))[0]] == share


def test_a_group_with_more_values_than_all_shares_allow_takes_the_smallest() -> None:
    """There is no smaller one."""
    assert threshold.places_of_few(np.array([1e8])).tolist() == [len(threshold.FRACTIONS) - 1]


def law(**fields: Any) -> TailModel:
    """Return a law of a tenth of 1,000 values beyond 1 s, the largest of them 8 s."""
    tail = TailModel(
        threshold_s=1.0,
        share=0.1,
        share_log_sd=0.0,
        shape=0.2,
        log_scale=0.0,
        covariance=(1e-6, 0.0, 1e-6),
        fraction=0.1,
        source=ThresholdSource.OWN,
        samples=1_000.0,
        exceedances=100.0,
        largest_s=8.0,
        anderson_darling=0.5,
        distance=0.01,
    )
    return dataclasses.replace(tail, **fields)


def test_a_threshold_lies_below_a_kink_where_the_law_is_too_heavy_or_expects_what_was_not_seen() -> None:
    """By independent values, and up to the largest; who saw nothing beyond the threshold has seen nothing there."""
    assert not threshold.lies_below_a_kink(law(), 1.0)
    assert threshold.lies_below_a_kink(law(shape=0.51), 1.0)
    assert threshold.lies_below_a_kink(law(largest_s=3.0), 1.0)
    assert not threshold.lies_below_a_kink(law(largest_s=3.0), 0.1)
    assert threshold.lies_below_a_kink(law(largest_s=0.5), 1.0)
