"""What all groups of one kind saw together: how often a time is exceeded that one of them alone has hardly ever met.

A freeze that comes once in fifty member-days is in no single day of a single group, so no prior of a shape tells of it;
the groups together have it. Counts are whole, not decayed, over the time in which they were made. Beyond the largest
value of all stands what stands beyond that of one group, too: one event, falling as `shape_free` has it.
"""

import dataclasses
import math
from typing import Final, Self

import numpy as np

from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.gpd import Array, Values
from heartbeat_tuner.tails.histogram import EDGES_S, PER_OCTAVE

WORTH_DAYS: Final = 30.0
"""What others saw counts as so many days of a group's own."""

LEAST_GROUPS: Final = 5
LEAST_DAYS: Final = 10.0
"""Of fewer groups or days nothing is told: it would be one group's chance, counted for all."""

_FIRST: Final = int(np.searchsorted(EDGES_S, 2.8))
_EDGES: Final = _FIRST + PER_OCTAVE // 2 * np.arange(16)  # where buckets meet: none is cut

TIMES_S: Final = tuple(EDGES_S[_EDGES].tolist())
"""From 2.8 s, half an octave apart, to 512 s: what is shorter is each group's own habit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """How often something takes long in a group of this kind.

    Attributes:
        days: for how long all of them were watched together: member-days, or days of groups.
        groups: how many they are.
        times_s: ascending, above 0, in seconds.
        per_day: how often a day (of those that `days` counts) each of them is exceeded; falling, above 0.
    """

    days: float
    groups: int
    times_s: tuple[float, ...]
    per_day: tuple[float, ...]

    @classmethod
    def of(cls, counts: Array, days: Array) -> Self | None:
        """Return what groups of one kind saw together; None if too little, or no value at all.

        Args:
            counts: of all of them, whole, not decayed; `BUCKETS`.
            days: for how long each was watched; groups. One of 0 does not count.
        """
        groups, watched = int((days > 0).sum()), math.fsum(days.tolist())  # the same in whatever order they come
        if groups < LEAST_GROUPS or watched < LEAST_DAYS or not counts.any():
            return None
        longer = np.cumsum(counts[::-1])[::-1][_EDGES]
        largest_s = float(EDGES_S[int(np.flatnonzero(counts)[-1]) + 1])
        beyond = shape_free.beyond_per_day(EDGES_S[_EDGES], largest_s, watched)
        return cls(watched, groups, TIMES_S, tuple(np.where(longer > 0, longer / watched, beyond).tolist()))

    def weight(self, days: float) -> float:
        """Return the share of 1 that it has beside what a group saw itself in so many days."""
        return WORTH_DAYS / (WORTH_DAYS + days)

    def rates(self, times_s: Values) -> Array:
        """Return how often a day some times are exceeded; for those before the first one it is that of the first."""
        times = np.maximum(np.asarray(times_s, dtype=np.float64), self.times_s[0])
        known = np.exp(np.interp(np.log(times), np.log(self.times_s), np.log(self.per_day)))
        return np.asarray(known * np.maximum(times / self.times_s[-1], 1.0) ** (-1.0 / shape_free.SHAPE))
