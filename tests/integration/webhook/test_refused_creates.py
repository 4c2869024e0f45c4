"""Pods that are refused after the webhook has claimed a slot for them: by a quota, which the API server asks later."""

import pytest

from heartbeat_tuner.membership.limits import PLACED_WITHIN
from sandbox.processes import wait_until
from tests.support.shops import Shop, deployment, ids_of

pytestmark = pytest.mark.timeout(300)

QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "none"},
    "spec": {"hard": {"pods": "0"}},
}


@pytest.mark.usefixtures("classic")
def test_a_slot_claimed_for_a_pod_that_never_came_is_free_again(shop: Shop) -> None:
    """As soon as its create can no longer succeed; until then nobody gets its id, and pods start all the same."""
    shop.apply(QUOTA)
    shop.apply(deployment(2))
    wait_until(lambda: len(shop.leases()) == 3, part="leases", what="claims of all slots", timeout_s=60)
    assert shop.pods() == []
    claimed = set(shop.leases())

    shop.kubectl("delete", "resourcequota", "none")
    wait_until(lambda: len(shop.pods()) == 2, part="pods", what="both", timeout_s=120)
    early = [item for item in ids_of(shop.pods()) if item]
    assert len(set(early)) == len(early)

    def settled() -> bool:
        """Whether no slot is held for nobody."""
        return sum(map(bool, shop.leases().values())) == len(early)

    wait_until(settled, part="leases", what="the end of claims", timeout_s=PLACED_WITHIN.total_seconds() + 60)
    for pod in shop.pods():
        shop.kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0")
    wait_until(
        lambda: len(found := ids_of(shop.pods())) == 2 and len(set(found)) == 2 and set(found) <= claimed,
        part="pods",
        what="ids for both",
        timeout_s=60,
    )
