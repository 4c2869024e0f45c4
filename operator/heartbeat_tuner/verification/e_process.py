"""A test of a rate that may be looked at as often as one likes: an e-process.

With N episodes where B t were to be expected at most, a bet that the rate is r times as high has won
r^N exp(-(r - 1) B t). If the rate is B or lower that is a fair game or a worse one, whenever it is stopped; so is the
mean of several bets. By Ville's inequality it ever reaches 1 / alpha with a probability of alpha at most: looking every
minute costs nothing, and nothing has to be corrected. Bets on a lower rate test benefit in the same way.

Everything is in logarithms, so that a million episodes are a number like any other.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.gpd import Array

ALPHA: Final = 0.05
"""The probability of ever taking good values for harmful, at most; and of calling useless ones good."""

THRESHOLD: Final = math.log(2.0 / ALPHA)
"""What the logarithm of the evidence has to reach. The rate that it is compared with is a bound that may be wrong, and
how much days scatter is estimated: half of `ALPHA` is left for that."""

HARMFUL: Final = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0)
"""How many times as high the rate may be, for all that is known before."""

HELPFUL: Final = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 2 / 3)
"""How much of the rate may be left."""

LEAST_EPISODES: Final = 3
"""Fewer never show harm, whatever they were to be expected: a chance of two needs no cause."""


def log_e(
    count: Array | Sequence[float] | float,
    expected: Array | Sequence[float] | float,
    ratios: Sequence[float],
    dispersion: float = 1.0,
) -> Array:
    """Return the logarithm of what the bets have won, 0 at the start.

    Args:
        count: episodes.
        expected: how many were to be expected, B t.
        ratios: the bets; all above 1, or all below.
        dispersion: how much more days scatter than chance makes them. The winnings' root of that order is taken, which
            no fair game can win by, and which days that scatter so can hardly.
    """
    episodes = np.asarray(count, dtype=np.float64)[..., None]
    bets = np.asarray(ratios, dtype=np.float64)
    logs = np.log(np.maximum(bets, 1e-300))
    won = np.where(bets > 0.0, episodes * logs, np.where(episodes > 0.0, -np.inf, 0.0))
    terms = won - (bets - 1.0) * np.asarray(expected, dtype=np.float64)[..., None]
    highest = terms.max(axis=-1)
    return np.asarray((highest + np.log(np.exp(terms - highest[..., None]).mean(axis=-1))) / dispersion)


def harm(expected: Array, dispersion: float = 1.0) -> Array:
    """Return the logarithm of the evidence of harm right after each episode; -inf before the third.

    Args:
        expected: how many were to be expected until each episode. Between episodes the evidence only falls.
        dispersion: as for `log_e`.
    """
    count = np.arange(1.0, expected.size + 1.0)
    return np.where(count >= LEAST_EPISODES, log_e(count, expected, HARMFUL, dispersion), -np.inf)


def first(reached: npt.NDArray[np.bool_]) -> int | None:
    """Return the first place that is reached; None if none is."""
    places = np.flatnonzero(reached)
    return int(places[0]) if places.size else None


def days_to_show(rate: float, reference: float, dispersion: float = 1.0) -> float:
    """Return after about how many days a rate would show as harm; infinite where it is no higher than the reference.

    Args:
        rate: per day.
        reference: per day.
        dispersion: as for `log_e`.
    """
    if not rate > reference > 0.0 or math.isinf(rate):
        return math.inf
    times = rate / reference
    gain = reference * (times * math.log(times) - times + 1.0)
    return max((THRESHOLD * dispersion + math.log(len(HARMFUL))) / gain, LEAST_EPISODES / rate)
