"""Slots for who only looks: Leases from a watch of their own, pods from the one of workloads."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.slots.slot_views import LiveSlotViews
from heartbeat_tuner.adapters.workloads.live_workloads import LiveWorkloads
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import SLOT_LABEL, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.policies import ObjectKey, WorkloadRef
from heartbeat_tuner.membership import records
from heartbeat_tuner.membership.values import SlotRecord, View
from tests.support import worlds
from tests.support.electors import until
from tests.support.slots import FakeClock
from tests.support.watched_cluster import WatchedCluster

LEASES = api_paths.collection(api_paths.LEASES)
PODS = api_paths.collection(api_paths.PODS)
PATIENCE = timedelta(milliseconds=50)


def place(name: str = "orders", namespace: str = "shop") -> SlotPlace:
    """Return where a policy's slots are."""
    return slot_names.place_of("5ee15ee1-0000", ObjectKey(namespace, name))


class World:
    """A cluster, and who looks at its slots."""

    def __init__(self) -> None:
        self.cluster = WatchedCluster()
        self.live = LiveWorkloads(self.cluster, FakeClock(), patience=PATIENCE)
        self.slots = LiveSlotViews(self.cluster, FakeClock(), self.live, patience=PATIENCE)

    def lease(self, number: int, where: SlotPlace, *, holder: str = "t0") -> None:
        """Store a slot's Lease."""
        identity, annotations = records.fields(
            number, SlotRecord(since=datetime(2026, 3, 2, tzinfo=UTC), holder=holder)
        )
        metadata = {"labels": {SLOT_LABEL: str(number)}, "annotations": dict(annotations)}
        body: dict[str, Any] = {"metadata": metadata, "spec": {"holderIdentity": identity or None}}
        self.cluster.put(LEASES, where.namespace, where.id_of(number), body)

    def pod(self, name: str, number: int, where: SlotPlace, *, deployment: str = "") -> None:
        """Store a pod that has a slot, of a Deployment or of nobody."""
        owner = {"controller": True, "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{deployment}-7d"}
        metadata = {
            "labels": {SLOT_LABEL: str(number), "pod-template-hash": "7d"},
            "creationTimestamp": "2026-03-02T12:00:00Z",
            "ownerReferences": [owner] if deployment else [],
        }
        env = [{"name": "KAFKA_GROUP_INSTANCE_ID", "value": where.id_of(number)}]
        self.cluster.put(
            PODS, where.namespace, name, {"metadata": metadata, "spec": {"containers": [{"name": "app", "env": env}]}}
        )

    async def read(self, *places: SlotPlace) -> dict[SlotPlace, View]:
        """Look at workloads in the namespaces of these places, and then at slots."""
        await self.live.cover(
            [
                worlds.policy(
                    key=(key := ObjectKey(place.namespace, "orders")), workload=WorkloadRef("Deployment", key, "app")
                )
                for place in places
            ]
        )
        return dict(await self.slots.read(places))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A cluster that is looked at."""
    made = World()
    async with made.live.running(), made.slots.running():
        yield made


def seen(views: dict[SlotPlace, View], where: SlotPlace) -> tuple[list[int], list[str]]:
    """Return the numbers of Leases and the names of pods at a place."""
    return sorted(slot.number for slot in views[where].slots), sorted(pod.name for pod in views[where].pods)


async def test_slots_and_pods_are_followed_without_another_list(world: World) -> None:
    """Two lists a cycle are what this saves; a pod that belongs to nobody counts as well as a Deployment's."""
    for number in range(2):
        world.lease(number, place())
    world.pod("a", 0, place(), deployment="orders")
    world.pod("b", 1, place())
    assert seen(await world.read(place()), place()) == ([0, 1], ["a", "b"])
    gets, watches = len(world.cluster.gets), world.cluster.watches
    world.lease(2, place())
    world.cluster.delete(LEASES, "shop", place().id_of(0))
    world.cluster.delete(PODS, "shop", "b")

    async def followed() -> bool:
        return seen(await world.read(place()), place()) == ([1, 2], ["a"])

    for _ in range(200):
        if await followed():
            break
        await asyncio.sleep(0.01)
    assert await followed()
    assert (len(world.cluster.gets), world.cluster.watches) == (gets, watches)
    assert world.cluster.gets.count(PODS) == 1


async def test_only_what_is_asked_for_is_held(world: World) -> None:
    """Anybody may write Leases that look like slots."""
    for number in range(3):
        world.lease(number, place())
        world.lease(number, place("other"))
        world.lease(number, place(namespace="elsewhere"))
    assert (await world.read(place())).keys() == {place()}
    assert {lease.place for lease in world.slots._leases.everything()} == {place()}


async def test_a_place_that_is_asked_for_later_is_whole(world: World) -> None:
    """And what is not asked for any more is forgotten."""
    for number in range(3):
        world.lease(number, place())
        world.lease(number, place("other"))
    await world.read(place())
    views = await world.read(place("other"))
    assert seen(views, place("other")) == ([0, 1, 2], [])
    assert {lease.place for lease in world.slots._leases.everything()} == {place("other")}


async def test_who_has_neither_lease_nor_pod_is_left_out(world: World) -> None:
    """There is nothing to show."""
    assert await world.read(place()) == {}


async def test_nobody_watches_before_somebody_looks(world: World) -> None:
    """Where no policy gives ids there is nothing to look at."""
    await world.live.cover([worlds.policy()])
    await asyncio.sleep(0.05)
    assert LEASES not in world.cluster.gets


@pytest.mark.parametrize("forbidden", [LEASES, PODS])
async def test_what_cannot_be_seen_is_an_error_and_no_empty_view(world: World, forbidden: str) -> None:
    """A status would say that nobody waits; as soon as the API server answers it is seen."""
    world.lease(0, place())
    world.cluster.forbidden = forbidden
    with pytest.raises(ApiServerError, match=f"{forbidden} with 403"):
        await world.read(place())
    world.cluster.forbidden = ""
    await until(lambda: world.slots._leases.in_touch and world.live._pods.in_touch)
    assert seen(await world.read(place()), place()) == ([0], [])


async def test_a_place_that_could_not_be_listed_is_listed_by_the_next_look(world: World) -> None:
    """Else its slots would be missing for good."""
    world.lease(0, place("other"))
    await world.read(place())
    world.cluster.error = ApiServerError("away")
    with pytest.raises(ApiServerError, match="away"):
        await world.slots.read([place("other")])
    world.cluster.error = None
    assert seen(await world.read(place("other")), place("other")) == ([0], [])
