"""What all groups of one kind saw together: how often a time is exceeded that one of them alone has hardly ever met.

A freeze that comes once in fifty member-days is in no single day of a single group, so no prior of a shape covers it;
the groups together have it. Counts are whole, not decayed, over the time in which they were made. Beyond the largest
value of all stands what stands beyond that of one group, too: one event, falling as `shape_free` has it.

How much that says about one group depends on how much groups differ, which their counts show: events are Poisson, and
their rates gamma over the groups (`rates.spread`). A group's own rate is then gamma again: what it saw itself and
what the fleet says weigh as many events as they rest on. Where an event is common its own count decides, where it is
rare the fleet's.

Groups of several namespaces share a pool only so far: each namespace has its own, which each other one moves by a
bounded factor (`neighbours`), and how much groups differ is what its own groups show. Whether it has a pool depends
on what it saw itself, and on nobody else: who could bring one into being would move its rates by more than that.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails import gamma, neighbours, open_ends, rates, shape_free
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.hidden_ends import SeenTogether
from heartbeat_tuner.tails.histogram import EDGES_S, PER_OCTAVE
from heartbeat_tuner.tails.model import Z_95
from heartbeat_tuner.tails.rates import DayScatter

LEAST_ALIKE: Final = 5
"""Groups of a namespace that have a pool apart from the others of their kind: fewer would be one group's chance."""

LEAST_DAYS: Final = 10.0
"""Of fewer days nothing is told."""

_FIRST: Final = int(np.searchsorted(EDGES_S, 2.8))
EDGES: Final = _FIRST + PER_OCTAVE // 2 * np.arange(16)
"""The buckets whose lower edges are the times of a pool: none is cut."""

TIMES_S: Final = tuple(EDGES_S[EDGES].tolist())
"""From 2.8 s, half an octave apart, to 512 s: what is shorter is each group's own habit."""

_SPREAD_BEFORE: Final = 1.0
ALIKE: Final = 1.0
"""The widest spread of rates that a bound is computed with: a wider gamma law gives most groups a rate near zero."""
_LEAST: Final = 1e-300  # stands for a rate of nothing
_UPPER: Final = 0.95
_SHAPES: Final = np.geomspace(1e-2, 1e4, 121)


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """How often something takes long in a group of this kind.

    Attributes:
        days: for how long all of them were watched together: member-days, or days of groups.
        groups: how many they are.
        times_s: ascending, above 0, in seconds.
        per_day: how often a day (of those that `days` counts) each of them is exceeded; falling, above 0.
        spreads: by how much groups differ in that, the squared coefficient of variation of their rates; above 0.
        hides_from_s: from when on absences of the group whose pool it is do not show, for they end in an eviction; None
            where all show.
        clumps: how many of them come at a time, of each of `times_s`; None: one by one. Fewer events then speak for a
            rate, and fewer days for there being few.
    """

    days: float
    groups: int
    times_s: tuple[float, ...]
    per_day: tuple[float, ...]
    spreads: tuple[float, ...]
    hides_from_s: float | None = None
    clumps: tuple[float, ...] | None = None

    @classmethod
    def of(cls, counts: Array, days: Array) -> Self | None:
        """Return what groups of one kind saw together; None if too little, or no value at all.

        Args:
            counts: of each of them, whole, not decayed; groups x `BUCKETS`.
            days: for how long each was watched; groups. One of 0 does not count.
        """
        return cls.of_homes(counts, days, np.zeros(len(days), dtype=np.int64)).get(0)

    @classmethod
    def of_homes(
        cls,
        counts: Array,
        days: Array,
        homes: npt.NDArray[np.int64],
        *,
        hidden: npt.NDArray[np.bool_] | None = None,
        unended: Array | None = None,
        scatter: DayScatter | None = None,
        least_groups: int = 1,
    ) -> dict[int, Self]:
        """Return the pool of each namespace that saw enough: its own groups' and, within bounds, those of others.

        Args:
            counts: as in `of`.
            days: as in `of`.
            homes: a number for each group, the same for those of one namespace.
            hidden: of which groups what is longer than a session does not show; None: of none.
            unended: how many of `counts` are only known to be longer than the lower edge of their bucket; None: none.
            scatter: of what each group saw day by day, at `TIMES_S`; None: events come one by one.
            least_groups: of its own that a namespace needs.
        """
        watched = days > 0
        open_counts = np.zeros_like(counts) if unended is None else unended
        counts, open_counts, days, homes = counts[watched], open_counts[watched], days[watched], homes[watched]
        hides = np.zeros(days.size, dtype=np.bool_) if hidden is None else hidden[watched]
        numbers, homes = np.unique(homes, return_inverse=True)
        if not numbers.size:
            return {}
        several = [np.flatnonzero(homes == home) for home in range(numbers.size)]
        each = _longer(counts, open_counts, several)
        own_days = np.array([math.fsum(days[own].tolist()) for own in several])  # the same in whatever order they come
        ends = [SeenTogether.of_groups(each[own], hides[own], EDGES) for own in several]
        longer = np.array([end.longer for end in ends])
        beyond = np.array([_beyond(counts[own].sum(axis=0)) for own in several])
        events, together = neighbours.heard(longer, own_days, least=beyond)
        sizes = np.array([own.size for own in several])
        clumps = [None if scatter is None else scatter.some(np.flatnonzero(watched)[own]).clumps() for own in several]
        return {
            int(numbers[home]): cls(
                float(together[home]),
                int(np.minimum(sizes, own.size).sum()),
                TIMES_S,
                tuple((events[home] / together[home]).tolist()),
                ends[home].wider(_spreads(each[own], days[own], clumps[home])),
                ends[home].from_s,
                clumps[home],
            )
            for home, own in enumerate(several)
            if own.size >= least_groups and own_days[home] >= LEAST_DAYS and counts[own].any()
        }

    def posterior(self, times_s: Array, own: Array, days: float) -> tuple[Array, Array]:
        """Return how often a day a group exceeds some times, on average and at most at 95 %.

        The fleet's own doubt, that of the few events behind its rate, counts as one more way to differ. By how much
        groups differ is known from few groups only: the bound also holds where they differ by as much as they may.

        Args:
            times_s: in seconds; before the pool's first one, that one's rate holds.
            own: how many the group saw itself, longer than each.
            days: for how long it was watched, of those that `days` counts.
        """
        if self.hides_from_s is not None:
            # What a group saw up to there tells by how much it differs; what it did not see beyond tells nothing.
            shown = int(np.searchsorted(times_s, self.hides_from_s, side="right")) - 1
            own = np.where(times_s > self.hides_from_s, own[max(shown, 0)], own)
        logs = np.log(np.maximum(times_s, self.times_s[0]))
        usual = self._usual(times_s)
        clump = 1.0 if self.clumps is None else np.interp(logs, np.log(self.times_s), self.clumps)
        events = np.maximum(usual * self.days / clump, 1.0)
        differ = np.interp(logs, np.log(self.times_s), self.spreads) + 1.0 / events
        doubt = rates.spread_doubt(self.groups, events, before=_SPREAD_BEFORE)
        seen, watched = own / clump, days * self._shown(times_s, usual) / usual / clump
        mean = (seen + 1.0 / differ) / (watched + 1.0 / (differ * usual))
        upper = np.maximum.reduce([_upper(seen, watched, usual, differ + more * doubt) for more in (0.0, Z_95)])
        return mean, upper

    def _usual(self, times_s: Array) -> Array:
        """Return how often a day a group of this kind exceeds some times, on average; above 0."""
        logs = np.log(np.maximum(times_s, self.times_s[0]))
        known = np.exp(np.interp(logs, np.log(self.times_s), np.log(self.per_day)))
        falling = np.maximum(times_s / self.times_s[-1], 1.0) ** (-1.0 / shape_free.SHAPE)
        return np.maximum(known * falling, _LEAST)

    def _shown(self, times_s: Array, usual: Array) -> Array:
        """Return the same of what the group itself has seen by that time: where longer ones hide, of the shorter."""
        if self.hides_from_s is None:
            return usual
        return np.maximum(usual, self._usual(np.minimum(times_s, self.hides_from_s)))


