"""Does a record of the consumer protocol (KIP-848) show that nobody else was fenced? By its clients' metrics.

Consumers with librdkafka that count the assignments that they lost show each fencing (measured: docs/design/0040). Of a
share group no client does: there only a record in which no member joined again without a reason proves anything.

Of the Java consumer `lost_partitions` counts a lower bound. A count of none is exact where these hold (measured:
docs/design/0021):

- A member that was fenced joins again, and the assignment that it gets, be it empty, raises its `rebalance-total`.
  Where no member's counter moved, nobody was fenced, with or without a rebalance listener.
- A member whose counter moved shows whether it has a listener: `partition-assigned-latency-max` has a number for 59 s
  at least after each assignment, and `partition-lost-latency-max` after each loss. With scrapes that are nearer than
  that to each other, a listener that shows no loss had none. A fencing of a member without partitions shows none
  either, and stops nothing. Stream threads (KIP-1071) show the same of their tasks, and need no listener (0019).
"""

import math
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from heartbeat_tuner.domain.evidence import HiddenFencings, Pod
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.metrics import evictions, lost_partitions, share_polls
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries, samples
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

SHOWN_BY: Final = (
    Quantity.PARTITIONS_LOST_LATENCY_MAX,
    Quantity.PARTITIONS_ASSIGNED_LATENCY_MAX,
    Quantity.TASKS_LOST_LATENCY_MAX,
    Quantity.TASKS_ASSIGNED_LATENCY_MAX,
)
"""What fencings show in, beside the counters that all groups have."""

MOST_APART_S: Final = 55.0
"""Scrapes that are further apart may miss a number: the client's window shows it for 59 s at least."""

JOINING_S: Final = 90.0
"""A rebalance within so many seconds of a pod's start is the doing of that."""

LEAVING_S: Final = 150.0
"""And within so many of a pod's last sample: who did not say that it leaves is removed after a session."""

_UNDESCRIBED: Final = HiddenFencings(
    "a member that is back before the group is described again is not seen missing", lasts=True
)


def hidden_by(
    convention: Convention,
    pods: Sequence[Pod],
    observed: Observed,
    *,
    since_s: float,
    exporting: Collection[str],
    ended_s: Sequence[float],
    poll_limit: timedelta | None,
) -> HiddenFencings | None:
    """Return why members may have been fenced unseen, by what a convention shows; None where none was.

    Args:
        convention: that the series follow; the broker's descriptions of a group alone prove nothing.
        pods: of the group.
        observed: the series of the running pods.
        since_s: start of the record, in Unix seconds.
        exporting: names of the pods that exported all that is needed lately.
        ended_s: when pods that run no more were last seen.
        poll_limit: max.poll.interval.ms of the members; None where that is not known.
    """
    if Quantity.LOST_FOR_SILENCE in convention.needed:
        return None
    if Quantity.EVICTIONS_SEEN in convention.needed:
        if Quantity.REBALANCES not in convention.needed:
            return _UNDESCRIBED
        ended = ((at, at + LEAVING_S) for at in ended_s)
        late = ((from_s, to_s + JOINING_S) for from_s, to_s in share_polls.late_s(pods, observed, limit=poll_limit))
        return _joined_again(pods, observed, since_s, exporting, [*ended, *late])
    return hidden_fencings(pods, observed, since_s=since_s, lingers=convention.lingers)


def hidden_fencings(
    pods: Sequence[Pod], observed: Observed, *, since_s: float, lingers: bool = False
) -> HiddenFencings | None:
    """Return why members of pods may have been fenced unseen; None where none was, or each within 90 s counts as one.

    Args:
        pods: of the group.
        observed: the series of the running pods.
        since_s: start of the record, in Unix seconds.
        lingers: whether a collector goes on showing what is no number any more.
    """
    if lingers:
        return HiddenFencings("these metrics are pushed, and do not say when a number is over", lasts=True)
    joins = {pod: evictions.of_pod(observed.get(Quantity.REBALANCES, ()), pod.name) for pod in pods}
    interval_s = samples.scrape_interval_s([series for each in joins.values() for series in each])
    if interval_s is not None and interval_s > MOST_APART_S:
        phrase = "pods are scraped every {interval:.0f} s, and a lost partition shows for 59 s"
        return HiddenFencings(say(phrase, interval=Reading(interval_s)), lasts=True)
    moved = {pod: series for pod, series in joins.items() if any(_moves_s(each, since_s) for each in series)}
    for pod, series in moved.items():
        if not _has_listener(pod, len(series), observed):
            phrase = (
                "pod {pod} took part in a rebalance and shows no rebalance listener (partition-assigned-latency-max "
                "has no number), so it may have been fenced"
            )
            return HiddenFencings(say(phrase, pod=Reading(pod.name)), lasts=True)
    for pod, series in moved.items():
        if any(gap_s > MOST_APART_S for each in series for gap_s in _gaps_s(each, since_s)):
            phrase = "pod {pod} took part in a rebalance, and was not scraped for more than {gap:.0f} s"
            return HiddenFencings(say(phrase, pod=Reading(pod.name), gap=MOST_APART_S), lasts=False)
    for pod in pods:
        if _shows_loss(pod, observed, since_s) and not lost_partitions.losses([pod], observed, since_s=since_s):
            phrase = "pod {pod} lost partitions just before the time that is counted, or in it"
            return HiddenFencings(say(phrase, pod=Reading(pod.name)), lasts=False)
    return None


