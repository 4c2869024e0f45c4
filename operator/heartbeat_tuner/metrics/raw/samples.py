"""Raw samples of counters, with the resets of restarted processes undone.

Times are Unix seconds as Prometheus gives them. Everything here works on raw samples with their true times, never on
values that Prometheus has carried forward. A large fleet has tens of millions of samples in memory, so a series is two
arrays; what is asked of every series in every cycle goes over these.
"""

import dataclasses
import enum
import math
import operator
import statistics
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from typing import Final, NamedTuple, overload

import numpy as np

LONGEST_S: Final = 1e9
"""Thirty years: what is exported may be any number, and a time has to be one."""


class Sample(NamedTuple):
    """One scrape of one series."""

    time_s: float
    value: float


class Course(enum.IntEnum):
    """What is known of how values go on in time, from what is known least to what is known best."""

    UNKNOWN = 0
    NEVER_FALLS = 1
    STANDS_STILL = 2


class Samples(Sequence[Sample]):
    """Samples in order of time, as two arrays: 16 bytes each, where a tuple of them has 150.

    Attributes:
        times_s: when, ascending.
        values: what was then.
        course: what the maker knows of the values; it is asked of every series in every cycle.
    """

    __slots__ = ("course", "times_s", "values")

    def __init__(self, times_s: "array[float]", values: "array[float]", course: Course = Course.UNKNOWN) -> None:
        self.times_s = times_s
        self.values = values
        self.course = course

    def __len__(self) -> int:
        return len(self.times_s)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> "Samples": ...

    def __getitem__(self, index: int | slice) -> "Sample | Samples":
        if isinstance(index, slice):
            return Samples(self.times_s[index], self.values[index], self.course)
        return Sample(self.times_s[index], self.values[index])

    def __iter__(self) -> Iterator[Sample]:
        return map(Sample._make, self.pairs())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Samples) and (self.times_s, self.values) == (other.times_s, other.values)

    __hash__ = None  # type: ignore[assignment]  # arrays can be changed

    @property
    def never_falls(self) -> bool:
        """Whether no value is less than the one before."""
        if self.course is not Course.UNKNOWN:
            return True
        return bool((np.diff(np.frombuffer(self.values)) >= 0).all()) if self.values else True

    @property
    def stands_still(self) -> bool:
        """Whether all values are the same."""
        if self.course is Course.STANDS_STILL:
            return True
        return self.values.tobytes() == self.values[:1].tobytes() * len(self.values)

    def is_scraped_with(self, other: "Samples") -> bool:
        """Whether both are of the same scrapes."""
        return self.times_s is other.times_s or self.times_s.tobytes() == other.times_s.tobytes()

    def pairs(self) -> Iterable[tuple[float, float]]:
        """Return times and values together, as plain pairs."""
        return zip(self.times_s, self.values, strict=True)

    def __add__(self, later: "Samples") -> "Samples":
        """Return these and those that came after them."""
        return Samples(self.times_s + later.times_s, self.values + later.values)

    def is_before(self, other: "Samples") -> bool:
        """Whether all of these came before all of the others; both have some."""
        return self.times_s[-1] < other.times_s[0]

    def between(self, after_s: float, until_s: float) -> "Samples":
        """Return the samples after one time and up to another."""
        times_s = self.times_s
        if times_s and after_s < times_s[0] and times_s[-1] <= until_s:
            return self
        return self[bisect_right(times_s, after_s) : bisect_right(times_s, until_s)]


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """A series with its samples in order of time; samples that are no number are left out."""

    labels: Mapping[str, str]
    samples: Samples

    @classmethod
    def from_raw(cls, labels: Mapping[str, str], raw: Iterable[tuple[float, float]]) -> "Series":
        """Make a series from (time, value) pairs in order of time, dropping NaN and infinities."""
        pairs = [pair for pair in raw if math.isfinite(pair[1])]
        times_s, values = array("d", [pair[0] for pair in pairs]), array("d", [pair[1] for pair in pairs])
        return cls(labels, Samples(times_s, values))

    def until(self, time_s: float) -> "Series":
        """Return the series without samples after `time_s`."""
        cut = self.samples.between(-math.inf, time_s)
        return self if cut is self.samples else Series(self.labels, cut)

    def in_unit(self, unit: float) -> "Series":
        """Return the series with its values times `unit`, without what is negative: no time and no count can be."""
        times_s, values = self.samples.times_s, self.samples.values
        if values and min(values) < 0:
            fit = [value >= 0 for value in values]
            times_s, values = array("d", compress(times_s, fit)), array("d", compress(values, fit))
        elif unit == 1.0:
            return self
        scaled = array("d", map(operator.mul, values, repeat(unit)))
        return Series(self.labels, Samples(times_s, scaled, self.samples.course))


def twins(original: Series, group: Iterable[Series], *, but: str = "__name__") -> list[Series]:
    """Return the series that have the labels of this one, whatever their names are, and one further label."""
    ignored = {"__name__", but}

    def key(series: Series) -> frozenset[tuple[str, str]]:
        return frozenset(pair for pair in series.labels.items() if pair[0] not in ignored)

    return [other for other in group if key(other) == key(original)]


def newest_s(series: Sequence[Series]) -> float | None:
    """Return the time of the newest sample; None if there is none."""
    return max((each.samples.times_s[-1] for each in series if each.samples), default=None)


def scrape_interval_s(series: Sequence[Series]) -> float | None:
    """Return the median time between two samples of one series; None if no series has two.

    Series of the same scrapes count once.
    """
    scrapes = {each.samples.times_s.tobytes(): each.samples.times_s for each in series}
    gaps = [gap for times_s in scrapes.values() for gap in map(operator.sub, times_s[1:], times_s)]
    return statistics.median(gaps) if gaps else None
