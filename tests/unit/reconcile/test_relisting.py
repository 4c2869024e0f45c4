"""Lists that repair what the watch missed."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from heartbeat_tuner.reconcile.relisting import Relisting
from tests.support import manifests
from tests.support.electors import until
from tests.support.fakes import FakePolicies
from tests.support.stages import ORDERS

SOON = timedelta(milliseconds=5)


def world() -> tuple[PolicyStore, FakePolicies]:
    """Return a store whose watch showed one policy, and the API server that has it."""
    store = PolicyStore()
    return store, FakePolicies(store, [manifests.policy(resourceVersion="7")])


async def test_a_deletion_that_the_watch_missed_is_found_in_time() -> None:
    """By the regular list."""
    store, policies = world()
    stopped = asyncio.Event()
    listing = asyncio.create_task(Relisting(policies, store, every=SOON).run_until(stopped))
    policies.stored.clear()
    policies.moment = 9
    await until(lambda: not store.snapshot())
    stopped.set()
    await listing


async def test_a_deletion_while_the_watch_was_interrupted_is_found_soon_after_it() -> None:
    """Until the next regular list, five minutes, a policy that is gone would be looked after."""
    store, policies = world()
    store.show(manifests.policy(name="mails", resourceVersion="8"), is_listed=True)  # it begins: never shown before
    policies.moment = 8
    stopped = asyncio.Event()
    listing = asyncio.create_task(Relisting(policies, store, settle=SOON).run_until(stopped))
    await until(lambda: [held["metadata"]["name"] for held in store.snapshot()] == ["orders"])
    policies.stored.clear()
    policies.moment = 9
    await asyncio.sleep(0.05)
    assert store.snapshot()
    store.show(manifests.policy(resourceVersion="7"), is_listed=True)
    await until(lambda: not store.snapshot())
    assert not store.interrupted.is_set()
    stopped.set()
    await listing


async def test_an_interrupted_watch_does_not_delay_the_end() -> None:
    """Nothing is listed any more."""
    store, policies = world()
    stopped = asyncio.Event()
    listing = asyncio.create_task(Relisting(policies, store).run_until(stopped))
    await asyncio.sleep(0.02)
    store.show(manifests.policy(resourceVersion="7"), is_listed=True)
    await asyncio.sleep(0.02)
    stopped.set()
    await asyncio.wait_for(listing, 4)


async def test_a_list_that_fails_is_tried_again() -> None:
    """Trouble or surprise: the regular lists go on, and nothing is taken away."""
    for error in (ApiServerError("away"), RuntimeError("a surprise")):
        store, policies = world()
        policies.error = error
        stopped = asyncio.Event()
        listing = asyncio.create_task(Relisting(policies, store, every=SOON, retry=SOON).run_until(stopped))
        await asyncio.sleep(0.02)
        assert store.snapshot()
        policies.error = None
        policies.edit_behind_the_watch(ORDERS)
        await until(lambda: store.snapshot()[0]["metadata"]["resourceVersion"] == "8")  # noqa: B023 - awaited here
        stopped.set()
        await listing


class Surprised(PolicyStore):
    """A store that a list surprises once."""

    surprises = 1

    def close(self, listed: Mapping[ObjectKey, int], version: int, *, at_s: float) -> list[ObjectKey]:
        """Raise, or take the end of a list in."""
        if self.surprises:
            self.surprises = 0
            raise RuntimeError("a surprise")
        return super().close(listed, version, at_s=at_s)


async def test_a_list_that_cannot_be_taken_in_is_tried_again() -> None:
    """A surprise costs that list, not all to come."""
    store = Surprised()
    policies = FakePolicies(store, [manifests.policy(resourceVersion="7")])
    policies.edit_behind_the_watch(ORDERS)
    stopped = asyncio.Event()
    listing = asyncio.create_task(Relisting(policies, store, every=SOON, retry=SOON).run_until(stopped))
    await until(lambda: store.snapshot()[0]["metadata"]["resourceVersion"] == "8")
    stopped.set()
    await listing


async def test_a_new_leader_has_to_see_the_policies_first() -> None:
    """What it would decide on without a list may be gone."""
    store, policies = world()
    policies.error = ApiServerError("away")
    refreshing = asyncio.create_task(Relisting(policies, store, retry=SOON).refresh())
    await asyncio.sleep(0.02)
    assert not refreshing.done()
    policies.error = None
    policies.edit_behind_the_watch(ORDERS)
    await asyncio.wait_for(refreshing, 20)
    assert store.snapshot()[0]["metadata"]["resourceVersion"] == "8"