def _longer(counts: Array, unended: Array, several: Sequence[npt.NDArray[np.int64]]) -> Array:
    """Return how many events of each group were longer than each time, by what its own namespace shows."""
    each = np.zeros((len(counts), EDGES.size))
    for own in several:
        each[own] = open_ends.longer(counts[own], unended[own])[:, EDGES]
    return each


def _spreads(longer: Array, days: Array, clumps: tuple[float, ...] | None) -> list[float]:
    """Return by how much groups differ at each time."""
    sizes = (1.0,) * EDGES.size if clumps is None else clumps
    return [
        rates.spread(counted, days, before=_SPREAD_BEFORE, clump=size)
        for counted, size in zip(longer.T, sizes, strict=True)
    ]


def _beyond(counts: Array) -> Array:
    """Return the events that stand for what was not seen, beyond the largest value: one there, and ever fewer."""
    if not counts.any():
        return np.full(EDGES.size, _LEAST)
    largest_s = float(EDGES_S[int(np.flatnonzero(counts)[-1]) + 1])
    return shape_free.beyond_per_day(EDGES_S[EDGES], largest_s, 1.0)


def _upper(seen: Array, watched: Array, usual: Array, differ: Array) -> Array:
    """Return what the rate of a group is at most at 95 %, where groups differ by so much."""
    upper = _quantiles(seen + 1.0 / differ) / (watched + 1.0 / (differ * usual))
    # Where few groups make the mean, a gamma law calls all others next to none: they are held to one like most.
    alike = np.minimum(differ, ALIKE)
    most = usual * np.sqrt((1.0 + alike) / (1.0 + differ))  # of lognormal rates the median stays
    return np.maximum(upper, _quantiles(seen + 1.0 / alike) / (watched + 1.0 / (alike * most)))


def _quantiles(shapes: Array) -> Array:
    """Return what gamma variables of rate 1 are at most at 95 %, between known ones; of many events they are normal."""
    known = np.exp(np.interp(np.log(shapes), np.log(_SHAPES), _known_quantiles()))
    return np.where(shapes > _SHAPES[-1], shapes + Z_95 * np.sqrt(shapes), known)


@functools.cache
def _known_quantiles() -> Array:
    return np.log(gamma.quantile(_SHAPES, _UPPER))
