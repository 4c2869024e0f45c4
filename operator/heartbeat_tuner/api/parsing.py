"""From a `ConsumerGroupPolicy` object to a domain `Policy`.

The API server has checked schema and CEL rules already; what reaches this point and still does not fit (an object
stored under an older schema, say) becomes an `InvalidPolicyError` that names the field.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pydantic

from heartbeat_tuner.api import asked_values, workload_refs
from heartbeat_tuner.api.applied import application_of, applications_of, failed_of, intent_of, taken_back_of
from heartbeat_tuner.api.canary_notes import canary_of, canary_rules
from heartbeat_tuner.api.followed import followed_of, history_of
from heartbeat_tuner.api.group_config_notes import group_write_of, revert_request
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.naming_v1alpha1 import AUTO, Metrics
from heartbeat_tuner.api.v1alpha1.rollout_v1alpha1 import RolloutSpec, plain
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import ClientSpec, DeclaredSettings, Spec
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import AT_BROKER, Status
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ContradictedStatus as Seen
from heartbeat_tuner.api.v1alpha1.targets_v1alpha1 import Bounds
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.formats import Format
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import InvalidPolicyError
from heartbeat_tuner.domain.kafka_groups import GroupOwnership
from heartbeat_tuner.domain.liveness import TUNED, Setting
from heartbeat_tuner.domain.policies import (
    Contradicted,
    Naming,
    Objective,
    ObjectKey,
    Policy,
    Range,
    StaticMembership,
    Window,
)
from heartbeat_tuner.limits import detection_time
from heartbeat_tuner.metrics.conventions import custom

M = TypeVar("M", bound=pydantic.BaseModel)


def key_of(body: Mapping[str, Any]) -> ObjectKey:
    """Return an object's namespace and name."""
    return ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"])


def status_of(body: Mapping[str, Any]) -> Status:
    """Return the object's status; a field that cannot be read counts as empty, since the tuner writes it again."""
    document = body.get("status") or {}
    try:
        return Status.model_validate(document)
    except pydantic.ValidationError:
        # Field by field: what holds back writes must outlive a word that only another version knows.
        return Status.model_validate({name: value for name, value in document.items() if _is_readable(name, value)})


def _is_readable(field: str, value: object) -> bool:
    """Whether one field of a status can be read by itself."""
    try:
        Status.model_validate({field: value})
    except pydantic.ValidationError:
        return False
    return True


def _contradicted(seen: Seen | None) -> Contradicted | None:
    return None if seen is None else Contradicted(seen.reason, seen.message, seen.generation, seen.template)


def policy_of(body: Mapping[str, Any]) -> Policy:
    """Return the policy that the object asks for.

    Raises:
        InvalidPolicyError: a field does not fit; the message names it, its value and the rule.
    """
    try:
        spec = Spec.model_validate(body.get("spec") or {}, by_alias=True, by_name=False)
        policy = _policy(body, spec, status_of(body))
    except pydantic.ValidationError as error:
        raise InvalidPolicyError(fields.first_error(error, Spec, "spec")) from error
    return dataclasses.replace(policy, spec=asked_values.fingerprint(policy))


def with_status(policy: Policy, body: Mapping[str, Any]) -> Policy:
    """Return a policy as the newest version of its object has it, whose spec is still the one that it was made of."""
    return dataclasses.replace(
        policy,
        **_of_status(status_of(body), policy.key.namespace),
        revert_asked=_revert_asked(body),
    )


def _policy(body: Mapping[str, Any], spec: Spec, status: Status) -> Policy:
    metadata = body["metadata"]
    key = key_of(body)
    workloads = workload_refs.of_spec(spec, key.namespace)
    return Policy(
        key=key,
        uid=metadata["uid"],
        generation=metadata["generation"],
        created=_time(metadata["creationTimestamp"]),
        group_id=spec.group_id,
        cluster=spec.cluster_ref,
        workload=workloads[0],
        workloads=workloads if len(workloads) > 1 else (),
        library=spec.client.library,
        env_names=_env_names(spec.client),
        go_durations=catalogue.client(spec.client.library).format is Format.GO,
        declared=_declared(spec.client.current),
        mode=spec.mode,
        objective=_objective(spec),
        bounds=_bounds(spec.bounds),
        cooldown=durations.parse_days(spec.rollout.cooldown),
        horizon=durations.parse_days(spec.rollout.horizon),
        suspended=spec.suspend,
        windows=_windows(spec.rollout),
        naming=_naming(spec.metrics, spec.client.library),
        instance_id_env=_instance_id_env(spec),
        static_membership=spec.static_membership,
        reverts=spec.rollout.verification.revert,
        canary_rules=canary_rules(spec.rollout.canary),
        revert_asked=_revert_asked(body),
        **_of_status(status, key.namespace),
    )


def _revert_asked(body: Mapping[str, Any]) -> datetime | None:
    """Return when the write into the group's configuration was done that a person wants taken back."""
    return durations.moment_of(revert_request(body))


