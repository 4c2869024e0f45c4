"""Kubernetes objects as the API server returns them."""

import copy
from typing import Any

STORED: dict[str, Any] = {
    "apiVersion": "heartbeat-tuner.dev/v1alpha1",
    "kind": "ConsumerGroupPolicy",
    "metadata": {
        "namespace": "shop",
        "name": "orders",
        "uid": "policy-1",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": "2026-03-01T12:00:00Z",
    },
    "spec": {
        "groupId": "orders",
        "clusterRef": "main",
        "workloadRef": {"kind": "Deployment", "name": "orders-consumer", "container": "app"},
        "client": {"library": "kafkajs"},
        "mode": "Apply",
    },
}


def policy(
    name: str = "orders",
    *,
    namespace: str = "shop",
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """Return a `ConsumerGroupPolicy` object as stored.

    Args:
        name: its name; the uid follows from it.
        namespace: where it is.
        spec: replaces top-level fields of the spec; None removes one.
        status: what the tuner wrote before, if anything.
        metadata: replaces fields of the metadata.
    """
    body = copy.deepcopy(STORED)
    body["metadata"] |= {"name": name, "namespace": namespace, "uid": f"uid-of-{namespace}-{name}", **metadata}
    body["spec"] |= spec or {}
    body["spec"] = {key: value for key, value in body["spec"].items() if value is not None}
    if status is not None:
        body["status"] = status
    return body


def condition(kind: str, reason: str, *, status: str = "True") -> dict[str, Any]:
    """Return a condition of a policy as stored."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "so it is",
        "lastTransitionTime": "2026-03-02T11:00:00Z",
        "observedGeneration": 1,
    }


def container(
    *, env: list[dict[str, Any]] | None = None, env_from: list[dict[str, Any]] | None = None, name: str = "app"
) -> dict[str, Any]:
    """Return a container as a pod or a template has it."""
    given = {"env": env, "envFrom": env_from}
    return {"name": name, "image": "orders:1", **{key: value for key, value in given.items() if value is not None}}


def literal(name: str, value: str | None) -> dict[str, Any]:
    """Return an env entry with a value; the API server leaves an empty one out."""
    return {"name": name} if value is None else {"name": name, "value": value}


def from_key(name: str, config_map: str, key: str) -> dict[str, Any]:
    """Return an env entry that takes its value from a ConfigMap's key."""
    return {"name": name, "valueFrom": {"configMapKeyRef": {"name": config_map, "key": key}}}


def from_map(config_map: str, *, prefix: str | None = None) -> dict[str, Any]:
    """Return an envFrom source that takes all keys of a ConfigMap."""
    source: dict[str, Any] = {"configMapRef": {"name": config_map}}
    return source if prefix is None else {"prefix": prefix, **source}


def owned(manager: str | None, *names: str, container: str = "app") -> dict[str, Any]:
    """Return an entry of `managedFields` that covers env entries of a template's container."""
    env: dict[str, Any] = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}, "f:value": {}} for name in names}
    in_container = {f'k:{{"name":"{container}"}}': {".": {}, "f:env": {".": {}, **env}, "f:name": {}}}
    fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": in_container}}}}
    entry = {"operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    return entry if manager is None else {"manager": manager, **entry}


def deployment(*managed: dict[str, Any], replicas: int | None = 3, **status: int) -> dict[str, Any]:
    """Return a Deployment of generation 2 with these managers and this status; a finished rollout if none is given."""
    finished = {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3}
    return {
        "metadata": {"name": "orders-consumer", "generation": 2, "managedFields": list(managed)},
        "spec": {} if replicas is None else {"replicas": replicas},
        "status": {**finished, **status},
    }


def running_pod(**changes: Any) -> dict[str, Any]:
    """Return a pod whose container `app` runs, with changes to its top-level parts."""
    statuses = [
        {"name": "sidecar", "restartCount": 9, "ready": True, "state": {"running": {}}},
        {
            "name": "app",
            "restartCount": 2,
            "ready": False,
            "state": {"running": {"startedAt": "2026-03-02T11:00:00Z"}},
        },
    ]
    base = {
        "metadata": {"name": "orders-0", "uid": "uid-0"},
        "spec": {"containers": [container()]},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": statuses},
    }
    return copy.deepcopy({**base, **changes})
