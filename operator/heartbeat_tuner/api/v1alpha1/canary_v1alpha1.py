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
    Model,
    moment,
    moment_or_none,
    open_word,
    rules,
)
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.verifications import CanaryPhase

SHARE: Final = "^([0-9]|[1-4][0-9]|50)%$"
"""Half of the pods at most: the others are what they are compared with."""

SHORTEST: Final = timedelta(seconds=10)
LONGEST: Final = timedelta(hours=12)
"""Half of the time after which a canary ends."""

MOST_PODS: Final = 100_000
_BAD_LENGTH: Final = f"duration must be {durations.show(SHORTEST)} to {durations.show(LONGEST)}"


_NOT_A_SHARE: Final = "must be a whole share of the pods such as 25%, at most 50%; 0% for none"


def _share(text: str) -> str:
    if not re.fullmatch(SHARE, text, re.ASCII):
        raise ValueError(_NOT_A_SHARE)
    return text


def _length(text: str) -> str:
    if not SHORTEST <= durations.parse(text) <= LONGEST:
        raise ValueError(_BAD_LENGTH)
    return text


class CanarySpec(Model):
    """Which part of the pods gets new values first, and for how long it is watched."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                (
                    f"duration(self.duration) >= duration('{durations.show(SHORTEST)}') && "
                    f"duration(self.duration) <= duration('{durations.show(LONGEST)}')"
                ),
                _BAD_LENGTH,
            )
        )
    )

    share: Annotated[
        str,
        AfterValidator(_share),
        Field(
            max_length=4,
            json_schema_extra=rules((f"self.matches(r'{SHARE}')", _NOT_A_SHARE)),
            description=(
                "Of the pods, rounded down, one at least; 0% gives new values to all at once. Only Deployments of four "
                "and more pods of classic groups have a canary, in mode Apply, and where the operator may evict pods."
            ),
        ),
    ] = "25%"
    duration: Annotated[
        Duration,
        AfterValidator(_length),
        Field(description="How long these pods are watched; time in which nothing could be seen does not count."),
    ] = "1h"


def _moment_field(description: str) -> object:
    return Field(description=description, json_schema_extra={"format": "date-time"})


class CanaryStatus(Model):
    """New values in a part of the pods, before the workload's template gets them."""

    since: Annotated[str, AfterValidator(moment), _moment_field("When it began.")]
    until: Annotated[str, AfterValidator(moment), _moment_field("It ends then, whatever is known.")]
    values: Annotated[SettingValues, Field(description="That are tried.")]
    previous: Annotated[SettingValues, Field(description="Of the other pods.")]
    entries: Annotated[
        dict[str, Annotated[str, Field(max_length=64)]],
        Field(max_length=MAX_ENTRIES, description="What the webhook sets in its pods, by variable."),
    ]
    pods: Annotated[int, Field(ge=1, le=MOST_PODS, description="How many get the values at most.")]
    workload_uid: Annotated[Uid, Field(description="Of the workload.")]
    template: Annotated[str, Field(max_length=64, description="A fingerprint of the pods' template.")] = ""
    spec: Annotated[str, Field(max_length=64, description="A fingerprint of what the spec asked for.")] = ""
    phase: Annotated[
        CanaryPhase,
        open_word(
            "Running, Passed (the template follows), Failed or Ended (its pods are replaced), or Over (they are, and "
            "it failed, or another canary waits for its time)."
        ),
    ]
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="Why it failed or ended.")] = ""
    outcome: Annotated[str | None, Field(max_length=64, description="What was found where it failed.")] = None
    ticket: Annotated[
        int, Field(ge=0, le=MOST_PODS, description="The number of the newest pod that may get the values.")
    ] = 0
    replaced: Annotated[Uid | None, Field(description="The pod that was evicted last.")] = None
    replaced_at: Annotated[str | None, AfterValidator(moment_or_none), _moment_field("When that was noted.")] = None
    landed: Annotated[
        str | None, AfterValidator(moment_or_none), _moment_field("When all its pods were ready first.")
    ] = None
    exposed_seconds: Annotated[
        float, Field(ge=0.0, le=1e6, allow_inf_nan=False, description="How long its pods were watched.")
    ] = 0.0
    seen_until: Annotated[str | None, AfterValidator(moment_or_none), _moment_field("Up to when.")] = None
    hits: Annotated[
        str,
        Field(max_length=MAX_MESSAGE, description="Episodes of evictions at its pods, in seconds since it began."),
    ] = ""
    others: Annotated[
        str, Field(max_length=MAX_MESSAGE, description="Those that began at other pods, in the same seconds.")
    ] = ""
    again: Annotated[str | None, AfterValidator(moment_or_none), _moment_field("When another canary may begin.")] = None
    promise: PromiseStatus | None = None
    left_alone: Annotated[
        bool | None,
        Field(description="It is over, and nobody evicts its pods: they keep the values until somebody replaces them."),
    ] = None
