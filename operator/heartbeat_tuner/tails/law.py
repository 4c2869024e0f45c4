"""A law of times as a table: how often one is longer than so, and how much of it lies before.

Whatever a law comes from (a fit, a histogram, a formula), the cost of settings asks two things of it, many times and at
many times at once: G(x) = P(X > x), and I(x), the integral of G from 0 to x, which is the mean of min(X, x). Both are
looked up in a table over times that all laws share. Between two of them G is a straight line and I its exact integral,
so the two never contradict each other; the times lie 2 % apart, which is as near as any fit comes.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Final, Self

import numpy as np

from heartbeat_tuner.tails.gpd import Array, Values

_SHORTEST_S: Final = 1e-3
_LONGEST_S: Final = 1e6
_STEP: Final = 1.02

TIMES_S: Final[Array] = np.concatenate(
    ([0.0], _SHORTEST_S * _STEP ** np.arange(math.ceil(math.log(_LONGEST_S / _SHORTEST_S, _STEP)) + 1))
)
"""The times of every table, in seconds, from 0 to above eleven days."""
TIMES_S.setflags(write=False)

_WIDTHS: Final = np.diff(TIMES_S)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A law of times that are not negative, in seconds. What lies beyond the last time of the table never ends.

    Attributes:
        exceedances: P(X > x) at each of `TIMES_S`, falling from at most 1.
        integrals: I(x) at each of `TIMES_S`.
    """

    exceedances: Array
    integrals: Array

    @classmethod
    def of(cls, exceedance: Callable[[Array], Array]) -> Self:
        """Return a law from its survival function.

        Args:
            exceedance: from times in seconds, of any shape, to P(X > x).

        Raises:
            ValueError: it rises somewhere, or leaves 0 to 1.
        """
        return cls.table(np.asarray(exceedance(TIMES_S), dtype=np.float64))

    @classmethod
    def table(cls, exceedances: Array) -> Self:
        """Return a law from P(X > x) at each of `TIMES_S`.

        Raises:
            ValueError: it rises somewhere, or leaves 0 to 1.
        """
        if not (np.all(exceedances >= 0) and np.all(exceedances <= 1) and np.all(np.diff(exceedances) <= 1e-12)):  # noqa: PLR2004 - rounding
            raise ValueError("exceedances: must fall from at most 1 to at least 0, for a longer time is rarer")
        cells = (exceedances[1:] + exceedances[:-1]) * 0.5 * _WIDTHS
        return cls(exceedances, np.concatenate(([0.0], np.cumsum(cells))))

    @classmethod
    def lognormal(cls, median_s: float, sigma: float) -> Self:
        """Return a lognormal law by its median and the standard deviation of its logarithm."""
        with np.errstate(divide="ignore"):
            places = (np.log(TIMES_S) - math.log(median_s)) / (sigma * math.sqrt(2.0))
        return cls.table(0.5 * np.array([math.erfc(place) for place in places.tolist()]))

    @classmethod
    def constant(cls, time_s: float) -> Self:
        """Return the law of a time that is always the same (to the next of `TIMES_S`)."""
        return cls.table((time_s > TIMES_S).astype(np.float64))

    @classmethod
    def mixture(cls, parts: Iterable[tuple[float, "Law"]]) -> Self:
        """Return the law of a time that is of one of several kinds, each with its share of 1."""
        weighed = [weight * law.exceedances for weight, law in parts]
        return cls.table(np.minimum(np.sum(weighed, axis=0), 1.0))

    @property
    def mean_s(self) -> float:
        """The mean, as far as the table goes."""
        return float(self.integrals[-1])

    def sf(self, times_s: Values) -> Array:
        """Return G(x); a time below 0 is always exceeded."""
        times = np.asarray(times_s, dtype=np.float64)
        return np.where(times < 0, 1.0, np.interp(times, TIMES_S, self.exceedances))

    def integral(self, times_s: Values) -> Array:
        """Return I(x), the mean of min(X, x); for a time below 0 it is x itself, as if G were 1 there."""
        times = np.asarray(times_s, dtype=np.float64)
        inside = np.minimum(np.maximum(times, 0.0), TIMES_S[-1])
        cells = np.minimum(np.searchsorted(TIMES_S, inside, side="right") - 1, _WIDTHS.size - 1)
        offsets = inside - TIMES_S.take(cells)
        starts = self.exceedances.take(cells)
        slopes = (self.exceedances.take(cells + 1) - starts) / _WIDTHS.take(cells)
        grown = self.integrals.take(cells) + offsets * (starts + 0.5 * slopes * offsets)
        beyond = self.exceedances[-1] * np.maximum(times - TIMES_S[-1], 0.0)
        return np.asarray(grown + np.minimum(times, 0.0) + beyond)

    def quantile(self, exceeded: Values) -> Array:
        """Return the time in seconds that is exceeded by a share of times; of many shares at once, to draw from it."""
        shares = np.asarray(exceeded, dtype=np.float64)
        return np.interp(shares, self.exceedances[::-1], TIMES_S[::-1])

    def remaining(self) -> Self:
        """Return the law of what is left of such a time at a moment that knows nothing of it (the equilibrium law).

        Long times are met more often than short ones: its mean is E X^2 / (2 E X).
        """
        if not self.mean_s:
            return self
        return type(self).table(np.maximum(1.0 - self.integrals / self.mean_s, 0.0))

    def largest_of(self, count: float) -> Self:
        """Return the law of the largest of so many independent times."""
        with np.errstate(divide="ignore"):
            return type(self).table(-np.expm1(count * np.log1p(-self.exceedances)))
