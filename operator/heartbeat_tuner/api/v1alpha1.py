"""`ConsumerGroupPolicy` v1alpha1: spec and status as pydantic models.

Descriptions become the CRD's documentation, constraints its schema, `x-kubernetes-validations` its CEL rules. Each
rule's message names field, rule and fix, since it is all a user sees at `kubectl apply`. Strings, lists and maps that
CEL sees are bounded, which keeps the rules within the API server's cost budget.
"""

import enum
import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, create_model

from heartbeat_tuner.api.fields import (
    MAX_MESSAGE,
    Duration,
    GroupId,
    Model,
    PositiveDuration,
    group_id_rules,
    moment,
    rules,
)
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Mode
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Verdict
from heartbeat_tuner.metrics.conventions import catalogue as measured
from heartbeat_tuner.metrics.conventions import custom

KIND: Final = "ConsumerGroupPolicy"
PLURAL: Final = "consumergrouppolicies"

MAX_CONDITIONS: Final = 8

AUTO: Final = "auto"
"""The convention that is found, not said."""

METRICS_NAME: Final = r"""[^\x00-\x20\x7f"'`{}\\\uFFFD]+"""
"""Names as Prometheus takes them, in UTF-8 too, without what could only be meant to break out of a query."""


def _known_library(name: str) -> str:
    if name not in measured.LIBRARIES:
        raise ValueError(f"client library {name!r} cannot be measured; known are {', '.join(measured.LIBRARIES)}")
    return name


def _known_convention(name: str) -> str:
    if name != AUTO:
        custom.known(name)
    return name


def _metrics_name(text: str) -> str:
    if not re.fullmatch(METRICS_NAME, text) or text.startswith("__"):
        raise ValueError(
            "must be the name of a metric or a label: not beginning with __, without white space, quotes, braces, "
            "backslashes and control characters"
        )
    return text


EnvName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        json_schema_extra=rules(
            (
                "self.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$')",
                "must be an environment variable's name: letters, digits, '_', '-', '.', not starting with a digit",
            )
        ),
    ),
]


MetricsName = Annotated[
    str,
    AfterValidator(_metrics_name),
    Field(
        min_length=1,
        max_length=200,
        json_schema_extra=rules(
            (
                r"""self.matches(r'^[^\x00-\x20\x7f"`{}\\\x{27}\x{FFFD}]+$') && !self.startsWith('__')""",
                "must be a metric's or label's name: no leading __, white space, quotes, braces, backslashes, controls",
            )
        ),
    ),
]


def _open(description: str) -> WithJsonSchema:
    """Return the schema of a word that later versions may add to: an operator may be newer than the definition."""
    return WithJsonSchema({"type": "string", "maxLength": 64, "description": description})


OpenReason = Annotated[Reason, _open("Why it is so; the reference of reasons explains each.")]
OpenVerdict = Annotated[Verdict, _open("The answer at a glance: Healthy, Change, Infeasible or Unknown.")]


class WorkloadRef(Model):
    """The workload whose pods are the group's members; it lives in the policy's own namespace."""

    kind: Annotated[str, Field(description="Kind of the workload.", json_schema_extra={"enum": ["Deployment"]})] = (
        "Deployment"
    )
    name: Annotated[str, Field(min_length=1, max_length=253, description="Name of the workload.")]
    container: Annotated[
        str, Field(min_length=1, max_length=63, description="The container that runs the consumer; its env is patched.")
    ]


class EnvRef(Model):
    """An environment variable that carries a setting, in whole milliseconds."""

    name: Annotated[EnvName, Field(description="The variable that carries this setting, in whole milliseconds.")]


class EnvNames(Model):
    """Environment variables that the application reads; those not named have the library's preset names."""

    session_timeout: EnvRef | None = None
    heartbeat_interval: EnvRef | None = None
    fetch_wait: EnvRef | None = None
    max_poll_interval: EnvRef | None = None


