"""What the operator sees of slots, with the rights that are documented for it."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.slot_views import KubernetesSlotViews
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import GATE, SLOT_LABEL, TOKEN_ANNOTATION, SlotPlace
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.membership import records
from heartbeat_tuner.membership.values import Record, View
from heartbeat_tuner.reconcile import occupation
from sandbox.control_plane import ControlPlane
from tests.support import documents
from tests.support.webhooks import USER

pytestmark = pytest.mark.timeout(120)

UID = "5ee15ee1-0000"
ROLE = documents.CHECKOUT / "sandbox" / "manifests" / "operator-role.yaml"


@pytest.fixture
def allowed(control_plane: ControlPlane) -> Iterator[None]:
    """A user with the operator's ClusterRole."""
    (role,) = [one for one in yaml.safe_load_all(ROLE.read_text()) if one["kind"] == "ClusterRole"]
    role["metadata"]["name"] = "slots-shown"
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "slots-shown"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "slots-shown"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER}],
    }
    for one in (role, binding):
        control_plane.kubectl("apply", "--filename=-", stdin=json.dumps(one))
    yield
    control_plane.kubectl("delete", "clusterrole,clusterrolebinding", "slots-shown")


def read(plane: ControlPlane) -> dict[SlotPlace, View]:
    """Return what the user sees."""

    async def run() -> dict[SlotPlace, View]:
        configuration = client.Configuration()
        file = str(plane.kubeconfig_for(USER))
        await config.load_kube_config(config_file=file, client_configuration=configuration)
        api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=20))
        try:
            return dict(await KubernetesSlotViews(api, SystemClock()).read())
        finally:
            await api.close()

    return asyncio.run(run())


def lease(place: SlotPlace, number: int, record: Record) -> dict[str, Any]:
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
def test_slots_and_pods_that_wait_are_seen_with_the_documented_rights(
    control_plane: ControlPlane, namespace: str
) -> None:
    """The operator may list Leases and pods, and needs no more to show who waits for what."""
    place = slot_names.place_of(UID, ObjectKey(namespace, "orders"))
    now = datetime.now(UTC)
    for one in (lease(place, 0, Record(since=now, holder="t0")), lease(place, 1, Record(since=now))):
        control_plane.kubectl("create", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(one))
    pod = json.dumps(gated_pod(place, 0, "t0"))
    control_plane.kubectl("create", f"--namespace={namespace}", "--filename=-", stdin=pod)
    found = occupation.shown(read(control_plane), place, 2)
    assert [(one.state, one.pod) for one in found.first] == [("Held", "waits-0"), ("Free", None)]
    assert [(one.pod, one.id) for one in found.gated_pods] == [("waits-0", place.id_of(0))]


def test_without_rights_it_is_an_error_and_no_empty_view(control_plane: ControlPlane) -> None:
    """A status would say that nobody waits."""
    with pytest.raises(ApiServerError, match="403"):
        read(control_plane)
