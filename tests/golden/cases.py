"""From a case's input to what `decide` is given: the only place that knows how the files say it.

An input says what is unusual about a group, in the words of the CRDs, Kubernetes and Kafka; everything else is a
healthy group that was watched for an hour, as `README.md` beside this describes it. `policy` and `status` are those of
a ConsumerGroupPolicy, `model` names a ConsumerGroupModel of `models/`: both are read by the code that reads real ones.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import yaml

from heartbeat_tuner.api import model_documents, parsing
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.decision import next_workload, workload_parts
from heartbeat_tuner.decision.at_broker import last_write
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import HiddenFencings, Pod, Record, Unknown, Workload
from heartbeat_tuner.domain.kafka_groups import (
    DEFAULT_MAX_SESSION,
    DEFAULT_MIN_SESSION,
    Cluster,
    ConsumerBounds,
    Group,
    GroupConfig,
    GroupOverrides,
    GroupState,
    Member,
)
from heartbeat_tuner.domain.liveness import TUNED, CurrentSettings, LivenessSettings, Setting, ValueSource
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Rollout, Strategy
from heartbeat_tuner.domain.verdicts import Decision
from heartbeat_tuner.limits.allowed_values import Limit
from heartbeat_tuner.models.group_model import NO_MODEL, Fitted, GroupModel, Unfitted

MODELS: Final = Path(__file__).with_name("models")

_SPEC: Final = {
    "groupId": "orders",
    "clusterRef": "main",
    "workloadRef": {"kind": "Deployment", "name": "orders-consumer", "container": "app"},
    "mode": "Apply",
}
_METADATA: Final = {
    "namespace": "shop",
    "name": "orders",
    "uid": "policy-1",
    "generation": 1,
    "creationTimestamp": "2026-03-01T12:00:00Z",
}
_SOURCES: Final = {source.name.lower(): source for source in ValueSource}
"""`pod`, `template`, `policy`, `default`, `group`."""


_PODS_BETWEEN: Final = 50
"""Numbers between the first pods of two workloads."""

_THIS: Final = "this"
"""In `status.reverted` and `status.history.evicting`: the values failed under the spec of the case."""


class CaseError(Exception):
    """An input is not what this reads; the message names section, field, rule and fix."""


def decision_of(case: Mapping[str, Any]) -> Decision:
    """Return what is decided for a case."""
    return decide(input_of(case))


def input_of(case: Mapping[str, Any]) -> DecisionInput:
    """Return everything that the decision of a case rests on.

    Raises:
        CaseError: a section or a field is unknown, or a word in it is.
    """
    sections = _Section("the case", case)
    now = datetime.fromisoformat(sections.take("now", "2026-03-02T12:00:00Z"))
    annotations = sections.take("annotations", {})
    policy = _policy(sections.take("policy", {}), sections.take("status", {}), annotations)
    cluster = _cluster(sections.section("cluster"))
    workload = _workload(sections.section("workload"), policy, now)
    second = sections.section("secondWorkload")
    if second.given:
        policy, workload = _together(policy, workload, _workload(second, policy, now, number=2), now)
    group = _group(sections.section("group"), policy, workload)
    policy = last_write.after_look(policy, group, now)
    workload = workload_parts.prescribed(workload, group)
    settled = sections.section("groupBeforeRebalance")
    inputs = DecisionInput(
        now=now,
        policy=policy,
        workload=workload,
        group=group,
        cluster=cluster,
        record=_record(sections.section("record"), policy, workload, cluster, now),
        model=_model(sections.section("model")),
        settled=_group(settled, policy, workload) if settled.given else None,
        held=_held(sections.section("heartbeatBudget")),
        followed=policy.followed,
        history=policy.history,
        strangers=tuple(_stranger(member) for member in sections.take("strangersSeenLately", [])),
    )
    sections.end()
    return inputs


class _Section:
    """A part of a case, of which every field has to be known."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        self.name, self.given = name, given
        self._known: set[str] = set()

    def take(self, field: str, usual: Any = None) -> Any:
        """Return what stands in a field; what is usual where it says nothing."""
        self._known.add(field)
        return self.given.get(field, usual)

    def time(self, field: str, usual: timedelta | None = None) -> timedelta | None:
        """Return a duration."""
        text = self.take(field)
        return usual if text is None else durations.parse(text)

    def section(self, field: str) -> "_Section":
        """Return a part of it."""
        return _Section(field, self.take(field, {}))

    def end(self) -> None:
        """Complain about fields that nobody took: a typing error must not make a case another one."""
        unknown = sorted(self.given.keys() - self._known)
        if unknown:
            raise CaseError(f"{self.name}: {unknown[0]} is not known there; known are {', '.join(sorted(self._known))}")


