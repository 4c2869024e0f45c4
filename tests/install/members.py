"""Consumers on the container node: the sandbox's own programs, run from the machine's files.

An image of each would be of no use to anybody: a pod of these is the image with nothing in it, the machine's programs
and libraries mounted, and the consumer from the sandbox's cache.
"""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import yaml

from sandbox import cache, scenario
from sandbox.container_node.runtime import PAUSE
from sandbox.scenario import ConsumerSettings, JavaSettings, Tenant

_SYSTEM: Final = tuple(Path(path) for path in ("/usr", "/lib", "/lib64", "/etc"))


def deploy_kafkajs(tenant: Tenant, name: str, settings: ConsumerSettings) -> None:
    """Run three KafkaJS consumers as Deployment, group and topic `name`."""
    tenant.sandbox.kafka.create_topic(name, scenario.PARTITIONS)
    tenant.apply(_contained(tenant.consumer_manifest(name, settings)))


def deploy_java(tenant: Tenant, name: str, settings: JavaSettings, *, replicas: int) -> None:
    """Run Java consumers as Deployment, group and topic `name`, whose pods are replaced one at a time."""
    tenant.sandbox.kafka.create_topic(name, scenario.PARTITIONS)
    tenant.apply(_contained(tenant.java_consumer_manifest(name, settings, replicas=replicas)))


def _contained(manifest: str) -> str:
    """Return the manifest of a process node's pods for a container node."""
    documents = list(yaml.safe_load_all(manifest))
    (deployment,) = [document for document in documents if document["kind"] == "Deployment"]
    deployment["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    program, *arguments = container["command"]
    found = shutil.which(program)
    assert found is not None, program
    resolved = Path(found).resolve()
    mounted = [path for path in (*_SYSTEM, cache.root()) if path.exists()]
    if not any(resolved.is_relative_to(path) for path in mounted):
        mounted.append(resolved.parents[1])  # a program with its libraries in a folder of their own
    container |= {"image": PAUSE, "imagePullPolicy": "Never", "command": [str(resolved), *arguments]}
    container["securityContext"] = {"runAsUser": 0}  # whose the cache is
    names = {f"machine-{number}": str(path) for number, path in enumerate(mounted)}
    container["volumeMounts"] = [{"name": name, "mountPath": path, "readOnly": True} for name, path in names.items()]
    pod["volumes"] = [{"name": name, "hostPath": {"path": path}} for name, path in names.items()]
    return "\n---\n".join(map(json.dumps, documents))
