"""What each witness shows of one pod's absences.

No witness measures an absence: each says what it surely had, and what it cannot have had more. Who takes the larger one
for a measurement invents absences; who takes the smaller one for all of it must not call a group safe by it.
"""

import dataclasses
import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from heartbeat_tuner.domain.evidence import Absence, Witness
from heartbeat_tuner.metrics import blocks, lives, queries, samples
from heartbeat_tuner.metrics.samples import Sample, Series, Step
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
        Absence(pod, Witness.GC_PAUSE, sample.time_s, sample.value, sample.value)
        for one in mine.get(Quantity.GC_PAUSE_MAX, ())
        for sample in blocks.news(one, shown_s=GC_SHOWN_S).samples
    ]
    for times in mine.get(Quantity.GC_TIME, ()):
        if times.labels.get("gc", times.labels.get("jvm_gc_name", "")).endswith(CYCLES):
            continue
        counts = _steps_of(samples.twins(times, mine.get(Quantity.GC_COUNT, ())))
        edges = {
            math.inf if one.labels["le"] == "+Inf" else float(one.labels["le"]): _steps_of([one])
            for one in samples.twins(times, mine.get(Quantity.GC_BUCKETS, ()), but="le")
        }
        for step in samples.moves(times):
            count = counts.get(_when(step))
            if count is None or count.grown < 1:
                continue
            shown.append(_longest_pause(pod, step, count, edges))
    return shown


def _longest_pause(
    pod: str, step: Step, count: Step, edges: Mapping[float, Mapping[tuple[float, float], Step]]
) -> Absence:
    """Return what sum, count and buckets tell of the longest pause of a scrape interval.

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
    return Absence(pod, Witness.GC_PAUSE, step.until_s, min(at_least_s, at_most_s), at_most_s)


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
        for step in samples.moves(stops):
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
            shown.append(Absence(pod, Witness.THROTTLING, step.until_s, at_least_s, at_most_s))
    return shown


def cpu_stalls(pod: str, mine: OfPod) -> list[Absence]:
    """Return what the kernel's pressure shows: all of the process waited for so long, at once or in pieces."""
    return [
        Absence(pod, Witness.CPU_STALL, step.until_s, 0.0, min(step.grown, step.until_s - step.since_s))
        for one in mine.get(Quantity.CPU_STALLED_TIME, ())
        for step in samples.moves(one)
        if step.grown > 0
    ]


def event_loop(pod: str, mine: OfPod) -> list[Absence]:
    """Return what Node's event loop shows: its longest delay since the scrape before."""
    return [
        Absence(pod, Witness.EVENT_LOOP, sample.time_s, sample.value, sample.value)
        for one in mine.get(Quantity.EVENT_LOOP_LAG_MAX, ())
        for sample in one.samples
    ]


def short_gaps(mine: OfPod) -> list[tuple[Series, float]]:
    """Return the poll gaps of members that usually poll at once, with what is usual, in seconds."""
    usual = [
        (one, statistics.median(sample.value for sample in one.samples))
        for one in mine.get(Quantity.POLL_GAP_MAX, ())
        if one.samples
    ]
    return [(one, usual_s) for one, usual_s in usual if usual_s < HANDLERS_FROM_S]


def poll_gaps(pod: str, mine: OfPod) -> list[Absence]:
    """Return what the gaps between polls show, of members whose gaps are usually short; others' are handlers.

    A stop lies within a gap, beside what is usual. Who beat all the while was a handler at work.
    """
    shown = []
    for one, usual_s in short_gaps(mine):
        beats = samples.twins(one, mine.get(Quantity.HEARTBEATS, ()))
        shown += [
            Absence(pod, Witness.POLL_GAP, sample.time_s, sample.value - usual_s, sample.value)
            for sample in blocks.news(one).samples
            if sample.value > usual_s and not any(_beat_on(other, sample, sample.value - usual_s) for other in beats)
        ]
    return shown


def _beat_on(beats: Series, shown: Sample, lasted_s: float) -> bool:
    """Whether a member was never silent for so long in the time in which a shown poll gap can have been."""
    since_s = shown.time_s - blocks.BLOCK_S - shown.value
    return samples.longest_possible_silence_s(beats, since_s=since_s, until_s=shown.time_s) < lasted_s


@dataclasses.dataclass(frozen=True, slots=True)
class _Scrape:
    at_s: float
    succeeded: bool
    took_s: float


def scraped_blocks(observed: Mapping[Quantity, Sequence[Series]]) -> dict[float, set[str]]:
    """Return of which pods a target was scraped with success in each block."""
    found: dict[float, set[str]] = {}
    for one in observed.get(Quantity.SCRAPED, ()):
        for sample in one.samples:
            if sample.value > 0:
                found.setdefault(blocks.start_s(sample.time_s), set()).add(one.labels[queries.POD_LABEL])
    return found


def failed_scrapes(pod: str, mine: OfPod, *, scraped: Mapping[float, Collection[str]]) -> list[Absence]:
    """Return what failed scrapes show of a living pod.

    A run of them between two that succeeded. It is no absence if another target of the pod answered meanwhile, if the
    process was made anew, or if nobody else was scraped in one of its blocks: then Prometheus was away, or its network.

    Args:
        pod: whose.
        mine: what is observed of it.
        scraped: from `scraped_blocks`.
    """
    renewed = lives.renewals(mine)
    targets = [_scrapes(one, mine) for one in mine.get(Quantity.SCRAPED, ())]
    shown = []
    for number, target in enumerate(targets):
        answers = [one.at_s for other in targets[:number] + targets[number + 1 :] for one in other if one.succeeded]
        for before, run, after in _runs(target):
            first_s, last_s = run[0].at_s, run[-1].at_s + run[-1].took_s
            alone = any(not set(scraped.get(blocks.start_s(one.at_s), ())) - {pod} for one in run)
            answered = any(first_s <= at_s <= last_s for at_s in answers)
            if not (alone or answered or lives.overlap((before.at_s, after.at_s), renewed)):
                at_most_s = after.at_s + after.took_s - before.at_s
                shown.append(Absence(pod, Witness.FAILED_SCRAPES, after.at_s, last_s - first_s, at_most_s))
    return shown


def _runs(target: Iterable[_Scrape]) -> Iterator[tuple[_Scrape, list[_Scrape], _Scrape]]:
    """Yield the runs of failed scrapes of a target, with the successes before and after them."""
    before: _Scrape | None = None
    run: list[_Scrape] = []
    for scrape in target:
        if not scrape.succeeded:
            run.append(scrape)
            continue
        if run and before is not None:
            yield before, run, scrape
        before, run = scrape, []


def _scrapes(one: Series, mine: OfPod) -> list[_Scrape]:
    """Return the scrapes of a target in order of time."""
    took = {
        sample.time_s: sample.value
        for times in samples.twins(one, mine.get(Quantity.SCRAPE_TIME, ()))
        for sample in times.samples
    }
    return [_Scrape(sample.time_s, sample.value > 0, took.get(sample.time_s, 0.0)) for sample in one.samples]


def _when(step: Step) -> tuple[float, float]:
    return step.since_s, step.until_s


def _steps_of(group: Sequence[Series]) -> dict[tuple[float, float], Step]:
    """Return the steps of the first of these series by the scrapes they lie between."""
    return {_when(step): step for one in group[:1] for step in samples.steps(one)}