class DeclaredSettings(Model):
    """What is set where the tuner cannot see it (in code or in a configuration file)."""

    session_timeout: PositiveDuration | None = None
    heartbeat_interval: PositiveDuration | None = None
    fetch_wait: PositiveDuration | None = None
    max_poll_interval: PositiveDuration | None = None


class Client(Model):
    """How the application consumes."""

    library: Annotated[
        str,
        AfterValidator(_known_library),
        Field(
            description="The Kafka client library of the application.",
            json_schema_extra={"enum": list(measured.LIBRARIES)},
        ),
    ]
    env: Annotated[EnvNames | None, Field(description="Overrides of the library's preset environment names.")] = None
    current: Annotated[
        DeclaredSettings | None,
        Field(description="Values that neither the pods' env nor its ConfigMaps show. Never refused."),
    ] = None


class Objective(Model):
    """What the group must hold."""

    max_detection_time: Annotated[
        Duration,
        Field(description="From a member's death to reassignment; no session timeout exceeds it."),
    ] = "60s"
    max_false_evictions_per_month: Annotated[
        float, Field(ge=0, le=100_000, description="Live members removed, for the whole group, in 30 days.")
    ] = 1.0


class DurationRange(Model):
    """Bounds of one setting; a side that is left out is open."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.min) || !has(self.max) || duration(self.min) <= duration(self.max)",
                "min must not be greater than max; swap them or leave one out",
            )
        )
    )

    min: Annotated[Duration | None, Field(description="No recommendation is below this.")] = None
    max: Annotated[PositiveDuration | None, Field(description="No recommendation is above this.")] = None


class Bounds(Model):
    """Bounds that no recommendation leaves."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                (
                    "!has(self.heartbeatInterval) || !has(self.heartbeatInterval.min) || !has(self.sessionTimeout) || "
                    "!has(self.sessionTimeout.max) || "
                    "duration(self.heartbeatInterval.min) < duration(self.sessionTimeout.max)"
                ),
                "heartbeatInterval.min must be below sessionTimeout.max: a session must outlast a heartbeat",
            )
        )
    )

    session_timeout: DurationRange | None = None
    heartbeat_interval: DurationRange | None = None
    fetch_wait: DurationRange | None = None
    max_poll_interval: DurationRange | None = None


_METRIC_NAMES: Final[dict[str, Any]] = {
    one.name.lower(): (Annotated[MetricsName | None, Field(description=f"The metric: {one.title}.")], None)
    for one in custom.QUANTITIES.values()
}

MetricNames = create_model(
    "MetricNames",
    __base__=Model,
    __doc__="Names of metrics, by what they are; for what is not named, the convention's name holds.",
    **_METRIC_NAMES,
)
"""One field for each quantity of a consumer."""


class LabelNames(Model):
    """Names of labels, where they are not the usual ones."""

    namespace: Annotated[
        MetricsName | None,
        Field(description="The label of the pod's namespace; counts where a series has no label `namespace`."),
    ] = None
    pod: Annotated[MetricsName | None, Field(description="The label of the pod's name; else `pod`.")] = None
    group: Annotated[MetricsName | None, Field(description="The label of the consumer group.")] = None
    client_id: Annotated[MetricsName | None, Field(description="The label of the consumer's client.id.")] = None


class Metrics(Model):
    """How the group's metrics are named in Prometheus: names only, never queries."""

    convention: Annotated[
        str,
        AfterValidator(_known_convention),
        Field(
            description="The exporter's way to name things; auto: the one that tells most of the group.",
            json_schema_extra={"enum": [AUTO, *(one.name for one in custom.CONVENTIONS)]},
        ),
    ] = AUTO
    names: MetricNames | None = None
    labels: LabelNames | None = None


class Rollout(Model):
    """How changes reach the pods."""

    cooldown: Annotated[Duration, Field(description="The least time between two changes of this group.")] = "24h"
    horizon: Annotated[
        PositiveDuration,
        Field(description="A change that only saves must earn back its own restarts within this time."),
    ] = "336h"


