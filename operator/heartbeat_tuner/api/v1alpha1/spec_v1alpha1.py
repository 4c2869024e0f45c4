"""`ConsumerGroupPolicy` v1alpha1: what a user asks for, as pydantic models.

Descriptions become the CRD's documentation, constraints its schema, `x-kubernetes-validations` its CEL rules. Each
rule's message names field, rule and fix, since it is all a user sees at `kubectl apply`. Strings, lists and maps that
CEL sees are bounded, which keeps the rules within the API server's cost budget.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field

from heartbeat_tuner.api import names
from heartbeat_tuner.api.names import ClusterName, EnvName, LabelName, ObjectName
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import MOST_WORKLOADS
from heartbeat_tuner.api.v1alpha1.fields import (
    GroupId,
    Model,
    PositiveDuration,
    as_ms,
    group_id_rules,
    on_durations,
    rules,
)
from heartbeat_tuner.api.v1alpha1.naming_v1alpha1 import AUTO, Metrics
from heartbeat_tuner.api.v1alpha1.rollout_v1alpha1 import RolloutSpec
from heartbeat_tuner.api.v1alpha1.targets_v1alpha1 import Bounds, ObjectiveSpec
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import DEPLOYMENT, ROLLOUT, STATEFUL_SET, Mode, StaticMembership
from heartbeat_tuner.limits import detection_time
from heartbeat_tuner.metrics.conventions import custom
from heartbeat_tuner.metrics.conventions import known_conventions as measured

KINDS: Final = (DEPLOYMENT, STATEFUL_SET, ROLLOUT)
"""Of workloads that are read and written."""

KIND: Final = "ConsumerGroupPolicy"
PLURAL: Final = "consumergrouppolicies"


def _known_library(name: str) -> str:
    if name not in measured.IN_POLICIES:
        raise ValueError(f"client library {name!r} fits no policy; known are {', '.join(measured.IN_POLICIES)}")
    return name


class WorkloadRefSpec(Model):
    """Workload in the policy's namespace whose pods are members of the group."""

    kind: Annotated[
        str,
        names.plain("|".join(KINDS), f"must be {' or '.join(KINDS)}"),
        Field(
            description="Kind of the workload; Rollout is of Argo Rollouts.",
            json_schema_extra={"enum": list(KINDS)},
        ),
    ] = DEPLOYMENT
    name: Annotated[ObjectName, Field(description="Name of the workload, such as orders-consumer.")]
    container: Annotated[
        LabelName, Field(description="Container of the consumer, such as app. The operator patches its env.")
    ]


class EnvRef(Model):
    """Environment variable of a setting, in whole milliseconds."""

    name: Annotated[EnvName, Field(description="Name of the variable, such as KAFKA_SESSION_TIMEOUT_MS.")]


class InstanceIdRef(Model):
    """Environment variable of a member's static id."""

    name: Annotated[
        EnvName, Field(description="Name of the variable for group.instance.id, such as KAFKA_GROUP_INSTANCE_ID.")
    ]


class EnvNames(Model):
    """Environment variables that the application reads; those not named have the library's preset names."""

    session_timeout: EnvRef | None = None
    heartbeat_interval: EnvRef | None = None
    fetch_wait: EnvRef | None = None
    max_poll_interval: EnvRef | None = None
    group_instance_id: InstanceIdRef | None = None


class DeclaredSettings(Model):
    """What is set where the tuner cannot see it (in code or in a configuration file)."""

    session_timeout: PositiveDuration | None = None
    heartbeat_interval: PositiveDuration | None = None
    fetch_wait: PositiveDuration | None = None
    max_poll_interval: PositiveDuration | None = None


class ClientSpec(Model):
    """Kafka client of the application."""

    library: Annotated[
        str,
        AfterValidator(_known_library),
        Field(
            description="Kafka client library of the application.",
            json_schema_extra={"enum": list(measured.IN_POLICIES)},
        ),
    ]
    env: Annotated[EnvNames | None, Field(description="Variables of the settings. Default: the library's preset.")] = (
        None
    )
    current: Annotated[
        DeclaredSettings | None,
        Field(description="Current values that env and ConfigMaps do not show, such as values in code."),
    ] = None


def _lacking(setting: Setting) -> tuple[str, str]:
    """Return the rule that a policy names `setting` only for a library that has it."""
    libraries = [name for name in measured.IN_POLICIES if setting not in catalogue.client(name).settings]
    places = [f"client.env.{setting}", f"client.current.{setting}", f"bounds.{setting}"]
    named = []
    for place in places:
        steps = place.split(".")
        paths = [".".join(["self", *steps[: end + 1]]) for end in range(len(steps))]
        given = [f"has({path})" for path in paths if path != "self.client"]
        named.append(f"({' && '.join(given)})")
    return (
        f"!(self.client.library in {libraries}) || !({' || '.join(named)})",
        f"{', '.join(libraries)} has no {setting}; leave it out of client.env, client.current and bounds",
    )


_DETECTION: Final = "self.objective.maxDetectionTime"
_LEAST_SESSION: Final = "self.bounds.sessionTimeout.min"


