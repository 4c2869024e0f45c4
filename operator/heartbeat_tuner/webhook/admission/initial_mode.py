"""Which values are set in a pod that is being created, as the policy's status says: in mode Initial, and for a canary.

They are the operator's, found by its rules; here they are only kept from pods that they do not fit. What is out of
date, breaks the policy's bounds or would keep the client library from starting leaves the pod as it is.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.adapters.workloads import container_env
from heartbeat_tuner.adapters.workloads.container_env import SettingUnreadableError
from heartbeat_tuner.api import canary_notes
from heartbeat_tuner.api.applied import durations_of
from heartbeat_tuner.api.canary_notes import CanaryTicket
from heartbeat_tuner.api.slot_names import Owner
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import AT_BROKER, Status
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import DEPLOYMENT, Mode, Policy, Range
from heartbeat_tuner.domain.verifications import CanaryPhase
from heartbeat_tuner.limits import plausibility
from heartbeat_tuner.webhook.admission import injection

ANNOTATION: Final = "heartbeat-tuner.dev/values-of"
"""On pods: the policies whose values were set in them."""

CANARY_ANNOTATION: Final = "heartbeat-tuner.dev/canary-of"
"""Likewise, for a canary. For people: by what it says nobody is evicted, and nothing is counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class InitialValues:
    """What one policy sets in pods.

    Attributes:
        policy: as asked for.
        set: the values, by setting.
        others: what else is set in the pods, as far as that is known.
        until: not set any more from then on.
        ticket: that has to be taken for each pod, where they are a canary's.
    """

    policy: Policy
    set: Mapping[Setting, timedelta]
    others: Mapping[Setting, timedelta]
    until: datetime
    ticket: CanaryTicket | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Filled:
    """A pod with values.

    Attributes:
        pod: as it shall be; the very pod that was given where nothing is set.
        unfit: why values were not set, as sentences.
    """

    pod: Mapping[str, Any]
    unfit: tuple[str, ...] = ()


def of_policy(policy: Policy, status: Status) -> InitialValues | None:
    """Return what a policy sets in pods; None where it sets nothing, or what it says is not of its present spec."""
    # Some clients of groups whose values are the broker's refuse to start with values of their own.
    is_at_broker = status.group_protocol in AT_BROKER.values()
    if policy.suspended or status.observed_generation != policy.generation or is_at_broker:
        return None
    given = _of_initial(policy, status) if policy.mode is Mode.INITIAL else _of_canary(policy)
    if given is None or not given.set or not given.set.keys() <= policy.env_names.keys():
        return None
    return given if all(_is_within(policy.range_of(setting), value) for setting, value in given.set.items()) else None


def _of_initial(policy: Policy, status: Status) -> InitialValues | None:
    """Return what mode Initial sets in pods."""
    if status.initial is None:
        return None
    values = durations_of(status.initial.values)
    others = {} if status.current is None else durations_of(status.current)
    return InitialValues(policy, values, others, datetime.fromisoformat(status.initial.valid_until))


def _of_canary(policy: Policy) -> InitialValues | None:
    """Return what a canary sets in pods, for as long as a ticket is open."""
    canary, workload = policy.canary, policy.workload
    is_open = canary is not None and canary.phase is CanaryPhase.RUNNING and canary.ticket
    if canary is None or not is_open or policy.mode is not Mode.APPLY or workload.kind != DEPLOYMENT:
        return None
    if canary.spec != policy.spec:
        return None
    values = canary.values.by_setting
    given = {setting: values[setting] for setting, name in policy.env_names.items() if name in canary.entries}
    ticket = canary_notes.ticket_of(canary, Owner(policy.key.name, policy.uid), workload.key)
    return InitialValues(policy, given, values, canary.until, ticket)


def filled(pod: Mapping[str, Any], given: Iterable[InitialValues], *, now: datetime) -> Filled:
    """Return a pod with the values that fit it.

    Args:
        pod: that is being created.
        given: what is to be set, one for each container.
        now: to tell what is out of date.
    """
    result, unfit = pod, []
    names: dict[str, list[str]] = {ANNOTATION: [], CANARY_ANNOTATION: []}
    for initial_values in given:
        container = injection.container(pod, initial_values.policy.workload.container)
        if container is None or now >= initial_values.until:
            continue
        why = _unfit(initial_values, container)
        if why:
            unfit.append(f"{initial_values.policy.key}: {why}")
            continue
        result = injection.with_variables(result, container["name"], initial_values.policy.entries(initial_values.set))
        names[ANNOTATION if initial_values.ticket is None else CANARY_ANNOTATION].append(initial_values.policy.key.name)
    marks = {mark: ",".join(policies) for mark, policies in names.items() if policies}
    if marks:
        result = injection.with_marks(result, "annotations", marks)
    return Filled(result, tuple(unfit))


def _is_within(allowed: Range, value: timedelta) -> bool:
    return (allowed.min is None or value >= allowed.min) and (allowed.max is None or value <= allowed.max)


def _unfit(initial_values: InitialValues, container: Mapping[str, Any]) -> str:
    """Return why values do not fit a container; empty where they do."""
    client, own = catalogue.client(initial_values.policy.library), {}
    for setting, name in initial_values.policy.env_names.items():
        if setting in initial_values.set:
            continue
        try:
            value = container_env.duration_in(container, name, {}, client.format)
        except SettingUnreadableError as error:
            return str(error)
        if value is None:
            continue
        misread = plausibility.too_short(setting, value)
        if misread is not None:
            return f"{name} reads as {durations.show(value)}, and {misread}"
        own[setting] = value
    settings = client.filled({**initial_values.others, **own, **initial_values.set})
    return "; ".join(client.violations(settings))
