"""Pods start, as dynamic members, while the webhook is out of order."""

from collections.abc import Callable

import pytest

from sandbox.proxy import FaultProxy
from tests.support.shops import Shop, deployment, ids_of, policy
from tests.support.webhooks import Replica

pytestmark = pytest.mark.timeout(180)


def test_while_the_webhook_does_not_reach_the_api_server_pods_start_as_dynamic_members(
    shop: Shop, wire: FaultProxy, known: Callable[[], None], replicas: tuple[Replica, Replica]
) -> None:
    """Afterwards its watches are opened again, and ids are given again."""
    shop.apply(policy())
    known()
    wire.cut()
    shop.apply(deployment(1))
    assert ids_of(shop.await_pods(1)) == [""]
    wire.heal()
    for replica in replicas:
        replica.await_ready()
    shop.kubectl("scale", "deployment", "orders-consumer", "--replicas=2")
    assert len([item for item in ids_of(shop.await_pods(2)) if item]) == 1


def test_without_the_webhook_pods_start_as_dynamic_members(
    shop: Shop, known: Callable[[], None], replicas: tuple[Replica, Replica]
) -> None:
    """Frozen, so that each pod waits for the whole timeout; and gone. Afterwards ids are given again."""
    shop.apply(policy())
    known()
    for replica in replicas:
        replica.process.pause()
    shop.apply(deployment(1))
    assert ids_of(shop.await_pods(1)) == [""]
    for replica in replicas:
        replica.process.resume()
        replica.process.kill()
    shop.kubectl("scale", "deployment", "orders-consumer", "--replicas=2")
    assert ids_of(shop.await_pods(2)) == ["", ""]
    for replica in replicas:
        replica.start()
    for replica in replicas:
        replica.await_ready()
    known()
    shop.kubectl("scale", "deployment", "orders-consumer", "--replicas=3")
    assert sum(map(bool, ids_of(shop.await_pods(3)))) == 1
