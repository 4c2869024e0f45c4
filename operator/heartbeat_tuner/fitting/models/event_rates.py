"""How often events come in each group, and how long they last: what a cost needs of crashes, restarts and rebalances.

Few of them are seen in one group, so the groups of its namespace, and others within bounds, tell what is usual
(`tails.rates`). Older events count in full towards
how often they come, since so does the time in which they did.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.metrics.measured import DOWNTIMES, DURATIONS, EVENTS, MOST_DOWNTIMES_PER_DAY, OF_THE_GROUP
from heartbeat_tuner.tails import rates
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import bucket_of
from heartbeat_tuner.tails.rates import Duration, Rate

Numbers = npt.NDArray[np.integer | np.floating]

_NEVER: Final = 1e-9
_ONE_A_SECOND: Final = 86_400.0
"""Rates a day that are as rare, or as common, as anything is said to be."""

_AT_ONCE: Final = int(bucket_of(1.0))
"""Scrapes resolve no shorter downtime: one of less is a second, so that its logarithm says no more than was seen."""


def rates_of(
    quantity: str,
    values: Numbers,
    member_days: Numbers,
    group_days: Numbers,
    *,
    homes: npt.NDArray[np.int64] | None = None,
) -> Sequence[Rate | None]:
    """Return how often a quantity's events come in each group, a day of a member or of the group as one.

    Args:
        quantity: its name; None for each group if its values are no events.
        values: how many each group has.
        member_days: for how long members were watched, all together.
        group_days: for how long groups were.
        homes: a number for each group, the same for those of one namespace; one namespace if left out.
    """
    exposure = (group_days if quantity in OF_THE_GROUP else member_days).astype(np.float64)
    group_rates: list[Rate | None] = [None] * values.size
    if quantity not in EVENTS or not exposure.any():
        return group_rates
    _, of_home = np.unique(np.zeros(values.size) if homes is None else homes, return_inverse=True)
    # Of a namespace that nobody watched nothing is known, whatever others saw.
    watched = np.flatnonzero((np.bincount(of_home, weights=exposure) > 0)[of_home])
    estimates = rates.rates(values[watched].astype(np.float64), exposure[watched], homes=of_home[watched])
    most = MOST_DOWNTIMES_PER_DAY if quantity in DOWNTIMES else _ONE_A_SECOND
    for place, rate in zip(watched.tolist(), estimates.each, strict=True):
        mean = min(max(rate.mean, _NEVER), most)
        group_rates[place] = Rate(mean, min(max(rate.upper, mean), most))
    return group_rates


def durations_of(
    quantity: str, counts: Array, *, homes: npt.NDArray[np.int64] | None = None
) -> Sequence[Duration | None]:
    """Return how long a quantity's events last in each group; None if they do not say, or its namespace has none.

    Args:
        quantity: its name.
        counts: groups x `BUCKETS`.
        homes: a number for each group, the same for those of one namespace; one namespace if left out.
    """
    if quantity not in DURATIONS or not counts.any():
        return [None] * len(counts)
    if quantity not in DOWNTIMES:
        return rates.durations(counts, homes=homes)
    clipped = counts.copy()
    clipped[:, _AT_ONCE] += clipped[:, :_AT_ONCE].sum(axis=1)
    clipped[:, :_AT_ONCE] = 0.0
    return rates.durations(clipped, homes=homes)
