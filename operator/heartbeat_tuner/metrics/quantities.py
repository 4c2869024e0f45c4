"""From raw samples to the record of one group.

`by_group` sorts what queries found; `measure` sees whether a group's series are there, numbers and fresh, and counts.
Evictions are counted in `evictions`, by the client's own counters: a changed member id alone may be a consumer that was
closed and made anew within its process. Only where a pod has no such counters, the broker's word is taken.
"""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import MemberChange, Pod, Record, Unknown
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import evictions, samples, signals
from heartbeat_tuner.metrics.conventions import Convention
from heartbeat_tuner.metrics.evictions import Samples
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.signals import Signal

STALE_AFTER: Final = timedelta(seconds=90)
"""A newest sample older than this is stale, unless scrapes are rare: an instant value repeats old ones for 5 min."""

STALE_SCRAPES: Final = 3
"""With rare scrapes, stale means older than this many scrape intervals."""

SETTLING: Final = timedelta(seconds=60)
"""After its newest pod starts, a group needs its planned rebalances; shares of time are counted after that."""

ENOUGH_SETTLED: Final = timedelta(seconds=60)
"""A shorter settled time says nothing about shares."""

GroupKey = tuple[str, str]
"""Namespace and group id."""


@dataclasses.dataclass(frozen=True, slots=True)
class Watched:
    """What is to be measured.

    Attributes:
        policy: names the group and its namespace.
        pods: the running pods; series of others are history.
        poll_limit: max.poll.interval.ms of the members; None where the client has none.
        changes: changed member ids that the broker showed.
        since: start of the time to count.
        now: end of it.
    """

    policy: Policy
    pods: Sequence[Pod]
    poll_limit: timedelta | None
    changes: Sequence[MemberChange]
    since: datetime
    now: datetime


def by_group(found: Samples, convention: Convention) -> dict[GroupKey, dict[Signal, list[Series]]]:
    """Return the series of each group in each namespace, each once.

    A pod that is scraped by two jobs, or by two replicas of Prometheus, has every series twice; counted twice, its
    evictions would be too. Of such twins the one with the most samples stays.
    """
    once: dict[GroupKey, dict[Signal, dict[frozenset[tuple[str, str]], Series]]] = {}
    for signal, group in found.items():
        for series in group:
            group_id = convention.group_of(series.labels.get(convention.group_label, ""))
            if group_id is None:
                continue
            place = (series.labels.get(signals.NAMESPACE_LABEL, ""), group_id)
            twins = once.setdefault(place, {}).setdefault(signal, {})
            own = frozenset(pair for pair in series.labels.items() if pair[0] not in signals.SCRAPE_LABELS)
            if own not in twins or len(twins[own].samples) < len(series.samples):
                twins[own] = series
    return {
        place: {signal: list(twins.values()) for signal, twins in by_signal.items()}
        for place, by_signal in once.items()
    }


def measure(
    watched: Watched, found: Samples, convention: Convention, *, queries: Mapping[Signal, str]
) -> Record | Unknown:
    """Return what happened to the group in the watched time.

    Args:
        watched: the group and the time.
        found: the group's series, from `by_group`.
        convention: how they are to be read.
        queries: what was asked for each signal, for the message of an `Unknown`.
    """
    policy = watched.policy
    mine = {signal: found.get(signal, ()) for signal in convention.signals}
    everything = [series for group in mine.values() for series in group]
    tried = queries[convention.joins]
    if not everything:
        return Unknown(Reason.NO_SERIES, f"no series of group {policy.group_id} found; tried {tried}")
    newest_s = samples.newest_s(everything)
    if newest_s is None:
        return Unknown(Reason.NOT_A_NUMBER, f"the samples of group {policy.group_id} are no numbers; tried {tried}")
    missing = next((signal for signal in convention.always_there if not mine[signal]), None)
    if missing is not None:
        return Unknown(
            Reason.NO_SERIES, f"no series {missing.metric} of group {policy.group_id} found; tried {queries[missing]}"
        )
    newest = datetime.fromtimestamp(newest_s, UTC)
    limit = max(STALE_AFTER, STALE_SCRAPES * timedelta(seconds=samples.scrape_interval_s(everything) or 0.0))
    if abs(watched.now - newest) > limit:
        apart = "older than" if newest < watched.now else "ahead of the operator's clock by more than"
        return Unknown(
            Reason.METRICS_STALE,
            f"the newest sample of group {policy.group_id} is from {newest:%Y-%m-%dT%H:%M:%SZ}, {apart} "
            f"{limit.total_seconds():.0f} s; tried {tried}",
        )
    running = {pod.name for pod in watched.pods}
    current = _aligned(
        {
            signal: [series for series in group if series.labels.get(signals.POD_LABEL) in running]
            for signal, group in mine.items()
        }
    )
    return _count(watched, current, convention, newest_s)


