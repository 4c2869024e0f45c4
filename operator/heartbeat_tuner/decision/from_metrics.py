"""What a decision needs, from metrics alone: no broker and no cluster is asked.

What only they could tell is left out or assumed, and said: pods are those with fresh samples, a pod's start is its
first sample or the last reset of its counters, member ids that changed are not seen, the broker's bounds are Kafka's
defaults for the group's protocol. What cannot be counted without them is unknown. Where not even metrics are asked, a
fitted model and what somebody says of the group have to do.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.clients.client import Circumstances, Client, Period, Protocol
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.profile.group_facts import COOPERATIVE_ASSIGNORS
from heartbeat_tuner.domain.evidence import Pod, Record, Unknown, Unwatched, Workload
from heartbeat_tuner.domain.kafka_groups import (
    CONSUMER_MAX_SESSION,
    CONSUMER_MIN_SESSION,
    DEFAULT_MAX_SESSION,
    DEFAULT_MIN_SESSION,
    Cluster,
    Group,
    GroupState,
    Member,
)
from heartbeat_tuner.domain.liveness import CurrentSettings, Setting
from heartbeat_tuner.domain.policies import Mode, Objective, ObjectKey, Policy, Range, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.metrics import evictions, record
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries, samples
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import STALE_AFTER, STALE_SCRAPES, RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.models.group_model import NO_MODEL, Fitted, Unfitted

PERIOD_MARGIN: Final = 0.2
"""How far a measured beat period may be from what the settings give: a scrape sees a beat late, a pause delays it."""


@dataclasses.dataclass(frozen=True, slots=True)
class StatedFacts:
    """What somebody says of a group, since metrics do not.

    Attributes:
        namespace: of its pods.
        group: its id.
        client: its library.
        current: what is set, as far as it was said.
        brokers: of the Kafka cluster.
        objective: what the group must hold.
        bounds: of its values.
        horizon: within which a change must have paid for its own restarts.
        rebalancing: how its partitions are moved.
        kind: of the group, where its S and H are at the broker, as its keys there begin.
        static: whether members have a `group.instance.id`.
        members: how many there are; None: metrics tell.
        partitions: how many they share; None: metrics tell.
        model: what weeks of history say of its delays.
    """

    namespace: str
    group: str
    client: Client
    current: CurrentSettings
    brokers: int
    objective: Objective
    bounds: Mapping[Setting, Range] = dataclasses.field(default_factory=dict)
    horizon: timedelta = timedelta(days=14)
    rebalancing: Rebalancing = Rebalancing.EAGER
    kind: str = Protocol.CONSUMER
    static: bool = False
    members: int | None = None
    partitions: int | None = None
    model: Fitted | Unfitted = NO_MODEL


@dataclasses.dataclass(frozen=True, slots=True)
class MetricsView:
    """One group as seen from outside.

    Attributes:
        stated: what somebody says of it.
        convention: how it is exported.
        observed: its series.
        lookback: how far back the record may reach.
        now: its end.
    """

    stated: StatedFacts
    convention: Convention
    observed: Observed
    lookback: timedelta
    now: datetime


def watched(seen: MetricsView) -> DecisionInput:
    """Return all that is known of the group, as the operator would gather it for a policy that only asks."""
    asked, pods = policy(seen.stated, seen.now), running(seen.observed, now=seen.now)
    counted = members(seen.observed, pods, seen.convention, now=seen.now)
    return _input(seen.stated, asked, pods, _group(seen.stated, counted), _record(seen, asked, pods), seen.now)


def unwatched(facts: StatedFacts, now: datetime) -> DecisionInput:
    """Return what is known of a group of which nobody asks for metrics: what a model and somebody says."""
    record = Unwatched(Reason.NO_SERIES, f"no metrics of group {facts.group} were asked for")
    return _input(facts, policy(facts, now), (), _group(facts, ()), record, now)


def policy(facts: StatedFacts, now: datetime) -> Policy:
    """Return the policy of who only asks."""
    key = ObjectKey(facts.namespace, facts.group)
    return Policy(
        key=key,
        uid="",
        generation=0,
        created=now,
        group_id=facts.group,
        cluster="" if isinstance(facts.model, Unfitted) else facts.model.model.cluster,
        workload=WorkloadRef("group", key, ""),
        library=facts.client.name,
        env_names={},
        declared={},
        mode=Mode.RECOMMEND,
        objective=facts.objective,
        bounds=facts.bounds,
        cooldown=timedelta(0),
        horizon=facts.horizon,
        suspended=False,
    )


def _input(
    facts: StatedFacts, asked: Policy, pods: tuple[Pod, ...], group: Group, record: Record | Unknown, now: datetime
) -> DecisionInput:
    workload = Workload(
        "", "", facts.current, rolling_out=False, foreign_env={}, kept_env={}, applications={}, pods=pods
    )
    consumer = facts.rebalancing is Rebalancing.CONSUMER
    cluster = Cluster(
        facts.brokers,
        CONSUMER_MIN_SESSION if consumer else DEFAULT_MIN_SESSION,
        CONSUMER_MAX_SESSION if consumer else DEFAULT_MAX_SESSION,
        bounds_assumed=True,
    )
    return DecisionInput(now, asked, workload, group, cluster, record, facts.model)


def members(observed: Observed, pods: Iterable[Pod], convention: Convention, *, now: datetime) -> tuple[Member, ...]:
    """Return the members with their partitions, as their exporters tell; none unless every pod tells.

    Half of a group would look like one that costs half as much.
    """
    gauges = observed.get(Quantity.ASSIGNED_PARTITIONS, ())
    limit = max(STALE_AFTER, STALE_SCRAPES * timedelta(seconds=samples.scrape_interval_s(gauges) or 0.0))
    by_pod: dict[str, list[Member]] = {}
    for gauge in gauges:
        if not gauge.samples or now - datetime.fromtimestamp(gauge.samples[-1].time_s, UTC) > limit:
            continue
        value, client_id = gauge.samples[-1].value, gauge.labels.get(convention.client_label, "")
        if math.isfinite(value) and value >= 0:
            pod = gauge.labels.get(queries.POD_LABEL, "")
            by_pod.setdefault(pod, []).append(Member(f"{pod} {client_id}", "", client_id, partitions=round(value)))
    pods = list(pods)
    if not pods or any(pod.name not in by_pod for pod in pods):
        return ()
    return tuple(member for pod in pods for member in by_pod[pod.name])


def _group(facts: StatedFacts, counted: tuple[Member, ...]) -> Group:
    """Return the group with the members that are told, or else those that were counted."""
    count = facts.members or len(counted)
    partitions = facts.partitions if facts.partitions is not None else sum(member.partitions for member in counted)
    known = count > 0 and (facts.partitions is not None or bool(counted))
    least, more = divmod(partitions, count) if count else (0, 0)
    there = tuple(
        Member(
            f"member-{number}",
            "",
            instance_id=f"member-{number}" if facts.static else None,
            partitions=least + (number < more),
        )
        for number in range(count)
    )
    return Group(
        facts.group,
        GroupState.STABLE if known else GroupState.UNKNOWN,
        there,
        consumer_protocol=facts.rebalancing is Rebalancing.CONSUMER,
        assignor=COOPERATIVE_ASSIGNORS[0] if facts.rebalancing is Rebalancing.COOPERATIVE else "",
        kind=facts.kind,
    )


def running(observed: Observed, *, now: datetime) -> tuple[Pod, ...]:
    """Return the pods with a fresh sample, the newest last; a pod began no later than its first sample."""
    by_pod: dict[str, list[Series]] = {}
    for series in (series for group in observed.values() for series in group):
        by_pod.setdefault(series.labels.get(queries.POD_LABEL, ""), []).append(series)
    everything = [series for group in by_pod.values() for series in group]
    limit = max(STALE_AFTER, STALE_SCRAPES * timedelta(seconds=samples.scrape_interval_s(everything) or 0.0))
    pods = []
    for name, group in by_pod.items():
        newest_s = samples.newest_s(group)
        if name and newest_s is not None and now - datetime.fromtimestamp(newest_s, UTC) <= limit:
            joins = evictions.of_pod(observed.get(Quantity.REBALANCES, ()), name)
            pods.append(Pod(name, "", "", datetime.fromtimestamp(_began_s(group, joins), UTC), 0))
    return tuple(sorted(pods, key=lambda pod: (pod.started, pod.name)))


def expected(seen: MetricsView) -> Period:
    """Return the beat period that the settings give by the library's formula, whatever the members have to do.

    The formula is of idle ones. A beat that waits for the fetch comes sooner where there is something to fetch, though
    never before H has passed.
    """
    client, settings = seen.stated.client, seen.stated.current.settings
    idle = client.period(settings, Circumstances(brokers=seen.stated.brokers))
    return dataclasses.replace(idle, shortest=settings.heartbeat_interval) if client.beat_waits_for_fetch else idle


def otherwise(seen: MetricsView, measured: Record) -> str:
    """Return why members beat more often, or more rarely, than the settings give; empty where they do not."""
    if measured.beat_period is None:
        return ""
    period = expected(seen)
    if period.shortest * (1 - PERIOD_MARGIN) <= measured.beat_period <= period.longest * (1 + PERIOD_MARGIN):
        return ""
    if measured.beat_period > period.longest and seen.stated.client.handler_delays_beat:
        return "their handlers take long, or others are set"
    return "others are set, most likely"


def _record(seen: MetricsView, asked: Policy, pods: Sequence[Pod]) -> Record | Unknown:
    by_broker = seen.stated.rebalancing is Rebalancing.CONSUMER
    counted_by = () if by_broker else evictions.BY_LOST_IDS
    blind = next((by_lost_id for by_lost_id in counted_by if not _tells_evictions(seen, pods, by_lost_id)), None)
    watched = RecordScope(
        policy=asked,
        pods=pods,
        poll_limit=seen.stated.current.settings.max_poll_interval,
        changes=(),
        since=max([seen.now - seen.lookback, *(pod.started for pod in pods)]),
        now=seen.now,
        consumer_protocol=by_broker,
    )
    measured = record.measure(
        watched, seen.observed, seen.convention, query=lambda quantity: _names(seen.convention, quantity)
    )
    if isinstance(measured, Record) and not pods:
        return Unknown(Reason.NO_SERIES, f"the series of group {seen.stated.group} carry no label {queries.POD_LABEL}")
    if isinstance(measured, Record) and measured.hidden is not None and not measured.evictions:
        phrase = "whether members of group {group} were fenced is not known: {why}"
        return Unknown(Reason.NO_SERIES, say(phrase, group=seen.stated.group, why=measured.hidden.message))
    if isinstance(measured, Record) and blind is not None:
        return Unknown(
            Reason.NO_SERIES,
            f"no series {_names(seen.convention, blind)} of group {seen.stated.group} found, without which evictions "
            f"cannot be counted from metrics alone",
        )
    return measured


def _tells_evictions(seen: MetricsView, pods: Iterable[Pod], quantity: Quantity) -> bool:
    """Whether each pod exports what its evictions are counted by."""
    needed = set(seen.convention.needed)
    if set(evictions.BY_NOTICES) <= needed or Quantity.LOST_FOR_SILENCE in needed:
        return True
    return all(evictions.of_pod(seen.observed.get(quantity, ()), pod.name) for pod in pods)


def _names(convention: Convention, quantity: Quantity) -> str:
    metric = convention.by_quantity.get(quantity)
    return quantity.camel if metric is None else " or ".join(metric.names)


def _began_s(group: Iterable[Series], joins: Iterable[Series]) -> float:
    """Return when a pod's process was there first: at its first sample, or at the last reset of its joins."""
    resets = [
        later.time_s
        for join in joins
        for earlier, later in zip(join.samples, join.samples[1:], strict=False)
        if later.value < earlier.value
    ]
    return max(resets, default=min(series.samples[0].time_s for series in group if series.samples))
