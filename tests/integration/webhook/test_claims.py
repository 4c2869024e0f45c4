"""Which pods get an id, and which: real pods of Deployments, about which the API server asks two replicas."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from heartbeat_tuner.api.slot_names import SLOT_LABEL, TOKEN_ANNOTATION
from sandbox.control_plane import ControlPlane
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.support.shops import VARIABLE, Shop, deployment, ids_of, pod_of_nobody, policy
from tests.support.webhooks import MANIFEST, Replica

pytestmark = pytest.mark.timeout(180)


def test_the_documented_manifest_is_accepted_as_restricted(shop: Shop, control_plane: ControlPlane) -> None:
    """Each object, and the pods as they would be made, where only restricted ones may run."""
    found = list(yaml.safe_load_all(MANIFEST.read_text()))
    answer = shop.kubectl("apply", "--dry-run=server", f"--filename={MANIFEST}")
    assert len(answer.splitlines()) == len(found)
    (template,) = (item["spec"]["template"] for item in found if item["kind"] == "Deployment")
    (account,) = (item for item in found if item["kind"] == "ServiceAccount")
    control_plane.kubectl("label", "namespace", shop.namespace, "pod-security.kubernetes.io/enforce=restricted")
    shop.apply(account)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "webhook"}, "spec": template["spec"]}
    assert "created" in shop.kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(pod))


def test_each_pod_has_an_id_of_its_own_and_the_lease_says_so(shop: Shop, known: Callable[[], None]) -> None:
    """In the container that the policy names, before what the container had; the Lease goes with the policy."""
    shop.apply(policy())
    known()
    shop.apply(deployment(3))
    pods = shop.await_pods(3)
    leases = shop.leases()
    uid = shop.get("consumergrouppolicies", "orders")["metadata"]["uid"]
    assert sorted(ids_of(pods)) == [f"orders-consumer-{uid[:8]}-{number}" for number in range(3)] == sorted(leases)
    assert all("env" not in pod["spec"]["containers"][0] for pod in pods)
    assert all(pod["spec"]["containers"][1]["env"][-1]["name"] == "OTHER" for pod in pods)
    tokens = {pod["metadata"]["annotations"][TOKEN_ANNOTATION] for pod in pods}
    assert tokens == set(leases.values())
    for lease in shop.get("leases")["items"]:
        (owner,) = lease["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("ConsumerGroupPolicy", "orders", uid)

    shop.kubectl("delete", "cgp", "orders")
    wait_until(lambda: not shop.leases(), part="leases", what="their end", timeout_s=180)


def test_of_twenty_pods_at_a_time_no_two_have_one_id(
    shop: Shop, known: Callable[[], None], replicas: tuple[Replica, Replica]
) -> None:
    """Both replicas are asked; who comes too late is a dynamic member, and never one of two."""
    shop.apply(policy())
    known()
    before = [replica.count("claimed") for replica in replicas]
    shop.apply(deployment(20))
    ids = Counter(ids_of(shop.await_pods(20)))
    dynamic = ids.pop("", 0)
    assert max(ids.values()) == 1
    assert len(ids) + dynamic == 20
    assert len(ids) >= 15
    assert all(now > then for now, then in zip([replica.count("claimed") for replica in replicas], before, strict=True))


def test_a_library_without_static_members_is_refused(shop: Shop) -> None:
    """By the API server, with the reason."""
    with pytest.raises(SandboxError, match="staticMembership cannot be Enabled with kafkajs"):
        shop.apply(policy(client={"library": "kafkajs"}))


def test_a_dry_run_claims_nothing(shop: Shop, known: Callable[[], None]) -> None:
    """Nor does it change the pod."""
    shop.apply(policy())
    known()
    created = shop.kubectl(
        "create", "--dry-run=server", "--filename=-", "--output=json", stdin=json.dumps(pod_of_nobody())
    )
    assert ids_of([json.loads(created)]) == [""]
    assert shop.leases() == {}


@pytest.mark.parametrize(
    ("policies", "env"),
    [
        ([], []),
        ([policy(staticMembership="Disabled")], []),
        ([policy(suspend=True)], []),
        ([policy()], [{"name": VARIABLE, "value": "mine"}]),
    ],
    ids=["no policy", "disabled", "suspended", "own id"],
)
def test_others_are_left_alone(
    shop: Shop, replicas: tuple[Replica, Replica], policies: list[dict[str, Any]], env: list[dict[str, str]]
) -> None:
    """No id that they do not have, no mark, no Lease."""
    assert all(replica.process.alive() for replica in replicas)
    for document in (*policies, deployment(2, *env)):
        shop.apply(document)
    pods = shop.await_pods(2)
    assert ids_of(pods) == [item["value"] for item in env] * 2 or ids_of(pods) == ["", ""]
    assert not any(SLOT_LABEL in pod["metadata"]["labels"] for pod in pods)
    assert shop.leases() == {}


def test_ids_go_round_within_replicas_and_surge(shop: Shop, known: Callable[[], None]) -> None:
    """Five pods follow each other in three slots; none is lost, and no two that live have one."""
    shop.apply(policy())
    known()
    shop.apply(deployment(2))
    pods = shop.await_pods(2)
    seen = set(ids_of(pods))
    for _ in range(5):
        gone = pods[0]["metadata"]
        shop.kubectl("delete", "pod", gone["name"])
        pods = shop.await_pods(2)
        ids = [item for item in ids_of(pods) if item]
        assert len(set(ids)) == len(ids)
        seen |= set(ids)
    assert len(seen) <= 3
    assert sorted(seen) == sorted(shop.leases())
