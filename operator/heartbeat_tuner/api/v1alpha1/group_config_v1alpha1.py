"""`ConsumerGroupPolicy` v1alpha1: what the tuner wrote into a group's configuration at the broker."""

from typing import Annotated

from pydantic import AfterValidator, Field

from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import PromiseStatus
from heartbeat_tuner.api.v1alpha1.fields import Model, PositiveDuration, moment, moment_or_none


class GroupValues(Model):
    """What is set for a group itself at the broker; what is left out is the broker's own value."""

    session_timeout: PositiveDuration | None = None
    heartbeat_interval: PositiveDuration | None = None


class GroupWriteStatus(Model):
    """A write into the group's configuration."""

    values: GroupValues
    previous: Annotated[GroupValues, Field(description="What was set for the group before; to be written to go back.")]
    at: Annotated[
        str,
        AfterValidator(moment),
        Field(alias="changeTime", description="Time of the write.", json_schema_extra={"format": "date-time"}),
    ]
    spec: Annotated[str, Field(max_length=64, description="A fingerprint of what the policy asked for.")]
    answered: Annotated[bool, Field(description="Whether the broker was seen to have the values.")]
    replaced: Annotated[
        GroupValues | None, Field(description="What was in force before, be it the group's own or the broker's.")
    ] = None
    reverts: Annotated[
        str | None,
        AfterValidator(moment_or_none),
        Field(
            alias="revertedChangeTime",
            description="Time of the write that this one reverts; absent for a change.",
            json_schema_extra={"format": "date-time"},
        ),
    ] = None
    harm: Annotated[
        str | None, Field(max_length=63, description="What that write did; absent where a person asked for it back.")
    ] = None
    promise: PromiseStatus | None = None


class GroupConfigStatus(GroupWriteStatus):
    """The last write into the group's configuration, noted before it is done."""

    cluster_ref: Annotated[str, Field(max_length=63)]
    group_id: Annotated[str, Field(max_length=255)]
    before: Annotated[
        GroupWriteStatus | None, Field(description="The write before, until this one is known to be done.")
    ] = None
