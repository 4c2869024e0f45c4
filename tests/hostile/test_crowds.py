"""One tenant's pods cost no other tenant its answer."""

import time
import uuid
from typing import Any

import pytest

from heartbeat_tuner.api import slot_names
from heartbeat_tuner.domain.policies import ObjectKey
from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from tests.hostile import flood
from tests.support import webhooks
from tests.support.shops import VARIABLE, Shop, deployment, pod_of_nobody, policy
from tests.support.webhooks import Replica

PODS = 2000
LIMIT_S = 1.5
"""What a review may take."""

WATCHED_S = 8.0

pytestmark = pytest.mark.timeout(240)


def _sharing_a_token(policy_uid: str, number: int) -> dict[str, Any]:
    """Return one of many pods that all say that they are the same one; no node takes it."""
    place = slot_names.place_of(policy_uid, ObjectKey("", "orders-consumer"))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"crowd-{number}",
            "labels": {slot_names.SLOT_LABEL: "0"},
            "annotations": {slot_names.TOKEN_ANNOTATION: "shared"},
        },
        "spec": {
            "schedulerName": "nobody",
            "schedulingGates": [{"name": slot_names.GATE}] if number % 2 else [],
            "containers": [{"name": "app", "image": "none", "env": [{"name": VARIABLE, "value": place.id_of(0)}]}],
        },
    }


@pytest.mark.row("B2")
def test_a_crowd_that_shares_a_token_delays_nobody(sandbox: Sandbox, webhook: Replica) -> None:
    """While the webhook looks through it, another namespace's reviews are answered within their limit."""
    plane = sandbox.control_plane
    crowd, victim = (Shop(plane, f"{name}-{uuid.uuid4().hex[:6]}") for name in ("crowd", "victim"))
    for item, spec in ((crowd, "Disabled"), (victim, "Enabled")):
        plane.kubectl("create", "namespace", item.namespace)
        item.apply(policy(staticMembership=spec), deployment(0))
    try:
        uid = crowd.get("consumergrouppolicies", "orders")["metadata"]["uid"]
        pods = (_sharing_a_token(uid, number) for number in range(PODS))
        flood.create(plane, f"/api/v1/namespaces/{crowd.namespace}/pods", pods)
        authority = webhooks.trusted_by(plane)
        answered_s: list[float] = []

        def ask() -> None:
            began_s = time.monotonic()
            assert webhook.ask(victim.namespace, pod_of_nobody(), authority=authority, dry_run=False)["allowed"]
            answered_s.append(time.monotonic() - began_s)

        ask()
        crowd.kubectl("patch", "cgp", "orders", "--type=merge", '--patch={"spec":{"staticMembership":"Enabled"}}')
        ends_s = time.monotonic() + WATCHED_S
        while time.monotonic() < ends_s:
            ask()
        wait_until(lambda: _replaced(webhook) > 0, part="webhook", what="a look at the crowd", timeout_s=30)
        assert max(answered_s) < LIMIT_S, sorted(answered_s)[-5:]
        assert webhook.count("timeout") == webhook.count("failed") == 0
    finally:
        crowd.kubectl("delete", "cgp", "--all")
        for name in (crowd.namespace, victim.namespace):
            plane.kubectl("delete", "namespace", name, "--wait=false")


def _replaced(webhook: Replica) -> float:
    lines = (line.rpartition(" ") for line in webhook.page("/metrics").splitlines())
    return sum(float(value) for name, _, value in lines if name == 'heartbeat_tuner_gate_ends_total{end="replaced"}')
