"""All groups that the sources know: those with a policy, those that a Prometheus shows, and those with a model.

Each group comes with what is known of it, by the best source: the operator's status, then metrics, then the model. What
nobody says is assumed, and listed as such.
"""

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.api import applied
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import AT_BROKER
from heartbeat_tuner.cli.group import group_case, group_options, prometheus_options
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.cli.group.prometheus_options import PrometheusTarget
from heartbeat_tuner.cli.reporting.reported_policies import ReportedPolicy
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Client, Protocol
from heartbeat_tuner.decision import from_metrics
from heartbeat_tuner.decision.from_metrics import MetricsView, StatedFacts
from heartbeat_tuner.decision.profile import usable_model
from heartbeat_tuner.doctor import diagnosis
from heartbeat_tuner.doctor.inventory import FoundGroup
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.measured import ABSENCE
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.models.group_model import Fitted, Unfitted, Unreadable

OBJECTIVE: Final = Objective(timedelta(seconds=60), 1.0)
"""Of a group without a policy: the defaults of a policy."""

_Place: TypeAlias = tuple[str, str]
"""A group's namespace and id."""

_EAGER: Final = "that it rebalances eagerly, which costs most"
_DYNAMIC: Final = "that its members have no group.instance.id"


@dataclasses.dataclass(frozen=True, slots=True)
class MeasuredGroup:
    """A group as a Prometheus shows it."""

    group: FoundGroup
    observed: Observed


@dataclasses.dataclass(frozen=True, slots=True)
class Sources:
    """What was read.

    Attributes:
        models: all of them.
        policies: all of them.
        watched: the groups of a Prometheus.
        now: when.
        lookback: how far back the metrics reach.
        problems: why policies cannot be used, as sentences.
    """

    models: Sequence[Fitted | Unreadable]
    policies: Sequence[ReportedPolicy]
    watched: Sequence[MeasuredGroup]
    now: datetime
    lookback: timedelta
    problems: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class FleetMember:
    """One group: what is known of it, and what follows.

    Attributes:
        case: what `recommend` says of it.
        cluster: the Kafka cluster's name; may be empty.
        view: its policy; None without one.
    """

    case: Case
    cluster: str
    view: ReportedPolicy | None


@dataclasses.dataclass(frozen=True, slots=True)
class WantedGroup:
    """A group that some source knows.

    Attributes:
        place: its namespace and id.
        cluster: the Kafka cluster's name; may be empty.
        view: its policy; None without one.
    """

    place: _Place
    cluster: str
    view: ReportedPolicy | None


async def watch(
    source: PrometheusSource, target: PrometheusTarget, groups: Sequence[str]
) -> tuple[list[MeasuredGroup], datetime]:
    """Return the groups that a Prometheus shows, one query each, and when it was asked.

    Args:
        source: whom to ask.
        target: for what.
        groups: their ids; all if empty.

    Raises:
        MetricsUnavailableError: Prometheus gave no usable answer.
    """
    inventory = await prometheus_options.inventory(source, target)
    seen = diagnosis.diagnose(inventory, known_conventions.OF_GROUPS).groups
    asked = [group for group in seen if _tuned(group) and (not groups or group.group in groups)]
    return [
        MeasuredGroup(group, await group_case.observed_of(source, group, lookback=target.lookback, now=inventory.now))
        for group in asked
    ], inventory.now


def wanted(sources: Sources) -> list[WantedGroup]:
    """Return the groups that the sources know, each once for each of its policies."""
    groups = [
        WantedGroup((view.policy.key.namespace, view.policy.group_id), view.policy.cluster, view)
        for view in sources.policies
    ]
    known = {group.place for group in groups}
    measured = [(watched.group.namespace, watched.group.group) for watched in sources.watched]
    groups += [WantedGroup(place, _only_cluster(sources, place), None) for place in measured if place not in known]
    known |= set(measured)
    groups += [
        WantedGroup(place_of(model), model.model.cluster, None)
        for model in _usable(sources)
        if place_of(model) not in known
    ]
    return groups


def left_out(sources: Sources) -> tuple[str, ...]:
    """Return why policies and models that were read are not used, as sentences."""
    usable = _usable(sources)
    models = [
        f"model {model.name} is of client {model.model.client}, which this version does not know"
        if isinstance(model, Fitted)
        else model.message
        for model in sources.models
        if model not in usable
    ]
    return (*sources.problems, *models)


def _usable(sources: Sources) -> list[Fitted]:
    return [model for model in sources.models if isinstance(model, Fitted) and model.model.client in catalogue.CLIENTS]


