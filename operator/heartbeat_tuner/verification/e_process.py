"""A test of a rate that may be looked at as often as one likes: an e-process.

With N episodes where B t were to be expected at most, a bet that the rate is r times as high has won
r^N exp(-(r - 1) B t). If the rate is B or lower that is a fair game or a worse one, whenever it is stopped; so is the
mean of several bets. By Ville's inequality it ever reaches 1 / alpha with a probability of alpha at most: looking every
minute costs nothing, and nothing has to be corrected. Bets on a lower rate test benefit in the same way.

Mostly no B is known, but a record: n episodes in a time T. Then the bet is that the rate is r times that of the record,
whatever that was: it has won r^N ((T + t) / (T + r t))^(n + N). Its mean is 1 for every rate, and with a long record it
is the bet above. Nothing has to be left for a bound that may be wrong, so it sees harm sooner than a test against the
record's upper bound. For harm the record is given an episode more, as in Garwood's upper bound: the wait for it was cut
off by the change.

Everything is in logarithms, so that a million episodes are a number like any other.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.gpd import Array

ALPHA: Final = 0.05
"""The probability of ever taking good values for harmful, at most; and of calling useless ones good."""

THRESHOLD: Final = math.log(2.0 / ALPHA)
"""What the logarithm of the evidence has to reach. How much days scatter is an estimate, and so is what was promised:
half of `ALPHA` is left for that."""

HARMFUL: Final = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0)
"""How many times as high the rate may be, for all that is known before."""

HARMFUL_OF_RECORD: Final = (2.0, 4.0, 8.0, 16.0, 32.0)
"""The same where the rate before is a record's. Two weeks leave open by nature whether there is half as much again."""

HELPFUL: Final = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 2 / 3)
"""How much of the rate may be left."""

LEAST_EPISODES: Final = 3
"""Fewer never show harm, whatever they were to be expected: a chance of two needs no cause."""

_LONGEST_DAYS: Final = 365.0
_STEPS: Final = 400


class PastCount(NamedTuple):
    """What a change is compared with.

    Attributes:
        episodes: in it.
        days: its exposure, more than 0.
    """

    episodes: float
    days: float


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
    episodes, bets = np.asarray(count, dtype=np.float64)[..., None], np.asarray(ratios, dtype=np.float64)
    terms = _powers(episodes, bets) - (bets - 1.0) * np.asarray(expected, dtype=np.float64)[..., None]
    return np.asarray(_log_mean(terms) / dispersion)


def log_e_of_record(
    count: Array | Sequence[float] | float,
    exposure: Array | Sequence[float] | float,
    record: PastCount,
    ratios: Sequence[float],
    dispersion: float = 1.0,
) -> Array:
    """Return the logarithm of what bets on a multiple of a record's rate have won, 0 at the start.

    Args:
        count: episodes since.
        exposure: in which.
        record: with some exposure.
        ratios: the bets; all above 1, or all below.
        dispersion: how much more days scatter than chance makes them. So many episodes are worth one, and the root is
            taken of each bet.
    """
    episodes, bets = np.asarray(count, dtype=np.float64)[..., None], np.asarray(ratios, dtype=np.float64)
    since = np.asarray(exposure, dtype=np.float64)[..., None]
    stretched = np.log1p(since / record.days) - np.log1p(since * bets / record.days)
    cut_off = 1.0 if bets[0] > 1.0 else 0.0
    terms = (_powers(episodes, bets) + (record.episodes + episodes) * stretched) / dispersion + cut_off * stretched
    return _log_mean(terms)


def harm(expected: Array, dispersion: float = 1.0) -> Array:
    """Return the logarithm of the evidence of harm right after each episode; -inf before the third.

    Args:
        expected: how many were to be expected until each episode. Between episodes the evidence only falls.
        dispersion: as for `log_e`.
    """
    count = np.arange(1.0, expected.size + 1.0)
    return _from_third(log_e(count, expected, HARMFUL, dispersion))


def harm_of_record(exposure: Array, record: PastCount, dispersion: float = 1.0) -> Array:
    """Return the logarithm of the evidence of a higher rate than a record's right after each episode; as `harm`.

    Args:
        exposure: until each episode.
        record: with some exposure.
        dispersion: as for `log_e`.
    """
    count = np.arange(1.0, exposure.size + 1.0)
    return _from_third(log_e_of_record(count, exposure, record, HARMFUL_OF_RECORD, dispersion))


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


def days_to_show_by_record(rate: float, record: PastCount, dispersion: float = 1.0) -> float:
    """Return after about how many days a rate would show as harm; infinite where it does not within a year.

    Args:
        rate: per day, a positive number.
        record: with some exposure.
        dispersion: as for `log_e`.
    """
    days = np.geomspace(LEAST_EPISODES / rate, max(_LONGEST_DAYS, LEAST_EPISODES / rate), _STEPS)
    place = first(log_e_of_record(rate * days, days, record, HARMFUL_OF_RECORD, dispersion) >= THRESHOLD)
    return math.inf if place is None else float(days[place])


def _powers(episodes: Array, bets: Array) -> Array:
    """Return the logarithm of what the bets win by episodes; that none is left is lost at the first."""
    logs = np.log(np.maximum(bets, 1e-300))
    return np.where(bets > 0.0, episodes * logs, np.where(episodes > 0.0, -np.inf, 0.0))


def _log_mean(terms: Array) -> Array:
    """Return the logarithm of the mean of the last axis, of which not all are nothing."""
    highest = terms.max(axis=-1)
    return np.asarray(highest + np.log(np.exp(terms - highest[..., None]).mean(axis=-1)))


def _from_third(logs: Array) -> Array:
    return np.where(np.arange(1, logs.size + 1) >= LEAST_EPISODES, logs, -np.inf)
