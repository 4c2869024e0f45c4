"""The node itself: registers with the API server, stays alive there, binds pending pods and looks after its own.

One watch on all pods drives everything; it is begun again with a full list about once a minute and after every trouble,
so that nothing missed stays missed.
"""

import asyncio
import platform
import signal
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sandbox import progress
from sandbox.network import LOOPBACK
from sandbox.node.addresses import Addresses
from sandbox.node.api import Api, ApiError, ApiUnreachableError, Document
from sandbox.node.files import PodFiles
from sandbox.node.pod_worker import PodWorker
from sandbox.node.status import timestamp

_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_NODES: Final = "/api/v1/nodes"
_PODS: Final = "/api/v1/pods"
_LEASE_S: Final = 40
_RENEW_S: Final = 10.0
_STATUS_S: Final = 60.0
_RETRY_S: Final = 1.0
_SHUT_DOWN_GRACE_S: Final = 2.0
_CONFLICT: Final = 409
_NOT_FOUND: Final = 404
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


class Agent:
    """One node; `run` is its whole life.

    Args:
        kubeconfig: an administrator's.
        name: of the Node object.
        run_dir: gets `pods/`.
    """

    def __init__(self, kubeconfig: Path, name: str, run_dir: Path) -> None:
        self._api = Api(kubeconfig)
        self._name = name
        self._run_dir = run_dir
        self._addresses = Addresses()
        self._workers: dict[str, PodWorker] = {}
        self._ready_since = timestamp(datetime.now(UTC))
        self._ready_file = PodFiles.ready_file(run_dir, name)

    async def run(self) -> None:
        """Be a node until SIGTERM or SIGINT, then end every container and return."""
        self._ready_file.parent.mkdir(parents=True, exist_ok=True)
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        with self._addresses:
            async with self._api, asyncio.TaskGroup() as workers:
                life = workers.create_task(self._live(workers))
                await stopped.wait()
                life.cancel()
                await asyncio.gather(*(worker.shut_down(_SHUT_DOWN_GRACE_S) for worker in self._workers.values()))
                for worker in self._workers.values():
                    worker.forget()

    async def _live(self, workers: asyncio.TaskGroup) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat("renewing the lease", self._renew_lease, _RENEW_S))
            group.create_task(self._repeat("reporting the node's status", self._report_ready, _STATUS_S))
            group.create_task(self._repeat("following pods", lambda: self._follow_pods(workers), 0))

    async def _repeat(self, doing: str, step: Callable[[], Awaitable[None]], every_s: float) -> None:
        """Repeat a step as long as the node lives; trouble with the API server is reported and tried again."""
        while True:
            try:
                await step()
                await asyncio.sleep(every_s)
            except (ApiError, ApiUnreachableError) as error:
                progress.say(self._name, f"{doing}: {error}")
                await asyncio.sleep(_RETRY_S)

    async def _renew_lease(self) -> None:
        spec = {
            "holderIdentity": self._name,
            "leaseDurationSeconds": _LEASE_S,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        lease = {"metadata": {"name": self._name, "namespace": "kube-node-lease"}, "spec": spec}
        await self._patch_or_create(f"{_LEASES}/{self._name}", _LEASES, lease)

    async def _report_ready(self) -> None:
        await self._patch_or_create(f"{_NODES}/{self._name}", _NODES, self._node())
        await self._api.patch(f"{_NODES}/{self._name}/status", {"status": self._node_status()})
        self._ready_file.touch()

    async def _patch_or_create(self, path: str, collection: str, document: Document) -> None:
        try:
            await self._api.patch(path, document)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            await self._api.create(collection, document)

    def _node(self) -> Document:
        labels = {
            "kubernetes.io/hostname": self._name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": _architecture(),
        }
        return {"metadata": {"name": self._name, "labels": labels}}

    def _node_status(self) -> Document:
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "ProcessNodeReady",
            "message": "runs pods as processes",
            "lastHeartbeatTime": timestamp(datetime.now(UTC)),
            "lastTransitionTime": self._ready_since,
        }
        resources = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
        return {
            "addresses": [{"type": "InternalIP", "address": LOOPBACK}, {"type": "Hostname", "address": self._name}],
            "capacity": resources,
            "allocatable": resources,
            "conditions": [ready],
            "nodeInfo": {"architecture": _architecture(), "operatingSystem": "linux"},
        }

    async def _follow_pods(self, workers: asyncio.TaskGroup) -> None:
        listed = await self._api.get(_PODS)
        for worker in [self._workers[uid] for uid in self._workers.keys() - {_uid(pod) for pod in listed["items"]}]:
            worker.forget()
        for pod in listed["items"]:
            await self._see(pod, workers)
        async for kind, pod in self._api.watch(_PODS, listed["metadata"]["resourceVersion"]):
            if kind != "DELETED":
                await self._see(pod, workers)
            elif _uid(pod) in self._workers:
                self._workers[_uid(pod)].forget()

    async def _see(self, pod: Document, workers: asyncio.TaskGroup) -> None:
        node = pod["spec"].get("nodeName")
        if node is None and wants_node(pod):
            await self._bind(pod)
        elif node == self._name and _uid(pod) in self._workers:
            self._workers[_uid(pod)].update(pod)
        elif node == self._name:
            worker = self._workers[_uid(pod)] = PodWorker(self._api, pod, self._addresses, self._run_dir)
            task = workers.create_task(worker.run())
            task.add_done_callback(lambda _: self._workers.pop(_uid(pod), None))

    async def _bind(self, pod: Document) -> None:
        own = await self._api.get(f"{_NODES}/{self._name}")
        if own["spec"].get("unschedulable"):  # `kubectl cordon`
            return
        metadata = pod["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "uid": metadata["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self._name},
        }
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
        try:
            await self._api.create(path, binding)
        except ApiError as error:
            if error.status not in (_NOT_FOUND, _CONFLICT):  # deleted meanwhile, or another node was faster
                raise


def wants_node(pod: Document) -> bool:
    """Whether a pod without a node is to be bound to one now."""
    spec = pod["spec"]
    return (
        spec.get("schedulerName") == "default-scheduler"
        and not spec.get("schedulingGates")
        and "deletionTimestamp" not in pod["metadata"]
    )


def _uid(pod: Document) -> str:
    uid: str = pod["metadata"]["uid"]
    return uid


def _architecture() -> str:
    return _ARCHITECTURES.get(platform.machine(), platform.machine())