def ended_s(observed: Observed, running: Collection[str]) -> Sequence[float]:
    """Return when each pod that runs no more was last seen, in Unix seconds.

    Args:
        observed: the series of all pods.
        running: names of those that run.
    """
    last: dict[str, float] = {}
    for series in observed.get(Quantity.REBALANCES, ()):
        pod = series.labels.get(queries.POD_LABEL, "")
        if pod not in running and series.samples:
            last[pod] = max(last.get(pod, 0.0), series.samples.times_s[-1])
    return tuple(last.values())


def _joined_again(
    pods: Sequence[Pod],
    observed: Observed,
    since_s: float,
    exporting: Collection[str],
    explained_s: Sequence[tuple[float, float]],
) -> HiddenFencings | None:
    """Return that a member of a share group joined again, once all pods had time to join after the newest began.

    What they get of a pod that has ended is not that: where a group scales in, all members have another assignment. Nor
    is what they get of a member that left because it did not poll, and of its coming back.

    Args:
        pods: of the group.
        observed: the series of the running pods.
        since_s: start of the record, in Unix seconds.
        exporting: names of the pods that exported all that is needed lately.
        explained_s: from when to when another reason for a join is known, in Unix seconds.
    """
    for pod in pods:
        if pod.name not in exporting:
            phrase = "pod {pod} exports no counter of its joins, so its member may have been fenced"
            return HiddenFencings(say(phrase, pod=Reading(pod.name)), lasts=False)
    settled_s = max([since_s, *(pod.started.timestamp() + JOINING_S for pod in pods)])
    for pod in pods:
        joins = evictions.of_pod(observed.get(Quantity.REBALANCES, ()), pod.name)
        moved_s = (at for series in joins for at in _moves_s(series, settled_s))
        if any(not any(from_s <= at <= to_s for from_s, to_s in explained_s) for at in moved_s):
            phrase = "pod {pod} took part in a rebalance, and no client shows whether a share group fenced its member"
            return HiddenFencings(say(phrase, pod=Reading(pod.name)), lasts=True)
    return None


def _watched(series: Series, since_s: float) -> Iterator[tuple[float, float]]:
    """Yield the samples of the record, after the last one before it."""
    before = list(series.samples.between(-math.inf, since_s).pairs())[-1:]
    yield from before
    yield from series.samples.between(since_s, math.inf).pairs()


def _moves_s(series: Series, since_s: float) -> list[float]:
    """Return when a counter moved: also from nothing, where its first sample is in the record."""
    is_new = not series.samples or series.samples.times_s[0] > since_s
    watched = [*([(-math.inf, 0.0)] if is_new else []), *_watched(series, since_s)]
    return [at for (_, earlier), (at, value) in pairwise(watched) if value != earlier]


def _gaps_s(series: Series, since_s: float) -> Iterator[float]:
    """Yield the times between two scrapes, in seconds."""
    yield from (later - earlier for (earlier, _), (later, _) in pairwise(_watched(series, since_s)))


def _shows_loss(pod: Pod, observed: Observed, since_s: float) -> bool:
    """Whether a pod shows in the record that it lost partitions, be it before."""
    lost = (Quantity.PARTITIONS_LOST_LATENCY_MAX, Quantity.TASKS_LOST_LATENCY_MAX)
    shown = (series for each in lost for series in evictions.of_pod(observed.get(each, ()), pod.name))
    return any(len(series.samples.between(since_s, math.inf)) for series in shown)


def _has_listener(pod: Pod, consumers: int, observed: Observed) -> bool:
    """Whether each consumer of a pod called a rebalance listener since the pod started."""
    assigned = (Quantity.PARTITIONS_ASSIGNED_LATENCY_MAX, Quantity.TASKS_ASSIGNED_LATENCY_MAX)
    shown = [series for each in assigned for series in evictions.of_pod(observed.get(each, ()), pod.name)]
    calling = [series for series in shown if series.samples.between(pod.started.timestamp(), math.inf)]
    return len(calling) >= consumers
