"""The slots of static ids, their Leases and their pods: looked at, written, and pods that wait for one."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.membership.values import Remove, Slot, SlotPod, View, Write


class Slots(Protocol):
    """The slots of static ids: their Leases and their pods, seen through watches, and written one by one."""

    @property
    def as_of(self) -> datetime | None:
        """Up to when Leases and pods are complete; None while they are not known, or not kept up to date."""
        ...

    def leases(self, place: SlotPlace) -> Sequence[Slot]:
        """Return the slots that have a Lease."""
        ...

    def pods(self, place: SlotPlace) -> Sequence[SlotPod]:
        """Return the pods that have a slot, those that are gone among them."""
        ...

    async def look(self, place: SlotPlace, number: int) -> None:
        """See a Lease as it is now, whatever the watch brings later.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def write(self, place: SlotPlace, owner: Owner, write: Write) -> None:
        """Write a slot's whole record, if its Lease is what was read.

        Raises:
            WriteConflictError: somebody wrote, created or deleted it since.
            ApiServerError: anything else.
        """
        ...

    async def remove(self, place: SlotPlace, remove: Remove) -> None:
        """Delete a slot's Lease, if it is what was read.

        Raises:
            WriteConflictError: somebody wrote it since.
            ApiServerError: anything else.
        """
        ...

    async def refresh(self) -> None:
        """Bring `as_of` forward.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...


class SlotViews(Protocol):
    """The slots of static ids for who only looks."""

    async def read(self, places: Collection[SlotPlace]) -> Mapping[SlotPlace, View]:
        """Return slots and pods at these places as they are now; places without either are left out.

        Raises:
            ApiServerError: the API server did not answer, or refused.
        """
        ...


class SlotPods(Protocol):
    """Pods that wait for their slots, or have to go."""

    def gated(self) -> Mapping[SlotPlace, Sequence[SlotPod]]:
        """Return the pods that wait for their slots."""
        ...

    async def may_lift(self) -> bool:
        """Whether gates may be lifted and pods evicted, as far as rights go.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def lift(self, place: SlotPlace, pod: SlotPod) -> None:
        """Take the gate off a pod, if it is what was seen.

        Raises:
            WriteConflictError: it changed since.
            ApiServerError: anything else.
        """
        ...

    async def evict(self, place: SlotPlace, pod: SlotPod) -> None:
        """Have a pod replaced by its controller, if it is what was seen.

        Raises:
            WriteConflictError: it changed since.
            ApiServerError: anything else, a disruption budget's refusal too.
        """
        ...
