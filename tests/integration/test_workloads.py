"""Server-side apply on a real API server: what is written, what is kept, what is refused."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.workloads.workload_objects import KubernetesWorkloads
from heartbeat_tuner.domain.errors import FieldOwnedError, WriteConflictError
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy, WorkloadRef
from sandbox.control_plane import ControlPlane
from tests.support import worlds

pytestmark = pytest.mark.timeout(180)

TIMES_DIFFER_S = 1.1
"""Times in managedFields are whole seconds."""

STORM, CURED = worlds.settings("1s", "333ms", "5s"), worlds.settings("30s", "1s", "1s")
CURED_ENV = {
    "KAFKA_SESSION_TIMEOUT_MS": "30000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "1000",
    "KAFKA_MAX_WAIT_TIME_MS": "1000",
}


@pytest.fixture
async def workloads(control_plane: ControlPlane) -> AsyncIterator[KubernetesWorkloads]:
    """The adapter, as the administrator."""
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(control_plane.kubeconfig), client_configuration=configuration)
    api = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=10))
    yield KubernetesWorkloads(api)
    await api.close()


@pytest.fixture
def deployed(control_plane: ControlPlane, namespace: str) -> str:
    """A Deployment of two containers that both take their settings from one ConfigMap; returns its namespace."""
    data = {
        "KAFKA_SESSION_TIMEOUT_MS": "1000",
        "KAFKA_HEARTBEAT_INTERVAL_MS": "333",
        "KAFKA_MAX_WAIT_TIME_MS": "5000",
    }
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}
    env_from = [{"configMapRef": {"name": "settings"}}]
    containers = [{"name": name, "image": "none", "envFrom": env_from} for name in ("app", "second")]
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "orders-consumer"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "orders"}},
            "template": {
                "metadata": {"labels": {"app": "orders"}},
                # a process node that another test started would end its pods, for ever new ones
                "spec": {"schedulerName": "nobody", "containers": containers},
            },
        },
    }
    for document in (config_map, deployment):
        control_plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(document))
    return namespace


def _policy(namespace: str, container: str = "app") -> Policy:
    reference = WorkloadRef("Deployment", ObjectKey(namespace, "orders-consumer"), container)
    return worlds.policy(key=ObjectKey(namespace, "orders"), workload=reference)


def _cure(view: Workload) -> Application:
    return Application(CURED, STORM, worlds.NOW, view.uid, entries=CURED_ENV)


def _change(view: Workload, entries: dict[str, str]) -> Application:
    return dataclasses.replace(_cure(view), entries=entries)


async def _read(workloads: KubernetesWorkloads, policy: Policy) -> Workload:
    found = await workloads.read(policy)
    assert isinstance(found, Workload)
    return found


async def _apply(workloads: KubernetesWorkloads, policy: Policy, change: Application | None = None) -> None:
    """Read and write, the cure if nothing else; again while the Deployment's own controller writes in between."""
    for _ in range(150):
        try:
            view = await _read(workloads, policy)
            await workloads.apply(policy, view, change or _cure(view))
        except WriteConflictError as error:
            conflict = error
            await asyncio.sleep(0.1)  # its controllers may be busy with others
            continue
        return
    pytest.fail(f"the Deployment never came to rest: {conflict}")


def _env(control_plane: ControlPlane, namespace: str) -> dict[str, dict[str, str]]:
    shown: dict[str, Any] = json.loads(
        control_plane.kubectl("get", "deployment", "orders-consumer", f"-n={namespace}", "-o=json")
    )
    containers = shown["spec"]["template"]["spec"]["containers"]
    return {
        container["name"]: {entry["name"]: entry["value"] for entry in container.get("env", ())}
        for container in containers
    }


async def test_values_come_from_the_config_map_and_go_into_the_env(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, deployed: str
) -> None:
    """What envFrom gives is seen, and what is written wins over it."""
    before = await _read(workloads, _policy(deployed))
    assert before.current is not None
    assert before.current.settings == STORM
    await _apply(workloads, _policy(deployed))
    after = await _read(workloads, _policy(deployed))
    assert after.current is not None
    assert (after.current.settings, after.foreign_env) == (CURED, {})
    assert after.applications == {"app": _cure(before)}
    assert _env(control_plane, deployed) == {"app": CURED_ENV, "second": {}}


async def test_a_stateful_set_is_read_and_written_like_a_deployment(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, namespace: str
) -> None:
    """By the same apply; it has no surge, and of its pods only its own count."""
    document = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "orders-consumer"},
        "spec": {
            "replicas": 2,
            "serviceName": "orders",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "orders"}},
            "template": {
                "metadata": {"labels": {"app": "orders"}},
                "spec": {"schedulerName": "nobody", "containers": [{"name": "app", "image": "none"}]},
            },
        },
    }
    control_plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(document))
    reference = WorkloadRef("StatefulSet", ObjectKey(namespace, "orders-consumer"), "app")
    policy = worlds.policy(key=ObjectKey(namespace, "orders"), workload=reference)
    for _ in range(150):
        view = await _read(workloads, policy)
        if not view.rolling_out:
            break
        await asyncio.sleep(0.2)
    assert (view.rolling_out, view.most_pods) == (False, 2)
    await _apply(workloads, policy)
    view = await _read(workloads, policy)
    assert view.applications == {"app": _cure(view)}
    assert (view.rolling_out, view.our_rollout, view.foreign_env) == (True, True, {})
    shown = json.loads(control_plane.kubectl("get", "statefulset", "orders-consumer", f"-n={namespace}", "-o=json"))
    (container,) = shown["spec"]["template"]["spec"]["containers"]
    assert {item["name"]: item["value"] for item in container["env"]} == CURED_ENV


