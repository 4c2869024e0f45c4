"""From the series of one group to its record.

`measure` sees whether they are there, numbers and fresh, and counts; `resolver` has sorted them.
Evictions are counted in `evictions`, by the client's own counters: a changed member id alone may be a consumer that was
closed and made again within its process. Only where a pod has no such counters, the broker's word is taken.
"""

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import HiddenFencings, MemberChange, Pod, Record, Unknown
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, Sentence, say
from heartbeat_tuner.metrics import evictions, fencing_proof, lost_partitions, share_polls
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import counter_steps, queries, samples
from heartbeat_tuner.metrics.raw.counter_steps import TimedEvents, timed_events
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity, ValueKind

STALE_AFTER: Final = timedelta(seconds=90)
"""A newest sample older than this is stale, unless scrapes are rare: an instant value repeats old ones for 5 min."""

STALE_SCRAPES: Final = 3
"""With rare scrapes, stale means older than this many scrape intervals."""

SETTLING: Final = timedelta(seconds=60)
"""After its newest pod starts, a group needs its planned rebalances; shares of time are counted after that."""

ENOUGH_BEATS: Final = 12
"""Of a member, between two scrapes: the count may be off by one, so with fewer no period is known to a tenth."""

_DESCRIBED: Final = (Quantity.EVICTIONS_SEEN, Quantity.DOUBTFUL_EVICTIONS)
_OF_PODS: Final = frozenset(each for each in Quantity if each.kind is ValueKind.COUNTER) - {*_DESCRIBED}
ENOUGH_SETTLED: Final = timedelta(seconds=60)
"""A shorter settled time says nothing about shares."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordScope:
    """What is to be measured: of the group that `policy` names, in its namespace.

    Attributes:
        pods: the running pods; series of others are history.
        poll_limit: max.poll.interval.ms of the members; None where the client has none.
        changes: changed member ids that the broker showed.
        since: start of the time to count.
        now: end of it.
        consumer_protocol: whether its S and H are the broker's: then `changes` show no eviction.
    """

    policy: Policy
    pods: Sequence[Pod]
    poll_limit: timedelta | None
    changes: Sequence[MemberChange]
    since: datetime
    now: datetime
    consumer_protocol: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class _Evicted:
    """Members that lost their membership.

    Attributes:
        silent: for their silence.
        left: for want of a poll.
        longest_gap_s: the longest time between two polls, in seconds; None if none was seen.
        counted: how many of `silent` the clients' own counters show.
    """

    silent: Sequence[MemberChange]
    left: Sequence[MemberChange] = ()
    longest_gap_s: float | None = None
    counted: int = 0


def measure(
    watched: RecordScope, observed: Observed, convention: Convention, *, query: Callable[[Quantity], str]
) -> Record | Unknown:
    """Return what happened to the group in the watched time.

    Args:
        watched: the group and the time.
        observed: the group's series.
        convention: the one that they follow.
        query: what was asked for a quantity, for the message of an `Unknown`.
    """
    policy = watched.policy

    def tried() -> Sentence:  # long to write, and most groups are well
        return say("; tried {query}", query=query(Quantity.REBALANCES))

    everything = [series for group in observed.values() for series in group]
    alone = (Quantity.EVICTIONS_SEEN, Quantity.LOST_FOR_SILENCE)
    lost = next((each for each in alone if each in convention.needed), None)
    if not everything and lost is not None:
        return Unknown(Reason.NO_SERIES, convention.missing(lost, policy.group_id, query(lost)))
    if not everything:
        phrase = "no series of group {group} found among the metrics of {library} consumers{tried}"
        return Unknown(Reason.NO_SERIES, say(phrase, group=policy.group_id, library=policy.library, tried=tried()))
    newest_s = samples.newest_s(everything)
    if newest_s is None:
        phrase = "the samples of group {group} are no numbers{tried}"
        return Unknown(Reason.NOT_A_NUMBER, say(phrase, group=policy.group_id, tried=tried()))
    missing = next((quantity for quantity in convention.needed if not observed.get(quantity)), None)
    if missing is not None:
        return Unknown(Reason.NO_SERIES, convention.missing(missing, policy.group_id, query(missing)))
    newest = datetime.fromtimestamp(newest_s, UTC)
    apart, limit = abs(watched.now - newest), STALE_AFTER
    if apart > limit:
        limit = max(limit, STALE_SCRAPES * timedelta(seconds=samples.scrape_interval_s(everything) or 0.0))
    if apart > limit:
        than = "older than" if newest < watched.now else "ahead of the operator's clock by more than"
        return Unknown(
            Reason.METRICS_STALE,
            say(
                "the newest sample of group {group} is from {newest:%Y-%m-%dT%H:%M:%SZ}, {than} {limit:.0f} s{tried}",
                group=policy.group_id,
                newest=Reading(newest),
                than=than,
                limit=limit.total_seconds(),
                tried=tried(),
            ),
        )
    running = {pod.name for pod in watched.pods}
    current = _aligned(
        {
            quantity: [series for series in group if series.labels.get(queries.POD_LABEL) in running]
            for quantity, group in observed.items()
        }
    )
    return _count(watched, current, convention, newest_s, fencing_proof.ended_s(observed, running))


def _aligned(current: Observed) -> Observed:
    """Cut each pod's counters where the oldest of them ends.

    Quantities are read one after the other: heartbeats counted as requests in one scrape more than as accepted would
    look like evictions. What a pod exports is scraped together. Windowed maxima are no numbers while nothing happens.
    """
    shown = {quantity: [series for series in group if series.samples] for quantity, group in current.items()}
    counters = [
        (quantity, series.labels[queries.POD_LABEL], series.samples.times_s[-1])
        for quantity, group in shown.items()
        if quantity in _OF_PODS
        for series in group
    ]
    if len({end_s for _, _, end_s in counters}) <= 1:  # most of the time
        return shown
    newest: dict[tuple[Quantity, str], float] = {}
    for quantity, pod, end_s in counters:
        newest[quantity, pod] = max(newest.get((quantity, pod), end_s), end_s)
    ends: dict[str, float] = {}
    for (_, pod), end_s in newest.items():
        ends[pod] = min(ends.get(pod, end_s), end_s)
    return {
        quantity: [series.until(ends[series.labels[queries.POD_LABEL]]) for series in group]
        if quantity in _OF_PODS
        else group
        for quantity, group in shown.items()
    }


def _count(
    watched: RecordScope, current: Observed, convention: Convention, newest_s: float, ended_s: Sequence[float]
) -> Record:
    since_s = watched.since.timestamp()
    members = max(len(watched.pods), 1)
    beats = current.get(Quantity.HEARTBEATS, ())
    timed = _timed(beats, since_s)
    silences = counter_steps.silences_s(beats, current.get(Quantity.REBALANCES, ()), since_s=since_s)
    observed = _observed(current, convention.needed, newest_s)
    described = _observed(current, _DESCRIBED, newest_s) if set(_DESCRIBED) <= set(convention.needed) else observed
    settled, settled_s = watched.since + SETTLING, (watched.now - watched.since - SETTLING).total_seconds()
    joining = evictions.total(current.get(Quantity.REBALANCE_TIME, ()), settled.timestamp())
    has_share = settled_s >= ENOUGH_SETTLED.total_seconds() and Quantity.REBALANCE_TIME in convention.by_quantity
    evicted = _evicted(watched, current, convention, described)
    return Record(
        since=watched.since,
        until=watched.now,
        evictions=len(evicted.silent),
        poll_gap_evictions=len(evicted.left),
        rebalances=evictions.total(current.get(Quantity.REBALANCES, ()), settled.timestamp()) / members,
        rebalancing_share=min(1.0, joining / members / settled_s) if has_share else None,
        accepted_beats=round(evictions.total(beats, since_s, born_at_zero=True)),
        beat_period=timedelta(seconds=statistics.median(member.period_s for member in timed)) if timed else None,
        longest_silence=timedelta(seconds=max(silences)) if silences else None,
        longest_poll_gap=None if evicted.longest_gap_s is None else timedelta(seconds=evicted.longest_gap_s),
        unobserved_pods=tuple(sorted(pod.name for pod in watched.pods if pod.name not in observed)),
        counted_evictions=evicted.counted,
        consumers_per_pod=_consumers_per_pod(watched, current),
        evicted_at_s=tuple(sorted(change.at.timestamp() for change in evicted.silent)),
        evicted_pods=tuple(sorted({change.pod for change in evicted.silent})),
        poll_gap_pods=tuple(sorted({change.pod for change in evicted.left})),
        hidden=_hidden(watched, current, convention, observed, ended_s),
        # More than half of the members were watched for so long, so the median period lies between periods of these.
        beats_timed_for=timedelta(seconds=statistics.median_low(member.length_s for member in timed) if timed else 0.0),
    )


def _hidden(
    watched: RecordScope, current: Observed, convention: Convention, exporting: set[str], ended_s: Sequence[float]
) -> HiddenFencings | None:
    if not watched.consumer_protocol:
        return None
    return fencing_proof.hidden_by(
        convention,
        watched.pods,
        current,
        since_s=watched.since.timestamp(),
        exporting=exporting,
        ended_s=ended_s,
        poll_limit=watched.poll_limit,
    )


def _timed(beats: Sequence[Series], since_s: float) -> list[TimedEvents]:
    """Return the beats between two scrapes of each member that had enough of them.

    What a counter has at its first scrape may be of any time before: such beats were accepted, but nobody timed them.
    """
    return [timed for beat in beats if (timed := timed_events(beat, since_s=since_s)).events >= ENOUGH_BEATS]


def _evicted(watched: RecordScope, current: Observed, convention: Convention, observed: set[str]) -> _Evicted:
    """Return evictions for silence, and those for want of a poll."""
    since_s = watched.since.timestamp()
    seen = [pod for pod in watched.pods if pod.name in observed]

    def counted_by(quantity: Quantity) -> list[MemberChange]:
        return [change for pod in seen for change in evictions.counted(quantity, pod, current, since_s=since_s)]

    if Quantity.EVICTIONS_SEEN in convention.needed:
        counts_joins = Quantity.REBALANCES in convention.needed  # as those of share groups are
        limit = watched.poll_limit if counts_joins else None
        late = share_polls.left(seen, current, limit=limit, since=watched.since)
        return _Evicted(counted_by(Quantity.EVICTIONS_SEEN), late)
    if Quantity.LOST_FOR_SILENCE in convention.needed:
        silent = counted_by(Quantity.LOST_FOR_SILENCE)
        longest_gap_s = evictions.longest_poll_gap_s(current, since_s=since_s)
        return _Evicted(silent, counted_by(Quantity.LOST_FOR_POLLS), longest_gap_s, counted=len(silent))
    if set(evictions.BY_NOTICES) <= set(convention.needed):
        removed = [change for pod in seen for change in evictions.unannounced(pod, current, since_s=since_s)]
        return _Evicted(removed, counted=len(removed))
    counted, member_changes = _changes(watched, current, seen, lingers=convention.lingers)
    if Quantity.POLL_AGE not in convention.by_quantity or watched.poll_limit is None:
        return _Evicted([*counted, *member_changes], counted=len(counted))
    interval = timedelta(seconds=samples.scrape_interval_s(current.get(Quantity.POLL_AGE, ())) or 0.0)
    silent, left = evictions.split_by_poll_gaps(
        counted, current, limit=watched.poll_limit, within=evictions.NEAR_SCRAPES * interval
    )
    shown, shown_left = evictions.split_by_poll_gaps(
        member_changes, current, limit=watched.poll_limit, within=evictions.POLL_GAP_SHOWN
    )
    return _Evicted(
        silent=[*silent, *shown],
        left=[*left, *shown_left],
        longest_gap_s=evictions.longest_poll_gap_s(current, since_s=since_s),
        counted=len(silent),
    )


def _changes(
    watched: RecordScope, current: Observed, seen: Sequence[Pod], *, lingers: bool
) -> tuple[list[MemberChange], list[MemberChange]]:
    """Return when members lost their ids: by pods' counters, to a scrape; of those without, by when the broker did."""
    since_s = watched.since.timestamp()
    if watched.consumer_protocol:
        return lost_partitions.losses(seen, current, since_s=since_s, lingers=lingers), []
    by_pod = {
        pod.name: evictions.lost_ids(pod, current, since_s=since_s)
        for pod in seen
        if all(evictions.of_pod(current.get(by_lost_id, ()), pod.name) for by_lost_id in evictions.BY_LOST_IDS)
    }
    counted = [change for changes in by_pod.values() for change in changes]
    return counted, [change for change in watched.changes if change.at > watched.since and change.pod not in by_pod]


def _consumers_per_pod(watched: RecordScope, current: Observed) -> int:
    """Return the most consumers that one pod exports, by their counters of joins; at least one."""
    return max([1, *(len(evictions.of_pod(current.get(Quantity.REBALANCES, ()), pod.name)) for pod in watched.pods)])


def _observed(current: Observed, needed: Sequence[Quantity], newest_s: float) -> set[str]:
    """Return the pods that export every needed counter, which are there from the start, and did so lately."""
    fresh = [
        {
            series.labels[queries.POD_LABEL]
            for series in current.get(quantity, ())
            if series.samples and newest_s - series.samples.times_s[-1] <= STALE_AFTER.total_seconds()
        }
        for quantity in needed
    ]
    return set.intersection(*fresh)
