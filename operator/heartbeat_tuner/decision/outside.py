"""What a decision needs, from metrics alone: no broker and no cluster is asked.

What only they could tell is left out or assumed, and said: pods are those with fresh samples, a pod's start is its
first sample or the last reset of its counters, member ids that changed are not seen, the broker's bounds are Kafka's
defaults. What cannot be counted without them is unknown.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.clients.client import Circumstances, Client, Period
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.domain.evidence import (
    DEFAULT_MAX_SESSION,
    DEFAULT_MIN_SESSION,
    Cluster,
    Group,
    GroupState,
    Pod,
    Record,
    Unknown,
    Workload,
)
from heartbeat_tuner.domain.liveness import CurrentSettings
from heartbeat_tuner.domain.policies import Mode, Objective, ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import evictions, queries, record, samples
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.record import STALE_AFTER, STALE_SCRAPES, Watched
from heartbeat_tuner.metrics.resolver import Observed
from heartbeat_tuner.metrics.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.tails.group_model import NO_MODEL

PERIOD_MARGIN: Final = 0.2
"""How far a measured beat period may be from what the settings give: a scrape sees a beat late, a pause delays it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outside:
    """One group as seen from outside.

    Attributes:
        namespace: of its pods.
        group: its id.
        client: its library.
        convention: how it is exported.
        observed: its series.
        current: what is set, as far as somebody said it.
        brokers: of the Kafka cluster.
        max_detection_time: how late a crash may be noticed.
        lookback: how far back the record may reach.
        now: its end.
    """

    namespace: str
    group: str
    client: Client
    convention: Convention
    observed: Observed
    current: CurrentSettings
    brokers: int
    max_detection_time: timedelta
    lookback: timedelta
    now: datetime


def situation(seen: Outside) -> Situation:
    """Return all that is known of the group, as the operator would gather it for a policy that only asks."""
    key = ObjectKey(seen.namespace, seen.group)
    policy = Policy(
        key=key,
        uid="",
        generation=0,
        created=seen.now,
        group_id=seen.group,
        cluster="",
        workload=WorkloadRef("group", key, ""),
        library=seen.client.name,
        env_names={},
        declared={},
        mode=Mode.RECOMMEND,
        objective=Objective(seen.max_detection_time, 1.0),
        bounds={},
        cooldown=timedelta(0),
        horizon=timedelta(days=14),
        suspended=False,
    )
    pods = running(seen.observed, now=seen.now)
    workload = Workload(
        "", "", seen.current, rolling_out=False, foreign_env={}, kept_env={}, applications={}, pods=pods
    )
    cluster = Cluster(seen.brokers, DEFAULT_MIN_SESSION, DEFAULT_MAX_SESSION, bounds_assumed=True)
    group = Group(seen.group, GroupState.UNKNOWN, members=())
    return Situation(seen.now, policy, workload, group, cluster, _record(seen, policy, pods), NO_MODEL)


def running(observed: Observed, *, now: datetime) -> tuple[Pod, ...]:
    """Return the pods with a fresh sample, the newest last; a pod began no later than its first sample."""
    by_pod: dict[str, list[Series]] = {}
    for series in (one for group in observed.values() for one in group):
        by_pod.setdefault(series.labels.get(queries.POD_LABEL, ""), []).append(series)
    everything = [one for group in by_pod.values() for one in group]
    limit = max(STALE_AFTER, STALE_SCRAPES * timedelta(seconds=samples.scrape_interval_s(everything) or 0.0))
    found = []
    for name, group in by_pod.items():
        newest_s = samples.newest_s(group)
        if name and newest_s is not None and now - datetime.fromtimestamp(newest_s, UTC) <= limit:
            joins = evictions.of_pod(observed.get(Quantity.REBALANCES, ()), name)
            found.append(Pod(name, "", "", datetime.fromtimestamp(_began_s(group, joins), UTC), 0))
    return tuple(sorted(found, key=lambda pod: (pod.started, pod.name)))


def expected(seen: Outside) -> Period:
    """Return the beat period that the settings give by the library's formula."""
    return seen.client.period(seen.current.settings, Circumstances(brokers=seen.brokers))


def beats_otherwise(seen: Outside, measured: Record) -> bool:
    """Whether members beat more often, or more rarely, than the settings can give: others are set, most likely."""
    if measured.beat_period is None:
        return False
    period = expected(seen)
    return not period.shortest * (1 - PERIOD_MARGIN) <= measured.beat_period <= period.longest * (1 + PERIOD_MARGIN)


def _record(seen: Outside, policy: Policy, pods: Sequence[Pod]) -> Record | Unknown:
    blind = next((one for one in evictions.BY_LOST_IDS if not _tells_evictions(seen, pods, one)), None)
    watched = Watched(
        policy=policy,
        pods=pods,
        poll_limit=seen.current.settings.max_poll_interval,
        changes=(),
        since=max([seen.now - seen.lookback, *(pod.started for pod in pods)]),
        now=seen.now,
    )
    measured = record.measure(watched, seen.observed, seen.convention, query=lambda one: _names(seen.convention, one))
    if isinstance(measured, Record) and not pods:
        return Unknown(Reason.NO_SERIES, f"the series of group {seen.group} carry no label {queries.POD_LABEL}")
    if isinstance(measured, Record) and blind is not None:
        return Unknown(
            Reason.NO_SERIES,
            f"no series {_names(seen.convention, blind)} of group {seen.group} found, without which evictions cannot "
            f"be counted from metrics alone",
        )
    return measured


def _tells_evictions(seen: Outside, pods: Iterable[Pod], quantity: Quantity) -> bool:
    """Whether each pod exports what its evictions are counted by."""
    if set(evictions.BY_NOTICES) <= set(seen.convention.needed):
        return True
    return all(evictions.of_pod(seen.observed.get(quantity, ()), pod.name) for pod in pods)


def _names(convention: Convention, quantity: Quantity) -> str:
    metric = convention.by_quantity.get(quantity)
    return quantity.camel if metric is None else " or ".join(metric.names)


def _began_s(group: Iterable[Series], joins: Iterable[Series]) -> float:
    """Return when a pod's process was there first: at its first sample, or at the last reset of its joins."""
    resets = [
        later.time_s
        for one in joins
        for earlier, later in zip(one.samples, one.samples[1:], strict=False)
        if later.value < earlier.value
    ]
    return max(resets, default=min(one.samples[0].time_s for one in group if one.samples))
