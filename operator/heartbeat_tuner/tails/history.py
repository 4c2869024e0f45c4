"""Days of histograms become the counts that a fit takes: what was long ago tells less of tomorrow.

A history holds one histogram for each day of whatever was measured. A day's weight halves every half-life; it is given
at the time of the fit and stored nowhere, so days may come in any order and be replaced. Weighted counts tell more than
their sum says: thirty days of falling weights add up to ten, but scatter less than ten whole days do (Kish's effective
size).
"""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, dense_of_table

_Whole = npt.NDArray[np.integer]

HALF_LIFE_DAYS: Final = 7.0

MEMBER_BLOCKS: Final = -1
"""In place of a bucket, in a stored table: blocks of 90 s in which members were watched, of all members together."""

GROUP_BLOCKS: Final = -2
"""Likewise: the blocks in which any member of the group was."""


@dataclasses.dataclass(frozen=True, slots=True)
class Weighted:
    """Counts of several histograms, each day by its weight.

    Attributes:
        counts: histograms x `BUCKETS`.
        weight: how much a count of each histogram tells, as part of an independent one: 1 or more.
    """

    counts: Array
    weight: Array


def weighted(
    rows: _Whole,
    ages_days: _Whole,
    buckets: _Whole,
    counts: _Whole,
    *,
    height: int,
    half_life_days: float = HALF_LIFE_DAYS,
) -> Weighted:
    """Return the counts of a history, given as the columns of a table, as they tell of the day after the newest.

    Lines may come in any order, without a difference to the last bit: what is added up of one day is whole numbers,
    and days are added in the order of their age.

    Args:
        rows: 0..height - 1, the histogram that a line belongs to.
        ages_days: how old its day is; the newest has age 0 and weight 1.
        buckets: its bucket.
        counts: how many values it holds.
        height: how many histograms there are.
        half_life_days: after so many days a count is worth half.

    Raises:
        ValueError: a day to come, a half-life that is none, or a bucket that the contract does not know.
    """
    if not half_life_days > 0:
        raise ValueError(f"half_life_days {half_life_days}: must be positive")
    if np.any(ages_days < 0):
        raise ValueError(f"ages_days {ages_days.min()}: a day lies after the newest day of the fit")
    summed = np.zeros((height, BUCKETS))
    squares = np.zeros(height)
    for age_days in np.unique(ages_days):
        of_day = ages_days == age_days
        day = dense_of_table(rows[of_day], buckets[of_day], counts[of_day], height=height)
        weight = 0.5 ** (float(age_days) / half_life_days)
        squares += weight**2 * day.sum(axis=1)
        day *= weight
        summed += day
    sums = summed.sum(axis=1)
    return Weighted(summed, np.where(squares > 0, sums / np.maximum(squares, 1e-300), 1.0))
