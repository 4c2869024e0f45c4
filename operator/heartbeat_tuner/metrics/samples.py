"""Raw samples of counters, with the resets of restarted processes undone.

Times are Unix seconds as Prometheus gives them. Everything here works on raw samples with their true times, never on
values that Prometheus has carried forward.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """One scrape of one series."""

    time_s: float
    value: float


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """A series with its samples in order of time; samples that are no number are left out."""

    labels: Mapping[str, str]
    samples: tuple[Sample, ...]

    @classmethod
    def from_raw(cls, labels: Mapping[str, str], raw: Iterable[tuple[float, float]]) -> "Series":
        """Make a series from (time, value) pairs, dropping NaN and infinities."""
        return cls(labels, tuple(Sample(time_s, value) for time_s, value in raw if math.isfinite(value)))

    def until(self, time_s: float) -> "Series":
        """Return the series without samples after `time_s`."""
        return Series(self.labels, tuple(sample for sample in self.samples if sample.time_s <= time_s))


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """What a counter did between two scrapes.

    Attributes:
        since_s: the earlier scrape.
        until_s: the later one.
        grown: by how much; after a reset at least by so much.
        reset: whether the process, or the client object in it, was made anew in between.
    """

    since_s: float
    until_s: float
    grown: float
    reset: bool


def steps(series: Series) -> list[Step]:
    """Return what a counter did between each two scrapes; a sample that comes twice counts once."""
    found: list[Step] = []
    last: Sample | None = None
    for sample in series.samples:
        if last is not None and sample.time_s <= last.time_s:
            continue
        if last is not None:
            reset = sample.value < last.value
            grown = sample.value if reset else sample.value - last.value
            found.append(Step(last.time_s, sample.time_s, grown, reset))
        last = sample
    return found


def increase(series: Series, *, since_s: float, born_at_zero: bool) -> float:
    """Return by how much a counter grew after `since_s`, counting on across resets.

    Args:
        series: a counter.
        since_s: the last sample at or before this time is the baseline.
        born_at_zero: what a series without such a sample starts from: zero if true (its first value is growth), else
            its own first value.
    """
    before = [sample for sample in series.samples if sample.time_s <= since_s]
    after = [sample for sample in series.samples if sample.time_s > since_s]
    if not after:
        return 0.0
    baseline = before[-1].value if before else (0.0 if born_at_zero else after[0].value)
    grown = 0.0
    for sample in after:
        grown += sample.value - baseline if sample.value >= baseline else sample.value
        baseline = sample.value
    return grown


def mean_period_s(series: Series, *, since_s: float) -> float | None:
    """Return the mean time between two events of a counter, in seconds; None with fewer than two events."""
    after = [sample for sample in series.samples if sample.time_s >= since_s]
    events = increase(Series(series.labels, tuple(after)), since_s=since_s, born_at_zero=False)
    return None if events < 2 else (after[-1].time_s - after[0].time_s) / events  # noqa: PLR2004 - a period has two ends


def longest_silence_s(beats: Series, *, since_s: float, joins: Series | None = None) -> float | None:
    """Return the longest time without an event that a counter of beats shows; None if it never went on.

    A lower bound. While the counter stands still, nothing beat. A step by n over a longer time than n beats need hides
    a silence too: all but one of the gaps in it last a mean period at most (a process that stands still is not
    scraped, so its silence shows only like this).

    Args:
        beats: the counter; one membership, or several if `joins` tells them apart.
        since_s: earlier samples do not count.
        joins: a counter of the same scrapes; a stretch in which it moved is no silence of a member, but a rejoin.
    """
    beat_s = mean_period_s(beats, since_s=since_s) or math.inf
    joined = {} if joins is None else {sample.time_s: sample.value for sample in joins.samples}
    longest: float | None = None
    run_start: Sample | None = None
    last: Sample | None = None
    for sample in beats.samples:
        if sample.time_s < since_s:
            continue
        if run_start is None or last is None:
            run_start = sample
        elif sample.value != last.value:
            rejoined = joined.get(sample.time_s) != joined.get(run_start.time_s)
            grown = sample.value - last.value if sample.value > last.value else math.inf  # a reset: who knows
            step_s = sample.time_s - run_start.time_s - grown * beat_s
            silent_s = 0.0 if rejoined else max(last.time_s - run_start.time_s, step_s)
            longest = silent_s if longest is None else max(longest, silent_s)
            run_start = sample
        last = sample
    return longest


def twins(one: Series, group: Iterable[Series], *, but: str = "__name__") -> list[Series]:
    """Return the series that have the labels of this one, whatever their names are, and one further label."""
    ignored = {"__name__", but}

    def key(series: Series) -> frozenset[tuple[str, str]]:
        return frozenset(pair for pair in series.labels.items() if pair[0] not in ignored)

    return [other for other in group if key(other) == key(one)]


def longest_possible_silence_s(beats: Series, *, since_s: float, until_s: float) -> float:
    """Return how long a counter can have stood at most in a time, in seconds, as far as its scrapes tell.

    What a scrape counted came after the scrape before it: between two scrapes that counted something, the silence began
    after the scrape before the first of them, and ended before the second.
    """
    longest = 0.0
    begin_s = last_s = -math.inf
    value: float | None = None
    for sample in beats.samples:
        if value is None or sample.value != value:
            if sample.time_s >= since_s and begin_s < until_s:
                longest = max(longest, sample.time_s - begin_s)
            begin_s, value = last_s, sample.value
        last_s = sample.time_s
    return max(longest, math.inf if begin_s == -math.inf else until_s - begin_s)


def newest_s(series: Sequence[Series]) -> float | None:
    """Return the time of the newest sample; None if there is none."""
    return max((one.samples[-1].time_s for one in series if one.samples), default=None)


def scrape_interval_s(series: Sequence[Series]) -> float | None:
    """Return the median time between two samples of one series; None if no series has two."""
    gaps = [
        later.time_s - earlier.time_s
        for one in series
        for earlier, later in zip(one.samples, one.samples[1:], strict=False)
    ]
    return statistics.median(gaps) if gaps else None
