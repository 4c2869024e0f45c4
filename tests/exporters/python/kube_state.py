"""Stand-in for kube-state-metrics, which cannot be had here: the API's pods and workloads under its names and labels.

KUBECONFIG says whom to ask, ADDRESS (host:port) where to serve. Asked again every second. Only what tells of starts,
stops and owners; names, labels, and which series are there when, are those of its documentation and sources (2.x).
"""

import os
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from tests.exporters.python.exposition import Exposition, serve
from tests.exporters.python.kube_api import DEPLOYMENTS, PODS, REPLICASETS, KubeApi

Sample = tuple[str, str, Mapping[str, object], float]
"""Name, kind, labels, value."""

_ASK_EVERY_S: Final = 1.0
_PHASES: Final = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
_TIMES_OF_CONDITIONS: Final = {
    "PodScheduled": "kube_pod_status_scheduled_time",
    "Initialized": "kube_pod_status_initialized_time",
    "ContainersReady": "kube_pod_status_container_ready_time",
    "Ready": "kube_pod_status_ready_time",
}


def samples_of_pod(pod: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield what there is of one pod."""
    metadata, status = pod["metadata"], pod.get("status", {})
    labels = {"namespace": metadata["namespace"], "pod": metadata["name"], "uid": metadata["uid"]}
    owner: Mapping[str, Any] = next(iter(metadata.get("ownerReferences", ())), {})
    yield (
        "kube_pod_info",
        "gauge",
        {
            **labels,
            "host_ip": status.get("hostIP", ""),
            "pod_ip": status.get("podIP", ""),
            "node": pod["spec"].get("nodeName", ""),
            "created_by_kind": owner.get("kind", ""),
            "created_by_name": owner.get("name", ""),
            "priority_class": "",
            "host_network": "false",
        },
        1,
    )
    yield "kube_pod_owner", "gauge", {**labels, **_owner(owner)}, 1
    yield "kube_pod_created", "gauge", labels, _seconds(metadata["creationTimestamp"])
    if "startTime" in status:
        yield "kube_pod_start_time", "gauge", labels, _seconds(status["startTime"])
    if "deletionTimestamp" in metadata:
        # When the time that the pod was given to end will be over, not when its end was asked for.
        yield "kube_pod_deletion_timestamp", "gauge", labels, _seconds(metadata["deletionTimestamp"])
    for phase in _PHASES:
        yield "kube_pod_status_phase", "gauge", {**labels, "phase": phase}, float(status.get("phase") == phase)
    for condition in status.get("conditions", ()):
        yield from _samples_of_condition(condition, labels)
    for container in status.get("containerStatuses", ()):
        yield from _samples_of_container(container, {**labels, "container": container["name"]})


def _samples_of_condition(condition: Mapping[str, Any], labels: Mapping[str, object]) -> Iterator[Sample]:
    if condition["type"] == "Ready":
        for value in ("true", "false", "unknown"):
            is_value = float(condition["status"].lower() == value)
            yield "kube_pod_status_ready", "gauge", {**labels, "condition": value}, is_value
    if condition["status"] == "True" and condition["type"] in _TIMES_OF_CONDITIONS:
        since = _seconds(condition["lastTransitionTime"])
        yield _TIMES_OF_CONDITIONS[condition["type"]], "gauge", labels, since


def _samples_of_container(container: Mapping[str, Any], labels: Mapping[str, object]) -> Iterator[Sample]:
    state, last = container["state"], container.get("lastState", {}).get("terminated")
    yield "kube_pod_container_status_restarts_total", "counter", labels, container["restartCount"]
    yield "kube_pod_container_status_ready", "gauge", labels, float(container["ready"])
    for kind in ("running", "waiting", "terminated"):
        yield f"kube_pod_container_status_{kind}", "gauge", labels, float(kind in state)
        reason = state.get(kind, {}).get("reason")
        if reason:
            yield f"kube_pod_container_status_{kind}_reason", "gauge", {**labels, "reason": reason}, 1
    begun = state.get("running") or state.get("terminated")
    if begun is not None and "startedAt" in begun:
        yield "kube_pod_container_state_started", "gauge", labels, _seconds(begun["startedAt"])
    if last is not None:
        prefix = "kube_pod_container_status_last_terminated"
        yield f"{prefix}_reason", "gauge", {**labels, "reason": last.get("reason", "")}, 1
        yield f"{prefix}_exitcode", "gauge", labels, last["exitCode"]
        yield f"{prefix}_timestamp", "gauge", labels, _seconds(last["finishedAt"])


def samples_of_replicaset(replicaset: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield what there is of one ReplicaSet."""
    metadata, status = replicaset["metadata"], replicaset.get("status", {})
    labels = {"namespace": metadata["namespace"], "replicaset": metadata["name"]}
    owner: Mapping[str, Any] = next(iter(metadata.get("ownerReferences", ())), {})
    yield "kube_replicaset_owner", "gauge", {**labels, **_owner(owner)}, 1
    yield "kube_replicaset_created", "gauge", labels, _seconds(metadata["creationTimestamp"])
    yield "kube_replicaset_spec_replicas", "gauge", labels, replicaset["spec"]["replicas"]
    yield "kube_replicaset_status_replicas", "gauge", labels, status.get("replicas", 0)
    yield "kube_replicaset_status_ready_replicas", "gauge", labels, status.get("readyReplicas", 0)


def samples_of_deployment(deployment: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield what there is of one Deployment."""
    metadata, status = deployment["metadata"], deployment.get("status", {})
    labels = {"namespace": metadata["namespace"], "deployment": metadata["name"]}
    values = {
        "kube_deployment_created": _seconds(metadata["creationTimestamp"]),
        "kube_deployment_metadata_generation": metadata["generation"],
        "kube_deployment_spec_replicas": deployment["spec"]["replicas"],
        "kube_deployment_status_observed_generation": status.get("observedGeneration", 0),
        "kube_deployment_status_replicas": status.get("replicas", 0),
        "kube_deployment_status_replicas_available": status.get("availableReplicas", 0),
        "kube_deployment_status_replicas_ready": status.get("readyReplicas", 0),
        "kube_deployment_status_replicas_unavailable": status.get("unavailableReplicas", 0),
        "kube_deployment_status_replicas_updated": status.get("updatedReplicas", 0),
    }
    for name, value in values.items():
        yield name, "gauge", labels, value


def _owner(owner: Mapping[str, Any]) -> dict[str, str]:
    controls = str(owner.get("controller", False)).lower() if owner else ""
    return {
        "owner_kind": owner.get("kind", ""),
        "owner_name": owner.get("name", ""),
        "owner_is_controller": controls,
    }


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def write(api: KubeApi, exposition: Exposition) -> None:
    """Write everything that the API has now in place of what was there."""
    found = [sample for pod in api.items(PODS) for sample in samples_of_pod(pod)]
    found += [sample for item in api.items(REPLICASETS) for sample in samples_of_replicaset(item)]
    found += [sample for item in api.items(DEPLOYMENTS) for sample in samples_of_deployment(item)]
    now = Exposition()
    for name, kind, labels, value in found:
        now.set(name, kind, labels, value)
    exposition.become(now)


def main() -> None:
    """Serve until ended."""
    api, exposition = KubeApi(Path(os.environ["KUBECONFIG"])), Exposition()
    write(api, exposition)
    host, _, port = os.environ["ADDRESS"].rpartition(":")
    serve(exposition, host, int(port))
    while True:
        time.sleep(_ASK_EVERY_S)
        write(api, exposition)


if __name__ == "__main__":
    main()
