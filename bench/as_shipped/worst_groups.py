"""Why the worst groups are where they are: what the truth says of each, and the trace of its decisions."""

from collections.abc import Iterator, Sequence
from typing import Final

from bench.as_shipped.held_group import HeldGroup, Note
from bench.as_shipped.judgement import Standing
from bench.fleets import HOURS
from bench.quality_figures import Outcome
from heartbeat_tuner.domain.liveness import LivenessSettings

_MOST_WAYS: Final = 8
_MOST_WORDS: Final = 300

Judged = tuple[HeldGroup, Standing]


def by_cost(groups: Sequence[Judged], most: int) -> list[Judged]:
    """Return the groups that lose most against the oracle, in stalled partition-seconds a day."""

    def lost(judged: Judged) -> float:
        return judged[1].outcome.net_per_day - judged[1].yardstick.oracle.net_per_day

    return sorted(groups, key=lost, reverse=True)[:most]


def by_word(groups: Sequence[Judged], most: int) -> list[Judged]:
    """Return the groups that evict more than their word, those first whose truth is furthest above it."""

    def times(judged: Judged) -> float:
        standing = judged[1]
        bound = standing.objective if standing.bound is None else standing.bound
        return standing.outcome.evictions_per_month / max(bound, 0.01)

    return sorted((judged for judged in groups if judged[1].is_vouched_falsely), key=times, reverse=True)[:most]


def story(judged: Judged, hours: int) -> str:
    """Return what became of one group, as some lines of text.

    Args:
        judged: the group, and what the truth says.
        hours: that were simulated.
    """
    return "\n".join(_lines(judged, hours))


def _lines(judged: Judged, hours: int) -> Iterator[str]:
    held, standing = judged
    against, truth = standing.yardstick, held.life.group.truth
    yield (
        f"{standing.name} ({standing.kind}, {standing.client}, {held.life.group.family.value}, "
        f"{truth.members} members, {truth.partitions} partitions, {truth.rebalancing.value}): "
        f"{standing.changes} changes, {standing.reverts} reverts; "
        f"at most {_number(standing.bound)} evictions a month by its status"
    )
    for name, outcome in (
        ("default", against.default),
        ("in force", standing.outcome),
        ("oracle", against.oracle),
        ("oracle within detection time", against.attainable),
    ):
        yield f"  {name}: {_outcome(outcome)}"
    if standing.target is not None:
        yield f"  recommended: {_outcome(standing.target_outcome)}"
    yield from _ways(held.notes, hours)


def _ways(notes: Sequence[Note], hours: int) -> Iterator[str]:
    """Yield the ways to decide, each with how long it was the way, the longest first, and each write in order."""
    spans: dict[tuple[str, str, str], tuple[int, int, Note]] = {}
    ends = [note.hour for note in notes[1:]] + [hours]
    for note, end in zip(notes, ends, strict=True):
        hold = "" if note.decision.hold is None else note.decision.hold.reason.value
        way = (note.decision.verdict.value, note.decision.finding.reason.value, hold)
        count, first, last = spans.get(way, (0, note.hour, note))
        spans[way] = (count + end - note.hour, first, note if note.hour >= last.hour else last)
    for way, (count, first, note) in sorted(spans.items(), key=lambda item: -item[1][0])[:_MOST_WAYS]:
        words = note.decision.story.message if note.decision.hold is None else note.decision.hold.message
        target = "" if note.decision.target is None else f" -> {show(note.decision.target)}"
        steps = "/".join(step.name for step in note.decision.trace if step.reason is not None)
        reasons = " ".join(way).strip()
        yield f"  {count:4} h from day {first // HOURS}: {reasons}{target} [{steps}] {words[:_MOST_WORDS]}"
    for note in notes:
        if note.change is not None:
            values = f"{show(note.values)} -> {show(note.change)}"
            yield f"  written on day {note.hour / HOURS:.1f}: {values} ({note.decision.finding.reason.value})"


def _outcome(outcome: Outcome) -> str:
    return f"{show(outcome.settings)}: J {outcome.net_per_day:.1f}, {outcome.evictions_per_month:.3g} evictions a month"


def _number(number: float | None) -> str:
    return "?" if number is None else f"{number:.3g}"


def show(values: LivenessSettings) -> str:
    """Return S, H, W and M in seconds."""
    limit = values.max_poll_interval
    parts = [
        f"S {values.session_timeout.total_seconds():g}",
        f"H {values.heartbeat_interval.total_seconds():g}",
        f"W {values.fetch_wait.total_seconds():g}",
        *([] if limit is None else [f"M {limit.total_seconds():g}"]),
    ]
    return " ".join(parts)
