"""What a windowed maximum and an age say, and how often.

The Java client shows the largest value of a window for 59 to 86 s, so that one spike fills two or three scrapes: they
are not independent, and nothing may be counted over them. Blocks of 90 s hold a spike once or twice (most of them cross
an edge); `news` leaves it in the one in which it showed first. A scrape more rare than the window does not see most
spikes at all: then there is no tail.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import floordiv
from typing import Final

from heartbeat_tuner.metrics.raw import samples
from heartbeat_tuner.metrics.raw.samples import Sample, Series

BLOCK_S: Final = 90.0
"""Not shorter than a spike is shown."""

AGE_RESOLUTION_S: Final = 1.0
"""Ages are whole seconds, cut off."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gap:
    """The time between two events, as ages show it.

    Attributes:
        seen_s: the scrape that showed its end, or, while it runs, the newest one.
        at_least_s: its greatest age that was seen.
        at_most_s: with what it can have had more; None while it runs.
    """

    seen_s: float
    at_least_s: float
    at_most_s: float | None


def start_s(time_s: float, *, width_s: float = BLOCK_S) -> float:
    """Return when the block of a moment begins; blocks are the same for everybody."""
    return time_s // width_s * width_s


def block_starts(group: Iterable[Series]) -> set[float]:
    """Return when the blocks begin of which these series have samples; those of the same scrapes are looked at once."""
    scrapes = {series.samples.times_s.tobytes(): series.samples.times_s for series in group}
    return {BLOCK_S * block for times_s in scrapes.values() for block in map(floordiv, times_s, repeat(BLOCK_S))}


def maxima(values: Iterable[Sample], *, width_s: float = BLOCK_S) -> tuple[Sample, ...]:
    """Return the largest value of each block that has one, at the block's start, in order of time.

    Args:
        values: values of windowed maxima, of one member or of several.
        width_s: of a block.

    Raises:
        ValueError: the blocks are shorter than `BLOCK_S`: one spike would count several times.
    """
    if width_s < BLOCK_S:
        raise ValueError(f"width_s is {width_s:g}: blocks shorter than {BLOCK_S:g} s count one spike several times")
    largest: dict[float, float] = {}
    for time_s, value in values:
        block_s = time_s // width_s * width_s
        if value > largest.get(block_s, -math.inf):
            largest[block_s] = value
    return tuple(Sample(block_s, value) for block_s, value in sorted(largest.items()))


def news(series: Series, *, shown_s: float = BLOCK_S) -> Series:
    """Return a windowed maximum with the samples only that show something again.

    While its value stands it is the same spike, shown again, but for no longer than a spike is shown: then it is
    another one of that size. When it falls, it shows a smaller one of the window.

    Args:
        series: a windowed maximum.
        shown_s: for how long it shows a spike at most.
    """
    fresh: list[Sample] = []
    for sample in series.samples:
        if not fresh or sample.value != fresh[-1].value or sample.time_s - fresh[-1].time_s >= shown_s:
            fresh.append(sample)
    return Series.from_raw(series.labels, fresh)


def undersampled_s(group: Sequence[Series]) -> float | None:
    """Return the time between two scrapes if it is too long for a windowed maximum; else None."""
    interval_s = samples.scrape_interval_s(group)
    return interval_s if interval_s is not None and interval_s > BLOCK_S else None


def gaps(ages: Series) -> list[Gap]:
    """Return the gaps between events that an age shows, the running one last.

    An age A at a time t says that a gap of at least A runs at t; it ended, if a later sample has a later event.
    Ages below zero tell that nothing ever happened: no gap.
    """
    gaps: list[Gap] = []
    last: Sample | None = None
    for sample in ages.samples:
        if sample.value < 0:
            continue
        if last is not None:
            between_s = (sample.time_s - sample.value) - (last.time_s - last.value)
            if between_s >= AGE_RESOLUTION_S:
                gaps.append(Gap(sample.time_s, last.value, between_s + AGE_RESOLUTION_S))
        last = sample
    return gaps if last is None else [*gaps, Gap(last.time_s, last.value, None)]