def _lacking(setting: Setting) -> tuple[str, str]:
    """Return the rule that a policy names `setting` only for a library that has it."""
    libraries = [name for name in measured.LIBRARIES if setting not in catalogue.client(name).settings]
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


def _pinned(library: str) -> tuple[str, str]:
    """Return the rule that a policy's convention is one of its library's exporters."""
    names = [AUTO, *(one.name for one in measured.of_library(library))]
    pinned = "has(self.metrics) && has(self.metrics.convention)"
    return (
        f"self.client.library != '{library}' || !({pinned}) || self.metrics.convention in {names}",
        f"metrics.convention of a {library} consumer must be one of {', '.join(names)}",
    )


class Spec(Model):
    """What the user asks for."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                (
                    "!has(self.objective) || !has(self.objective.maxDetectionTime) || "
                    "duration(self.objective.maxDetectionTime) >= duration('1s')"
                ),
                "objective.maxDetectionTime must be at least 1s: no useful session is shorter",
            ),
            (
                (
                    "!has(self.objective) || !has(self.objective.maxDetectionTime) || !has(self.bounds) || "
                    "!has(self.bounds.sessionTimeout) || !has(self.bounds.sessionTimeout.min) || "
                    "duration(self.bounds.sessionTimeout.min) <= duration(self.objective.maxDetectionTime)"
                ),
                "bounds.sessionTimeout.min must not exceed objective.maxDetectionTime: a death shows at session end",
            ),
            _lacking(Setting.MAX_POLL_INTERVAL),
            *(_pinned(library) for library in measured.LIBRARIES),
        )
    )

    group_id: Annotated[
        GroupId,
        Field(
            description="The consumer group (group.id).",
            json_schema_extra=group_id_rules("delete the policy and create another"),
        ),
    ]
    cluster_ref: Annotated[
        str,
        Field(
            min_length=1,
            max_length=63,
            description="Name of a Kafka cluster in the operator's own configuration; never an address.",
        ),
    ]
    workload_ref: WorkloadRef
    client: Client
    mode: Annotated[
        Mode, Field(description="Recommend: status only. Apply: patch the workload's env when the gates allow it.")
    ] = Mode.RECOMMEND
    objective: Objective = Objective()
    bounds: Bounds | None = None
    rollout: Rollout = Rollout()
    metrics: Metrics | None = None
    suspend: Annotated[bool, Field(description="Watch and report, but write nothing to the workload.")] = False


class ConditionStatus(enum.StrEnum):
    """Kubernetes' three truth values."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class ConditionType(enum.StrEnum):
    """What is said about a policy, in the order in which it becomes true."""

    READY = "Ready"
    METRICS_AVAILABLE = "MetricsAvailable"
    FEASIBLE = "Feasible"
    OBJECTIVE_MET = "ObjectiveMet"
    RECOMMENDED = "Recommended"
    APPLIED = "Applied"


class Condition(Model):
    """One statement about the policy, as `metav1.Condition`."""

    type: ConditionType
    status: ConditionStatus
    reason: OpenReason
    message: Annotated[str, Field(max_length=MAX_MESSAGE)]
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    observed_generation: int


class Values(Model):
    """One value per setting, as durations."""

    session_timeout: PositiveDuration
    heartbeat_interval: PositiveDuration
    fetch_wait: PositiveDuration
    max_poll_interval: PositiveDuration | None = None


class Recommendation(Model):
    """The values that should be set, and why."""

    target: Values
    lower: Annotated[
        PositiveDuration | None, Field(description="The shortest session that costs about as little as the best.")
    ] = None
    upper: Annotated[
        PositiveDuration | None, Field(description="The longest session that costs about as little as the best.")
    ] = None
    uncapped: Annotated[
        Values | None, Field(description="The best values without the policy's bounds, where these change them.")
    ] = None
    reasons: Annotated[list[Annotated[str, Field(max_length=MAX_MESSAGE)]], Field(max_length=8)]


