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
    """One slot of static membership, with its holder."""

    id: Annotated[str, Field(max_length=253, description="group.instance.id, which is also the name of the Lease.")]
    state: Annotated[
        str,
        Field(
            max_length=64,
            description="Held, Terminating (its pod ends), Claimed (its pod was not seen yet), Gone (its pod is, which "
            "is not written down yet), Resting (until a session is surely over), Free, or Edited (by somebody else).",
        ),
    ]
    pod: Annotated[str | None, Field(max_length=253, description="Pod that holds the slot.")] = None
    since: Annotated[
        str | None,
        Field(
            alias="lastTransitionTime",
            description="Time of the last change of state.",
            json_schema_extra={"format": "date-time"},
        ),
    ] = None
    waiting: Annotated[str | None, Field(max_length=253, description="Gated pod that gets the slot next.")] = None


class GatedPod(Model):
    """Pod that is not scheduled until its slot is free."""

    pod: Annotated[str, Field(max_length=253)]
    id: Annotated[str | None, Field(max_length=253, description="Id that the pod waits for.")] = None
    since: Annotated[
        str,
        Field(alias="creationTime", description="Creation time of the pod.", json_schema_extra={"format": "date-time"}),
    ]


class SlotsStatus(Model):
    """Slots of static membership: counts, and the first ones by name."""

    size: Annotated[
        int | None,
        Field(description=f"Number of slots: replicas plus surge, at most {MOST_SLOTS}."),
    ] = None
    held: Annotated[int, Field(description="Slots of a pod, including terminating pods.")]
    free: Annotated[int, Field(description="Slots that can be assigned now.")]
    unsettled: Annotated[int, Field(description="All other slots: claimed, gone, resting or edited.")]
    gated: Annotated[int, Field(description="Pods that wait for a slot.")]
    first: Annotated[
        list[SlotStatus],
        Field(max_length=MAX_SLOTS, description=f"First slots by number, at most {MAX_SLOTS}. Leases have all."),
    ]
    gated_pods: Annotated[
        list[GatedPod],
        Field(max_length=MAX_GATED, description=f"Pods that have waited longest, at most {MAX_GATED}."),
    ]
