"""Pods that vanish from a watch: gone, or merely without their label."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from heartbeat_tuner.adapters.slots import slot_pods
from heartbeat_tuner.adapters.slots.slot_pods import WatchedSlotPods
from heartbeat_tuner.api.slot_names import GATE, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError
from tests.support.electors import until
from tests.support.slots import FakeClock
from tests.unit.adapters.kubernetes.test_watching import FakeSource, event, page
from tests.unit.adapters.slots.test_slot_leases import PLACE, pod


class FakeApi(FakeSource):
    """An API server that has some pods.

    Attributes:
        named: what is there, by name.
        failing: whether it does not answer who asks for one.
    """

    def __init__(self, *bodies: dict[str, Any]) -> None:
        super().__init__(page(9, *bodies))
        self.named = {body["metadata"]["name"]: body for body in bodies}
        self.failing = False

    async def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Return a list, or one pod."""
        if path == "/api/v1/pods":
            return await super().get(path, **query)
        if self.failing:
            raise ApiServerError("down")
        folder, _, name = path.rpartition("/")
        assert folder == "/api/v1/namespaces/shop/pods"
        return self.named.get(name)


@contextlib.asynccontextmanager
async def running(
    api: FakeApi, clock: FakeClock | None = None, *, still_there_pause_s: float = 0.001
) -> AsyncIterator[tuple[WatchedSlotPods, list[SlotPlace]]]:
    """Give what is seen of an API server's pods, and the places that changed."""
    changed: list[SlotPlace] = []
    pods = WatchedSlotPods(
        api,
        clock=clock or FakeClock(),
        changed=changed.append,
        still_there_pause_s=still_there_pause_s,
        watch_pause_s=0.001,  # the other is for real API servers
    )
    task = asyncio.create_task(pods.run())
    await until(lambda: pods.watched.in_touch)
    yield pods, changed
    task.cancel()
    await asyncio.wait([task])


def deleted(version: int) -> bytes:
    """Return a watch's line that says that the pod is not selected any more."""
    return event("DELETED", pod(metadata={"resourceVersion": str(version)}))


async def test_a_pod_that_is_deleted_is_gone_and_remembered() -> None:
    """For as long as its slot may have to be settled."""
    api, clock = FakeApi(pod()), FakeClock()
    async with running(api, clock) as (pods, changed):
        assert [item.gone for item in pods.at(PLACE)] == [False]
        api.named.clear()
        changed.clear()
        api.put(deleted(10))
        await until(lambda: [item.gone for item in pods.at(PLACE)] == [True])
        assert changed[-1] == PLACE
        assert pods.at(SlotPlace("elsewhere", "x")) == []

        clock.time += slot_pods.CACHED_PODS + timedelta(seconds=1)
        api.put(event("ADDED", pod(metadata={"uid": "p2", "resourceVersion": "11"})))
        api.put(event("DELETED", pod(metadata={"uid": "p2", "resourceVersion": "12"})))
        await until(lambda: [item.uid for item in pods.at(PLACE)] == ["p2"])


async def test_a_pod_that_lost_its_label_lives_on() -> None:
    """Until it is really gone, or another has its name."""
    api = FakeApi(pod())
    async with running(api) as (pods, _):
        api.named["orders-consumer-5d4f-x"] = pod(metadata={"resourceVersion": "11"})
        api.put(deleted(10))
        await until(lambda: [item.version for item in pods.at(PLACE)] == ["11"])
        assert not pods.at(PLACE)[0].gone
        api.named["orders-consumer-5d4f-x"] = pod(metadata={"uid": "p2"})
        await until(lambda: [item.gone for item in pods.at(PLACE)] == [True])


async def test_who_vanishes_is_asked_for_at_once() -> None:
    """Also while another is still there, though without its label: in a rollout pods vanish one after the other."""
    other = pod(metadata={"uid": "p2", "name": "y"})
    api = FakeApi(pod(), other)
    async with running(api, still_there_pause_s=1000) as (pods, _):
        api.put(deleted(10))
        await until(lambda: len(pods.watched.everything()) == 1)
        await asyncio.sleep(0.01)
        del api.named["y"]
        api.put(event("DELETED", pod(metadata={"uid": "p2", "name": "y", "resourceVersion": "12"})))
        await until(lambda: {item.uid: item.gone for item in pods.at(PLACE)} == {"p1": False, "p2": True})


async def test_a_pod_of_which_nobody_knows_counts_as_it_was() -> None:
    """While the API server does not answer."""
    api = FakeApi(pod())
    async with running(api) as (pods, _):
        api.failing = True
        api.put(deleted(10))
        await until(lambda: not pods.watched.everything())
        await asyncio.sleep(0.01)
        assert [item.gone for item in pods.at(PLACE)] == [False]
        api.failing = False
        api.named.clear()
        await until(lambda: [item.gone for item in pods.at(PLACE)] == [True])


async def test_a_pod_that_is_not_understood_counts_as_it_was() -> None:
    """Neither does it end the questions for all others, nor is it forgotten before it is gone."""
    other = pod(metadata={"uid": "p2", "name": "y"})
    api = FakeApi(pod(), other)
    async with running(api) as (pods, _):
        api.named = {"orders-consumer-5d4f-x": pod(spec={"containers": None})}
        api.put(deleted(10), event("DELETED", pod(metadata={"uid": "p2", "name": "y", "resourceVersion": "12"})))
        await until(lambda: {item.uid: item.gone for item in pods.at(PLACE)} == {"p1": False, "p2": True})
        api.named.clear()
        await until(lambda: all(item.gone for item in pods.at(PLACE)))


async def test_who_waits_is_told_apart() -> None:
    """A pod that is on its way out waits no more."""
    gate = {"schedulingGates": [{"name": GATE}]}
    ending = {"uid": "p2", "name": "y", "deletionTimestamp": "2026-03-02T12:00:30Z"}
    async with running(FakeApi(pod(spec=gate | {"containers": pod()["spec"]["containers"]}))) as (pods, _):
        assert [item.pod.uid for item in pods.gated()] == ["p1"]
    async with running(FakeApi(pod(spec=gate, metadata=ending))) as (pods, _):
        assert list(pods.gated()) == []
