"""`ConsumerGroupPolicy` v1alpha1, of its status: the changes that the tuner made, and what became of them.

The same documents stand in the annotation of a workload that was written to.
"""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field

from heartbeat_tuner.api.names import LabelName, Uid
from heartbeat_tuner.api.v1alpha1.fields import (
    MAX_MESSAGE,
    Model,
    PositiveDuration,
    earlier_name,
    moment,
    moment_or_none,
    open_word,
)
from heartbeat_tuner.domain.verifications import MOST_EVICTING, MOST_FAILED, Outcome

MAX_ENTRIES: Final = 8
"""Variables that a change is remembered by: each is one setting's."""

MOST_WORKLOADS: Final = 8
"""That one policy may name."""

Rate = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
"""Of events a day: JSON as Python reads it knows numbers that are none, and no status can have them."""

MAX_DAYS: Final = 100_000.0
"""Of exposure: no group was watched for centuries."""

MAX_FAILED_MESSAGE: Final = 512
"""Of values that failed, which a workload's annotation has as well."""

_TIME: Final[dict[str, Any]] = {"format": "date-time"}


class SettingValues(Model):
    """Values of the settings, as durations."""

    session_timeout: PositiveDuration
    heartbeat_interval: PositiveDuration
    fetch_wait: PositiveDuration
    max_poll_interval: PositiveDuration | None = None


class PromiseStatus(Model):
    """Forecast of the fitted model when the values were written."""

    evictions_per_day_upper: Annotated[
        Rate, Field(description="Upper bound of removals of live members a day, at 95 %.")
    ]
    trade: Annotated[bool, Field(description="Whether the change accepts more evictions for a faster detection.")] = (
        False
    )
    stalled_per_eviction_before: Annotated[
        Rate | None, Field(description="Partition-seconds that one eviction stalls with the values before.")
    ] = None
    stalled_per_eviction_after: Annotated[
        Rate | None, Field(description="Partition-seconds that one eviction stalls with these values.")
    ] = None


class FailedStatus(Model):
    """Values that the operator wrote and reverted. It does not propose them again for the same spec."""

    values: SettingValues
    previous: SettingValues
    at: Annotated[str, AfterValidator(moment), Field(alias="changeTime", json_schema_extra=_TIME)]
    outcome: Annotated[str, Field(max_length=64, description="Worse or RolloutFailed.")]
    message: Annotated[str, Field(max_length=MAX_FAILED_MESSAGE, description="The evidence.")]
    spec: Annotated[str, Field(max_length=64, description="Fingerprint of the spec at that time.")]
    promised_per_day: Annotated[
        Rate | None, Field(description="Upper bound of evictions a day in the model's forecast.")
    ] = None
    observed_per_day: Annotated[
        Rate | None, Field(description="Lower bound of observed episodes of evictions a day, at 97.5 %.")
    ] = None


class FailedNote(Model):
    """What failed in a container of a workload, as its annotation has it."""

    workload_uid: Annotated[Uid, Field(description="Of the object that carries it.")]
    failed: Annotated[list[FailedStatus], Field(max_length=MOST_FAILED)]


class Applied(Model):
    """Last change of the workload by the operator."""

    model_config = ConfigDict(json_schema_extra=earlier_name("at", "changeTime"))

    values: SettingValues
    previous: SettingValues
    at: Annotated[
        str,
        AfterValidator(moment),
        Field(
            validation_alias=AliasChoices("changeTime", "at"),
            serialization_alias="changeTime",
            json_schema_extra=_TIME,
        ),
    ]
    workload_uid: Annotated[Uid, Field(description="uid of the changed object.")]
    container: Annotated[LabelName | None, Field(description="Changed container.")] = None
    entries: Annotated[
        dict[str, Annotated[str, Field(max_length=64)]] | None,
        Field(max_length=MAX_ENTRIES, description="Variables of the operator after the change, with their values."),
    ] = None
    previous_entries: Annotated[
        dict[str, Annotated[str, Field(max_length=64)]] | None,
        Field(max_length=MAX_ENTRIES, description="Entries before the change, which a revert writes back."),
    ] = None
    promise: PromiseStatus | None = None
    baseline: Annotated[
        SettingValues | None,
        Field(description="Values before the first of the operator's changes that led here."),
    ] = None
    reverts: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(
            alias="revertedChangeTime", description="Time of the change that this one reverts.", json_schema_extra=_TIME
        ),
    ] = None
    begun: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(
            alias="startTime",
            description="When the change was written to the first of several workloads.",
            json_schema_extra=_TIME,
        ),
    ] = None
    failed: Annotated[
        list[FailedStatus] | None, Field(max_length=MOST_FAILED, description="Values reverted until then.")
    ] = None
    reason: Annotated[
        str | None, Field(max_length=64, description="Reason for the change. docs/reference/reasons.md explains each.")
    ] = None


class WorkloadStatus(Model):
    """State of one workload."""

    kind: Annotated[str, Field(max_length=63)]
    name: Annotated[str, Field(max_length=253)]
    container: Annotated[str, Field(max_length=63)]
    current: Annotated[
        SettingValues | None, Field(description="Values in its pods. Absent while pods differ or values are unknown.")
    ] = None
    applied: Annotated[Applied | None, Field(description="Last change of this workload by the operator.")] = None


