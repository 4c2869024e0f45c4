"""Times drawn by chance, many at once."""

from collections.abc import Callable

import numpy as np

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law

_AT_ONCE = 2048


class Draw:
    """An endless row of numbers from one law."""

    def __init__(self, draw: Callable[[int], Array]) -> None:
        self._draw = draw
        self._drawn: list[float] = []

    def __call__(self) -> float:
        """Return the next one."""
        if not self._drawn:
            self._drawn = self._draw(_AT_ONCE).tolist()
        return self._drawn.pop()


class Chance:
    """All that is drawn in one play; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.numbers = np.random.default_rng(seed)
        self.share = Draw(self.numbers.random)

    def times(self, law: Law, count: int, *, above_s: float = 0.0) -> Array:
        """Return times of a law, of those above a time."""
        return law.quantile(self.numbers.random(count) * float(law.sf(above_s)))

    def of(self, law: Law) -> Draw:
        """Return a row of times of a law."""
        return Draw(lambda count: self.times(law, count))

    def remainders(self, law: Law, *, below_s: float) -> Draw:
        """Return how much is left at any moment of what goes on then, if one of its kind follows the other.

        Args:
            law: of their lengths; those of `below_s` and more do not count.
            below_s: in seconds.
        """
        times = np.append(TIMES_S[below_s > TIMES_S], below_s)
        # The density of what is left is P(length > x), among the lengths that count.
        areas = law.integral(times) - times * float(law.sf(below_s))
        return Draw(lambda count: np.interp(self.numbers.random(count) * areas[-1], areas, times))

    def arrivals(self, per_day: float, days: float) -> Array:
        """Return the moments of a Poisson process, in seconds from the start."""
        return np.sort(self.numbers.random(self.numbers.poisson(per_day * days)) * days * 86_400.0)
