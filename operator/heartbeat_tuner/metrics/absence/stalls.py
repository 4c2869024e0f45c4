"""What each witness shows of one pod's absences.

No witness measures an absence: each says what it surely had, and what it cannot have had more. Who takes the larger one
for a measurement invents absences; who takes the smaller one for all of it must not call a group safe by it.
"""

import dataclasses
import itertools
import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from heartbeat_tuner.domain.evidence import Absence, AbsenceSignal
from heartbeat_tuner.metrics.absence import blocks
from heartbeat_tuner.metrics.raw import counter_steps, samples
from heartbeat_tuner.metrics.raw.counter_steps import Step
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

OfPod = Mapping[Quantity, Sequence[Series]]
"""What is observed of one pod."""

CPU_PERIOD_S: Final = 0.1
"""`cpu.cfs_quota_period`, at the end of which a throttled process goes on."""

HANDLERS_FROM_S: Final = 1.0
"""Where poll gaps are usually as long as this, they are handlers at work, and no absences."""


GC_SHOWN_S: Final = 180.0
"""Micrometer's maximum is that of three slices of a minute."""

CYCLES: Final = ("Cycles", "ConcurrentMarkSweep")
"""Names of collectors whose time is that of whole cycles, during which the process runs, end so."""


def gc_pauses(pod: str, mine: OfPod) -> list[Absence]:
    """Return what the collector of garbage shows: the longest pause of a window, or of a scrape interval."""
    shown = [
        Absence(pod, AbsenceSignal.GC_PAUSE, sample.time_s, sample.value, sample.value)
        for series in mine.get(Quantity.GC_PAUSE_MAX, ())
        for sample in blocks.news(series, shown_s=GC_SHOWN_S).samples
    ]
    for times in mine.get(Quantity.GC_TIME, ()):
        if times.labels.get("gc", times.labels.get("jvm_gc_name", "")).endswith(CYCLES):
            continue
        counts = _steps_of(samples.twins(times, mine.get(Quantity.GC_COUNT, ())))
        edges = {
            edge_s: _steps_of([twin])
            for twin in samples.twins(times, mine.get(Quantity.GC_BUCKETS, ()), but="le")
            if (edge_s := _edge_s(twin.labels.get("le", ""))) is not None
        }
        for step in counter_steps.nonzero_steps(times):
            count = counts.get(_when(step))
            if count is None or count.grown < 1:
                continue
            shown.append(_longest_pause(pod, step, count, edges))
    return shown


def _edge_s(label: str) -> float | None:
    """Return the edge of a bucket; None if its label, which is a pod's own word, is no number."""
    try:
        edge_s = float(label)
    except ValueError:
        return None
    return None if math.isnan(edge_s) else edge_s


def _longest_pause(
    pod: str, step: Step, count: Step, edges: Mapping[float, Mapping[tuple[float, float], Step]]
) -> Absence:
    """Return what sum, count and buckets say about the longest pause of a scrape interval.

    It is no shorter than the mean, no longer than the sum, and in the highest bucket in which one fell.
    """
    at_least_s, at_most_s = step.grown / count.grown, step.grown
    for edge_s in sorted(edges):
        under = edges[edge_s].get(_when(step))
        if under is None:
            continue
        if under.grown < count.grown:
            at_least_s = max(at_least_s, edge_s)
        else:
            at_most_s = min(at_most_s, edge_s)
            break
    return Absence(pod, AbsenceSignal.GC_PAUSE, step.until_s, min(at_least_s, at_most_s), at_most_s)


def throttling(pod: str, mine: OfPod) -> list[Absence]:
    """Return what the CPU quota shows.

    A throttled process stands until the next period. So one stop surely lasts the mean of them, a period at most; how
    many of them follow upon each other nobody counts: all of them at most.
    """
    shown = []
    for stops in mine.get(Quantity.CPU_THROTTLED_PERIODS, ()):
        times, periods = (
            _steps_of(samples.twins(stops, mine.get(quantity, ())))
            for quantity in (Quantity.CPU_THROTTLED_TIME, Quantity.CPU_PERIODS)
        )
        for step in counter_steps.nonzero_steps(stops):
            if step.grown < 1:
                continue
            elapsed_s = step.until_s - step.since_s
            time, period = times.get(_when(step)), periods.get(_when(step))
            at_most_s = elapsed_s
            if period is not None and period.grown >= step.grown:
                at_most_s *= step.grown / period.grown
            at_least_s = 0.0
            if time is not None:
                at_most_s = min(at_most_s, time.grown)
                at_least_s = min(time.grown / step.grown, CPU_PERIOD_S, at_most_s)
            shown.append(Absence(pod, AbsenceSignal.THROTTLING, step.until_s, at_least_s, at_most_s))
    return shown


def cpu_stalls(pod: str, mine: OfPod) -> list[Absence]:
    """Return what the kernel's pressure shows: all of the process waited for so long, at once or in pieces."""
    return [
        Absence(pod, AbsenceSignal.CPU_STALL, step.until_s, 0.0, min(step.grown, step.until_s - step.since_s))
        for series in mine.get(Quantity.CPU_STALLED_TIME, ())
        for step in counter_steps.nonzero_steps(series)
        if step.grown > 0
    ]


