"""Static ids that come and go with the operator's word: `staticMembership: Auto`."""

import json
from collections.abc import Callable

import pytest

from sandbox.processes import wait_until
from tests.support.shops import Shop, deployment, ids_of, policy

pytestmark = pytest.mark.timeout(180)


def _given(shop: Shop, *, given: bool) -> None:
    """Say in the policy's status what the operator would."""
    status = {"status": {"staticIds": {"given": given, "worth": "Pays" if given else "Costs", "message": "so it is"}}}
    shop.kubectl("patch", "cgp", "orders", "--type=merge", "--subresource=status", f"--patch={json.dumps(status)}")


def test_in_auto_ids_come_and_go_with_the_operator_s_word(shop: Shop, known: Callable[[], None]) -> None:
    """Pods that are there keep what they have; no two ever have one id, and nobody waits for one that is not given."""
    shop.apply(policy(staticMembership="Auto"))
    shop.apply(deployment(2))
    assert ids_of(shop.await_pods(2)) == ["", ""]
    assert shop.leases() == {}

    _given(shop, given=True)
    known()
    dynamic = {pod["metadata"]["name"] for pod in shop.pods()}
    shop.kubectl("scale", "deployment", "orders-consumer", "--replicas=4")
    ids = {pod["metadata"]["name"]: item for pod, item in zip(shop.await_pods(4), ids_of(shop.pods()), strict=True)}
    assert {name for name, item in ids.items() if not item} == dynamic
    static = {name: item for name, item in ids.items() if item}
    assert len(set(static.values())) == 2

    _given(shop, given=False)

    def without_id() -> bool:
        """Replace a pod until both replicas have seen the word."""
        shop.kubectl("delete", "pod", *dynamic & {pod["metadata"]["name"] for pod in shop.pods()}, "--grace-period=0")
        pods = shop.await_pods(4)
        dynamic.clear()
        dynamic.update(pod["metadata"]["name"] for pod in pods if pod["metadata"]["name"] not in static)
        return ids_of(pods).count("") == 2

    wait_until(without_id, part="webhook", what="the word", timeout_s=60, poll_s=1)
    after = dict(zip((pod["metadata"]["name"] for pod in shop.pods()), ids_of(shop.pods()), strict=True))
    assert {name: item for name, item in after.items() if item} == static
    assert not any(pod["spec"].get("schedulingGates") for pod in shop.pods())
