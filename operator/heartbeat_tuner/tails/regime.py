"""Has something changed for good: are the newest days worse than all the days before?

A mean over weeks dilutes a change: of a group whose absences became ten times as frequent four days ago, two weeks say
three times. So the newest days are laid beside all older ones, day by day. A regime is taken to have begun where, for
two days or more, each day has more long values for its time than any of at least a week of older days had; where
together they have more than twice as many; and where that is sure. A week has both its weekend and its busiest day, so
a batch on each Sunday is none.

Only a change for the worse is one. What became better fades with the half-life of a value, which errs on the safe side.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.gpd import Array

LEAST_NEW: Final = 2
"""Days: one may have been any day."""

LEAST_OLD: Final = 7
"""Days: every day of the week."""

SHARES: Final = (0.05, 0.01, 0.001)
"""Of all values: the times beyond which days are compared are exceeded by these."""

LEAST_PART: Final = 0.1
"""Of a group's longest day: a day that was watched for less has no rate of its own, which one value would make high."""

_LARGE: Final = 2.0
_SURE: Final = 4.0  # standard deviations: many groups, and many days, are looked at
_HALF: Final = 0.5  # an event, so that none at all is not infinitely far away


def newest_days(exceeding: Array, watched: Array) -> npt.NDArray[np.int64]:
    """Return how many of the newest days of each group are of another regime than all before; 0 where none are.

    Args:
        exceeding: how many values exceeded some times, days x groups x times, the newest day first.
        watched: for how long each group was watched on each day, days x groups; a day of 0, or of less than
            `LEAST_PART` of the longest, is compared with no other.
    """
    days, groups = watched.shape
    begun, sure = np.zeros(groups, dtype=np.int64), np.full(groups, _SURE)
    rates = exceeding / np.maximum(watched, 1e-300)[:, :, None]
    there = (watched > 0) & (watched >= LEAST_PART * watched.max(axis=0, initial=0.0))
    for new in range(LEAST_NEW, days - LEAST_OLD + 1):
        enough = (there[:new].sum(axis=0) >= LEAST_NEW) & (there[new:].sum(axis=0) >= LEAST_OLD) & there[new - 1]
        least = np.where(there[:new, :, None], rates[:new], np.inf).min(axis=0)
        most = np.where(there[new:, :, None], rates[new:], 0.0).max(axis=0)
        count, before = exceeding[:new].sum(axis=0), exceeding[new:].sum(axis=0)
        expected = before * (watched[:new].sum(axis=0) / np.maximum(watched[new:].sum(axis=0), 1e-300))[:, None]
        away = np.log((count + _HALF) / (expected + _HALF)) / np.sqrt(1.0 / (count + _HALF) + 1.0 / (before + _HALF))
        is_worse = (least > most) & (count > _LARGE * expected) & enough[:, None]
        surest = np.where(is_worse, away, 0.0).max(axis=1)
        better = surest > sure
        begun[better], sure[better] = new, surest[better]
    return begun
