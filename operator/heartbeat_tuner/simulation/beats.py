"""When members beat, and when they hear and poll.

A clock beats every P seconds whatever a handler does. The fetch loop of KafkaJS beats where a turn ends and H is over;
its beats are had by running the loop.
"""

import dataclasses

import numpy as np

from heartbeat_tuner.simulation.chance import Chance, Draw
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law

_TURNS = 50_000


@dataclasses.dataclass(frozen=True, slots=True)
class BeatMoment:
    """Where a moment lies between two beats: seconds since the last one, and until the next."""

    age_s: float
    rest_s: float


class BeatTimer:
    """A heartbeat thread or timer, and a poll between two handlers."""

    def __init__(self, chance: Chance, *, period_s: float, handlers: Law, poll_limit_s: float) -> None:
        self._period_s = period_s
        self._share = chance.share
        self._remainder = chance.remainders(handlers, below_s=poll_limit_s)

    def any_phase(self) -> float:
        """Return how long ago the last beat was, of a member one knows nothing of."""
        return self._share() * self._period_s

    def beat(self, since_s: float) -> BeatMoment:
        """Return where a moment lies, so long after some beat."""
        age_s = since_s % self._period_s
        return BeatMoment(age_s, self._period_s - age_s)

    def until_poll(self) -> float:
        """Return how long a handler goes on from any moment."""
        return self._remainder()


class FetchLoop:
    """The single loop of KafkaJS: fetch or handle, then beat if H is over."""

    def __init__(self, chance: Chance, *, interval_s: float, turns: Law) -> None:
        self._share = chance.share
        self._remainder = chance.remainders(turns, below_s=TIMES_S[-1])
        starts, beats = _run(chance.times(turns, _TURNS), interval_s)
        numbers = chance.numbers
        lengths = np.cumsum(beats)
        # A moment falls into a long pause between beats more often than into a short one.
        self._between = Draw(lambda count: beats[np.searchsorted(lengths, numbers.random(count) * lengths[-1])])
        self._at_start = Draw(lambda count: starts[numbers.integers(len(starts), size=count)])

    def any_phase(self) -> float:
        """Return how long ago the last beat was, of a member one knows nothing of."""
        return self.beat(0.0).age_s

    def beat(self, _: float) -> BeatMoment:
        """Return where any moment lies."""
        between_s, share = self._between(), self._share()
        return BeatMoment(share * between_s, (1.0 - share) * between_s)

    def age_at_start(self) -> float:
        """Return how long ago the last beat was when a turn begins."""
        return self._at_start()

    def until_poll(self) -> float:
        """Return how long a member that hears goes on: it ends what it has at hand first."""
        return self._remainder()


Cadence = BeatTimer | FetchLoop


def _run(turns: Array, interval_s: float) -> tuple[Array, Array]:
    """Return the age of the last beat at the start of each turn, and the times from beat to beat."""
    starts, beats, age_s = [], [], 0.0
    for turn_s in turns.tolist():
        starts.append(age_s)
        age_s += turn_s
        if age_s >= interval_s:
            beats.append(age_s)
            age_s = 0.0
    return np.array(starts), np.array(beats)