def _within_default(library: str) -> tuple[str, str]:
    """Return the rule that a bound leaves a session that the library's default of `maxDetectionTime` allows."""
    default_s = int(detection_time.usual(catalogue.client(library)).total_seconds())
    return (
        (
            f"self.client.library != '{library}' || (has(self.objective) && has(self.objective.maxDetectionTime)) || "
            "!has(self.bounds) || !has(self.bounds.sessionTimeout) || !has(self.bounds.sessionTimeout.min) || "
            + on_durations(f"{as_ms(_LEAST_SESSION)} <= {default_s * 1_000}", _LEAST_SESSION)
        ),
        (
            "bounds.sessionTimeout.min must not exceed objective.maxDetectionTime, "
            f"which is {default_s}s for {library} by default: lower the bound or set objective.maxDetectionTime"
        ),
    )


def _pinned(library: str) -> tuple[str, str]:
    """Return the rule that a policy's convention is one of its library's exporters."""
    exported = [convention for convention in measured.of_library(library) if convention in custom.CONVENTIONS]
    names = [AUTO, *(convention.name for convention in exported)]
    pinned = "has(self.metrics) && has(self.metrics.convention)"
    return (
        f"self.client.library != '{library}' || !({pinned}) || self.metrics.convention in {names}",
        f"metrics.convention of a {library} consumer must be one of {', '.join(names)}",
    )


def _dynamic_only(library: str) -> tuple[str, str]:
    """Return the rule that a policy for a library without useful static members does not demand them."""
    support = catalogue.client(library).static_membership
    return (
        f"self.client.library != '{library}' || !has(self.staticMembership) || self.staticMembership != 'Enabled'",
        f"staticMembership cannot be Enabled with {library}, whose static membership is {support}; leave it out",
    )


_SEVERAL: Final = (
    (
        "has(self.workloadRef) != has(self.workloadRefs)",
        "exactly one of workloadRef and workloadRefs must be set: one workload, or several",
    ),
    (
        (
            "!has(self.workloadRefs) || size(self.workloadRefs) == 1 || !has(self.staticMembership) || "
            "self.staticMembership == 'Disabled'"
        ),
        "staticMembership must be Disabled with several workloadRefs: give each workload a policy of its own for it",
    ),
    (
        "!has(self.workloadRefs) || size(self.workloadRefs) == 1 || !has(self.mode) || self.mode != 'Initial'",
        "mode cannot be Initial with several workloadRefs: give each workload a policy of its own for it",
    ),
)
"""Rules of the workloads that a policy names; the parser has them too."""


class Spec(Model):
    """Desired tuning of the group."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                (
                    "!has(self.objective) || !has(self.objective.maxDetectionTime) || "
                    + on_durations(f"{as_ms(_DETECTION)} >= 1000", _DETECTION)
                ),
                "objective.maxDetectionTime must be at least 1s: no useful session is shorter",
            ),
            (
                (
                    "!has(self.objective) || !has(self.objective.maxDetectionTime) || !has(self.bounds) || "
                    "!has(self.bounds.sessionTimeout) || !has(self.bounds.sessionTimeout.min) || "
                    + on_durations(f"{as_ms(_LEAST_SESSION)} <= {as_ms(_DETECTION)}", _LEAST_SESSION, _DETECTION)
                ),
                "bounds.sessionTimeout.min must not exceed objective.maxDetectionTime: a death shows at session end",
            ),
            *(_within_default(library) for library in measured.IN_POLICIES),
            *_SEVERAL,
            _lacking(Setting.MAX_POLL_INTERVAL),
            _lacking(Setting.FETCH_WAIT),
            *(_pinned(library) for library in measured.IN_POLICIES),
            *(
                _dynamic_only(library)
                for library in measured.IN_POLICIES
                if not catalogue.client(library).static_membership.holds
            ),
        )
    )

    group_id: Annotated[
        GroupId,
        Field(
            description="Consumer group (group.id), such as orders. Immutable.",
            json_schema_extra=group_id_rules("delete the policy and create another"),
        ),
    ]
    cluster_ref: Annotated[
        ClusterName,
        Field(description="Name of a Kafka cluster in the operator's configuration, such as main. Not an address."),
    ]
    workload_ref: Annotated[
        WorkloadRefSpec | None, Field(description="Workload whose pods are the members of the group.")
    ] = None
    workload_refs: Annotated[
        list[WorkloadRefSpec] | None,
        Field(
            min_length=1,
            max_length=MOST_WORKLOADS,
            description="Several workloads whose pods are the members of the group, instead of workloadRef. All "
            "get the same values, one after another.",
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["kind", "name"]},
        ),
    ] = None
    client: ClientSpec
    mode: Annotated[
        Mode,
        Field(
            description="Recommend: write the status only. Initial: the webhook sets the values in new pods, and the "
            "workload is not changed. Apply: patch the workload's env when all gates allow it."
        ),
    ] = Mode.RECOMMEND
    objective: ObjectiveSpec = ObjectiveSpec()
    bounds: Bounds | None = None
    rollout: RolloutSpec = RolloutSpec()
    metrics: Metrics | None = None
    static_membership: Annotated[
        StaticMembership,
        Field(
            description="Enabled: the webhook sets a unique static id (group.instance.id) in each new pod. Auto: it "
            "does so if that reduces the cost, as in status.staticIds. Disabled: no ids."
        ),
    ] = StaticMembership.DISABLED
    suspend: Annotated[bool, Field(description="Pause: observe and report, and write nothing to the workload.")] = False
