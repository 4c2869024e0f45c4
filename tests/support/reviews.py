"""What an API server asks of a webhook."""

import base64
import copy
import json
from typing import Any

VARIABLE = "KAFKA_GROUP_INSTANCE_ID"


def pod(**metadata: Any) -> dict[str, Any]:
    """Return a pod of Deployment `orders-consumer` as its ReplicaSet makes it."""
    return {
        "metadata": {
            "generateName": "orders-consumer-5d4f-",
            "labels": {"pod-template-hash": "5d4f"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "orders-consumer-5d4f", "controller": True}
            ],
            **metadata,
        },
        "spec": {
            "containers": [{"name": "sidecar"}, {"name": "app", "env": [{"name": "OTHER", "value": "1"}]}],
        },
    }


def request(created: dict[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
    """Return a request."""
    return {
        "uid": "r1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": "shop",
        "object": pod() if created is None else created,
        "dryRun": False,
        **changed,
    }


def body(asked: Any) -> bytes:
    """Return a review with a request, as it comes."""
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}).encode()


def patched(before: dict[str, Any], operations: Any) -> dict[str, Any]:
    """Return a pod with a JSON patch that only adds; a path's last step may be `-`."""
    changed = copy.deepcopy(before)
    for operation in operations:
        assert operation["op"] == "add"
        *way, last = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        place: Any = changed
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        if isinstance(place, list):
            place.insert(len(place) if last == "-" else int(last), operation["value"])
        else:
            place[last] = operation["value"]
    return changed


def operations(response: dict[str, Any]) -> Any:
    """Return the patch of a response."""
    return json.loads(base64.b64decode(response["patch"]))
