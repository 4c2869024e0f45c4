"""The pods of a StatefulSet: their names have the numbers that make ids."""

import pytest

from sandbox.processes import wait_until
from tests.support.shops import Shop, ids_of, policy, template
from tests.support.webhooks import Replica

pytestmark = pytest.mark.timeout(180)


def test_a_stateful_set_s_pods_have_their_numbers(shop: Shop, replicas: tuple[Replica, Replica]) -> None:
    """By their names, without a Lease; a pod that is deleted comes back with the same."""
    shop.apply(policy(workloadRef={"kind": "StatefulSet", "name": "orders-consumer", "container": "app"}))
    uid = shop.get("consumergrouppolicies", "orders")["metadata"]["uid"]
    stateful = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "orders-consumer"},
        "spec": {
            "replicas": 0,
            "serviceName": "orders",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "orders"}},
            "template": template(),
        },
    }
    shop.apply(stateful)

    def has_ids() -> bool:
        """Try again until both replicas have seen the policy."""
        shop.kubectl("scale", "statefulset", "orders-consumer", "--replicas=0")
        wait_until(lambda: not shop.pods(), part="pods", what="their end", timeout_s=60)
        shop.kubectl("scale", "statefulset", "orders-consumer", "--replicas=3")
        return all(ids_of(shop.await_pods(3)))

    def named() -> dict[str, str]:
        pods = shop.await_pods(3)
        return dict(zip((pod["metadata"]["name"] for pod in pods), ids_of(pods), strict=True))

    wait_until(has_ids, part="webhook", what="the policy", timeout_s=90, poll_s=1)
    wanted = {f"orders-consumer-{number}": f"orders-consumer-{uid[:8]}-s{number}" for number in range(3)}
    assert named() == wanted
    first = shop.get("pods", "orders-consumer-1")["metadata"]["uid"]
    shop.kubectl("delete", "pod", "orders-consumer-1", "--wait=false", "--grace-period=0", "--force")
    wait_until(
        lambda: any(pod["metadata"]["uid"] != first for pod in shop.pods() if pod["metadata"]["name"][-1] == "1"),
        part="pods",
        what="another of the same name",
        timeout_s=60,
    )
    assert named() == wanted
    assert shop.leases() == {}
    assert sum(replica.count("ordinal") for replica in replicas) >= 4
