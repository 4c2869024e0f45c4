"""`ConsumerGroupPolicy` v1alpha1, of its status: the changes that the tuner made, and what became of them.

The same documents stand in the annotation of a workload that was written to.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from heartbeat_tuner.api.names import LabelName, Uid
from heartbeat_tuner.api.v1alpha1.fields import (
    MAX_MESSAGE,
    Model,
    PositiveDuration,
    moment,
    moment_or_none,
    open_word,
)
from heartbeat_tuner.domain.verifications import MOST_FAILED, Outcome

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


class SettingValues(Model):
    """One value per setting, as durations."""

    session_timeout: PositiveDuration
    heartbeat_interval: PositiveDuration
    fetch_wait: PositiveDuration
    max_poll_interval: PositiveDuration | None = None


class PromiseStatus(Model):
    """What the fitted model said of the values when they were written."""

    evictions_per_day_upper: Annotated[Rate, Field(description="Live members removed a day at most, at 95 %.")]
    trade: Annotated[
        bool, Field(description="Whether more evictions than before were accepted, for a faster detection.")
    ] = False


class FailedStatus(Model):
    """Values that the tuner wrote and took back: it does not propose them again to the same spec."""

    values: SettingValues
    previous: SettingValues
    at: Annotated[str, AfterValidator(moment), Field(json_schema_extra={"format": "date-time"})]
    outcome: Annotated[str, Field(max_length=64, description="What was found: Worse or RolloutFailed.")]
    message: Annotated[str, Field(max_length=MAX_FAILED_MESSAGE, description="What shows it.")]
    spec: Annotated[str, Field(max_length=64, description="A fingerprint of what the spec asked for then.")]
    promised_per_day: Annotated[
        Rate | None, Field(description="Evictions a day at most that the model had promised.")
    ] = None
    observed_per_day: Annotated[
        Rate | None, Field(description="Episodes of evictions a day at least that were counted, at 97.5 %.")
    ] = None


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
    previous_entries: Annotated[
        dict[str, Annotated[str, Field(max_length=64)]] | None,
        Field(max_length=MAX_ENTRIES, description="Entries before the change, which a revert writes back."),
    ] = None
    promise: PromiseStatus | None = None
    reverts: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(description="The time of the change that it takes back.", json_schema_extra={"format": "date-time"}),
    ] = None
    begun: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(
            description="When the same change was written to its first workload, where there are several.",
            json_schema_extra={"format": "date-time"},
        ),
    ] = None
    failed: Annotated[
        list[FailedStatus] | None, Field(max_length=MOST_FAILED, description="What was taken back until then.")
    ] = None
    reason: Annotated[
        str | None, Field(max_length=64, description="Why it was made; the reference of reasons explains each.")
    ] = None


class WorkloadStatus(Model):
    """One of several workloads of a policy."""

    kind: Annotated[str, Field(max_length=63)]
    name: Annotated[str, Field(max_length=253)]
    container: Annotated[str, Field(max_length=63)]
    current: Annotated[
        SettingValues | None, Field(description="What its pods run with; none while they differ, or are not known.")
    ] = None
    applied: Annotated[Applied | None, Field(description="The last change that the tuner made to it.")] = None


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
    generation: Annotated[int, Field(description="Of the policy at that time.")]
    by: Annotated[
        str | None, Field(max_length=128, description="The field manager that has the values now, if anybody has.")
    ] = None
    spec: Annotated[
        str | None,
        Field(
            max_length=64,
            description="A fingerprint of what the spec asked for then: nothing is written until that is edited.",
        ),
    ] = None


class EpisodeRateStatus(Model):
    """How often live members were evicted; evictions within 15 minutes are one episode."""

    episodes: Annotated[int, Field(ge=0)]
    days: Annotated[
        float, Field(ge=0.0, le=MAX_DAYS, allow_inf_nan=False, description="Of exposure, on the group's own clock.")
    ]
    per_day_lower: Annotated[Rate, Field(description="At least so many a day, at 97.5 %.")]
    per_day_upper: Annotated[
        Rate | None, Field(description="At most so many a day, at 97.5 %; none while nothing is known.")
    ] = None


class EffectStatus(Model):
    """What the change did to evictions, as of the last one, or of the day."""

    before: Annotated[EpisodeRateStatus | None, Field(description="In the record before it, if there is one.")] = None
    after: EpisodeRateStatus


class VerificationStatus(Model):
    """How far the last change is: whether its values are in the pods, and whether they helped."""

    at: Annotated[
        str,
        AfterValidator(moment),
        Field(description="Of the change.", json_schema_extra={"format": "date-time"}),
    ]
    landed: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(description="Since when all pods had stayed ready with it.", json_schema_extra={"format": "date-time"}),
    ] = None
    template: Annotated[
        str, Field(max_length=64, description="A fingerprint of the pods' template that the change left.")
    ] = ""
    deployed: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(
            description="When somebody else's change of the template was seen after it: nothing is taken back then.",
            json_schema_extra={"format": "date-time"},
        ),
    ] = None
    outcome: Annotated[
        Outcome,
        open_word(
            "Verifying, Verified, Worse, WorseThanPromised, NoEffect, RolloutFailed or Inconclusive; the condition "
            "Verified says why."
        ),
    ]
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="What shows it.")] = ""
    reached: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(description="When that showed.", json_schema_extra={"format": "date-time"}),
    ] = None
    effect: EffectStatus | None = None


class HistoryStatus(Model):
    """When live members of the group were evicted, for as long as the values before the last change were set."""

    since: Annotated[str, AfterValidator(moment), Field(json_schema_extra={"format": "date-time"})]
    cluster_ref: Annotated[str, Field(max_length=63)]
    group_id: Annotated[str, Field(max_length=255)]
    values: Annotated[SettingValues, Field(description="That are set at its end.")]
    episodes: Annotated[
        str,
        Field(
            max_length=MAX_MESSAGE,
            description="Evictions, in seconds since then; those within 15 minutes of the first are one episode.",
        ),
    ] = ""
    left_out: Annotated[
        str,
        Field(max_length=MAX_MESSAGE, description="From-to in seconds since then, where nothing could be learnt."),
    ] = ""
