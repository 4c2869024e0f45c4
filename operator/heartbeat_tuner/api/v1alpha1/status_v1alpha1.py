"""`ConsumerGroupPolicy` v1alpha1: what the tuner found and did, as pydantic models, and what `kubectl get` shows of it.

The tuner alone writes a status. Its words are open: an operator may be newer than the definition that is installed.
"""

import enum
from typing import Annotated, Final

from pydantic import AfterValidator, Field, WithJsonSchema

from heartbeat_tuner.api.names import LabelName, Uid
from heartbeat_tuner.api.slot_names import MOST_SLOTS
from heartbeat_tuner.api.v1alpha1.fields import MAX_MESSAGE, Model, PositiveDuration, moment
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Verdict, Worth

MAX_CONDITIONS: Final = 8

CONSUMER: Final = "Consumer"
"""The protocol of a KIP-848 group, as `groupProtocol` names it."""

MAX_SLOTS: Final = 16
"""Slots that a status names one by one; of larger groups it has the numbers, and the Leases have all."""

MAX_ENTRIES: Final = 8
"""Variables that a change is remembered by: each is one setting's."""

MAX_GATED: Final = 10
"""Likewise, of pods that wait."""


def _open(description: str) -> WithJsonSchema:
    """Return the schema of a word that later versions may add to: an operator may be newer than the definition."""
    return WithJsonSchema({"type": "string", "maxLength": 64, "description": description})


OpenReason = Annotated[Reason, _open("Why it is so; the reference of reasons explains each.")]
OpenVerdict = Annotated[Verdict, _open("The answer at a glance: Healthy, Change, Infeasible or Unknown.")]


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


class SettingValues(Model):
    """One value per setting, as durations."""

    session_timeout: PositiveDuration
    heartbeat_interval: PositiveDuration
    fetch_wait: PositiveDuration
    max_poll_interval: PositiveDuration | None = None


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


class Applied(Model):
    """The last change the tuner made to the workload."""

    values: SettingValues
    previous: SettingValues
    at: Annotated[str, AfterValidator(moment), Field(json_schema_extra={"format": "date-time"})]
    workload_uid: Annotated[Uid, Field(description="Of the object that was written to.")]
    container: Annotated[LabelName | None, Field(description="Of it, that was written to.")] = None
    entries: Annotated[
        dict[str, Annotated[str, Field(max_length=64)]] | None,
        Field(max_length=MAX_ENTRIES, description="The variables that were the tuner's after it, and their values."),
    ] = None


class Writing(Model):
    """A change that is about to be made: noted first, so that it is known of whatever becomes of its author."""

    change: Applied
    revision: Annotated[int, Field(description="Of the workload before it: the number of its rollouts.")]


class TakenBackStatus(Model):
    """Values of the tuner's that somebody took out of the workload, or replaced."""

    applied: Annotated[Applied, Field(description="The change that they are of.")]
    seen: Annotated[
        str,
        AfterValidator(moment),
        Field(description="When that was noticed.", json_schema_extra={"format": "date-time"}),
    ]
    generation: Annotated[
        int, Field(description="Of the policy at that time: nothing is written to the workload until it is another.")
    ]
    by: Annotated[
        str | None, Field(max_length=128, description="The field manager that has the values now, if anybody has.")
    ] = None


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
        str, Field(max_length=MAX_MESSAGE, description="What it expects of the values set, or why there is none.")
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
        _open(
            "What the cost says: Pays, Close (not by enough to begin with them, nor to give them up), Costs, Refused "
            "(by the client library) or Unknown."
        ),
    ]
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="The same with its numbers.")]


class SlotStatus(Model):
    """One slot of static membership, and who has it."""

    id: Annotated[str, Field(max_length=253, description="The group.instance.id, which is also its Lease's name.")]
    state: Annotated[
        str,
        Field(
            max_length=64,
            description="Held, Terminating (its pod ends), Claimed (its pod was not seen yet), Gone (its pod is, which "
            "is not written down yet), Resting (until a session is surely over), Free, or Edited (by somebody else).",
        ),
    ]
    pod: Annotated[str | None, Field(max_length=253, description="Who has it.")] = None
    since: Annotated[
        str | None,
        Field(description="When it was given, freed or laid to rest.", json_schema_extra={"format": "date-time"}),
    ] = None
    waiting: Annotated[
        str | None, Field(max_length=253, description="The gated pod that gets it when its holder is gone.")
    ] = None


class GatedPod(Model):
    """A pod that is not scheduled before the slot that it was promised is its own."""

    pod: Annotated[str, Field(max_length=253)]
    id: Annotated[str | None, Field(max_length=253, description="The id that it waits for.")] = None
    since: Annotated[str, Field(description="When it was created.", json_schema_extra={"format": "date-time"})]


class SlotsStatus(Model):
    """The slots of static membership: all in numbers, the first ones by name."""

    size: Annotated[
        int | None,
        Field(description=f"How many may be given: the workload's replicas and its surge, {MOST_SLOTS} at most."),
    ] = None
    held: Annotated[int, Field(description="Slots that a pod has, one that ends among them.")]
    free: Annotated[int, Field(description="Slots that had a holder and may be given at once.")]
    unsettled: Annotated[int, Field(description="All others: claimed, gone, resting or edited.")]
    gated: Annotated[int, Field(description="Pods that wait for their slot.")]
    first: Annotated[
        list[SlotStatus],
        Field(max_length=MAX_SLOTS, description=f"The slots by number, {MAX_SLOTS} at most; the Leases have all."),
    ]
    gated_pods: Annotated[
        list[GatedPod],
        Field(max_length=MAX_GATED, description=f"Those that have waited longest, {MAX_GATED} at most."),
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
    group_ownership: OwnershipStatus | None = None
    current: SettingValues | None = None
    recommendation: Recommendation | None = None
    summary: Summary | None = None
    model: ModelUsed | None = None
    predicted: Predicted | None = None
    applied: Applied | None = None
    taken_back: TakenBackStatus | None = None
    contradicted: ContradictedStatus | None = None
    writing: Writing | None = None
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
    ("Age", "date", ".metadata.creationTimestamp"),
)
"""Name, type and JSON path of what `kubectl get` shows."""
