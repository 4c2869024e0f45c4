"""Pods that wait for a slot, and Leases that somebody edits: what replicas do between admissions."""

import pytest

from heartbeat_tuner.api.slot_names import TOKEN_ANNOTATION
from sandbox.processes import wait_until
from tests.support.shops import Shop, bind, deployment, gated, ids_of
from tests.support.webhooks import Replica

pytestmark = pytest.mark.timeout(180)


@pytest.mark.usefixtures("classic")
def test_a_lease_that_is_edited_or_deleted_goes_back_to_its_pod(shop: Shop) -> None:
    """The id stands in the pod, and cannot be taken back."""
    shop.apply(deployment(2))
    shop.await_pods(2)
    before = shop.leases()
    edited, deleted = before
    shop.kubectl("patch", "lease", edited, "--type=merge", '--patch={"spec":{"holderIdentity":"me"}}')
    shop.kubectl("delete", "lease", deleted)
    wait_until(lambda: shop.leases() == before, part="leases", what="their holders", timeout_s=60)


@pytest.mark.usefixtures("classic")
def test_a_new_pod_waits_for_the_slot_of_the_one_that_ends(shop: Shop, replicas: tuple[Replica, Replica]) -> None:
    """It has the id from the start, and is let go when the holder is gone, though who promised it is dead."""
    shop.apply(deployment(2, surge=0))
    old, other = shop.await_pods(2)
    bind(shop, old)
    name, (id_of_old,) = old["metadata"]["name"], ids_of([old])
    shop.kubectl("delete", "pod", name, "--wait=false", "--grace-period=60")
    (new,) = [await_pod for await_pod in shop.await_pods(2) if await_pod["metadata"]["uid"] != other["metadata"]["uid"]]
    assert (ids_of([new]), len(gated([new]))) == ([id_of_old], 1)
    assert shop.leases()[id_of_old] == old["metadata"]["annotations"][TOKEN_ANNOTATION]

    for replica in replicas:
        replica.process.kill()
    for replica in replicas:
        replica.start()
    for replica in replicas:
        replica.await_ready()
    assert len(gated(shop.pods())) == 1
    shop.kubectl("delete", "pod", name, "--grace-period=0", "--force")
    wait_until(lambda: not gated(shop.pods()), part="pods", what="the gate's end", timeout_s=60)
    assert {pod["metadata"]["uid"] for pod in shop.pods()} == {item["metadata"]["uid"] for item in (new, other)}
    assert shop.leases()[id_of_old] == new["metadata"]["annotations"][TOKEN_ANNOTATION]


@pytest.mark.usefixtures("classic")
def test_a_gated_pod_without_a_policy_is_replaced(shop: Shop) -> None:
    """Its successor starts at once, as a dynamic member: the holder may still live."""
    shop.apply(deployment(1, surge=0))
    (old,) = shop.await_pods(1)
    bind(shop, old)
    shop.kubectl("delete", "pod", old["metadata"]["name"], "--wait=false", "--grace-period=60")
    assert len(gated(shop.await_pods(1))) == 1
    shop.kubectl("delete", "cgp", "orders")
    wait_until(lambda: ids_of(shop.pods()) == [""], part="pods", what="the successor", timeout_s=60)
    assert gated(shop.pods()) == []