def _policy(spec: Mapping[str, Any], status: Mapping[str, Any], annotations: Mapping[str, str]) -> Policy:
    metadata = {**_METADATA, "annotations": annotations}
    policy = parsing.policy_of({"metadata": metadata, "spec": {**_SPEC, **spec}, "status": status})
    write = policy.group_write
    if write is not None and write.spec == _THIS:
        policy = dataclasses.replace(policy, group_write=dataclasses.replace(write, spec=policy.spec))
    # Nobody writes a fingerprint by hand.
    failed = [dataclasses.replace(item, spec=policy.spec) if item.spec == _THIS else item for item in policy.failed]
    history = policy.history
    if history is not None:
        evicting = tuple(
            dataclasses.replace(noted, spec=policy.spec) if noted.spec == _THIS else noted for noted in history.evicting
        )
        history = dataclasses.replace(history, evicting=evicting)
    return dataclasses.replace(policy, failed=tuple(failed), history=history)


def _together(policy: Policy, first: Workload, second: Workload, now: datetime) -> tuple[Policy, Workload]:
    """Return the policy of two workloads, turned to the one that is written next, and both as one."""
    workload = workload_parts.together(dict(zip(policy.workloads, (first, second), strict=True)))
    return next_workload.turned(policy, workload, policy.followed, now), workload


def _workload(section: _Section, policy: Policy, now: datetime, number: int = 1) -> Workload:
    pods = _pods(section, now, number)
    rolling_out = section.take("rollingOut", False)
    workload = Workload(
        uid=f"workload-{number}",
        resource_version="100",
        current=None if section.take("podsDiffer", False) else _current(section, policy),
        rolling_out=rolling_out,
        foreign_env={Setting(name): manager for name, manager in section.take("ownedByOthers", {}).items()},
        kept_env={},
        applications={},
        pods=pods,
        template=section.take("template", ""),
        strategy=Strategy(section.take("strategy", Strategy.ROLLING.value)),
        at_once=section.take("stopsAllPodsAtOnce", False),
        paused=section.take("paused", False),
        lines={Setting(name): line for name, line in section.take("linesOfTheManifest", {}).items()},
        rollout=Rollout(wanted=len(pods), updated=0 if rolling_out else len(pods)),
    )
    section.end()
    return workload


def _pods(section: _Section, now: datetime, workload: int) -> tuple[Pod, ...]:
    started = now - (section.time("podsAreOld") or timedelta(hours=1))
    first = _PODS_BETWEEN * (workload - 1)
    return tuple(
        Pod(f"orders-{number}", f"uid-{number}", f"10.0.0.{number + 1}", started, restarts=0, ready_since=started)
        for number in range(first, first + section.take("pods", 3))
    )


def _current(section: _Section, policy: Policy) -> CurrentSettings:
    """Return what is set: the library's defaults but for what is said, all seen in the pods but for what is said."""
    given = {Setting(name): durations.parse(text) for name, text in section.take("set", {}).items()}
    defaults = catalogue.client(policy.library).defaults.by_setting
    usual: dict[Setting, timedelta] = {setting: defaults[setting] for setting in TUNED if setting in defaults}
    settings = LivenessSettings.of({**usual, **given})
    words = {**dict.fromkeys(settings.by_setting, "pod"), **section.take("seenIn", {})}
    for name, word in words.items():
        if word not in _SOURCES:
            raise CaseError(f"workload.seenIn.{name}: {word} is no source; write one of {', '.join(_SOURCES)}")
    return CurrentSettings(settings, {Setting(name): _SOURCES[word] for name, word in words.items()})


def _group(section: _Section, policy: Policy, workload: Workload) -> Group:
    """Return the group as its coordinator describes it: a member in each pod, and those of others."""
    state = GroupState(section.take("state", GroupState.STABLE.value))
    partitions, members = section.take("partitions", 0), len(workload.pods)
    own = [
        Member(
            f"client-{number}",
            pod.ip,
            client_id="orders",
            partitions=partitions // members + (number < partitions % members),
        )
        for number, pod in enumerate(workload.pods)
    ]
    prescribed = section.take("consumerProtocol")
    group = Group(
        policy.group_id,
        state,
        (*own, *(_stranger(member) for member in section.take("membersOfOthers", []))),
        consumer_protocol=prescribed is not None,
        config=_prescribed(_Section("group.consumerProtocol", prescribed or {})),
        kind=section.take("kind", "consumer"),
    )
    section.end()
    return group


def _prescribed(section: _Section) -> GroupConfig | None:
    session, interval = section.time("sessionTimeout"), section.time("heartbeatInterval")
    own = section.section("ownValues")
    overrides = GroupOverrides(own.time("sessionTimeout"), own.time("heartbeatInterval"))
    own.end()
    lock = section.time("recordLock")
    section.end()
    return None if session is None or interval is None else GroupConfig(session, interval, overrides, lock)


def _stranger(member: Mapping[str, str]) -> Member:
    section = _Section("a member of others", member)
    client_id: str = section.take("clientId")
    stranger = Member(f"{client_id}-1", section.take("host"), client_id=client_id)
    section.end()
    return stranger


