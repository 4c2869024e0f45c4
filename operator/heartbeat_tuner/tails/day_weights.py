"""Days of histograms become the counts that a fit takes: what was long ago tells less of tomorrow.

A history holds one histogram for each day of whatever was measured. A day's weight halves every half-life; it is given
at the time of the fit and stored nowhere, so days may come in any order and be replaced. Weighted counts tell more than
their sum says: thirty days of falling weights add up to ten, but scatter less than ten whole days do (Kish's effective
size).
"""

import dataclasses
from collections.abc import Iterable
from typing import Final

import numpy as np

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS

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


def weighted(days: Iterable[tuple[int, Array]], *, height: int, half_life_days: float = HALF_LIFE_DAYS) -> Weighted:
    """Return the counts of a history, weighted for the day after the newest.

    What is added up of one day is whole numbers, and days come in the order of their age: so every sum of them is
    the same to the last bit. One day is held at a time.

    Args:
        days: how old each day is, in days, and its counts, histograms x `BUCKETS`; the newest first. Age 0
            has weight 1.
        height: how many histograms there are.
        half_life_days: after so many days a count is worth half.

    Raises:
        ValueError: a day to come, days in another order, or a half-life that is none.
    """
    if not half_life_days > 0:
        raise ValueError(f"half_life_days {half_life_days}: must be positive")
    summed = np.zeros((height, BUCKETS))
    squares = np.zeros(height)
    before = -1
    for age_days, day in days:
        if age_days < 0:
            raise ValueError(f"age {age_days}: the day lies after the newest day of the fit")
        if age_days <= before:
            raise ValueError(f"age {age_days} after {before}: each day once, the newest first")
        before = age_days
        weight = 0.5 ** (float(age_days) / half_life_days)
        squares += weight**2 * day.sum(axis=1)
        summed += day * weight
    sums = summed.sum(axis=1)
    return Weighted(summed, np.where(squares > 0, sums / np.maximum(squares, 1e-300), 1.0))
