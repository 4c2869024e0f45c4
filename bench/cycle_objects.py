"""Complete objects for `bench.cycle`, by the thousand, straight into etcd.

The API server fills in one policy, one Deployment and one pod in a dry run, defaults and managed fields included; here
they get the status that controllers and a kubelet would have written, and are copied under other names. They go into
the store as JSON, which the API server reads as well as its own encoding. Stop the controllers before: they would
count ReplicaSets that are not there.
"""

import base64
import http.client
import itertools
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from bench.cycle_exporter import PODS_OF_POLICY, TEMPLATE_HASH, Subject
from heartbeat_tuner.api.v1alpha1.fields import GROUP
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import PLURAL
from sandbox import scenario
from sandbox.control_plane import ControlPlane

CONFIG_MAP: Final = "settings"
"""What all Deployments of a namespace are set by."""

_NAME: Final = "name-of-the-subject"
_POD: Final = "name-of-the-pod"
_NAMESPACE: Final = "namespace-of-the-subject"
_UID: Final = "uid-of-the-object"
_ADDRESS: Final = "address-of-the-pod"
"""Each stands in a prototype's text for what differs from copy to copy."""

_LOT: Final = 100
"""Objects of one transaction: etcd takes 128 operations and 1.5 MiB by default."""

_AGE_S: Final = 86_400.0
_TIMEOUT_S: Final = 30.0

Document = dict[str, Any]


@dataclass(frozen=True)
class Prototypes:
    """The texts of which all objects are copies."""

    policy: str
    deployment: str
    pod: str

    def copies(self, everybody: Iterable[Subject]) -> Iterator[tuple[str, str]]:
        """Yield each object's key in the store and its text; policies last, when all that they name is there."""
        some = list(everybody)
        for subject in some:
            place = f"{subject.namespace}/{subject.name}"
            yield f"/registry/deployments/{place}", _filled(self.deployment, subject)
            for index, pod in enumerate(subject.pods):
                address = _address(subject.number * PODS_OF_POLICY + index)
                text = _filled(self.pod, subject).replace(_POD, pod).replace(_ADDRESS, address)
                yield f"/registry/pods/{subject.namespace}/{pod}", text
        for subject in some:
            place = f"{subject.namespace}/{subject.name}"
            yield f"/registry/{GROUP}/{PLURAL}/{place}", _filled(self.policy, subject)


def prototypes(control_plane: ControlPlane, namespace: str) -> Prototypes:
    """Return them as this API server would store them.

    Args:
        control_plane: with the definitions established and its controllers at work.
        namespace: one that has its default ServiceAccount.
    """
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _AGE_S))

    def complete(document: Document) -> Document:
        done: Document = json.loads(
            control_plane.kubectl(
                *("create", f"--namespace={namespace}", "--dry-run=server", "--show-managed-fields", "--output=json"),
                "--filename=-",
                stdin=json.dumps(document),
            )
        )
        done["metadata"].pop("resourceVersion", None)
        done["metadata"] |= {"namespace": _NAMESPACE, "uid": _UID, "creationTimestamp": started}
        return done

    policy = complete(yaml.safe_load(scenario.policy_manifest(_NAME, mode="Apply")))
    deployment = complete(_deployment())
    deployment["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
    deployment["status"] = _deployment_status(started)
    pod = complete(_pod())
    pod["spec"]["nodeName"] = "node-000"
    pod["status"] = _pod_status(started)
    return Prototypes(*(json.dumps(document) for document in (policy, deployment, pod)))


def put(etcd_url: str, objects: Iterable[tuple[str, str]]) -> int:
    """Write texts under their keys, a lot at a time; return how many."""
    address = urlsplit(etcd_url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=_TIMEOUT_S)
    written, rest = 0, iter(objects)
    while lot := list(itertools.islice(rest, _LOT)):
        _put_lot(connection, lot)
        written += len(lot)
    connection.close()
    return written


def _put_lot(connection: http.client.HTTPConnection, lot: Sequence[tuple[str, str]]) -> None:
    puts = [{"requestPut": {"key": _base64(key), "value": _base64(text)}} for key, text in lot]
    connection.request("POST", "/v3/kv/txn", json.dumps({"success": puts}), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != HTTPStatus.OK or not json.loads(body).get("succeeded"):
        raise RuntimeError(f"etcd: {answer.status} {body[:200]!r}")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _filled(text: str, subject: Subject) -> str:
    return text.replace(_NAMESPACE, subject.namespace).replace(_NAME, subject.name).replace(_UID, str(uuid.uuid4()))


def _address(number: int) -> str:
    above = number + 256
    return f"10.{above >> 16}.{above >> 8 & 255}.{above & 255}"


def _template() -> Document:
    container = {
        "name": "app",
        "image": "registry.example/shop/consumer:1.2.3",
        "command": ["node", "consumer.js"],
        "envFrom": [{"configMapRef": {"name": CONFIG_MAP}}],
        "env": [{"name": "KAFKA_GROUP_ID", "value": _NAME}],
        "ports": [{"name": "metrics", "containerPort": 9404}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
    }
    return {"metadata": {"labels": {"app": _NAME}}, "spec": {"containers": [container]}}


def _deployment() -> Document:
    spec = {"replicas": PODS_OF_POLICY, "selector": {"matchLabels": {"app": _NAME}}, "template": _template()}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": _NAME}, "spec": spec}


def _pod() -> Document:
    template = _template()
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"{_NAME}-{TEMPLATE_HASH}",
        "uid": str(uuid.uuid4()),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": _POD,
        "labels": {**template["metadata"]["labels"], "pod-template-hash": TEMPLATE_HASH},
        "ownerReferences": [owner],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _deployment_status(started: str) -> Document:
    return {
        "observedGeneration": 1,
        **dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), PODS_OF_POLICY),
        "conditions": [
            _condition("Available", started) | {"lastUpdateTime": started, "reason": "MinimumReplicasAvailable"},
            _condition("Progressing", started) | {"lastUpdateTime": started, "reason": "NewReplicaSetAvailable"},
        ],
    }


def _pod_status(started: str) -> Document:
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    container: Mapping[str, Any] = {
        "name": "app",
        "image": "registry.example/shop/consumer:1.2.3",
        "imageID": f"registry.example/shop/consumer@sha256:{'a' * 64}",
        "containerID": f"containerd://{'b' * 64}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": started}},
    }
    return {
        "phase": "Running",
        "hostIP": "192.168.0.1",
        "hostIPs": [{"ip": "192.168.0.1"}],
        "podIP": _ADDRESS,
        "podIPs": [{"ip": _ADDRESS}],
        "qosClass": "Burstable",
        "startTime": started,
        "conditions": [_condition(kind, started) for kind in kinds],
        "containerStatuses": [container],
    }


def _condition(kind: str, since: str) -> Document:
    return {"type": kind, "status": "True", "lastTransitionTime": since}
