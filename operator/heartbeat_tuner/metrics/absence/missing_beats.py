"""Missing heartbeats: what a counter of them should have counted, and did not.

In a time T between two scrapes, a member that beats every P should beat T/P times. If it beat N times, D = T/P - N
beats are missing, and it was absent for a time X with

    D P - r  <  X  <=  (D + 1) P + r

since an absence begins at an age between 0 and P after a beat, and the first beat after it comes at once. r is what the
scrapes leave open at the ends of T: a beat that was counted by a scrape came at some time since the scrape before. With
scrapes much more frequent than beats, n missing beats so mean an absence between n P and (n+1) P. Beats jitter (the
Java client looks every 100 ms), and P is known to so much only: a quarter of P goes to both sides. In a hole of scrapes
that is longer than a block, P may be another one, within what is still called regular in each block: without that, two
hours of a Prometheus that was down would be a minute of absence of every member. Several absences in one stretch of a
block look like one that is as long as all of them.

On average over all phases X is D P + P/2, whatever the scrapes, and scatters around that by half a period (measured:
docs/design/0010): that is what it *likely* was. A fit is given this; what it surely was is 1.75 P less in the mean.

Joining members do not beat, and new processes have not beaten yet: neither stretch counts, and an absence that ended in
an eviction, and so in a join, is not here but in the record. Nor is one beat sent while another waits for its answer:
where the coordinator was away, and answered most members late (`late_answers`), no member was. A member that stands
still is not scraped, and its absence shows in the first scrape after it. What has not ended is no absence yet.
"""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from heartbeat_tuner.domain.evidence import Absence, AbsenceSignal, Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.absence import blocks, late_answers, process_lives
from heartbeat_tuner.metrics.absence.late_answers import LateAnswer
from heartbeat_tuner.metrics.absence.process_lives import Stretch
from heartbeat_tuner.metrics.raw import counter_steps
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

JITTER: Final = 0.25
"""So much of a period is left to chance."""

ENOUGH_BLOCKS: Final = 10
"""With fewer blocks (15 minutes), nothing is known of the period."""

REGULAR_WITHIN_BEATS: Final = 1.5
REGULAR_SHARE: Final = 0.75
"""Beats are regular if so many blocks have as many of them as the period says, within this."""


@dataclasses.dataclass(frozen=True, slots=True)
class Deficit:
    """The heartbeats that one block of a member lacks.

    Attributes:
        block_s: when the block begins.
        until_s: the last scrape of it in which the counter had moved.
        missing: expected less counted beats; below zero if by chance there were more.
        at_least_s: how long the longest absence in it surely was; 0 if there may have been none.
        at_most_s: how long it can have been.
        likely_s: how long it was on average of all that it can have been.
    """

    block_s: float
    until_s: float
    missing: float
    at_least_s: float
    at_most_s: float
    likely_s: float


