"""Upper bounds that rest on no fitted shape: what is rare beyond the largest value seen, nobody has seen.

A fit's own bound holds if the law does. An objective of one eviction a month is often rarer than anything in the data,
and there the shape alone speaks; so beside the fit stands a bound from the counts. Up to the largest value seen: the
count's own 95 % bound, k + 1.645 sqrt(k) + 1.35 events in the time watched. Beyond: one event in that time, falling as
a Pareto tail of shape 0.4, heavier than delays are. The factors are those that kept 97.5 % of a simulated fleet within
its objective; the whole count of a group counts, not a decayed one.
"""

from typing import Final

import numpy as np

from heartbeat_tuner.tails.gpd import Array, Values
from heartbeat_tuner.tails.histogram import EDGES_S
from heartbeat_tuner.tails.model import Z_95

SHAPE: Final = 0.4

_NONE_SEEN: Final = 1.35  # events that may have been missed, whatever was counted


def upper_per_day(time_s: Values, counts: Array, days: float) -> Array:
    """Return an upper bound of how often a day a group sees something longer than some times.

    Args:
        time_s: times in seconds.
        counts: the group's values in each bucket, all members together; whole, not decayed.
        days: how long the group was watched.

    Raises:
        ValueError: nothing was watched.
    """
    if not days > 0:
        raise ValueError(f"days {days}: must be positive; nothing can be said of a time that was not watched")
    times = np.atleast_1d(np.asarray(time_s, dtype=np.float64))
    from_here = np.append(np.cumsum(counts[::-1])[::-1], 0.0)
    # The bucket that a time lies in may lie beyond it as a whole.
    longer = from_here[np.maximum(np.searchsorted(EDGES_S, times, side="right") - 1, 0)]
    if not counts.any():
        return np.full(times.shape, _NONE_SEEN / days)
    largest_s = EDGES_S[int(np.flatnonzero(counts)[-1]) + 1]
    counted = longer + Z_95 * np.sqrt(longer) + _NONE_SEEN
    return np.where(times < largest_s, counted / days, beyond_per_day(times, largest_s, days))


def beyond_per_day(time_s: Values, largest_s: float, days: float) -> Array:
    """Return an upper bound of how often a day something longer than the largest value seen is longer than some times.

    Args:
        time_s: times in seconds; shorter ones than the largest count as that.
        largest_s: the largest value seen, in seconds, above 0.
        days: how long was watched, above 0.
    """
    times = np.atleast_1d(np.asarray(time_s, dtype=np.float64))
    return np.asarray((np.maximum(times, largest_s) / largest_s) ** (-1.0 / SHAPE) / days)


def least_beyond_s(objective_per_day: float, largest_s: float, days: float) -> float:
    """Return the shortest time in seconds, from the largest value seen on, whose upper bound is within an objective.

    Args:
        objective_per_day: events a day that a group may see, above 0.
        largest_s: the largest value seen, in seconds.
        days: how long was watched, above 0.
    """
    return float(largest_s * max(1.0 / (objective_per_day * days), 1.0) ** SHAPE)


def least_s(objective_per_day: float, counts: Array, days: float) -> float:
    """Return the shortest time in seconds whose upper bound is within an objective.

    Where the objective is rarer than once in the time watched, that is the largest value seen times
    (1 / (objective * days)) ** 0.4.

    Args:
        objective_per_day: events a day that a group may see.
        counts: its values in each bucket, all members together; at least one.
        days: how long it was watched.

    Raises:
        ValueError: nothing was watched or seen, or an objective of none at all.
    """
    if not objective_per_day > 0:
        raise ValueError(f"objective_per_day {objective_per_day}: must be positive; nothing is never exceeded")
    if not counts.any():
        raise ValueError("counts: no value was seen, so there is no largest")
    largest_s = float(EDGES_S[int(np.flatnonzero(counts)[-1]) + 1])
    if objective_per_day * days < 1.0:
        return least_beyond_s(objective_per_day, largest_s, days)
    within = upper_per_day(EDGES_S, counts, days) <= objective_per_day
    return float(EDGES_S[int(np.argmax(within))])