def _objective(spec: Spec) -> Objective:
    """Return the objective; where no detection time is given, none that the user's own bounds contradict."""
    given, bound = spec.objective.max_detection_time, _bounds(spec.bounds).get(Setting.SESSION_TIMEOUT)
    usual = detection_time.usual(catalogue.client(spec.client.library))
    least = usual if bound is None or bound.min is None else max(usual, bound.min)
    return Objective(
        max_detection_time=least if given is None else durations.parse_days(given),
        max_false_evictions_per_month=spec.objective.max_false_evictions_per_month,
    )


def _of_status(status: Status, namespace: str) -> dict[str, Any]:
    """Return the fields of a policy that its status says."""
    return {
        "application": None if status.applied is None else application_of(status.applied),
        "applications": applications_of(status.workloads, namespace),
        "ownership": _ownership(status),
        "contradicted": _contradicted(status.contradicted),
        "observed_generation": status.observed_generation,
        "intent": None if status.writing is None else intent_of(status.writing),
        "taken_back": None if status.taken_back is None else taken_back_of(status.taken_back),
        "followed": None if status.verification is None else followed_of(status.verification),
        "history": None if status.history is None else history_of(status.history),
        "failed": failed_of(status.reverted),
        "group_write": None if status.group_config is None else group_write_of(status.group_config),
        "canary": None if status.canary is None else canary_of(status.canary),
    }


def _ownership(status: Status) -> GroupOwnership | None:
    noted = status.group_ownership
    if noted is None:
        return None
    return GroupOwnership(
        noted.cluster_ref,
        noted.group_id,
        noted.workload_uid,
        since=_time(noted.since),
        consumer_protocol=status.group_protocol in AT_BROKER.values(),
    )


def _env_names(client: ClientSpec) -> dict[Setting, str]:
    """Return the environment name of each setting: the policy's where it has one, else the library's."""
    overrides = {} if client.env is None else client.env.model_dump(by_alias=True, exclude_none=True)
    preset = catalogue.client(client.library).env_preset
    names = {
        setting: overrides.get(setting.value, {}).get("name", preset[setting]) for setting in TUNED if setting in preset
    }
    for setting, name in names.items():
        twin = next(owner for owner, other in names.items() if other == name)
        if twin is not setting:
            raise InvalidPolicyError(
                f"spec.client.env.{setting}: {name} is the variable of {twin} too, by spec.client.env or by the "
                f"library's preset; one variable cannot hold two settings, name another"
            )
    return names


def _instance_id_env(spec: Spec) -> str | None:
    """Return the variable of static ids; None where members are dynamic whatever happens."""
    if spec.static_membership is StaticMembership.DISABLED:
        return None
    card, given = catalogue.client(spec.client.library), spec.client.env
    if not card.static_membership.holds and spec.static_membership is StaticMembership.AUTO:
        return None
    if not card.static_membership.holds:
        raise InvalidPolicyError(
            f"spec.staticMembership: Enabled does not fit {card.name}, whose static membership is "
            f"{card.static_membership}; set Disabled"
        )
    own = None if given is None else given.group_instance_id
    name = card.instance_id_variable if own is None else own.name
    twin = next((setting for setting, other in _env_names(spec.client).items() if other == name), None)
    if twin is not None:
        raise InvalidPolicyError(
            f"spec.client.env.groupInstanceId: {name} is the variable of {twin} too; one variable cannot hold two "
            f"things, name another"
        )
    return name


def _naming(metrics: Metrics | None, library: str) -> Naming:
    """Return the policy's names, each metric for one quantity only."""
    if metrics is None:
        return Naming()
    names = {} if metrics.names is None else metrics.names.model_dump(by_alias=True, exclude_none=True)
    labels = {} if metrics.labels is None else metrics.labels.model_dump(by_alias=True, exclude_none=True)
    for quantity, name in names.items():
        twin = next(owner for owner, other in names.items() if other == name)
        if twin != quantity:
            raise InvalidPolicyError(
                f"spec.metrics.names.{quantity}: {name} is named for {twin} too; one metric cannot be two quantities, "
                f"name another"
            )
    naming = Naming(None if metrics.convention == AUTO else metrics.convention, names, labels)
    if not custom.of_policy(naming, library):
        raise InvalidPolicyError(
            f"spec.metrics.convention: {metrics.convention} is not how {library} consumers are exported; name another, "
            f"or leave it out"
        )
    return naming


def _windows(rollout: RolloutSpec) -> tuple[Window, ...]:
    return tuple(
        Window(plain(window.schedule), durations.parse_days(window.duration), ZoneInfo(window.time_zone))
        for window in rollout.windows or ()
    )


def _declared(current: DeclaredSettings | None) -> dict[Setting, timedelta]:
    given = {} if current is None else current.model_dump(by_alias=True, exclude_none=True)
    return {Setting(name): durations.parse_days(text) for name, text in given.items()}


def _bounds(bounds: Bounds | None) -> dict[Setting, Range]:
    given = {} if bounds is None else bounds.model_dump(by_alias=True, exclude_none=True)
    return {
        Setting(name): Range(
            min=durations.parse_days(sides["min"]) if "min" in sides else None,
            max=durations.parse_days(sides["max"]) if "max" in sides else None,
        )
        for name, sides in given.items()
    }


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