def _aligned(current: Samples) -> Samples:
    """Cut each pod's series where the oldest of its signals ends.

    Signals are read one after the other, and a scrape may arrive in between: heartbeats counted as requests in one
    scrape more than as accepted would look like evictions. All counters of a pod are scraped together, so a common end
    is a common moment.
    """
    ends: dict[str, list[float]] = {}
    for group in current.values():
        newest: dict[str, float] = {}
        for series in group:
            pod = series.labels[signals.POD_LABEL]
            if series.samples:
                newest[pod] = max(newest.get(pod, 0.0), series.samples[-1].time_s)
        for pod, time_s in newest.items():
            ends.setdefault(pod, []).append(time_s)
    return {
        signal: [one.until(min(ends[one.labels[signals.POD_LABEL]])) for one in group if one.samples]
        for signal, group in current.items()
    }


def _count(watched: Watched, current: Samples, convention: Convention, newest_s: float) -> Record:
    since_s = watched.since.timestamp()
    members = max(len(watched.pods), 1)
    beats = current[convention.accepted_beats]
    periods = [period for one in beats if (period := samples.mean_period_s(one, since_s=since_s)) is not None]
    silences = [gap for one in beats if (gap := _silence_s(one, current, convention, since_s)) is not None]
    observed = _observed(current, convention, newest_s)
    settled = watched.since + SETTLING
    settled_s = (watched.now - settled).total_seconds()
    joining = evictions.total(current[convention.join_time], settled.timestamp()) * convention.join_time.unit_s
    removed, left, longest_gap_s = _evicted(watched, current, convention, observed)
    return Record(
        since=watched.since,
        until=watched.now,
        evictions=removed,
        poll_gap_evictions=left,
        rebalances=evictions.total(current[convention.joins], settled.timestamp()) / members,
        rebalancing_share=(
            min(1.0, joining / members / settled_s) if settled_s >= ENOUGH_SETTLED.total_seconds() else None
        ),
        accepted_beats=round(evictions.total(beats, since_s, born_at_zero=True)),
        beat_period=timedelta(seconds=statistics.median(periods)) if periods else None,
        longest_silence=timedelta(seconds=max(silences)) if silences else None,
        longest_poll_gap=None if longest_gap_s is None else timedelta(seconds=longest_gap_s),
        unobserved_pods=tuple(sorted(pod.name for pod in watched.pods if pod.name not in observed)),
    )


def _evicted(
    watched: Watched, current: Samples, convention: Convention, observed: set[str]
) -> tuple[int, int, float | None]:
    """Return evictions for silence, those for want of a poll, and the longest poll gap in seconds."""
    since_s = watched.since.timestamp()
    refused, gaps = convention.refused_beats, convention.poll_gaps
    seen = [pod for pod in watched.pods if pod.name in observed]
    if refused is not None:
        return sum(evictions.unannounced(pod, current, convention, refused, since_s=since_s) for pod in seen), 0, None
    changes = _changes(watched, current, convention, seen)
    if gaps is None or watched.poll_limit is None:
        return len(changes), 0, None
    removed, left = evictions.split_by_poll_gaps(changes, current, gaps, limit=watched.poll_limit)
    return removed, left, evictions.longest_poll_gap_s(current, gaps, since_s=since_s)


def _changes(watched: Watched, current: Samples, convention: Convention, seen: Sequence[Pod]) -> list[MemberChange]:
    """Return when members lost their ids: what a pod's counters show, or, where it has none, what the broker showed."""
    by_pod: dict[str, list[MemberChange]] = {}
    lost, since_s = convention.lost_ids, watched.since.timestamp()
    if lost is not None:
        counting = [pod for pod in seen if all(evictions.of_pod(current[one], pod.name) for one in lost.signals)]
        by_pod = {pod.name: evictions.lost_ids(pod, current, convention, lost, since_s=since_s) for pod in counting}
    counted = [change for changes in by_pod.values() for change in changes]
    return counted + [change for change in watched.changes if change.at > watched.since and change.pod not in by_pod]


def _silence_s(beats: Series, current: Samples, convention: Convention, since_s: float) -> float | None:
    """Return the longest silence that a member survived, in seconds.

    Where beats are counted by member id, each series is one membership; else the member's joins tell them apart.
    """
    joins = next((one for one in current[convention.joins] if _same_member(one, beats)), None)
    return samples.longest_silence_s(beats, since_s=since_s, joins=joins)


def _same_member(one: Series, other: Series) -> bool:
    return all(one.labels.get(name) == value for name, value in other.labels.items() if name != "__name__")


def _observed(current: Samples, convention: Convention, newest_s: float) -> set[str]:
    """Return the pods that export every counter that is there from the start, and did so lately."""
    fresh = [
        {
            series.labels[signals.POD_LABEL]
            for series in current[signal]
            if series.samples and newest_s - series.samples[-1].time_s <= STALE_AFTER.total_seconds()
        }
        for signal in convention.always_there
    ]
    return set.intersection(*fresh)