def member(sources: Sources, group: WantedGroup) -> FleetMember:
    """Return what is known of a group, and what follows: some hundredths of a second of a processor."""
    place, cluster, view, now = group.place, group.cluster, group.view, sources.now
    shown = (known for known in sources.watched if (known.group.namespace, known.group.group) == place)
    watched = next(shown, None)
    mine = [model for model in sources.models if place_of(model) == place]
    facts, assumed = _facts(place, watched, mine, view)
    policy = dataclasses.replace(from_metrics.policy(facts, now), cluster=cluster)
    model = usable_model.chosen(mine, policy, now=now) if mine else Unfitted(_no_model(sources))
    facts = dataclasses.replace(facts, model=model)
    counted = _counted(watched, now)
    facts, more = _sized(facts, counted=counted)
    assumed += more
    if watched is None:
        case = group_case.case_of(facts, from_metrics.unwatched(facts, now), assumed=assumed)
    else:
        seen = MetricsView(facts, watched.group.convention, watched.observed, sources.lookback, now)
        case = group_case.case_of(facts, from_metrics.watched(seen), seen=seen, assumed=assumed)
    return FleetMember(case, cluster, view)


def _facts(
    place: _Place,
    watched: MeasuredGroup | None,
    models: Sequence[Fitted | Unreadable],
    view: ReportedPolicy | None,
) -> tuple[StatedFacts, tuple[str, ...]]:
    """Return what is known of a group but its size and model, and what is assumed."""
    client = _client(watched, models, view)
    assumed = []
    if view is None and watched is not None and len(watched.group.convention.libraries) > 1:
        assumed.append(f"that its library is {client.title}, as its exporter and its model allow")
    protocol = None if view is None else view.status.group_protocol
    kind = next((kind for kind, name in AT_BROKER.items() if name == protocol), None)
    rebalancing = Rebalancing.EAGER if kind is None else Rebalancing.CONSUMER
    assumed += [_EAGER, _DYNAMIC] if kind is None else [_DYNAMIC]
    given = {} if view is None else dict(view.policy.declared)
    if view is not None and view.status.current is not None:
        given = applied.durations_of(view.status.current)
    given = {setting: value for setting, value in given.items() if setting in client.settings}
    base = StatedFacts(
        namespace=place[0],
        group=place[1],
        client=client,
        current=group_options.settings_of(client, given, rebalancing),
        brokers=1,
        objective=OBJECTIVE,
        rebalancing=rebalancing,
        kind=kind or Protocol.CONSUMER,
    )
    if view is not None:
        policy = view.policy
        base = dataclasses.replace(base, objective=policy.objective, bounds=policy.bounds, horizon=policy.horizon)
    return base, tuple(assumed)


def _sized(facts: StatedFacts, *, counted: bool) -> tuple[StatedFacts, tuple[str, ...]]:
    """Return the facts with a group's size as its model saw it, where metrics do not tell, and what is assumed."""
    if counted or isinstance(facts.model, Unfitted):
        return facts, ()
    absences = facts.model.model.quantities.get(ABSENCE)
    if absences is None or not absences.group_days > 0:
        return facts, ()
    members = max(1, round(absences.member_days / absences.group_days))
    assumed = (
        f"that it has {members} member{'' if members == 1 else 's'}, as its model saw on average",
        "that each member has one partition, to which costs are in proportion",
    )
    return dataclasses.replace(facts, members=members, partitions=members), assumed


def _client(
    watched: MeasuredGroup | None, models: Sequence[Fitted | Unreadable], view: ReportedPolicy | None
) -> Client:
    """Return the client library: the policy's, or the model's where the exporter allows it, or the exporter's first."""
    if view is not None:
        return catalogue.client(view.policy.library)
    libraries = catalogue.CLIENTS if watched is None else watched.group.convention.libraries
    fitted = [model.model.client for model in models if isinstance(model, Fitted) and model.model.client in libraries]
    return catalogue.client(fitted[0] if fitted or watched is None else _tuned(watched.group)[0])


def _tuned(group: FoundGroup) -> list[str]:
    """Return the libraries that a group may have, of those that can be tuned."""
    return [name for name in group.convention.libraries if name in known_conventions.LIBRARIES]


def _counted(watched: MeasuredGroup | None, now: datetime) -> bool:
    """Whether the exporter of a group tells its members and their partitions."""
    if watched is None:
        return False
    pods = from_metrics.running(watched.observed, now=now)
    return bool(from_metrics.members(watched.observed, pods, watched.group.convention, now=now))


def _no_model(sources: Sources) -> str:
    return "no model of this group was given" if sources.models else "no models were given"


def place_of(model: Fitted | Unreadable) -> tuple[str, str]:
    """Return the namespace and the id of a model's group."""
    return (model.model.namespace, model.model.group) if isinstance(model, Fitted) else (model.namespace, model.group)


def _only_cluster(sources: Sources, place: _Place) -> str:
    named = {model.model.cluster for model in _usable(sources) if place_of(model) == place}
    return next(iter(named)) if len(named) == 1 else ""
