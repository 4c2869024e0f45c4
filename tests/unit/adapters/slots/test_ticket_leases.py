"""Tickets of canaries on an API server that counts versions: each is taken once, whoever is first."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.slots.ticket_leases import KubernetesTickets
from heartbeat_tuner.api import canary_notes
from heartbeat_tuner.api.canary_notes import CanaryTicket
from heartbeat_tuner.api.slot_names import SLOT_LABEL, Owner
from heartbeat_tuner.domain.errors import WriteConflictError
from heartbeat_tuner.domain.policies import ObjectKey

LEASE = ObjectKey("shop", "orders-consumer.canary-01234567-0")


def ticket(number: int = 1, canary: int = 100, uid: str = "0123456789") -> CanaryTicket:
    """Return a ticket."""
    return CanaryTicket(Owner("orders", uid), LEASE, canary, number)


class FakeApi:
    """One Lease, or none; others have their turn between a read and a write."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0

    async def get(self, path: str, **_query: str) -> dict[str, Any] | None:
        """Return the Lease."""
        assert path.endswith(LEASE.name)
        found = self.lease
        await asyncio.sleep(0)
        return found

    async def write(self, method: str, _path: str, body: Mapping[str, Any], **_query: str) -> dict[str, Any] | None:
        """Store a Lease on the version that it was made for."""
        asked = body["metadata"].get("resourceVersion")
        if (method == "POST") is not (self.lease is None) or (self.lease and asked != f"{self.version}"):
            raise WriteConflictError("changed")
        self.version += 1
        metadata = {**body["metadata"], "resourceVersion": f"{self.version}", "uid": "l1"}
        self.lease = {**body, "metadata": metadata}
        return self.lease


@pytest.fixture
def api() -> FakeApi:
    """An API server without a Lease."""
    return FakeApi()


async def take(api: FakeApi, ticket: CanaryTicket, taker: str = "r1") -> bool:
    """Take a ticket, as a replica of its own."""
    return await KubernetesTickets(cast("KubernetesApi", api)).take(ticket, taker)


async def test_a_ticket_is_taken_once(api: FakeApi) -> None:
    """And who asks again has it still; the next one is free."""
    assert [await take(api, ticket(), uid) for uid in ("a", "b", "a")] == [True, False, True]
    assert await take(api, ticket(2), "b")
    assert not await take(api, ticket(1), "a"), "an older one is nobody's any more"
    assert await take(api, ticket(1, canary=200), "c"), "another canary counts from one"


async def test_of_replicas_that_ask_at_once_one_is_first(api: FakeApi) -> None:
    """At the first ticket, where there is no Lease, and at the second."""
    for number in (1, 2):
        taken = await asyncio.gather(*(take(api, ticket(number), f"r{replica}") for replica in range(4)))
        assert sorted(taken) == [False, False, False, True]


async def test_the_lease_is_marked_and_owned_as_those_of_slots(api: FakeApi) -> None:
    """By which the fence lets it pass, and the API server takes it away with the policy."""
    await take(api, ticket())
    assert api.lease is not None
    metadata = api.lease["metadata"]
    assert metadata["labels"] == {SLOT_LABEL: "0"}
    assert metadata["annotations"] == {canary_notes.TICKET_ANNOTATION: "100/1"}
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("ConsumerGroupPolicy", "orders", "0123456789")


@pytest.mark.parametrize(
    "forged",
    [{"annotations": {canary_notes.TICKET_ANNOTATION: "x"}}, {"annotations": None}, {"ownerReferences": []}],
    ids=["no ticket", "nothing", "nobody's"],
)
async def test_a_lease_that_somebody_edited_gives_nothing_away(api: FakeApi, forged: dict[str, Any]) -> None:
    """Fewer pods may have the values than were to have them, never more."""
    await take(api, ticket())
    assert api.lease is not None
    api.lease["metadata"] |= forged
    assert not await take(api, ticket(2), "b")


async def test_anothers_policy_takes_none(api: FakeApi) -> None:
    """A policy that was made again under its name has a uid of its own."""
    await take(api, ticket())
    assert not await take(api, ticket(2, uid="another"), "b")
