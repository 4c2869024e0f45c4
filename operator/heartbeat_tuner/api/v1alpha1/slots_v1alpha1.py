"""`ConsumerGroupPolicy` v1alpha1, of its status: the slots of static membership, and the pods that wait for one."""

from typing import Annotated, Final

from pydantic import Field

from heartbeat_tuner.api.slot_names import MOST_SLOTS
from heartbeat_tuner.api.v1alpha1.fields import Model

MAX_SLOTS: Final = 16
"""Slots that a status names one by one; of larger groups it has the numbers, and the Leases have all."""

MAX_GATED: Final = 10
"""Pods that wait that a status names one by one."""


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
