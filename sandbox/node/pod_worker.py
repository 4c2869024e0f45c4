"""One pod on the node, from its binding to its removal: runs the containers and reports their state."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Final

from sandbox import progress
from sandbox.network import LOOPBACK
from sandbox.node.addresses import Addresses
from sandbox.node.api import Api, ApiError, ApiUnreachableError, Document
from sandbox.node.container import Container, Surroundings
from sandbox.node.env import ContainerConfigError, PodFacts, Sources, references, resolve
from sandbox.node.files import PodFiles
from sandbox.node.status import ContainerRecord, pod_status, recall

_RETRY_S: Final = 1.0
_PLURALS: Final = {"ConfigMap": "configmaps", "Secret": "secrets"}
_FINISHED: Final = ("Succeeded", "Failed")
_GONE: Final = (404, 409)  # no such pod, or another one of the same name


class PodWorker:
    """Looks after one pod; the agent calls `update` and `forget`, and runs `run`."""

    def __init__(self, api: Api, pod: Document, addresses: Addresses, run_dir: Path) -> None:
        metadata = pod["metadata"]
        self.name = f"{metadata['namespace']}/{metadata['name']}"
        self._api = api
        self._pod = pod
        self._addresses = addresses
        self._files = PodFiles(run_dir, metadata["namespace"], metadata["name"])
        self._path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        self._wake = asyncio.Event()
        self._forgotten = False
        self._removed = False
        self._containers: list[Container] = []
        self._running: list[asyncio.Task[None]] = []
        self._conditions: list[Document] = pod.get("status", {}).get("conditions", [])
        self._reported: Document | None = None

    def update(self, pod: Document) -> None:
        """Take note of the pod's newest state in the API."""
        self._pod = pod
        if self._deleted():
            self._stop_containers(float(pod["metadata"].get("deletionGracePeriodSeconds", 0)))
        self._wake.set()

    def forget(self) -> None:
        """Take note that the pod is no longer in the API: everything of it ends at once."""
        self._forgotten = True
        self._stop_containers(0)
        self._wake.set()

    async def shut_down(self, grace_s: float) -> None:
        """End the containers because the node ends; the pod stays in the API."""
        self._stop_containers(grace_s)
        if self._running:
            await asyncio.wait(self._running)

    async def run(self) -> None:
        """Look after the pod until it is forgotten."""
        self._address = self._addresses.take()
        try:
            async with asyncio.TaskGroup() as group:
                self._start_containers(group)
                while not self._forgotten:
                    self._wake.clear()
                    await self._bring_up_to_date()
                    await self._wake.wait()
        finally:
            self._addresses.give_back(self._address)
            shutil.rmtree(self._files.scratch, ignore_errors=True)

    def _start_containers(self, group: asyncio.TaskGroup) -> None:
        if self._deleted() or self._pod.get("status", {}).get("phase") in _FINISHED or unsupported(self._pod["spec"]):
            return
        spec, status = self._pod["spec"], self._pod.get("status", {})
        surroundings = Surroundings(
            pod_ip=self._address,
            files=self._files,
            restart_policy=spec["restartPolicy"],
            grace_s=spec["terminationGracePeriodSeconds"],
            resolve_env=self._resolve_env,
            on_change=self._wake.set,
        )
        previous = {item["name"]: item for item in status.get("containerStatuses", ())}
        self._containers = [
            Container(container, recall(container, previous.get(container["name"])), surroundings)
            for container in spec["containers"]
        ]
        self._running = [group.create_task(container.run()) for container in self._containers]
        for task in self._running:
            task.add_done_callback(lambda _: self._wake.set())

    async def _bring_up_to_date(self) -> None:
        """Report the pod's state if it has changed; when the pod is deleted and has ended, remove it."""
        try:
            status = self._status()
            if status is not None and status != self._reported:
                await self._api.patch(f"{self._path}/status", {"metadata": self._identity(), "status": status})
                self._reported, self._conditions = status, status.get("conditions", self._conditions)
            if self._deleted() and not self._removed and all(task.done() for task in self._running):
                options = {"gracePeriodSeconds": 0, "preconditions": self._identity()}
                await self._api.delete(self._path, options)
                self._removed = True
        except ApiError as error:
            if error.status not in _GONE:
                progress.say(self.name, str(error))
                self._wake_later()
        except ApiUnreachableError as error:
            progress.say(self.name, str(error))
            self._wake_later()

    def _status(self) -> Document | None:
        """Return what the API should say; None when it says the last word already."""
        if problem := unsupported(self._pod["spec"]):
            return {"phase": "Failed", "reason": "Unsupported", "message": problem}
        if not self._containers:
            return None
        records: list[ContainerRecord] = [container.record for container in self._containers]
        # A list without "replace" would be merged with the addresses of an earlier life of the node.
        return pod_status(records, self._pod["spec"]["restartPolicy"], self._conditions) | {
            "hostIP": LOOPBACK,
            "hostIPs": [{"$patch": "replace"}, {"ip": LOOPBACK}],
            "podIP": self._address,
            "podIPs": [{"$patch": "replace"}, {"ip": self._address}],
            "startTime": self._pod.get("status", {}).get("startTime") or self._pod["metadata"]["creationTimestamp"],
        }

    async def _resolve_env(self, container: Document) -> dict[str, str]:
        facts = PodFacts(self._pod, self._address, LOOPBACK)
        given = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._files.scratch),
            "HOSTNAME": self._pod["metadata"]["name"],
        }
        return given | resolve(container, facts, await self._sources(container))

    async def _sources(self, container: Document) -> Sources:
        sources: dict[tuple[str, str], Document | None] = {}
        for kind, name in references(container):
            path = f"/api/v1/namespaces/{self._pod['metadata']['namespace']}/{_PLURALS[kind]}/{name}"
            try:
                sources[kind, name] = await self._api.get(path)
            except ApiError as error:
                sources[kind, name] = None
                if error.status not in _GONE:
                    raise ContainerConfigError(str(error)) from error
            except ApiUnreachableError as error:
                raise ContainerConfigError(str(error)) from error
        return sources

    def _stop_containers(self, grace_s: float) -> None:
        for container in self._containers:
            container.stop(grace_s)

    def _deleted(self) -> bool:
        return "deletionTimestamp" in self._pod["metadata"]

    def _identity(self) -> Document:
        return {"uid": self._pod["metadata"]["uid"]}

    def _wake_later(self) -> None:
        asyncio.get_running_loop().call_later(_RETRY_S, self._wake.set)


def unsupported(spec: Document) -> str:
    """Say what in this pod the process node cannot do; empty when it can run it."""
    if spec.get("initContainers"):
        return "The process node runs no init containers."
    for container in spec["containers"]:
        if "command" not in container:
            return f"Container {container['name']} has no command; the process node has no images to take one from."
        if "lifecycle" in container:
            return f"Container {container['name']} has lifecycle hooks, which the process node does not run."
        for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
            if "grpc" in container.get(probe, {}):
                return f"Container {container['name']} has a gRPC {probe}, which the process node does not run."
    return ""
