"""How often live members lost their membership: what counters and member ids show.

KafkaJS' counters show a rejoin that no rebalance asked for, confirmed by refused heartbeats; the Java consumer's show
that it had to ask for a new member id. The broker shows another member id of a living pod, but not whether the member
was removed, or a consumer was closed and made anew within its process: it is asked where there are no counters.
Whether a member was removed for silence or left for want of a poll, the time since its last poll tells.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import MemberChange, Pod
from heartbeat_tuner.metrics import samples, signals
from heartbeat_tuner.metrics.conventions import Convention, LostIds, PollGaps, RefusedBeats
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
    joined, told = (_by_time(mine[signal], pod) for signal in (convention.joins, refused.rebalancings))
    balance = {at: joined[at] - told[at] - len(mine[convention.joins]) for at in joined.keys() & told.keys()}
    return max(0, round(min(refusals, len(_rises(balance, pod, since_s)))))


def lost_ids(pod: Pod, found: Samples, convention: Convention, lost: LostIds, *, since_s: float) -> list[MemberChange]:
    """Return when a pod's members had lost their ids, once for each lost id.

    Failed attempts to join, less those that another rebalance overtook: 1 for the first join of a member, one more for
    each id it lost (measured: docs/design/0003).
    """
    mine = {signal: of_pod(group, pod.name) for signal, group in found.items()}
    failed, answered, joined = (
        _by_time(mine[signal], pod) for signal in (lost.failed_joins, lost.join_answers, convention.joins)
    )
    members = len(mine[lost.failed_joins])
    balance = {
        at: failed[at] - (answered[at] - joined[at]) - members for at in failed.keys() & answered.keys() & joined.keys()
    }
    return [MemberChange(datetime.fromtimestamp(at, UTC), pod.name) for at in _rises(balance, pod, since_s)]


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


def _rises(balance: Mapping[float, float], pod: Pod, since_s: float) -> list[float]:
    """Return when a balance of counters rose above all it was before, once for each whole rise, after a time.

    A balance that is 0 after the first join of a process, and one more for each eviction, is lower while an announced
    rejoin is under way: so its highest value counts, not its latest. A window cut through a rejoin would otherwise make
    an eviction of it.
    """
    before = [value for at, value in balance.items() if at <= since_s]
    after = [(at, value) for at, value in sorted(balance.items()) if at > since_s]
    if after and not before and pod.started.timestamp() < since_s:
        before = [after[0][1]]  # scrapes were missing: what happened before the first one is not of this time
    highest, rises = max([0.0, *before]), []
    for at, value in after:
        rises += [at] * max(0, round(value - highest))
        highest = max(highest, value)
    return rises


def _by_time(group: Sequence[Series], pod: Pod) -> dict[float, float]:
    """Return the sum of several counters at each scrape since the pod's process started."""
    sums: dict[float, float] = {}
    for series in group:
        for sample in series.samples:
            if sample.time_s >= pod.started.timestamp():
                sums[sample.time_s] = sums.get(sample.time_s, 0.0) + sample.value
    return sums
