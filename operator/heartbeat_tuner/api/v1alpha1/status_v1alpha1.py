"""`ConsumerGroupPolicy` v1alpha1: what the tuner found and did, as pydantic models, and what `kubectl get` shows of it.

The tuner alone writes a status. Its words are open: an operator may be newer than the definition that is installed.
"""

import enum
from typing import Annotated, Final

from pydantic import AfterValidator, Field, WithJsonSchema

from heartbeat_tuner.api.v1alpha1.canary_v1alpha1 import CanaryStatus
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import (
    MOST_WORKLOADS,
    Applied,
    FailedStatus,
    HistoryStatus,
    SettingValues,
    TakenBackStatus,
    VerificationStatus,
    WorkloadStatus,
    Writing,
)
from heartbeat_tuner.api.v1alpha1.fields import MAX_MESSAGE, Model, PositiveDuration, moment, open_word
from heartbeat_tuner.api.v1alpha1.slots_v1alpha1 import SlotsStatus
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Verdict, Worth
from heartbeat_tuner.domain.verifications import MOST_FAILED

MAX_CONDITIONS: Final = 10

CONSUMER: Final = "Consumer"
"""The protocol of a KIP-848 group, as `groupProtocol` names it."""

OpenReason = Annotated[Reason, open_word("Why it is so; the reference of reasons explains each.")]
OpenVerdict = Annotated[Verdict, open_word("The answer at a glance: Healthy, Change, Infeasible or Unknown.")]


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
    VERIFIED = "Verified"


class Condition(Model):
    """One statement about the policy, as `metav1.Condition`."""

    type: ConditionType
    status: ConditionStatus
    reason: OpenReason
    message: Annotated[str, Field(max_length=MAX_MESSAGE)]
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    observed_generation: int


class Recommendation(Model):
    """The values that should be set, and why."""

    target: SettingValues
    lower: Annotated[
        PositiveDuration | None, Field(description="The shortest session that costs about as little as the best.")
    ] = None
    upper: Annotated[
        PositiveDuration | None, Field(description="The longest session that costs about as little as the best.")
    ] = None
    uncapped: Annotated[
        SettingValues | None, Field(description="The best values without the policy's bounds, where these change them.")
    ] = None
    reasons: Annotated[list[Annotated[str, Field(max_length=MAX_MESSAGE)]], Field(max_length=8)]


class Summary(Model):
    """Now and recommended on one line each, for `kubectl get`."""

    session_timeout: Annotated[str, Field(max_length=64)]
    heartbeat_interval: Annotated[str, Field(max_length=64)]
    fetch_wait: Annotated[str, Field(max_length=64)]
    max_poll_interval: Annotated[str | None, Field(max_length=64)] = None
    evictions_per_month: Annotated[str | None, Field(max_length=64, description="As predicted.")] = None


class PredictedFigures(Model):
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

    current: PredictedFigures
    recommended: PredictedFigures | None = None
    confidence: Annotated[
        Confidence,
        WithJsonSchema(
            {"type": "string", "maxLength": 64, "description": "On how much data it rests: Low, Medium or High."}
        ),
    ]


class ContradictedStatus(Model):
    """That the members do not use the values that are set; nothing is written while this stands."""

    reason: OpenReason
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="What shows it.")]
    generation: Annotated[int, Field(description="Of the policy; an edit ends this.")]
    template: Annotated[
        str, Field(max_length=64, description="A fingerprint of the pods' template; a change of it ends this.")
    ]


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
        str,
        Field(
            max_length=MAX_MESSAGE, description="What the model expects of the current values, or why no model is used."
        ),
    ]


class OwnershipStatus(Model):
    """That a member of the group was seen in the workload's pods: a workload without pods keeps its group by it."""

    cluster_ref: Annotated[str, Field(max_length=63)]
    group_id: Annotated[str, Field(max_length=255)]
    workload_uid: Annotated[str, Field(max_length=64)]
    since: Annotated[
        str, AfterValidator(moment), Field(description="When first.", json_schema_extra={"format": "date-time"})
    ]


class SomeValues(Model):
    """Values of some settings, as durations."""

    session_timeout: PositiveDuration | None = None
    heartbeat_interval: PositiveDuration | None = None
    fetch_wait: PositiveDuration | None = None
    max_poll_interval: PositiveDuration | None = None


class Initial(Model):
    """What the webhook sets in each pod that is created, in mode Initial."""

    values: SomeValues
    valid_until: Annotated[
        str,
        AfterValidator(moment),
        Field(
            description="Set no longer than this: the operator moves it while it knows the group.",
            json_schema_extra={"format": "date-time"},
        ),
    ]


class StaticIds(Model):
    """Whether new pods get static ids, and whether that pays."""

    given: Annotated[
        bool,
        Field(description="Whether the webhook gives them: in Auto, since the advice was Pays and until it is Costs."),
    ]
    worth: Annotated[
        Worth,
        open_word(
            "What the cost says: Pays, Close (not by enough to begin with them, nor to give them up), Costs, Refused "
            "(by the client library) or Unknown."
        ),
    ]
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="The same with its numbers.")]


class Status(Model):
    """What the tuner found and did."""

    observed_generation: int | None = None
    verdict: OpenVerdict | None = None
    reason: OpenReason | None = None
    group_protocol: Annotated[
        str | None,
        Field(max_length=64, description="Classic, or Consumer for a KIP-848 group, as the broker says."),
    ] = None
    group_ownership: OwnershipStatus | None = None
    current: SettingValues | None = None
    recommendation: Recommendation | None = None
    summary: Summary | None = None
    model: ModelUsed | None = None
    predicted: Predicted | None = None
    applied: Applied | None = None
    workloads: Annotated[
        list[WorkloadStatus] | None,
        Field(max_length=MOST_WORKLOADS, description="Each workload of a policy that names several."),
    ] = None
    taken_back: TakenBackStatus | None = None
    contradicted: ContradictedStatus | None = None
    writing: Writing | None = None
    verification: VerificationStatus | None = None
    canary: CanaryStatus | None = None
    reverted: Annotated[
        list[FailedStatus] | None,
        Field(max_length=MOST_FAILED, description="Values that the tuner took back; not proposed again to this spec."),
    ] = None
    history: HistoryStatus | None = None
    initial: Initial | None = None
    static_ids: StaticIds | None = None
    slots: SlotsStatus | None = None
    conditions: Annotated[
        list[Condition],
        Field(
            max_length=MAX_CONDITIONS,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = []  # noqa: RUF012 - pydantic copies defaults


PRINTER_COLUMNS: Final = (
    ("Mode", "string", ".spec.mode"),
    ("Suspended", "boolean", ".spec.suspend"),
    ("Verdict", "string", ".status.verdict"),
    ("Session", "string", ".status.summary.sessionTimeout"),
    ("Heartbeat", "string", ".status.summary.heartbeatInterval"),
    ("FetchWait", "string", ".status.summary.fetchWait"),
    ("MaxPoll", "string", ".status.summary.maxPollInterval"),
    ("Evictions", "string", ".status.summary.evictionsPerMonth"),
    ("Reason", "string", ".status.reason"),
    ("Applied", "string", '.status.conditions[?(@.type=="Applied")].reason'),
    ("Verified", "string", '.status.conditions[?(@.type=="Verified")].reason'),
    ("Age", "date", ".metadata.creationTimestamp"),
)
"""Name, type and JSON path of what `kubectl get` shows."""
