"""From raw samples to the record of one group.

`measure` is the whole path: pick the group's series, see whether they are there, numbers and fresh, and count.
Evictions are rejoins that no rebalance asked for, confirmed by refused heartbeats. What the broker shows (changed
member ids) is counted elsewhere; the record takes the larger, since both are lower bounds.
"""

import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import Pod, Record, Unknown
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import samples, signals
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

Samples = Mapping[Signal, Sequence[Series]]


def measure(
    policy: Policy,
    pods: Sequence[Pod],
    found: Samples,
    *,
    since: datetime,
    now: datetime,
    changed_member_ids: int,
    queries: Mapping[Signal, str],
) -> Record | Unknown:
    """Return what happened to the group between `since` and `now`.

    Args:
        policy: names the group and its namespace.
        pods: the running pods; series of others are history.
        found: all series that the queries returned, of this group and of others.
        since: start of the time to count.
        now: end of it.
        changed_member_ids: evictions that the broker showed in that time.
        queries: what was asked for each signal, for the message of an `Unknown`.
    """
    mine = {signal: _of_group(policy, found.get(signal, ())) for signal in signals.SIGNALS}
    everything = [series for group in mine.values() for series in group]
    tried = queries[signals.JOINS]
    if not everything:
        return Unknown(Reason.NO_SERIES, f"no series of group {policy.group_id} found; tried {tried}")
    newest_s = samples.newest_s(everything)
    if newest_s is None:
        return Unknown(Reason.NOT_A_NUMBER, f"the samples of group {policy.group_id} are no numbers; tried {tried}")
    missing = next((signal for signal in signals.ALWAYS_THERE if not mine[signal]), None)
    if missing is not None:
        return Unknown(
            Reason.NO_SERIES, f"no series {missing.metric} of group {policy.group_id} found; tried {queries[missing]}"
        )
    interval = timedelta(seconds=samples.scrape_interval_s(everything) or 0.0)
    newest = datetime.fromtimestamp(newest_s, UTC)
    limit = max(STALE_AFTER, STALE_SCRAPES * interval)
    if now - newest > limit:
        return Unknown(
            Reason.METRICS_STALE,
            f"the newest sample of group {policy.group_id} is from {newest:%Y-%m-%dT%H:%M:%SZ}, older than "
            f"{limit.total_seconds():.0f} s; tried {tried}",
        )
    running = {pod.name for pod in pods}
    current = _aligned(
        {
            signal: [series for series in group if series.labels.get(signals.POD_LABEL) in running]
            for signal, group in mine.items()
        }
    )
    return _count(current, pods, since=since, now=now, newest=newest, interval=interval, changed=changed_member_ids)


def _of_group(policy: Policy, found: Sequence[Series]) -> list[Series]:
    """Return the series of the policy's group in its own namespace, each once.

    A pod that is scraped by two jobs, or by two replicas of Prometheus, has every series twice; counted twice, its
    evictions would be too. Of such twins the one with the most samples stays.
    """
    once: dict[frozenset[tuple[str, str]], Series] = {}
    for series in found:
        if (
            series.labels.get(signals.NAMESPACE_LABEL) != policy.key.namespace
            or series.labels.get(signals.GROUP_LABEL) != policy.group_id
        ):
            continue
        own = frozenset(pair for pair in series.labels.items() if pair[0] not in signals.SCRAPE_LABELS)
        if own not in once or len(once[own].samples) < len(series.samples):
            once[own] = series
    return list(once.values())


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


def _count(
    current: Samples,
    pods: Sequence[Pod],
    *,
    since: datetime,
    now: datetime,
    newest: datetime,
    interval: timedelta,
    changed: int,
) -> Record:
    since_s = since.timestamp()
    members = max(len(pods), 1)
    beats = current[signals.ACCEPTED_BEATS]
    accepted = _total(beats, since_s, born_at_zero=True)
    periods = [period for one in beats if (period := samples.mean_period_s(one, since_s=since_s)) is not None]
    silences = [gap for one in beats if (gap := samples.longest_standstill_s(one, since_s=since_s)) is not None]
    observed = _observed(current, newest.timestamp())
    settled = since + SETTLING
    settled_s = (now - settled).total_seconds()
    joining_s = _total(current[signals.JOIN_SECONDS], settled.timestamp()) / members
    return Record(
        since=since,
        until=now,
        evictions=max(changed, sum(_evictions_of(pod, current, since_s) for pod in pods if pod.name in observed)),
        rebalances=_total(current[signals.JOINS], settled.timestamp()) / members,
        rebalancing_share=min(1.0, joining_s / settled_s) if settled_s >= ENOUGH_SETTLED.total_seconds() else None,
        accepted_beats=round(accepted),
        beat_period=timedelta(seconds=statistics.median(periods)) if periods else None,
        longest_silence=timedelta(seconds=max(silences)) if silences else None,
        newest_sample=newest,
        scrape_interval=interval,
        unobserved_pods=tuple(sorted(pod.name for pod in pods if pod.name not in observed)),
    )


def _observed(current: Samples, newest_s: float) -> set[str]:
    """Return the pods that export every counter that is there from the start, and did so lately."""
    fresh = [
        {
            series.labels[signals.POD_LABEL]
            for series in current[signal]
            if series.samples and newest_s - series.samples[-1].time_s <= STALE_AFTER.total_seconds()
        }
        for signal in signals.ALWAYS_THERE
    ]
    return set.intersection(*fresh)


def _evictions_of(pod: Pod, current: Samples, since_s: float) -> int:
    """Count a pod's evictions: rejoins that no rebalance asked for, as far as refused heartbeats confirm them.

    Neither is enough alone. One eviction, and one rebalance, refuses a heartbeat for each assigned partition (measured:
    33 for 11 evictions of a member with 3 partitions), and a client that restarted within its process rejoins without
    having been removed.
    """
    mine = {
        signal: [one for one in group if one.labels[signals.POD_LABEL] == pod.name] for signal, group in current.items()
    }
    announced = _total(mine[signals.REBALANCINGS], since_s)
    accepted = _total(mine[signals.ACCEPTED_BEATS], since_s, born_at_zero=True)
    refused = _total(mine[signals.BEAT_REQUESTS], since_s) - accepted - announced
    unannounced = _unannounced_rejoins(pod, mine[signals.JOINS], mine[signals.REBALANCINGS], since_s)
    return max(0, round(min(refused, unannounced)))


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


def _total(group: Sequence[Series], since_s: float, *, born_at_zero: bool = False) -> float:
    """Sum the growth of several counters.

    Only heartbeats, whose series are born with each member id, start from zero: over-counting accepted beats can hide
    an eviction, over-counting anything else could invent one.
    """
    return sum(samples.increase(one, since_s=since_s, born_at_zero=born_at_zero) for one in group)