async def test_a_revert_leaves_the_very_template_that_stood_before(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, deployed: str
) -> None:
    """Entries that the change had added go, and the order of containers and of entries stays: so do the pods before."""
    await _apply(workloads, _policy(deployed, "second"))
    policy, before = _policy(deployed), await _read(workloads, _policy(deployed))
    first = _change(before, {"KAFKA_SESSION_TIMEOUT_MS": "20000", "KAFKA_HEARTBEAT_INTERVAL_MS": "500"})
    await _apply(workloads, policy, first)
    between = await _read(workloads, policy)
    await _apply(workloads, policy, _change(before, CURED_ENV))
    # A status and an annotation keep entries by name, in no order of theirs.
    await _apply(workloads, policy, _change(before, dict(sorted(first.entries.items()))))
    assert (await _read(workloads, policy)).template == between.template != before.template
    await _apply(workloads, policy, _change(before, {}))
    assert (await _read(workloads, policy)).template == before.template
    assert _env(control_plane, deployed) == {"app": {}, "second": CURED_ENV}


async def test_two_containers_keep_both_their_cures(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, deployed: str
) -> None:
    """One field manager owns both: an apply that forgot the other container's entries would remove them."""
    for container in ("app", "second"):
        await _apply(workloads, _policy(deployed, container))
    assert _env(control_plane, deployed) == {"app": CURED_ENV, "second": CURED_ENV}
    assert set((await _read(workloads, _policy(deployed))).applications) == {"app", "second"}


async def test_a_write_on_a_stale_view_is_refused(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, deployed: str
) -> None:
    """What was decided on another version of the Deployment is not written into this one."""
    policy = _policy(deployed)
    view = await _read(workloads, policy)
    control_plane.kubectl("set", "env", f"-n={deployed}", "deployment/orders-consumer", "OTHER=1")
    with pytest.raises(WriteConflictError):
        await workloads.apply(policy, view, _cure(view))


async def test_a_deployment_made_anew_under_the_same_name_is_another(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, deployed: str
) -> None:
    """The uid tells them apart, whatever the versions are."""
    policy = _policy(deployed)
    view = await _read(workloads, policy)
    shown = control_plane.kubectl("get", "deployment", "orders-consumer", f"-n={deployed}", "-o=json")
    control_plane.kubectl("delete", "deployment", "orders-consumer", f"-n={deployed}")
    again = json.loads(shown)
    again["metadata"] = {"name": "orders-consumer"}
    control_plane.kubectl("create", f"--namespace={deployed}", "--filename=-", stdin=json.dumps(again))
    with pytest.raises(WriteConflictError):
        await workloads.apply(policy, view, _cure(view))
    assert _env(control_plane, deployed) == {"app": {}, "second": {}}


async def test_a_record_of_another_object_counts_for_nothing(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, deployed: str
) -> None:
    """A manifest that was copied with its annotations brings no cooldown along."""
    await _apply(workloads, _policy(deployed))
    shown = json.loads(control_plane.kubectl("get", "deployment", "orders-consumer", f"-n={deployed}", "-o=json"))
    control_plane.kubectl("delete", "deployment", "orders-consumer", f"-n={deployed}")
    shown["metadata"] = {"name": "orders-consumer", "annotations": shown["metadata"]["annotations"]}
    control_plane.kubectl("create", f"--namespace={deployed}", "--filename=-", stdin=json.dumps(shown))
    assert (await _read(workloads, _policy(deployed))).applications == {}


async def test_a_field_of_another_manager_is_not_taken(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, deployed: str
) -> None:
    """Nothing is forced, and nothing is half written."""
    policy = _policy(deployed)
    control_plane.kubectl(
        "set", "env", f"-n={deployed}", "deployment/orders-consumer", "-c=app", "KAFKA_SESSION_TIMEOUT_MS=1000"
    )
    view = await _read(workloads, policy)
    assert set(view.foreign_env) == {"sessionTimeout"}
    with pytest.raises(FieldOwnedError):
        await _apply(workloads, policy)
    assert _env(control_plane, deployed)["app"] == {"KAFKA_SESSION_TIMEOUT_MS": "1000"}


def _scale(control_plane: ControlPlane, namespace: str, replicas: int) -> None:
    control_plane.kubectl("scale", "deployment/orders-consumer", f"-n={namespace}", f"--replicas={replicas}")


def _restart(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubectl("rollout", "restart", "deployment/orders-consumer", f"-n={namespace}")


async def test_a_rollout_is_ours_until_somebody_else_changes_the_template(
    control_plane: ControlPlane, workloads: KubernetesWorkloads, deployed: str
) -> None:
    """Who scales takes nothing over; who restarts does. No pod ever runs here, so that no rollout ends."""
    policy = _policy(deployed)
    _scale(control_plane, deployed, 1)
    await asyncio.sleep(TIMES_DIFFER_S)
    before = await _read(workloads, policy)
    await _apply(workloads, policy)
    began = await _read(workloads, policy)
    await asyncio.sleep(TIMES_DIFFER_S)
    _scale(control_plane, deployed, 2)
    scaled = await _read(workloads, policy)
    _restart(control_plane, deployed)
    restarted = await _read(workloads, policy)
    assert not before.our_rollout
    assert (began.rolling_out, began.our_rollout) == (True, True)
    assert (scaled.rolling_out, scaled.our_rollout) == (True, True)
    assert (restarted.rolling_out, restarted.our_rollout) == (True, False)
