"""How far apart members of a share group poll, and who left because it did not: as far as their clients show it.

A gap is what handlers took, and for Java's consumer the time within the poll before, too: it exports the time from the
beginning of one poll to that of the next. A member that does not poll for its limit leaves, and joins again with the
poll after: its counter of joins moves beside a gap that is as long as the limit (measured: docs/design/0042).
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from heartbeat_tuner.domain.evidence import MemberChange, Pod
from heartbeat_tuner.metrics import evictions, lost_partitions
from heartbeat_tuner.metrics.conventions import share_groups
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import counter_steps
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.vocabulary import Quantity


def longest_gap(
    by_convention: Mapping[Convention, Observed], pods: Sequence[Pod], *, since: datetime
) -> timedelta | None:
    """Return the longest time between two polls of one member; None where no running pod shows any.

    Args:
        by_convention: what was read of the group.
        pods: that run: what others show is history.
        since: from when on it counts.
    """
    polls = {
        quantity: [
            series
            for convention in share_groups.RECORDS
            for pod in pods
            for series in evictions.of_pod(by_convention.get(convention, {}).get(quantity, ()), pod.name)
        ]
        for quantity in evictions.BY_POLLS
    }
    longest_s = evictions.longest_poll_gap_s(polls, since_s=since.timestamp())
    return None if longest_s is None else timedelta(seconds=longest_s)


def left(pods: Sequence[Pod], observed: Observed, *, limit: timedelta | None, since: datetime) -> list[MemberChange]:
    """Return when members of pods joined again that had left because they did not poll; leaves within 90 s count once.

    Args:
        pods: that run.
        observed: their series.
        limit: max.poll.interval.ms of the members; None where that is not known.
        since: from when on it counts.
    """
    if limit is None:
        return []
    joins = [MemberChange(at, pod.name) for pod in pods for at in _joins(pod, observed, since)]
    _, late = evictions.split_by_poll_gaps(joins, observed, limit=limit, within=evictions.POLL_GAP_SHOWN)
    return sorted(late, key=lambda change: (change.at, change.pod))


def late_s(pods: Sequence[Pod], observed: Observed, *, limit: timedelta | None) -> Sequence[tuple[float, float]]:
    """Return from when to when a member was out of its group because it did not poll, at most, in Unix seconds.

    Args:
        pods: that run.
        observed: their series.
        limit: max.poll.interval.ms of the members; None where that is not known.
    """
    if limit is None:
        return ()
    limit_s, shown_s = limit.total_seconds(), evictions.POLL_GAP_SHOWN.total_seconds()
    return tuple(
        (at - gap_s + limit_s - (shown_s if quantity is Quantity.POLL_GAP_MAX else 0.0), at)
        for quantity in evictions.BY_POLLS
        for pod in pods
        for series in evictions.of_pod(observed.get(quantity, ()), pod.name)
        for at, gap_s in series.samples.pairs()
        if gap_s >= limit_s
    )


def _joins(pod: Pod, observed: Observed, since: datetime) -> Iterator[datetime]:
    """Return when a pod's members joined, those within 90 s counted once: all join again with a member."""
    grown = (
        at
        for series in evictions.of_pod(observed.get(Quantity.REBALANCES, ()), pod.name)
        for at in counter_steps.growth_by_time(series, since_s=since.timestamp(), born_at_zero=False)
    )
    return (datetime.fromtimestamp(at, UTC) for at in lost_partitions.apart(sorted(grown)))