def _cluster(section: _Section) -> Cluster:
    cluster = Cluster(
        section.take("brokers", 1),
        section.time("minSessionTimeout") or DEFAULT_MIN_SESSION,
        section.time("maxSessionTimeout") or DEFAULT_MAX_SESSION,
        bounds_assumed=section.take("boundsAssumed", False),
        consumer=_group_bounds(section, "ofConsumerGroups"),
        streams=_group_bounds(section, "ofStreamsGroups"),
        share=_group_bounds(section, "ofShareGroups"),
        alters_groups=section.take("alterGroups", False),
    )
    section.end()
    return cluster


def _group_bounds(cluster: _Section, field: str) -> ConsumerBounds | None:
    """Return the bounds of groups of one kind at the broker: Kafka's own but for what is said; None if unknown."""
    given = cluster.take(field)
    if given is None:
        return None
    section = _Section(f"cluster.{field}", given)
    bounds = ConsumerBounds(
        section.time("minSessionTimeout") or timedelta(seconds=45),
        section.time("maxSessionTimeout") or timedelta(seconds=60),
        section.time("minHeartbeatInterval") or timedelta(seconds=5),
        section.time("maxHeartbeatInterval") or timedelta(seconds=15),
    )
    section.end()
    return bounds


def _record(section: _Section, policy: Policy, workload: Workload, cluster: Cluster, now: datetime) -> Record | Unknown:
    """Return what happened to the group: nothing in an hour, and beats as often as what is set gives, if not said."""
    unknown = section.section("unknown")
    if unknown.given:
        measurement = Unknown(Reason(unknown.take("reason")), unknown.take("message"))
        unknown.end()
        section.end()
        return measurement
    watched = section.time("watched") or timedelta(hours=1)
    beat = section.time("beatEvery") or _usual_beat(policy, workload, cluster)
    beats = section.take("acceptedBeats", round(watched / beat) * len(workload.pods))
    evictions = section.take("evictions", 0)
    enough = beats > 1  # for a time between two
    as_described = section.take("asDescribed", False)
    record = Record(
        since=now - watched,
        until=now,
        evictions=evictions,
        poll_gap_evictions=section.take("leftForNotPolling", 0),
        rebalances=float(section.take("rebalances", 0)),
        rebalancing_share=section.take("shareOfTimeRebalancing"),
        accepted_beats=beats,
        beat_period=beat if enough else None,
        longest_silence=section.time("longestSilence", beat if enough else None),
        longest_poll_gap=section.time("longestPollGap"),
        unobserved_pods=tuple(section.take("podsNotScraped", [])),
        counted_evictions=0 if as_described else evictions,
        beats_timed_for=watched if enough else timedelta(0),
        evicted_pods=tuple(section.take("evictedPods", [])),
        poll_gap_pods=tuple(section.take("podsThatDidNotPoll", [])),
        as_described=as_described,
        hidden=_hidden(section.section("hiddenFencings")),
    )
    section.end()
    return record


def _hidden(section: _Section) -> HiddenFencings | None:
    """Return why fencings may be hidden; None where they are all counted, as is usual here."""
    hidden = HiddenFencings(section.take("why", ""), section.take("lasts", True)) if section.given else None
    section.end()
    return hidden


def _usual_beat(policy: Policy, workload: Workload, cluster: Cluster) -> timedelta:
    client = catalogue.client(policy.library)
    settings = client.defaults if workload.current is None else workload.current.settings
    return client.period(settings, Circumstances(brokers=cluster.brokers)).usual


def _model(section: _Section) -> Fitted | Unfitted:
    """Return a model of `models/`, with other figures where the case says so; or why there is none."""
    name, why = section.take("from"), section.take("none")
    days, quantities = section.take("days"), section.take("quantities", {})
    section.end()
    if name is None:
        return NO_MODEL if why is None else Unfitted(why)
    document = yaml.safe_load((MODELS / f"{name}.yaml").read_text())
    stored = {quantity["name"]: quantity for quantity in document["spec"]["quantities"]}
    for quantity, changes in quantities.items():
        if quantity not in stored:
            raise CaseError(f"model.quantities: {name} has no {quantity}; it has {', '.join(stored)}")
        stored[quantity].update(changes)
    if days is not None:
        document["spec"]["days"] = days
        for quantity in stored.values():
            quantity.update(_of_days(quantity, days))
    return Fitted(document["metadata"]["name"], model_documents.model_of(document))


def model(name: str) -> GroupModel:
    """Return a model of `models/` as it is."""
    return model_documents.model_of(yaml.safe_load((MODELS / f"{name}.yaml").read_text()))


def _of_days(quantity: Mapping[str, Any], days: float) -> dict[str, Any]:
    """Return how much of a quantity is seen in so many days."""
    share = days / quantity["groupDays"]
    return {
        "groupDays": days,
        "memberDays": quantity["memberDays"] * share,
        "values": round(quantity["values"] * share),
    }


def _held(section: _Section) -> Limit | None:
    least, name = section.time("leastInterval"), section.take("why", "the cluster's heartbeatBudget")
    section.end()
    return None if least is None else Limit(least, name)
