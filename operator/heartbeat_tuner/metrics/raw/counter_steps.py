"""What counters counted between scrapes, with the resets of restarted processes undone."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from heartbeat_tuner.metrics.raw import queries
from heartbeat_tuner.metrics.raw.samples import Series

_REGULAR_FOR_S: Final = 90.0

_DRIFT_BEATS: Final = 1.5

_ENDS: Final = 2
"""Events of a period."""


class Step(NamedTuple):
    """What a counter did between two scrapes.

    Attributes:
        since_s: the earlier scrape.
        until_s: the later one.
        grown: by how much; after a reset at least by so much.
        reset: whether the process, or the client object in it, was made again in between.
    """

    since_s: float
    until_s: float
    grown: float
    reset: bool


class TimedEvents(NamedTuple):
    """What a period is measured with.

    Attributes:
        events: how many a counter counted between two scrapes; one more or less than the time holds, at most.
        length_s: the time between these scrapes.
    """

    events: float
    length_s: float

    @property
    def period_s(self) -> float:
        """The mean time between two events, in seconds."""
        return self.length_s / self.events


def steps(series: Series) -> list[Step]:
    """Return what a counter did between each two scrapes; a sample that comes twice counts once."""
    steps: list[Step] = []
    pairs = iter(series.samples.pairs())
    last_s, last = next(pairs, (math.inf, 0.0))
    for time_s, value in pairs:
        if time_s <= last_s:
            continue
        reset = value < last
        steps.append(Step(last_s, time_s, value if reset else value - last, reset))
        last_s, last = time_s, value
    return steps


def nonzero_steps(series: Series) -> list[Step]:
    """Return the steps in which a counter did not stand still; most of them do, and are quickly passed over."""
    return [] if series.samples.stands_still else [step for step in steps(series) if step.grown > 0 or step.reset]


def increase(series: Series, *, since_s: float, born_at_zero: bool) -> float:
    """Return by how much a counter grew after `since_s`, counting on across resets.

    Args:
        series: a counter.
        since_s: the last sample at or before this time is the baseline.
        born_at_zero: what a series without such a sample starts from: zero if true (its first value is growth), else
            its own first value.
    """
    times_s, values = series.samples.times_s, series.samples.values
    first = bisect_right(times_s, since_s)
    if first == len(values):
        return 0.0
    baseline = values[first - 1] if first else (0.0 if born_at_zero else values[0])
    if baseline <= values[first] and series.samples[first:].never_falls:
        return values[-1] - baseline
    grown = 0.0
    for value in values[first:]:
        grown += value - baseline if value >= baseline else value
        baseline = value
    return grown


def growth_by_time(series: Series, *, since_s: float, born_at_zero: bool) -> dict[float, float]:
    """Return what `increase` is the sum of: by how much a counter had grown at each scrape at which it had."""
    first = bisect_right(series.samples.times_s, since_s)
    shown = series.samples[max(0, first - 1) :]
    grown = {step.until_s: step.grown for step in nonzero_steps(Series(series.labels, shown))}
    if born_at_zero and not first and shown:
        grown[shown[0].time_s] = shown[0].value
    return grown


def timed_events(series: Series, *, since_s: float) -> TimedEvents:
    """Return the events of a counter that lie between two of its scrapes, the first and the last since a time."""
    times_s = series.samples.times_s
    first = bisect_left(times_s, since_s)
    if first == len(times_s):
        return TimedEvents(0.0, 0.0)
    return TimedEvents(increase(series, since_s=times_s[first], born_at_zero=False), times_s[-1] - times_s[first])


def mean_period_s(series: Series, *, since_s: float) -> float | None:
    """Return the mean time between two events of a counter, in seconds; None with fewer than two events."""
    timed = timed_events(series, since_s=since_s)
    return None if timed.events < _ENDS else timed.period_s


def drift_s(unseen_s: float, beat_s: float) -> float:
    """Return for how much of a time that nobody scraped beats may account that come a little less often than usual.

    Beats that are called regular may differ by 1.5 in each 90 s (`missing_beats`). The first 90 s are left out: what
    differs there is jitter.
    """
    return max(0.0, unseen_s / _REGULAR_FOR_S - 1) * _DRIFT_BEATS * beat_s


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
    shown = beats.samples.between(math.nextafter(since_s, -math.inf), math.inf)
    if not shown:
        return None
    if joins is None or (joins.samples.stands_still and joins.samples.is_scraped_with(beats.samples)):
        grown_by = np.diff(np.frombuffer(shown.values))
        if grown_by.size and grown_by.min() > 0:  # it never stood still: most series, and quickly said
            gaps_s = np.diff(np.frombuffer(shown.times_s))
            hidden_s = gaps_s - grown_by * beat_s
            if gaps_s.max() > _REGULAR_FOR_S:
                hidden_s -= [drift_s(gap, beat_s) for gap in gaps_s.tolist()]
            return max(0.0, float(hidden_s.max()))
    joined = {} if joins is None else dict(joins.samples.pairs())
    longest: float | None = None
    (start_s, before), last_s = shown[0], shown[0].time_s
    for time_s, value in shown.pairs():
        if value != before:
            rejoined = joined.get(time_s) != joined.get(start_s)
            grown = value - before if value > before else math.inf  # a reset: who knows
            hidden_in_s = time_s - start_s - grown * beat_s - drift_s(time_s - start_s, beat_s)
            silent_s = 0.0 if rejoined else max(last_s - start_s, hidden_in_s)
            if longest is None or silent_s > longest:
                longest = silent_s
            start_s, before = time_s, value
        last_s = time_s
    return longest


def silences_s(beats: Sequence[Series], joins: Sequence[Series], *, since_s: float) -> list[float]:
    """Return the longest silence that each of several members survived, in seconds.

    Where beats are counted by member id, each series is one membership; else the member's joins tell them apart.

    Args:
        beats: a counter of each member.
        joins: counters of the same scrapes.
        since_s: earlier samples do not count.
    """
    by_member = ((beat, next((series for series in joins if _is_same_member(series, beat)), None)) for beat in beats)
    longest = (longest_silence_s(beat, since_s=since_s, joins=mine) for beat, mine in by_member)
    return [silence_s for silence_s in longest if silence_s is not None]


def longest_possible_silence_s(beats: Series, *, since_s: float, until_s: float) -> float:
    """Return how long a counter can have stood at most in a time, in seconds, as far as its scrapes tell.

    What a scrape counted came after the scrape before it: between two scrapes that counted something, the silence began
    after the scrape before the first of them, and ended before the second.
    """
    times_s, values = beats.samples.times_s, beats.samples.values
    first = bisect_left(times_s, since_s)
    run = first - 1  # the first scrape of those that showed what the last one before this time did
    while run > 0 and values[run - 1] == values[run]:
        run -= 1
    longest = 0.0
    begin_s = times_s[run - 1] if run > 0 else -math.inf
    last_s, value = (times_s[first - 1], values[first - 1]) if first else (-math.inf, None)
    for time_s, shown in zip(islice(times_s, first, None), islice(values, first, None), strict=True):
        if value is None or shown != value:
            longest = max(longest, time_s - begin_s)
            begin_s, value = last_s, shown
            if begin_s >= until_s:  # a long series is asked about many of its moments
                return longest
        last_s = time_s
    return max(longest, math.inf if begin_s == -math.inf else until_s - begin_s)


def _is_same_member(series: Series, other: Series) -> bool:
    if series.labels.get(queries.POD_LABEL) != other.labels.get(queries.POD_LABEL):
        return False  # of most pairs this is said at once
    return all(series.labels.get(name) == value for name, value in other.labels.items() if name != queries.NAME_LABEL)