class Summary(Model):
    """Now and recommended on one line each, for `kubectl get`."""

    session_timeout: Annotated[str, Field(max_length=64)]
    heartbeat_interval: Annotated[str, Field(max_length=64)]
    fetch_wait: Annotated[str, Field(max_length=64)]
    max_poll_interval: Annotated[str | None, Field(max_length=64)] = None
    evictions_per_month: Annotated[str | None, Field(max_length=64, description="As predicted.")] = None


class Figures(Model):
    """What some values are expected to bring, to two significant digits."""

    evictions_per_month: Annotated[float, Field(description="Live members removed, of the whole group in 30 days.")]
    evictions_per_month_upper: Annotated[float, Field(description="The same at most, at 95 %.")]
    stalled_partition_seconds_per_day: Annotated[
        float,
        Field(
            description="Partitions times seconds in which nobody may consume them; what no setting changes left out."
        ),
    ]
    detection_seconds: Annotated[float, Field(description="From a crash to the removal, on average.")]


class Predicted(Model):
    """What the fitted model expects of the values set, and of those recommended."""

    current: Figures
    recommended: Figures | None = None
    confidence: Annotated[
        Confidence,
        WithJsonSchema(
            {"type": "string", "maxLength": 64, "description": "On how much data it rests: Low, Medium or High."}
        ),
    ]


class Applied(Model):
    """The last change the tuner made to the workload."""

    values: Values
    previous: Values
    at: Annotated[str, AfterValidator(moment), Field(json_schema_extra={"format": "date-time"})]
    workload_uid: Annotated[str, Field(max_length=64, description="Of the object that was written to.")]


class Basis(enum.StrEnum):
    """What a decision rests on besides the record."""

    MODEL = "Model"
    OWN = "Own"


class ModelUsed(Model):
    """The fitted model that the decision rests on, or why on none."""

    source: Annotated[
        Basis,
        WithJsonSchema(
            {
                "type": "string",
                "maxLength": 64,
                "description": "Model: a ConsumerGroupModel. Own: the record alone.",
            }
        ),
    ]
    name: Annotated[
        str | None, Field(max_length=253, description="The ConsumerGroupModel, in the policy's namespace.")
    ] = None
    days: Annotated[int | None, Field(description="How many days with data it rests on.")] = None
    until: Annotated[str | None, Field(max_length=10, description="The last of these days (UTC).")] = None
    message: Annotated[
        str, Field(max_length=MAX_MESSAGE, description="What it expects of the values set, or why there is none.")
    ]


class Status(Model):
    """What the tuner found and did."""

    observed_generation: int | None = None
    verdict: OpenVerdict | None = None
    reason: OpenReason | None = None
    group_protocol: Annotated[
        str | None,
        Field(max_length=64, description="Classic, or Consumer for a KIP-848 group, as the broker says."),
    ] = None
    current: Values | None = None
    recommendation: Recommendation | None = None
    summary: Summary | None = None
    model: ModelUsed | None = None
    predicted: Predicted | None = None
    applied: Applied | None = None
    conditions: Annotated[
        list[Condition],
        Field(
            max_length=MAX_CONDITIONS,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = []  # noqa: RUF012 - pydantic copies defaults


PRINTER_COLUMNS: Final = (
    ("Mode", "string", ".spec.mode"),
    ("Verdict", "string", ".status.verdict"),
    ("Session", "string", ".status.summary.sessionTimeout"),
    ("Heartbeat", "string", ".status.summary.heartbeatInterval"),
    ("FetchWait", "string", ".status.summary.fetchWait"),
    ("MaxPoll", "string", ".status.summary.maxPollInterval"),
    ("Evictions", "string", ".status.summary.evictionsPerMonth"),
    ("Reason", "string", ".status.reason"),
    ("Age", "date", ".metadata.creationTimestamp"),
)
"""Name, type and JSON path of what `kubectl get` shows."""