def event_loop(pod: str, mine: OfPod) -> list[Absence]:
    """Return what Node's event loop shows: its longest delay since the scrape before."""
    return [
        Absence(pod, AbsenceSignal.EVENT_LOOP, sample.time_s, sample.value, sample.value)
        for series in mine.get(Quantity.EVENT_LOOP_LAG_MAX, ())
        for sample in series.samples
    ]


def short_gaps(mine: OfPod) -> list[tuple[Series, float]]:
    """Return the poll gaps of members that usually poll at once, with what is usual, in seconds.

    What is usual is told by what each sample shows again: one long gap stands in the samples for more than a minute.
    Gaps of consumers with librdkafka are without the time within poll(), where a stop does not show.
    """
    if mine.get(Quantity.LOST_FOR_SILENCE):
        return []
    usual = [
        (series, statistics.median(sample.value for sample in blocks.news(series).samples))
        for series in mine.get(Quantity.POLL_GAP_MAX, ())
        if series.samples
    ]
    return [(series, usual_s) for series, usual_s in usual if usual_s < HANDLERS_FROM_S]


def poll_gaps(pod: str, mine: OfPod) -> list[Absence]:
    """Return what the gaps between polls show, of members whose gaps are usually short; others' are handlers.

    A stop lies within a gap, beside what is usual. Who beat all the while was a handler at work, and who had not beaten
    yet was no member: its first polls find the coordinator and join.
    """
    shown = []
    for series, usual_s in short_gaps(mine):
        every = mine.get(Quantity.HEARTBEATS, ())
        # Strimzi's Bridge says in a label which MBean a series is from. Where any member of a process beats, the
        # process does not stand still.
        beats = [_Beats(other) for other in samples.twins(series, every) or every if other.samples]
        for gap in _gaps(series):
            lasted_s = gap.value - usual_s
            if lasted_s > 0 and not any(other.began_in(gap) or other.went_on(gap, lasted_s) for other in beats):
                shown.append(Absence(pod, AbsenceSignal.POLL_GAP, gap.time_s, lasted_s, gap.value))
    return shown


@dataclasses.dataclass(frozen=True, slots=True)
class _Gap:
    """A gap between polls that a sample shows again, and since when it can have been."""

    time_s: float
    value: float
    since_s: float


def _gaps(series: Series) -> list[_Gap]:
    """Return the gaps that a windowed maximum shows by its growth: they ended since the scrape before.

    A shorter one, which shows when a longer one leaves the window, was at some time of more than a minute: what the
    member did meanwhile cannot be told.
    """
    return [
        _Gap(sample.time_s, sample.value, before.time_s - sample.value)
        for before, sample in itertools.pairwise(series.samples)
        if sample.value > before.value
    ]


class _Beats:
    """What a member's counter of heartbeats shows of its gaps, of which there are thousands: steps are taken once.

    Args:
        series: the counter.
    """

    def __init__(self, series: Series) -> None:
        self._series = series

    @cached_property
    def _first_s(self) -> float:
        """The first scrape that shows a heartbeat."""
        return next((sample.time_s for sample in self._series.samples if sample.value > 0), math.inf)

    @cached_property
    def _steps(self) -> list[Step]:
        return counter_steps.steps(self._series)

    @cached_property
    def _usual_rate(self) -> float:
        """Heartbeats a second while there were any."""
        rates = [step.grown / (step.until_s - step.since_s) for step in self._steps if step.grown > 0]
        return statistics.median(rates) if rates else 0.0

    def began_in(self, gap: _Gap) -> bool:
        """Whether a member may have sent its first heartbeat only after a gap began."""
        return self._first_s > gap.since_s

    def went_on(self, gap: _Gap, lasted_s: float) -> bool:
        """Whether a member was never silent for so long in the time in which a gap can have been.

        Either no two of its beats were so far apart; or it has as many as usual: who is away for X lacks X/P - 1 of
        them, and a scrape counts one more or less by chance.
        """
        silence_s = counter_steps.longest_possible_silence_s(self._series, since_s=gap.since_s, until_s=gap.time_s)
        if silence_s < lasted_s:
            return True
        first = bisect_right(self._steps, gap.since_s, key=lambda step: step.until_s)
        end = bisect_left(self._steps, gap.time_s, key=lambda step: step.since_s)
        lacking = most = 0.0
        for step in self._steps[first:end]:
            lacking = max(0.0, lacking + self._usual_rate * (step.until_s - step.since_s) - step.grown)
            most = max(most, lacking)
        return first < end and most < self._usual_rate * lasted_s - 2


def _when(step: Step) -> tuple[float, float]:
    return step.since_s, step.until_s


def _steps_of(group: Sequence[Series]) -> dict[tuple[float, float], Step]:
    """Return the steps of the first of these series by the scrapes they lie between."""
    return {_when(step): step for series in group[:1] for step in counter_steps.steps(series)}
