"""A namespace with a Deployment and its policy, as tests of the webhook want it."""

import json
from typing import Any, Final

from heartbeat_tuner.api.slot_names import SLOT_LABEL
from sandbox import reads
from sandbox.control_plane import ControlPlane
from sandbox.processes import wait_until

VARIABLE: Final = "KAFKA_GROUP_INSTANCE_ID"


class Shop:
    """A namespace with Deployments and policies."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._plane = plane
        self.namespace = namespace

    def kubectl(self, *args: str, stdin: str | None = None) -> str:
        """Run kubectl here."""
        return self._plane.kubectl(*args, f"--namespace={self.namespace}", stdin=stdin)

    def get(self, kind: reads.Kind, name: str = "", *, labels: str = "") -> dict[str, Any]:
        """Return an object, or those that a selector chooses (`sandbox.reads`)."""
        return reads.read(self._plane, self.namespace, kind, name, labels=labels)

    def apply(self, *documents: dict[str, Any]) -> None:
        """Apply documents."""
        self._plane.apply(self.namespace, *documents)

    def pods(self) -> list[dict[str, Any]]:
        """Return the pods that are not on their way out."""
        found: list[dict[str, Any]] = self.get("pods")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def await_pods(self, count: int) -> list[dict[str, Any]]:
        """Wait until there are so many, and return them."""
        wait_until(lambda: len(self.pods()) == count, part="pods", what=f"{count} of them", timeout_s=60)
        return self.pods()

    def leases(self) -> dict[str, str]:
        """Return the slots' holders by id."""
        return {
            item["metadata"]["name"]: item["spec"].get("holderIdentity", "")
            for item in self.get("leases", labels=SLOT_LABEL)["items"]
        }


def policy(*, name: str = "orders", **spec: Any) -> dict[str, Any]:
    """Return a policy that gives the Deployment's pods static ids."""
    return {
        "apiVersion": "heartbeat-tuner.dev/v1alpha1",
        "kind": "ConsumerGroupPolicy",
        "metadata": {"name": name},
        "spec": {
            "groupId": name,
            "clusterRef": "main",
            "workloadRef": {"name": "orders-consumer", "container": "app"},
            "client": {"library": "java"},
            "staticMembership": "Enabled",
            **spec,
        },
    }


def template(*env: dict[str, str]) -> dict[str, Any]:
    """Return what the Deployment's pods are made of; no node takes them."""
    return {
        "metadata": {"labels": {"app": "orders"}},
        "spec": {
            "schedulerName": "nobody",  # the node of other tests, if there is one, would run them
            "containers": [
                {"name": "sidecar", "image": "none"},
                {"name": "app", "image": "none", "env": [{"name": "OTHER", "value": "1"}, *env]},
            ],
        },
    }


def deployment(replicas: int, *env: dict[str, str], surge: int = 1) -> dict[str, Any]:
    """Return the Deployment."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "orders-consumer"},
        "spec": {
            "replicas": replicas,
            "strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": int(not surge)}},
            "selector": {"matchLabels": {"app": "orders"}},
            "template": template(*env),
        },
    }


def pod_of_nobody() -> dict[str, Any]:
    """Return a pod as a ReplicaSet would make it; the garbage collector would soon miss its owner."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "orders-consumer-5d4f-x",
            "labels": {"pod-template-hash": "5d4f", "app": "nobody"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "orders-consumer-5d4f",
                    "uid": "u",
                    "controller": True,
                }
            ],
        },
        "spec": template()["spec"],
    }


def ids_of(pods: list[dict[str, Any]]) -> list[str]:
    """Return the static ids that the pods' consumers are given; empty for one that has none."""
    return [
        next((item["value"] for item in pod["spec"]["containers"][1]["env"] if item["name"] == VARIABLE), "")
        for pod in pods
    ]


def gated(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pods that wait for a slot."""
    return [pod for pod in pods if pod["spec"].get("schedulingGates")]


def bind(shop: Shop, pod: dict[str, Any]) -> None:
    """Put a pod on a node, whose kubelet will never end it."""
    name = pod["metadata"]["name"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "nowhere"},
    }
    path = f"/api/v1/namespaces/{shop.namespace}/pods/{name}/binding"
    shop.kubectl("create", f"--raw={path}", "--filename=-", stdin=json.dumps(binding))
