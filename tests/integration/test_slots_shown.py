"""What the operator sees of slots, with the rights that are documented for it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.slots.slot_views import LiveSlotViews
from heartbeat_tuner.adapters.workloads.live_workloads import LiveWorkloads
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import GATE, SLOT_LABEL, TOKEN_ANNOTATION, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.policies import ObjectKey, WorkloadRef
from heartbeat_tuner.membership import records
from heartbeat_tuner.membership.values import SlotRecord
from heartbeat_tuner.reconcile.status import slot_occupation
from sandbox.control_plane import ControlPlane
from tests.support import documents, sockets, worlds
from tests.support.webhooks import USER

pytestmark = pytest.mark.timeout(120)

PATIENCE = timedelta(seconds=3)

UID = "5ee15ee1-0000"
ROLE = documents.CHECKOUT / "sandbox" / "manifests" / "operator-role.yaml"


@pytest.fixture
def allowed(control_plane: ControlPlane) -> Iterator[None]:
    """A user with the operator's ClusterRole."""
    (role,) = [item for item in yaml.safe_load_all(ROLE.read_text()) if item["kind"] == "ClusterRole"]
    role["metadata"]["name"] = "slots-shown"
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "slots-shown"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "slots-shown"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER}],
    }
    for item in (role, binding):
        control_plane.kubectl("apply", "--filename=-", stdin=json.dumps(item))
    yield
    control_plane.kubectl("delete", "clusterrole,clusterrolebinding", "slots-shown")


@contextlib.asynccontextmanager
async def looking(plane: ControlPlane, place: SlotPlace) -> AsyncIterator[LiveSlotViews]:
    """Give what the user sees of a namespace with a policy."""
    before = sockets.open_sockets()
    configuration = client.Configuration()
    file = str(plane.kubeconfig_for(USER))
    await config.load_kube_config(config_file=file, client_configuration=configuration)
    api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=20))
    key = ObjectKey(place.namespace, "orders")
    live = LiveWorkloads(api, SystemClock(), patience=PATIENCE)
    slots = LiveSlotViews(api, SystemClock(), live, patience=PATIENCE)
    try:
        async with live.running(), slots.running():
            await live.cover([worlds.policy(key=key, workload=WorkloadRef("Deployment", key, "app"))])
            yield slots
    finally:
        await api.close()
        await sockets.none_but(before)  # connections of watches that were just cancelled


def lease(place: SlotPlace, number: int, record: SlotRecord) -> dict[str, Any]:
    """Return a slot's Lease."""
    holder, annotations = records.fields(number, record)
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": place.id_of(number),
            "labels": {SLOT_LABEL: str(number)},
            "annotations": dict(annotations),
        },
        "spec": {"holderIdentity": holder or None},
    }


def gated_pod(place: SlotPlace, number: int, token: str) -> dict[str, Any]:
    """Return a pod that waits for a slot."""
    env = [{"name": "KAFKA_GROUP_INSTANCE_ID", "value": place.id_of(number)}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"waits-{number}",
            "labels": {SLOT_LABEL: str(number)},
            "annotations": {TOKEN_ANNOTATION: token},
        },
        "spec": {
            "schedulingGates": [{"name": GATE}],
            "containers": [{"name": "app", "image": "none", "env": env}],
        },
    }


@pytest.mark.usefixtures("allowed")
async def test_slots_and_pods_that_wait_are_seen_with_the_documented_rights(
    control_plane: ControlPlane, namespace: str
) -> None:
    """The operator may list and watch Leases and pods, and needs no more to show who waits for what, and to follow."""
    place = slot_names.place_of(UID, ObjectKey(namespace, "orders"))
    now = datetime.now(UTC)

    def create(manifest: dict[str, Any]) -> None:
        control_plane.kubectl("create", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(manifest))

    create(lease(place, 0, SlotRecord(since=now, holder="t0")))
    create(lease(place, 1, SlotRecord(since=now)))
    create(gated_pod(place, 0, "t0"))
    async with looking(control_plane, place) as slots:
        found = slot_occupation.shown(await slots.read([place]), place, 3)
        assert [(item.state, item.pod) for item in found.first] == [("Held", "waits-0"), ("Free", None)]
        assert [(gated_pod.pod, gated_pod.id) for gated_pod in found.gated_pods] == [("waits-0", place.id_of(0))]

        create(lease(place, 2, SlotRecord(since=now, holder="t2")))
        create(gated_pod(place, 2, "t2"))
        control_plane.kubectl("delete", f"--namespace={namespace}", "lease", place.id_of(1))
        for _ in range(200):
            found = slot_occupation.shown(await slots.read([place]), place, 3)
            if [item.pod for item in found.first] == ["waits-0", "waits-2"]:
                break
            await asyncio.sleep(0.1)
        assert [item.id for item in found.first] == [place.id_of(0), place.id_of(2)]


async def test_without_rights_it_is_an_error_and_no_empty_view(control_plane: ControlPlane, namespace: str) -> None:
    """A status would say that nobody waits."""
    place = slot_names.place_of(UID, ObjectKey(namespace, "orders"))
    async with looking(control_plane, place) as slots:
        with pytest.raises(ApiServerError, match="403"):
            await slots.read([place])