class Writing(Model):
    """Change in progress, recorded before the write so that a crash does not hide it."""

    change: Applied
    revision: Annotated[int, Field(description="Revision of the workload before the change.")]


class TakenBackStatus(Model):
    """Values of the operator that somebody removed or replaced."""

    applied: Annotated[Applied, Field(description="The change that wrote these values.")]
    seen: Annotated[
        str,
        AfterValidator(moment),
        Field(alias="detectionTime", description="Time of detection.", json_schema_extra=_TIME),
    ]
    generation: Annotated[int, Field(description="Generation of the policy at that time.")]
    by: Annotated[str | None, Field(max_length=128, description="Field manager that owns the values now, if any.")] = (
        None
    )
    spec: Annotated[
        str | None,
        Field(
            max_length=64,
            description="Fingerprint of the spec at that time. Nothing is written until the spec is edited.",
        ),
    ] = None


class EpisodeRateStatus(Model):
    """Frequency of evictions of live members. Evictions within 15 minutes are one episode."""

    episodes: Annotated[int, Field(ge=0)]
    days: Annotated[float, Field(ge=0.0, le=MAX_DAYS, allow_inf_nan=False, description="Days of observation.")]
    per_day_lower: Annotated[Rate, Field(description="Lower bound a day, at 97.5 %.")]
    per_day_upper: Annotated[Rate | None, Field(description="Upper bound a day, at 97.5 %. Absent while unknown.")] = (
        None
    )
    stalled_partition_seconds_each: Annotated[
        Rate | None,
        Field(
            description=(
                "Partition-seconds that one eviction stalls, as the fitted model said when the change was written; "
                "absent where no model was asked."
            )
        ),
    ] = None
    stalled_partition_seconds_per_day_lower: Annotated[
        Rate | None,
        Field(description="perDayLower times stalledPartitionSecondsEach; absent while one is unknown."),
    ] = None
    stalled_partition_seconds_per_day_upper: Annotated[
        Rate | None,
        Field(description="perDayUpper times stalledPartitionSecondsEach; absent while one is unknown."),
    ] = None


class EffectStatus(Model):
    """Effect of the change on evictions, updated with each eviction and each day."""

    before: Annotated[EpisodeRateStatus | None, Field(description="Evictions before the change, if known.")] = None
    after: EpisodeRateStatus


class VerificationStatus(Model):
    """Progress of the last change: whether its values are in the pods, and whether they helped."""

    at: Annotated[
        str,
        AfterValidator(moment),
        Field(alias="changeTime", description="Time of the change.", json_schema_extra=_TIME),
    ]
    landed: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(alias="readyTime", description="Since when all pods are ready with it.", json_schema_extra=_TIME),
    ] = None
    template: Annotated[str, Field(max_length=64, description="Fingerprint of the pod template after the change.")] = ""
    deployed: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(
            alias="otherChangeTime",
            description="When another change of the template was seen. The operator then does not revert.",
            json_schema_extra=_TIME,
        ),
    ] = None
    outcome: Annotated[
        Outcome,
        open_word(
            "Verifying, Verified, Worse, WorseThanPromised, NoEffect, RolloutFailed or Inconclusive; the condition "
            "Verified says why."
        ),
    ]
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="The evidence.")] = ""
    reached: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(alias="outcomeTime", description="Time of the outcome.", json_schema_extra=_TIME),
    ] = None
    effect: EffectStatus | None = None


class EvictingSessionStatus(Model):
    """A session of earlier values under which live members were evicted: none as short is set again for a saving."""

    session_timeout: PositiveDuration
    episodes: Annotated[int, Field(ge=1, description="Of evictions.")]
    days: Annotated[float, Field(ge=1.0, le=MAX_DAYS, description="In which they were counted.")]
    on_days: Annotated[int, Field(ge=1, description="Days of 24 hours that have all of them.")]
    until: Annotated[str, AfterValidator(moment), Field(alias="endTime", json_schema_extra=_TIME)]
    spec: Annotated[str, Field(max_length=64, description="A fingerprint of what the spec asked for then.")]


class HistoryStatus(Model):
    """Evictions of live members while the values before the last change were set."""

    since: Annotated[str, AfterValidator(moment), Field(alias="startTime", json_schema_extra=_TIME)]
    cluster_ref: Annotated[str, Field(max_length=63)]
    group_id: Annotated[str, Field(max_length=255)]
    values: Annotated[SettingValues, Field(description="Values at the end of the record.")]
    episodes: Annotated[
        str,
        Field(
            max_length=MAX_MESSAGE,
            description="Episodes of evictions, in seconds since the start; one lasts 15 minutes.",
        ),
    ] = ""
    left_out: Annotated[
        str,
        Field(max_length=MAX_MESSAGE, description="Intervals without data, in seconds since the start."),
    ] = ""
    evicting: Annotated[
        list[EvictingSessionStatus] | None,
        Field(max_length=MOST_EVICTING, description="Sessions of earlier values that evicted."),
    ] = None
    hidden_until: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(alias="hiddenUntilTime", description="Evictions may be missing until then.", json_schema_extra=_TIME),
    ] = None