@dataclasses.dataclass(frozen=True, slots=True)
class Deficits:
    """The heartbeats that a member lacks, block by block; blocks that lack none among them."""

    pod: str
    period_s: float
    blocks: tuple[Deficit, ...]

    def absences(self) -> list[Absence]:
        """Return what the blocks show that surely lack a beat."""
        return [
            Absence(
                self.pod, AbsenceSignal.MISSING_BEATS, block.until_s, block.at_least_s, block.at_most_s, block.likely_s
            )
            for block in self.blocks
            if block.at_least_s > 0
        ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Moved:
    """A scrape in which the counter had moved since the one before, and how long ago that one was."""

    at_s: float
    value: float
    open_s: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Beating:
    """A stretch within one block in which a member was in the group all the time."""

    first: _Moved
    last: _Moved
    beats: float

    @property
    def span_s(self) -> float:
        return self.last.at_s - self.first.at_s


def of_member(
    pod: str, beats: Series, mine: Mapping[Quantity, Sequence[Series]], away: Sequence[LateAnswer] = ()
) -> Deficits | Unknown:
    """Return the heartbeats that a member lacks.

    Args:
        pod: whose.
        beats: its counter of accepted heartbeats.
        mine: what is observed of its pod: its joins do not count.
        away: when the coordinator was away: nor does that, where it was for a period or longer.
    """
    joins = joining(mine)
    beating = _beating(beats, joins)
    period_s = _period_s(beating)
    if period_s is None:
        return Unknown(
            Reason.TOO_LITTLE_DATA,
            f"the beats of {pod} fill fewer than {ENOUGH_BLOCKS} blocks of {blocks.BLOCK_S:.0f} s without a join: "
            "their period is not known",
        )
    waited = [(answer.since_s, answer.until_s) for answer in away if answer.took_s >= period_s]
    beating = _beating(beats, [*joins, *waited]) if waited else beating
    usual = [abs(stretch.beats - stretch.span_s / period_s) <= REGULAR_WITHIN_BEATS for stretch in beating]
    if sum(usual) < REGULAR_SHARE * len(usual):
        return Unknown(
            Reason.TOO_LITTLE_DATA,
            f"the beats of {pod} come as its work lets them, not every {period_s:.1f} s: none can be called missing",
        )
    by_block: dict[float, list[_Beating]] = {}
    for beat in _joined(beating, period_s):
        by_block.setdefault(_block_s(beat), []).append(beat)
    return Deficits(
        pod,
        period_s,
        tuple(_deficit(block_s, stretches, period_s) for block_s, stretches in sorted(by_block.items())),
    )


def of_group(observed: Observed) -> list[tuple[str, Deficits | Unknown]]:
    """Return the heartbeats that each member of a group lacks, by its pod."""
    deficits: list[tuple[str, Deficits | Unknown]] = []
    away = late_answers.of_most(observed)
    for pod in process_lives.pods_in(observed):
        mine = process_lives.of_pod(observed, pod)
        members = mine.get(Quantity.HEARTBEATS, ())
        deficits += [(pod, of_member(pod, beats, mine, away.get(pod, ()))) for beats in members]
    return deficits


def joining(mine: Mapping[Quantity, Sequence[Series]]) -> list[Stretch]:
    """Return the stretches in which a pod's members may have joined or failed to, or between scrapes began again.

    A join counts when it is completed, and between scrapes it may have begun before the earlier one: no further back
    than the time that joins took by then. From its begin to its end its member does not beat.
    """
    counted = [
        (step.since_s, step.until_s)
        for quantity in (Quantity.REBALANCES, Quantity.FAILED_REBALANCES)
        for series in mine.get(quantity, ())
        for step in counter_steps.nonzero_steps(series)
    ]
    took = [
        (step.since_s - step.grown, step.until_s)
        for series in mine.get(Quantity.REBALANCE_TIME, ())
        for step in counter_steps.nonzero_steps(series)
    ]
    return counted + took


def _joined(beating: Sequence[_Beating], period_s: float) -> list[_Beating]:
    """Return the stretches, those as one that follow upon each other and both lack beats: the same absence."""
    beats: list[_Beating] = []
    for beat in beating:
        before = beats[-1] if beats else None
        if (
            before is not None
            and before.last is beat.first
            and min(_bounds(before, period_s)[0], _bounds(beat, period_s)[0]) > 0
        ):
            beats[-1] = _Beating(before.first, beat.last, before.beats + beat.beats)
        else:
            beats.append(beat)
    return beats


def _deficit(block_s: float, stretches: Sequence[_Beating], period_s: float) -> Deficit:
    bounds = [_bounds(stretch, period_s) for stretch in stretches]
    likely_s = max(stretch.span_s - stretch.beats * period_s for stretch in stretches) + period_s / 2
    at_least_s = max(0.0, *(at_least_s for at_least_s, _ in bounds))
    return Deficit(
        block_s,
        stretches[-1].last.at_s,
        missing=sum(stretch.span_s / period_s - stretch.beats for stretch in stretches),
        at_least_s=at_least_s,
        at_most_s=max(0.0, *(at_most_s for _, at_most_s in bounds)),
        likely_s=max(likely_s, at_least_s),
    )


def _bounds(beat: _Beating, period_s: float) -> tuple[float, float]:
    """Return what the absence in a stretch had at least and at most, in seconds; the former below zero for none."""
    missing_s = beat.span_s - beat.beats * period_s
    chance_s = JITTER * period_s + counter_steps.drift_s(beat.span_s, period_s)
    return (
        missing_s - min(beat.last.open_s, period_s) - chance_s,
        missing_s + period_s + min(beat.first.open_s, blocks.BLOCK_S) + chance_s,
    )


def _beating(beats: Series, joins: Sequence[Stretch]) -> list[_Beating]:
    """Return the stretches between scrapes in which the counter had moved, those of one block as one."""
    beatings: list[_Beating] = []
    moved = _moved(beats)
    for first, last in itertools.pairwise(moved):
        grown = last.value - first.value
        if grown < 0 or any(since < last.at_s and until > first.at_s for since, until in joins):
            continue
        before = beatings[-1] if beatings else None
        if before is not None and before.last is first and _block_s(before) == blocks.start_s(last.at_s):
            beatings[-1] = _Beating(before.first, last, before.beats + grown)
        else:
            beatings.append(_Beating(first, last, grown))
    return beatings


def _block_s(beat: _Beating) -> float:
    return blocks.start_s(beat.last.at_s)


def _moved(beats: Series) -> list[_Moved]:
    """Return the scrapes in which a counter had moved, and the first: a silence goes on until it moves."""
    moveds: list[_Moved] = []
    last_s = -math.inf
    for sample in beats.samples:
        if not moveds or sample.value != moveds[-1].value:
            moveds.append(_Moved(sample.time_s, sample.value, sample.time_s - last_s))
        last_s = sample.time_s
    return moveds


def _period_s(beating: Sequence[_Beating]) -> float | None:
    """Return the time between two beats, from the blocks that lack none; None if they are too few."""
    whole = [beat for beat in beating if beat.span_s >= blocks.BLOCK_S / 2]
    if len(whole) < ENOUGH_BLOCKS:
        return None
    usual_s = statistics.median(beat.span_s / beat.beats for beat in whole)
    full = [beat for beat in whole if beat.beats >= beat.span_s / usual_s - REGULAR_WITHIN_BEATS]
    return sum(beat.span_s for beat in full) / sum(beat.beats for beat in full)
