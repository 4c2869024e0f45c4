"""Slots and their pods without an API server: versions count, and what is stale is refused."""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from heartbeat_tuner.api.canary_notes import CanaryTicket
from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.membership.values import GroupProtocol, Remove, Slot, SlotPod, SlotRecord, Write
from heartbeat_tuner.webhook.admission.enrolment import Enrolment

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
DEPLOYMENT = ObjectKey("shop", "orders-consumer")


def enrolment(**changed: Any) -> Enrolment:
    """Return what a policy enrols."""
    made = Enrolment(
        policy=ObjectKey("shop", "orders"),
        policy_uid="0123456789",
        created=NOW - timedelta(days=1),
        workload=DEPLOYMENT,
        kind="Deployment",
        container="app",
        variable="KAFKA_GROUP_INSTANCE_ID",
        protocol=GroupProtocol.CLASSIC,
        session_timeout=timedelta(seconds=45),
        suspended=False,
    )
    return dataclasses.replace(made, **changed)


PLACE = enrolment().slots


def pod(number: int, token: str, **changed: Any) -> SlotPod:
    """Return a pod that runs."""
    made = SlotPod(name=f"orders-consumer-{token}", uid=token, version="1", created_at=NOW, token=token, slot=number)
    return dataclasses.replace(made, **changed)


class FakeClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> datetime:
        """Return the time it was set to."""
        return self.time


class FakeTickets:
    """Who took which ticket of a canary: each is taken once, and one after the other."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str]] = []
        self.error: Exception | None = None

    async def take(self, ticket: CanaryTicket, taker: str) -> bool:
        """Take a ticket, unless it or a newer one is taken."""
        if self.error is not None:
            raise self.error
        if self.taken and not ticket.is_newer_than(self.taken[-1][0]):
            return (ticket.text, taker) == self.taken[-1]
        self.taken.append((ticket.text, taker))
        return True


class FakeSizes:
    """Deployments of one size."""

    def __init__(self, size: int = 3) -> None:
        self.count = size
        self.error: Exception | None = None

    async def size(self, kind: str, workload: ObjectKey) -> int:
        """Return how many pods there may be."""
        assert (kind, workload) == ("Deployment", DEPLOYMENT)
        if self.error is not None:
            raise self.error
        return self.count


class FakeSlots:
    """Leases and pods; a view that is old until somebody looks.

    Attributes:
        stored: the Leases as the API server has them, by number.
        seen: as this replica has seen them.
        bodies: the pods.
        blind: whether looking shows nothing.
        looks: how often somebody looked.
        lost: whether a refresh loses touch.
        down: whether the API server does not say what rights there are.
        lifted: names of pods that were let go.
        evicted: names of pods that were replaced.
        refusal: what evictions meet.
        unwritable: numbers of Leases whose writes are refused.
        elsewhere: pods that wait at other places.
    """

    def __init__(self) -> None:
        self.as_of: datetime | None = NOW
        self.stored: dict[int, Slot] = {}
        self.seen: dict[int, Slot] = {}
        self.bodies: list[SlotPod] = []
        self.lifted: list[str] = []
        self.evicted: list[str] = []
        self.refreshed = 0
        self.blind = self.lost = self.down = False
        self.looks = 0
        self.allowed = True
        self.refusal: Exception | None = None
        self.unwritable: set[int] = set()
        self.elsewhere: dict[SlotPlace, Sequence[SlotPod]] = {}
        self._version = 0

    def put(self, number: int, record: SlotRecord | None, *, seen: bool = True) -> None:
        """Store a Lease as somebody else does."""
        self._version += 1
        self.stored[number] = Slot(number, str(self._version), record)
        if seen:
            self.seen[number] = self.stored[number]

    def leases(self, place: SlotPlace) -> Sequence[Slot]:
        """Return what was seen."""
        assert place == PLACE
        return list(self.seen.values())

    def pods(self, place: SlotPlace) -> Sequence[SlotPod]:
        """Return the pods."""
        assert place == PLACE
        return list(self.bodies)

    async def look(self, place: SlotPlace, number: int) -> None:
        """See a Lease as it is."""
        assert place == PLACE
        self.looks += 1
        if number in self.stored and not self.blind:
            self.seen[number] = self.stored[number]

    async def write(self, place: SlotPlace, owner: Owner, write: Write) -> None:
        """Store a record, if the version is right."""
        assert (place, owner) == (PLACE, Owner("orders", "0123456789"))
        await asyncio.sleep(0)  # others have their turn meanwhile
        if write.number in self.unwritable:
            raise ApiServerError("quota", status=403)
        self._check(write.number, write.version)
        self.put(write.number, write.record)

    async def remove(self, place: SlotPlace, remove: Remove) -> None:
        """Delete a Lease, if the version is right."""
        assert place == PLACE
        self._check(remove.number, remove.version)
        del self.stored[remove.number], self.seen[remove.number]

    async def refresh(self) -> None:
        """Count."""
        self.refreshed += 1
        self.as_of = None if self.lost else self.as_of

    def gated(self) -> Mapping[SlotPlace, Sequence[SlotPod]]:
        """Return the pods that wait."""
        waiting = [body for body in self.bodies if body.gated]
        return {**({PLACE: waiting} if waiting else {}), **self.elsewhere}

    async def may_lift(self) -> bool:
        """Whether the rights are there."""
        if self.down:
            raise ApiServerError("down")
        return self.allowed

    async def lift(self, place: SlotPlace, pod: SlotPod) -> None:
        """Take a gate off."""
        assert place == PLACE
        self.lifted.append(pod.name)

    async def evict(self, place: SlotPlace, pod: SlotPod) -> None:
        """Have a pod replaced."""
        assert place == PLACE or pod in self.elsewhere[place]
        if self.refusal is not None:
            raise self.refusal
        self.evicted.append(pod.name)

    def _check(self, number: int, version: str | None) -> None:
        stored = self.stored.get(number)
        if (None if stored is None else stored.version) != version:
            raise WriteConflictError(f"slot {number}")
