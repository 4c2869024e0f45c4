"""How often events come in each group, and how long they last: what a cost needs of crashes, restarts and rebalances.

Few of them are seen in one group, so all groups tell what is usual (`tails.rates`). Older events count in full towards
how often they come, since so does the time in which they did.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.metrics.quantities import DOWNTIMES, DURATIONS, EVENTS, OF_THE_GROUP
from heartbeat_tuner.tails import rates
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import bucket_of
from heartbeat_tuner.tails.rates import Duration, Rate

Numbers = npt.NDArray[np.integer | np.floating]

_AT_ONCE: Final = int(bucket_of(1.0))
"""Scrapes resolve no shorter downtime: one of less is a second, so that its logarithm says no more than was seen."""


def rates_of(quantity: str, values: Numbers, member_days: Numbers, group_days: Numbers) -> Sequence[Rate | None]:
    """Return how often a quantity's events come in each group, a day of a member or of the group as one.

    Args:
        quantity: its name; None for each group if its values are no events.
        values: how many each group has.
        member_days: for how long members were watched, all together.
        group_days: for how long groups were.
    """
    exposure = (group_days if quantity in OF_THE_GROUP else member_days).astype(np.float64)
    if quantity not in EVENTS or not exposure.sum() > 0:
        return [None] * values.size
    return rates.rates(values.astype(np.float64), exposure).each


def durations_of(quantity: str, counts: Array) -> Sequence[Duration | None]:
    """Return how long a quantity's events last in each group; None for each if they do not say, or there are none.

    Args:
        quantity: its name.
        counts: groups x `BUCKETS`.
    """
    if quantity not in DURATIONS or not counts.any():
        return [None] * len(counts)
    if quantity not in DOWNTIMES:
        return rates.durations(counts)
    told = counts.copy()
    told[:, _AT_ONCE] += told[:, :_AT_ONCE].sum(axis=1)
    told[:, :_AT_ONCE] = 0.0
    return rates.durations(told)
