"""How often absences are longer than what shows of them, where those that ended in an eviction do not show at all.

Where an absence shows as missing beats, one that outlasts the session ends in a join, and nothing of it shows. So the
values of such groups end shortly below their session, however long absences are, and to count their days beyond as days
without an absence promises too little: at 45 s by a factor of 9 in a fleet of which one group in seven shows all.

Up to the last time that these groups show, all count. Beyond it, those whose absences all show tell how fast they
become rarer (with one event more, falling as `shape_free` has it), and what is last seen of all of them is carried on.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import EDGES_S

_SHOWS: Final = 5.0
"""Events between two times by which groups that hide something still show there. A few more may be of groups whose
collector shows pauses in full, which nothing in the counts tells."""

_WORTH: Final = 1.0
"""Events for which the tail that nobody knows counts beside those that show."""


MOST_SPREAD: Final = 1000.0
"""By how much groups may differ, as models say it: where so little is behind a time, the others tell nothing there."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SeenTogether:
    """What groups saw together, with what they cannot have seen.

    Attributes:
        longer: how many events are longer than each time.
        from_s: the time from which on those that hide something do; None where nobody does.
        behind: how many events that was told by, at each time from there on; infinite before.
    """

    longer: Array
    from_s: float | None
    behind: Array

    @classmethod
    def of_groups(cls, longer: Array, hides: npt.NDArray[np.bool_], edges: npt.NDArray[np.int64]) -> Self:
        """Return what groups of one namespace saw.

        Args:
            longer: than each time, of each group; groups x times.
            hides: of which groups what outlasts a session does not show.
            edges: the buckets that the times are the lower edges of, ascending.
        """
        seen = longer.sum(axis=0)
        between = -np.diff(longer[hides].sum(axis=0))
        if not between.any():
            return cls(seen, None, np.full(seen.size, np.inf))
        last = 1 + int(np.flatnonzero(between >= min(_SHOWS, between.max()))[-1])
        whole, times_s = longer[~hides].sum(axis=0)[last - 1 :], EDGES_S[edges[last - 1 :]]
        falls = whole + _WORTH * (times_s / times_s[0]) ** (-1.0 / shape_free.SHAPE)
        shares = falls[1:] / falls[0]
        carried = np.maximum((seen[last - 1] - seen[last]) * shares / (1.0 - shares[0]), seen[last:])
        together = np.concatenate((seen[:last] + carried[0] - seen[last], carried))
        behind = np.concatenate((np.full(last, np.inf), falls[1:]))
        return cls(together, float(EDGES_S[edges[last]]), behind)

    def wider(self, spreads: Sequence[float]) -> tuple[float, ...]:
        """Return how much groups differ at each time: what is carried on differs no less than what it is carried from.

        Args:
            spreads: as the counts show it.
        """
        if self.from_s is None:
            return tuple(spreads)
        last = int(np.flatnonzero(np.isfinite(self.behind))[0])
        least = np.where(np.isfinite(self.behind), spreads[last - 1] + 1.0 / self.behind, 0.0).clip(max=MOST_SPREAD)
        return tuple(np.maximum(spreads, least).tolist())
