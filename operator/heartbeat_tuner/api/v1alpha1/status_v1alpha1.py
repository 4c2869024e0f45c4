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
from heartbeat_tuner.api.v1alpha1.fields import (
    MAX_MESSAGE,
    Model,
    PositiveDuration,
    PrinterColumn,
    moment,
    open_word,
)
from heartbeat_tuner.api.v1alpha1.group_config_v1alpha1 import GroupConfigStatus
from heartbeat_tuner.api.v1alpha1.installation_v1alpha1 import InstallationStatus
from heartbeat_tuner.api.v1alpha1.slots_v1alpha1 import SlotsStatus
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Verdict, Worth
from heartbeat_tuner.domain.verifications import MOST_FAILED

MAX_CONDITIONS: Final = 10

AT_BROKER: Final = {"consumer": "Consumer", "streams": "Streams", "share": "Share"}
"""What `groupProtocol` says of groups whose session and heartbeat are the broker's, by `Group.kind`."""

OpenReason = Annotated[Reason, open_word("Reason for the result. docs/reference/reasons.md explains each.")]
OpenVerdict = Annotated[Verdict, open_word("Result: Healthy, Unproven, Change, Infeasible or Unknown.")]


class ConditionStatus(enum.StrEnum):
    """Status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class ConditionType(enum.StrEnum):
    """Types of conditions, in the order in which they become true; the last one is about another protocol."""

    READY = "Ready"
    METRICS_AVAILABLE = "MetricsAvailable"
    FEASIBLE = "Feasible"
    OBJECTIVE_MET = "ObjectiveMet"
    RECOMMENDED = "Recommended"
    APPLIED = "Applied"
    VERIFIED = "Verified"
    CONSUMER_PROTOCOL_READY = "ConsumerProtocolReady"


class Condition(Model):
    """Condition of the policy, as `metav1.Condition`."""

    type: Annotated[ConditionType, open_word(f"Type of the condition: {', '.join(ConditionType)}.")]
    status: ConditionStatus
    reason: OpenReason
    message: Annotated[str, Field(max_length=MAX_MESSAGE)]
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    observed_generation: int


class Recommendation(Model):
    """Recommended values. The condition Recommended has the reason."""

    target: SettingValues
    lower: Annotated[
        PositiveDuration | None, Field(description="Shortest session timeout within 5 % of the lowest cost.")
    ] = None
    upper: Annotated[
        PositiveDuration | None, Field(description="Longest session timeout within 5 % of the lowest cost.")
    ] = None
    uncapped: Annotated[
        SettingValues | None, Field(description="Best values without the policy's bounds, if the bounds change them.")
    ] = None


class Summary(Model):
    """Current and recommended values on one line each, for `kubectl get`."""

    session_timeout: Annotated[str, Field(max_length=64)]
    heartbeat_interval: Annotated[str, Field(max_length=64)]
    fetch_wait: Annotated[str, Field(max_length=64)]
    max_poll_interval: Annotated[str | None, Field(max_length=64)] = None
    evictions_per_month: Annotated[str | None, Field(max_length=64, description="As predicted.")] = None


class PredictedFigures(Model):
    """Forecast for some values, to two significant digits."""

    evictions_per_month: Annotated[float, Field(description="Removals of live members, in the whole group in 30 days.")]
    evictions_per_month_upper: Annotated[float, Field(description="Upper bound of the same, at 95 %.")]
    stalled_partition_seconds_per_day: Annotated[
        float,
        Field(
            description="Partitions times seconds in which nobody may consume them; what no setting changes left out."
        ),
    ]
    detection_seconds: Annotated[float, Field(description="Seconds from a crash to the removal, on average.")]


class Predicted(Model):
    """Forecast of the fitted model for the current and the recommended values."""

    current: PredictedFigures
    recommended: PredictedFigures | None = None
    confidence: Annotated[
        Confidence,
        WithJsonSchema(
            {
                "type": "string",
                "maxLength": 64,
                "description": "Amount of data behind the forecast: Low, Medium or High.",
            }
        ),
    ]


class ContradictedStatus(Model):
    """Evidence that the members do not use the current values. Nothing is written while this is present."""

    reason: OpenReason
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="The evidence.")]
    generation: Annotated[int, Field(description="Generation of the policy. An edit ends this.")]
    template: Annotated[
        str, Field(max_length=64, description="Fingerprint of the pod template. A change of it ends this.")
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
    """Proof that a member of the group ran in the workload's pods. It stays valid while the workload has no pods."""

    cluster_ref: Annotated[str, Field(max_length=63)]
    group_id: Annotated[str, Field(max_length=255)]
    workload_uid: Annotated[str, Field(max_length=64)]
    since: Annotated[
        str,
        AfterValidator(moment),
        Field(alias="proofTime", description="Time of the first proof.", json_schema_extra={"format": "date-time"}),
    ]


