"""A pod can be frozen and comes back as the same process."""

import json
import sys
from collections.abc import Callable
from typing import Any, Final

import pytest

from sandbox.control_plane import ControlPlane
from sandbox.errors import SandboxError
from sandbox.node import ProcessNode
from sandbox.processes import wait_until

pytestmark = pytest.mark.timeout(180)

SERVER: Final = """
import http.server, os
http.server.HTTPServer((os.environ["POD_IP"], 8080), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
POD: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "server"},
    "spec": {
        "terminationGracePeriodSeconds": 1,
        "containers": [
            {
                "name": "app",
                "image": "none",
                "command": [sys.executable, "-c", SERVER],
                "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
                "readinessProbe": {
                    "httpGet": {"path": "/", "port": 8080},
                    "periodSeconds": 1,
                    "failureThreshold": 1,
                },
            }
        ],
    },
}


def test_a_paused_pod_is_unready_and_not_restarted(
    control_plane: ControlPlane,
    process_node: ProcessNode,
    namespace: str,
    apply: Callable[..., None],
) -> None:
    """A pause is what a long garbage collection is to its group; a restart would be another experiment."""
    apply(POD)

    def container() -> dict[str, Any]:
        pod = json.loads(control_plane.kubectl("get", "pod", "server", f"--namespace={namespace}", "-o", "json"))
        found: list[dict[str, Any]] = pod["status"].get("containerStatuses", [{}])
        return found[0]

    def await_ready(*, ready: bool) -> None:
        wait_until(lambda: container().get("ready") is ready, part="server", what=f"ready={ready}", poll_s=0.2)

    await_ready(ready=True)
    pid = process_node.container_pid(namespace, "server", "app")

    def interrupted_pause() -> None:
        with process_node.paused(namespace, "server"):
            await_ready(ready=False)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_pause()
    await_ready(ready=True)
    assert container()["restartCount"] == 0
    assert process_node.container_pid(namespace, "server", "app") == pid


def test_a_pod_that_does_not_run_cannot_be_paused(process_node: ProcessNode, namespace: str) -> None:
    """A mistyped name must not look like a pause that had no effect."""
    with (
        pytest.raises(SandboxError, match=f"No container of pod {namespace}/nobody is running"),
        process_node.paused(namespace, "nobody"),
    ):
        pass
