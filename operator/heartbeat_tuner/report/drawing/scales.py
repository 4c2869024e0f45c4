"""From values to places on a figure, and round values in between."""

import dataclasses
import math
from typing import Final

_ROUND: Final = (1.0, 2.0, 5.0, 10.0)
_SECONDS: Final = (60.0, 3_600.0, 86_400.0)
_FACTORS: Final = ((2, (1.0, 2.0, 5.0)), (3, (1.0, 3.0)), (math.inf, (1.0,)))
"""Which multiples of a power of ten are labelled, by how many powers there are at most."""

_MOST_DECADES: Final = 5
"""Of more powers of ten than these only every second or third is labelled."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scale:
    """A stretch of values and the stretch of a figure that it is drawn on.

    Attributes:
        low: the least value; above 0 where it is logarithmic.
        high: the greatest, above `low`.
        start: the place of the least value, in units of the figure.
        end: the place of the greatest.
        is_log: whether equal ratios are equally far apart.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Return the place of a value; one outside is drawn at the edge."""
        inside = min(max(value, self.low), self.high)
        if self.is_log:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values within the stretch, at most about so many."""
        return _decades(self.low, self.high) if self.is_log else _steps(self.low, self.high, most)


def linear(high: float, start: float, end: float) -> Scale:
    """Return a scale from 0 to a round value at or above `high`."""
    if not high > 0:
        return Scale(0.0, 1.0, start, end)
    step = _step(high, 5)
    return Scale(0.0, step * math.ceil(high / step - 1e-9), start, end)


def seconds_label(value_s: float) -> str:
    """Return a time as an axis shows it, like `0.5 s`, `45 s`, `2 min`, `3 h`."""
    minute, hour, day = _SECONDS
    for unit_s, name in ((day, "d"), (hour, "h"), (minute, "min")):
        if value_s >= 2 * unit_s or (value_s >= unit_s and value_s % unit_s == 0):
            return f"{value_s / unit_s:.3g} {name}"
    return f"{value_s:.3g} s"


def _decades(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = last - first
    factors = next(factors for most, factors in _FACTORS if decades <= most)
    every = max(1, decades // _MOST_DECADES)
    values = [factor * 10.0**power for power in range(first, last + 1, every) for factor in factors]
    return [value for value in values if low * 0.999 <= value <= high * 1.001]


def _steps(low: float, high: float, most: int) -> list[float]:
    step = _step(high - low, most)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first
    return [round((first + index) * step, 10) for index in range(count + 1)]


def _step(span: float, most: int) -> float:
    """Return a round step that divides a span into at most so many parts."""
    power = 10.0 ** math.floor(math.log10(span / most))
    return next((factor * power for factor in _ROUND if factor * power * most >= span * 0.999), 10 * power)
