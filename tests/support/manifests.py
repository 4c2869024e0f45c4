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
