"""Absences that ended in an eviction: what they outlasted, for nobody saw their end as an absence.

Where absences show as missing beats, a stretch with a join is left out, and with it every absence that was long enough
to cost the membership: what is left looks as if none were as long as the session. KafkaJS' counters show the evictions
themselves (`metrics.evictions`). Of each it is known what the silence outlasted: the session that was set, and what
passed without a beat before the member joined again; where nothing tells which session was set, only the latter. The
absence is shorter than the silence by the age of the last beat, half a period on average.

Counters of the Java consumer show evictions, too: a member that had to ask for a new id was removed for its silence, or
left because its handler took longer than its poll limit. Who stood still did not beat for as long as it did not poll;
who left had beaten meanwhile. Consumers with librdkafka count the two apart. Members whose gaps between polls are
usually short are left out: these gaps show an absence whatever became of the member.

What another signal shows in full, such as a pause of garbage collection, is among the absences, and no eviction of
such a member is counted beside it: of KafkaJS nothing else shows it.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import MemberChange, Pod, Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import evictions as counted
from heartbeat_tuner.metrics.absence import blocks, process_lives, stalls
from heartbeat_tuner.metrics.absence.missing_beats import JITTER, Deficits
from heartbeat_tuner.metrics.measured import Evictions, Observation
from heartbeat_tuner.metrics.raw import counter_steps, samples
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

Mine = Mapping[Quantity, Sequence[Series]]

_NEEDED: Final = (*counted.BY_NOTICES, Quantity.REBALANCES)
_NEEDED_OF_LIBRDKAFKA: Final = (Quantity.LOST_FOR_SILENCE, Quantity.REBALANCES)
_NEEDED_OF_JAVA: Final = (*counted.BY_LOST_IDS, *counted.BY_POLLS, Quantity.REBALANCES)

_NEAR_BLOCKS: Final = 1
"""An eviction and its absence show within so many blocks: members join again once the absence is over."""

_BORN: Final = datetime.fromtimestamp(0, UTC)


def not_known(_time_s: float) -> float | None:
    """Return which session is set where nothing tells: none."""
    return None


def evictions(
    observed: Mapping[Quantity, Sequence[Series]],
    beats: Sequence[tuple[str, Deficits | Unknown]],
    session_s: Callable[[float], float | None],
    shown: Sequence[Observation] = (),
) -> Evictions | Unknown:
    """Return the evictions of a group, with what the absences before them outlasted.

    Args:
        observed: the group's series.
        beats: what its heartbeats show, from `missing_beats.of_group`.
        session_s: which session timeout was set at a time, in seconds; None where nothing tells.
        shown: the absences that were seen.
    """
    longest_s: dict[tuple[str, float], float] = {}
    for absence in shown:
        place = absence.pod, absence.block_s
        longest_s[place] = max(longest_s.get(place, 0.0), absence.value_s)
    periods_s = {pod: deficits.period_s for pod, deficits in beats if isinstance(deficits, Deficits)}
    events: list[Observation] = []
    watched: list[float] = []
    for pod in process_lives.pods_in(observed):
        mine = process_lives.of_pod(observed, pod)
        if not _shows_evictions(mine):
            continue
        watched += blocks.block_starts(mine[Quantity.REBALANCES])
        of_pod = [event for life in _lives(mine) for event in _of_life(pod, life, periods_s.get(pod), session_s)]
        may_be_shown = not _notices(mine)
        events += [event for event in of_pod if not (may_be_shown and _is_shown(event, longest_s))]
    if not watched:
        return Unknown(
            Reason.NO_SERIES,
            "no counters of refused heartbeats, notices and joins are exported together, nor those of lost member ids "
            "of members whose gaps between polls are long",
        )
    return Evictions(tuple(sorted(events, key=lambda event: (event.block_s, event.pod))), tuple(sorted(watched)))


def _shows_evictions(mine: Mine) -> bool:
    """Whether counters of a pod show which absences ended in an eviction, and nothing shows all absences in full."""
    if _notices(mine):
        return True
    counted_by = _NEEDED_OF_LIBRDKAFKA if mine.get(Quantity.LOST_FOR_SILENCE) else _NEEDED_OF_JAVA
    return all(mine.get(quantity) for quantity in counted_by) and not stalls.short_gaps(mine)


def _notices(mine: Mine) -> bool:
    """Whether rejoins that nobody announced show evictions."""
    return all(mine.get(quantity) for quantity in _NEEDED)


def _changes(process: Pod, life: Mine, since_s: float) -> list[MemberChange]:
    """Return when a process lost its membership; of a Java member for silence, or for want of a poll."""
    if life.get(Quantity.LOST_FOR_SILENCE):
        return counted.counted(Quantity.LOST_FOR_SILENCE, process, life, since_s=since_s)
    return (counted.unannounced if _notices(life) else counted.lost_ids)(process, life, since_s=since_s)


def _is_shown(event: Observation, longest_s: Mapping[tuple[str, float], float]) -> bool:
    """Whether an absence that was seen is as long as what an eviction outlasted, and shows about when it does."""
    near = (event.block_s + number * blocks.BLOCK_S for number in range(-_NEAR_BLOCKS, _NEAR_BLOCKS + 1))
    return any(longest_s.get((event.pod, block_s), -math.inf) >= event.value_s for block_s in near)


def _lives(mine: Mine) -> Iterator[Mine]:
    """Yield what was seen of each process of a pod: a counter of joins that fell is another one's."""
    resets = sorted(
        step.until_s
        for series in mine[Quantity.REBALANCES]
        for step in counter_steps.nonzero_steps(series)
        if step.reset
    )
    if not resets:
        yield mine
        return
    for since_s, until_s in zip([-math.inf, *resets], [*resets, math.inf], strict=True):
        before_s = math.nextafter(until_s, -math.inf)
        yield {
            quantity: [Series(series.labels, series.samples.between(since_s, before_s)) for series in group]
            for quantity, group in mine.items()
        }


