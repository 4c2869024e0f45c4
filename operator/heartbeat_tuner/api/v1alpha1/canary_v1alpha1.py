"""`ConsumerGroupPolicy` v1alpha1, of canaries: how new values are tried in a part of the pods, and how far one is."""

import re
from datetime import timedelta
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field

from heartbeat_tuner.api.names import Uid
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import MAX_ENTRIES, PromiseStatus, SettingValues
from heartbeat_tuner.api.v1alpha1.fields import (
    MAX_MESSAGE,
    Duration,
    LengthRange,
    Model,
    moment,
    moment_or_none,
    open_word,
    rules,
)
from heartbeat_tuner.domain.verifications import CanaryPhase

SHARE: Final = "^([0-9]|[1-4][0-9]|50)%$"
"""Half of the pods at most: the others are what they are compared with."""

LENGTH: Final = LengthRange(timedelta(seconds=10), timedelta(hours=12))
"""At most half of the time after which a canary ends."""

MOST_PODS: Final = 100_000


_NOT_A_SHARE: Final = "must be a whole share of the pods such as 25%, at most 50%; 0% for none"


def _share(text: str) -> str:
    if not re.fullmatch(SHARE, text, re.ASCII):
        raise ValueError(_NOT_A_SHARE)
    return text


class CanarySpec(Model):
    """Share of the pods that gets new values first, and how long to watch it."""

    model_config = ConfigDict(json_schema_extra=LENGTH.schema)

    share: Annotated[
        str,
        AfterValidator(_share),
        Field(
            max_length=4,
            json_schema_extra=rules((f"self.matches(r'{SHARE}')", _NOT_A_SHARE)),
            description=(
                "Share of the pods, rounded down, at least one pod. 0% disables canaries. Only Deployments of at least "
                "four pods, with a classic group and in mode Apply, have canaries, if the operator may evict pods."
            ),
        ),
    ] = "25%"
    duration: Annotated[
        Duration,
        AfterValidator(LENGTH.checked),
        Field(description="How long to watch these pods. Time without data does not count."),
    ] = "1h"


def _moment_field(alias: str, description: str) -> object:
    return Field(alias=alias, description=description, json_schema_extra={"format": "date-time"})


class CanaryStatus(Model):
    """New values in some pods, before the workload's template gets them."""

    since: Annotated[str, AfterValidator(moment), _moment_field("startTime", "Start of the canary.")]
    until: Annotated[str, AfterValidator(moment), _moment_field("deadlineTime", "Latest end of the canary.")]
    values: Annotated[SettingValues, Field(description="Values on trial.")]
    previous: Annotated[SettingValues, Field(description="Values of the other pods.")]
    entries: Annotated[
        dict[str, Annotated[str, Field(max_length=64)]],
        Field(max_length=MAX_ENTRIES, description="Variables that the webhook sets in canary pods."),
    ]
    pods: Annotated[int, Field(ge=1, le=MOST_PODS, description="Largest number of canary pods.")]
    workload_uid: Annotated[Uid, Field(description="uid of the workload.")]
    template: Annotated[str, Field(max_length=64, description="Fingerprint of the pod template.")] = ""
    spec: Annotated[str, Field(max_length=64, description="Fingerprint of the spec.")] = ""
    phase: Annotated[
        CanaryPhase,
        open_word(
            "Running, Passed (the template follows), Failed or Ended (its pods are replaced), or Over (they are, and "
            "it failed, or another canary waits for its time)."
        ),
    ]
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="Why the canary failed or ended.")] = ""
    outcome: Annotated[str | None, Field(max_length=64, description="Outcome of a failed canary.")] = None
    ticket: Annotated[
        int, Field(ge=0, le=MOST_PODS, description="Number of the newest pod that may get the values.")
    ] = 0
    replaced: Annotated[Uid | None, Field(description="Pod that the operator evicted last.")] = None
    replaced_at: Annotated[
        str | None, AfterValidator(moment_or_none), _moment_field("replacementTime", "Time of the eviction.")
    ] = None
    landed: Annotated[
        str | None, AfterValidator(moment_or_none), _moment_field("readyTime", "When all canary pods were first ready.")
    ] = None
    exposed_seconds: Annotated[
        float, Field(ge=0.0, le=1e6, allow_inf_nan=False, description="Seconds of observation of canary pods.")
    ] = 0.0
    seen_until: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        _moment_field("lastObservationTime", "End of the observation so far."),
    ] = None
    hits: Annotated[
        str,
        Field(max_length=MAX_MESSAGE, description="Episodes of evictions at canary pods, in seconds since the start."),
    ] = ""
    others: Annotated[
        str,
        Field(max_length=MAX_MESSAGE, description="Episodes of evictions at other pods, in seconds since the start."),
    ] = ""
    again: Annotated[
        str | None, AfterValidator(moment_or_none), _moment_field("nextStartTime", "Earliest start of the next canary.")
    ] = None
    promise: PromiseStatus | None = None
    left_alone: Annotated[
        bool | None,
        Field(description="It is over, and nobody evicts its pods: they keep the values until somebody replaces them."),
    ] = None
