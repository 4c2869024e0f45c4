"""How often live members lost their membership: what counters and member ids show.

Two ways, both lower bounds. Counters show a rejoin that no rebalance asked for, confirmed by refused heartbeats. The
broker shows another member id of a living pod; whether its member was removed for silence or left for want of a poll,
the time since its last poll tells.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import MemberChange, Pod
from heartbeat_tuner.metrics import samples, signals
from heartbeat_tuner.metrics.conventions import Convention, PollGaps, RefusedBeats
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.signals import Signal

POLL_GAP_SHOWN: Final = timedelta(seconds=90)
"""A poll gap shows for so long around the change of the member id: before it as the age of the last poll, after it as
the longest gap of the client's window (59 to 86 s)."""

Samples = Mapping[Signal, Sequence[Series]]


def unannounced(pod: Pod, found: Samples, convention: Convention, refused: RefusedBeats, *, since_s: float) -> int:
    """Count a pod's evictions: rejoins that no rebalance asked for, as far as refused heartbeats confirm them.

    Neither is enough alone. One eviction, and one rebalance, refuses a heartbeat for each assigned partition (measured:
    33 for 11 evictions of a member with 3 partitions), and a client that restarted within its process rejoins without
    having been removed.
    """
    mine = {signal: of_pod(group, pod.name) for signal, group in found.items()}
    announced = total(mine[refused.rebalancings], since_s)
    accepted = total(mine[convention.accepted_beats], since_s, born_at_zero=True)
    refusals = total(mine[refused.beat_requests], since_s) - accepted - announced
    rejoins = _unannounced_rejoins(pod, mine[convention.joins], mine[refused.rebalancings], since_s)
    return max(0, round(min(refusals, rejoins)))


def split_by_poll_gaps(
    changes: Sequence[MemberChange], found: Samples, gaps: PollGaps, *, limit: timedelta
) -> tuple[int, int]:
    """Return how many changed member ids mean removal for silence, and how many mean a member that did not poll.

    A change that is newer than the pod's newest sample counts as neither yet.

    Args:
        changes: what the broker showed.
        found: the series of the running pods.
        gaps: which of them tell of polls.
        limit: max.poll.interval.ms of the members.
    """
    silences = polls = 0
    for change in changes:
        ages = of_pod(found[gaps.since_last], change.pod)
        newest_s = samples.newest_s(ages)
        if newest_s is None or newest_s < change.at.timestamp():
            continue
        longest = max(
            _longest_near(change, ages, gaps.since_last.unit_s),
            _longest_near(change, of_pod(found[gaps.longest], change.pod), gaps.longest.unit_s),
        )
        if longest >= limit.total_seconds():
            polls += 1
        else:
            silences += 1
    return silences, polls


def longest_poll_gap_s(found: Samples, gaps: PollGaps, *, since_s: float) -> float | None:
    """Return the longest time between two polls of one member since a time, in seconds; None if none was seen."""
    return max(
        (
            sample.value * signal.unit_s
            for signal in (gaps.longest, gaps.since_last)
            for one in found[signal]
            for sample in one.samples
            if sample.time_s > since_s and sample.value >= 0
        ),
        default=None,
    )


def of_pod(group: Sequence[Series], name: str) -> list[Series]:
    """Return the series of one pod."""
    return [one for one in group if one.labels[signals.POD_LABEL] == name]


def total(group: Sequence[Series], since_s: float, *, born_at_zero: bool = False) -> float:
    """Sum the growth of several counters.

    Only heartbeats, whose series are born with each member id, start from zero: over-counting accepted beats can hide
    an eviction, over-counting anything else could invent one.
    """
    return sum(samples.increase(one, since_s=since_s, born_at_zero=born_at_zero) for one in group)


def _longest_near(change: MemberChange, group: Sequence[Series], unit_s: float) -> float:
    """Return the greatest value shown around the time of a change, in seconds; 0 if nothing was shown."""
    at_s, shown_s = change.at.timestamp(), POLL_GAP_SHOWN.total_seconds()
    near = (sample.value for one in group for sample in one.samples if abs(sample.time_s - at_s) <= shown_s)
    return max(near, default=0.0) * unit_s


def _unannounced_rejoins(pod: Pod, joins: Sequence[Series], rebalancings: Sequence[Series], since_s: float) -> float:
    """Return how many of the process's joins since a time were neither its first nor asked for by a rebalance.

    Joins less announcements, over the whole life of the process, is 1 for its first join, one more for each eviction,
    and one less while an announced rejoin is under way: so the highest balance counts, not the latest. A window cut
    through a rejoin would otherwise make an eviction of it.
    """
    started_s = pod.started.timestamp()
    joined, announced = (_by_time(group, started_s) for group in (joins, rebalancings))
    balance = {at: joined[at] - announced[at] - len(joins) for at in sorted(joined.keys() & announced.keys())}
    before = [value for at, value in balance.items() if at <= since_s]
    after = [value for at, value in balance.items() if at > since_s]
    if not after:
        return 0.0
    if not before and started_s < since_s:
        before = after[:1]  # scrapes were missing: what happened before the first one is not of this time
    return max(0.0, max(after) - max(0.0, *before, 0.0))


def _by_time(group: Sequence[Series], since_s: float) -> dict[float, float]:
    """Return the sum of several counters at each scrape."""
    sums: dict[float, float] = {}
    for series in group:
        for sample in series.samples:
            if sample.time_s >= since_s:
                sums[sample.time_s] = sums.get(sample.time_s, 0.0) + sample.value
    return sums