def _of_life(
    pod: str, life: Mine, period_s: float | None, session_s: Callable[[float], float | None]
) -> list[Observation]:
    times_s = sorted({sample.time_s for series in life[Quantity.REBALANCES] for sample in series.samples})
    if not times_s:
        return []
    process = Pod(name=pod, uid="", ip="", started=_BORN, restarts=0)
    changes = _changes(process, life, times_s[0])
    if not changes:
        return []
    grown = _grown(life.get(Quantity.HEARTBEATS, ()), times_s[0])
    if not _notices(life) and not life.get(Quantity.LOST_FOR_SILENCE):
        changes = [change for change in changes if _stood_still(change, life, times_s, grown)]
    usual_s = period_s or _usual_s(grown, times_s)
    events = []
    for change in changes:
        at_s = _scrape_at(times_s, change.at.timestamp())
        silence_s = _unbeaten_s(at_s, times_s, grown, life.get(Quantity.REBALANCE_TIME, ()), usual_s)
        session = session_s(at_s)
        if session is not None and session <= _passed_s(at_s, times_s, grown):
            silence_s = max(silence_s, session)
        age_s = 0.0 if usual_s is None else usual_s / 2
        events.append(Observation(pod, blocks.start_s(at_s), max(silence_s - age_s, 0.0), math.inf))
    return events


def _stood_still(change: MemberChange, life: Mine, times_s: Sequence[float], grown: Mapping[float, float]) -> bool:
    """Whether a Java member that lost its id had not beaten for as long as it had not polled, but for a usual gap.

    Scrapes leave up to two intervals open: a poll limit that is no longer than that looks like a stop.
    """
    within = counted.NEAR_SCRAPES * timedelta(seconds=samples.scrape_interval_s(life[Quantity.POLL_AGE]) or 0.0)
    gap_s = max(counted.longest_near_s(change, life[quantity], within) for quantity in counted.BY_POLLS)
    shown = [sample.value for series in life[Quantity.POLL_GAP_MAX] for sample in blocks.news(series).samples]
    usual_s = statistics.median(shown) if shown else 0.0
    return gap_s - usual_s <= _passed_s(_scrape_at(times_s, change.at.timestamp()), times_s, grown)


def _scrape_at(times_s: Sequence[float], at_s: float) -> float:
    """Return the scrape at a moment, which is rounded to microseconds."""
    return min(times_s, key=lambda time_s: abs(time_s - at_s))


def _grown(beats: Sequence[Series], first_s: float) -> dict[float, float]:
    """Return how many beats were accepted at each scrape at which there were any; each membership counts from zero."""
    grown: dict[float, float] = {}
    for series in beats:
        is_new = bool(series.samples) and series.samples.times_s[0] > first_s
        for at_s, by in counter_steps.growth_by_time(series, since_s=-math.inf, born_at_zero=is_new).items():
            grown[at_s] = grown.get(at_s, 0.0) + by
    return grown


def _usual_s(grown: Mapping[float, float], times_s: Sequence[float]) -> float | None:
    """Return the mean time between beats, where they come as a member's work lets them; None without any."""
    beats = sum(grown.values())
    return (times_s[-1] - times_s[0]) / beats if beats > 0 else None


def _passed_s(at_s: float, times_s: Sequence[float], grown: Mapping[float, float]) -> float:
    """Return what passed at most since the last beat: a session that is set and longer than that is not in force."""
    last_s = max((beat_s for beat_s in grown if beat_s < at_s), default=-math.inf)
    return at_s - max((time_s for time_s in times_s if time_s < last_s), default=-math.inf)


def _unbeaten_s(
    at_s: float, times_s: Sequence[float], grown: Mapping[float, float], joins: Sequence[Series], usual_s: float | None
) -> float:
    """Return what surely passed without a beat before a member joined again, which a scrape showed."""
    last_s = max((beat_s for beat_s in grown if beat_s < at_s), default=None)
    if last_s is None or usual_s is None:
        return 0.0
    joining_s = sum(
        counter_steps.growth_by_time(join, since_s=last_s, born_at_zero=False).get(at_s, 0.0) for join in joins
    )
    still_s = max(time_s for time_s in times_s if time_s < at_s) - last_s - joining_s
    missing_s = at_s - last_s - joining_s - (grown.get(at_s, 0.0) + 1.0 + JITTER) * usual_s
    return max(still_s, missing_s, 0.0)
