"""All parts with a node that runs containers; its API server, broker and Prometheus are where pods reach them."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from sandbox.binaries import Binaries
from sandbox.container_node import inside, programs
from sandbox.container_node.runtime import Runtime
from sandbox.environment import Environment
from sandbox.processes import wait_until


class Cluster(Environment):
    """Control plane, container node, Kafka and Prometheus; a context manager, inside an enclosure only.

    Pods resolve no names: they are given addresses. Volumes are made by whoever needs them, as nothing provides any.

    Args:
        run_dir: gets data and logs of every part; on a file system that overlayfs can be put upon.
        images: archives of all images that pods name, among them the one of `runtime.PAUSE`; nothing is pulled.
        history: what Prometheus knows before it starts, from `sandbox.backfill`.
    """

    def __init__(self, run_dir: Path, *, images: Sequence[Path], history: Path | None = None) -> None:
        inside.require()
        super().__init__(run_dir, users=programs.USERS, history=history, address=inside.ADDRESS)
        self._images = images

    def _start_node(self, starting: contextlib.ExitStack, binaries: Binaries) -> None:
        logs, plane = self.run_dir / "logs", self.control_plane
        runtime = starting.enter_context(Runtime(self.run_dir / "containerd", logs))
        runtime.load(self._images)
        kubelet = programs.kubelet(self.run_dir / "kubelet", logs, binaries, plane)
        for process in (programs.scheduler(logs, binaries, plane), programs.proxy(logs, binaries, plane), kubelet):
            starting.enter_context(process)

        def ready() -> bool:
            nodes = json.loads(plane.kubectl("get", "nodes", "--output=json"))["items"]
            conditions = [condition for node in nodes for condition in node["status"].get("conditions", ())]
            return any((condition["type"], condition["status"]) == ("Ready", "True") for condition in conditions)

        wait_until(ready, part="kubelet", what="its node to be ready", process=kubelet, poll_s=0.3)