class SomeValues(Model):
    """Values of settings, as durations."""

    session_timeout: PositiveDuration | None = None
    heartbeat_interval: PositiveDuration | None = None
    fetch_wait: PositiveDuration | None = None
    max_poll_interval: PositiveDuration | None = None


class Initial(Model):
    """Values that the webhook sets in new pods, in mode Initial."""

    values: SomeValues
    valid_until: Annotated[
        str,
        AfterValidator(moment),
        Field(
            alias="expirationTime",
            description="Expiry of the values. The operator extends it while it observes the group.",
            json_schema_extra={"format": "date-time"},
        ),
    ]


class StaticIds(Model):
    """Whether new pods get static ids, and whether that reduces the cost."""

    given: Annotated[
        bool,
        Field(description="Whether the webhook sets ids. In Auto: from Pays until Costs."),
    ]
    worth: Annotated[
        Worth,
        open_word(
            "Result of the cost model: Pays, Close (too small a difference to start or to stop), Costs, Refused (by "
            "the client library) or Unknown."
        ),
    ]
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="The result with its numbers.")]


class Status(Model):
    """Observed state, and what the operator did."""

    observed_generation: int | None = None
    installation: InstallationStatus | None = None
    verdict: OpenVerdict | None = None
    reason: OpenReason | None = None
    group_protocol: Annotated[
        str | None,
        Field(
            max_length=64,
            description="Classic, or Consumer (KIP-848), Streams (KIP-1071) or Share (KIP-932), from the broker.",
        ),
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
        Field(max_length=MOST_WORKLOADS, description="State of each workload, if the policy has workloadRefs."),
    ] = None
    taken_back: TakenBackStatus | None = None
    contradicted: ContradictedStatus | None = None
    writing: Writing | None = None
    group_config: GroupConfigStatus | None = None
    verification: VerificationStatus | None = None
    canary: CanaryStatus | None = None
    reverted: Annotated[
        list[FailedStatus] | None,
        Field(
            max_length=MOST_FAILED,
            description="Values that the operator reverted. It does not propose them again for this spec.",
        ),
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
    PrinterColumn("Group", "string", ".spec.groupId"),
    PrinterColumn("Mode", "string", ".spec.mode"),
    PrinterColumn("Verdict", "string", ".status.verdict"),
    PrinterColumn("Applied", "string", '.status.conditions[?(@.type=="Applied")].reason'),
    PrinterColumn("Verified", "string", '.status.conditions[?(@.type=="Verified")].reason'),
    PrinterColumn("Age", "date", ".metadata.creationTimestamp"),
    PrinterColumn("Suspended", "boolean", ".spec.suspend", is_wide=True),
    PrinterColumn("Reason", "string", ".status.reason", is_wide=True),
    PrinterColumn("Session", "string", ".status.summary.sessionTimeout", is_wide=True),
    PrinterColumn("Heartbeat", "string", ".status.summary.heartbeatInterval", is_wide=True),
    PrinterColumn("FetchWait", "string", ".status.summary.fetchWait", is_wide=True),
    PrinterColumn("MaxPoll", "string", ".status.summary.maxPollInterval", is_wide=True),
    PrinterColumn("Evictions", "string", ".status.summary.evictionsPerMonth", is_wide=True),
)
"""What `kubectl get` shows: the first six fit into 100 characters, and `--output wide` adds reason and values."""
