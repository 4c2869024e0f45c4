"""The process node does with pods what a kubelet does."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from sandbox import reads
from sandbox.control_plane import ControlPlane
from sandbox.node import ProcessNode
from sandbox.processes import wait_until

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("process_node")]

Apply: TypeAlias = Callable[..., None]
Document: TypeAlias = dict[str, Any]

_SERVER = """
import http.server, json, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(dict(os.environ)).encode())
http.server.HTTPServer((os.environ["POD_IP"], 8080), Handler).serve_forever()
"""
_SLEEP = ["sleep", "infinity"]
_POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def _server_deployment(greeting: str) -> Document:
    container = {
        "name": "app",
        "image": "none",
        "command": [sys.executable, "-c", _SERVER],
        "env": [_POD_IP, {"name": "GREETING", "value": greeting}],
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "server"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "server"}},
            "template": {"metadata": {"labels": {"app": "server"}}, "spec": {"containers": [container]}},
        },
    }


def _pod(container: Document, **spec: object) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"containers": [{"name": "app", "image": "none"} | container], "terminationGracePeriodSeconds": 1}
        | spec,
    }


def _config_map(**data: str) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}


class _Cluster:
    """Questions about one namespace."""

    def __init__(self, control_plane: ControlPlane, node: ProcessNode, namespace: str) -> None:
        self._plane = control_plane
        self.kubectl = control_plane.kubectl
        self.node = node
        self.namespace = namespace

    def pods(self) -> list[Document]:
        """All pods, also those being deleted."""
        listed: list[Document] = reads.read(self._plane, self.namespace, "pods")["items"]
        return listed

    def container(self) -> Document:
        """The status of the only container of the only pod; empty before there is one."""
        found = [status for pod in self.pods() for status in pod["status"].get("containerStatuses", ())]
        return found[0] if found else {}

    def waiting_reason(self) -> str:
        """Why the only container waits; empty when it does not."""
        reason: str = self.container().get("state", {}).get("waiting", {}).get("reason", "")
        return reason

    def ready(self) -> bool:
        """Whether the only container is ready."""
        return bool(self.container().get("ready"))

    def pid(self, pod: str = "pod") -> int | None:
        """The process of a pod's container."""
        return self.node.container_pid(self.namespace, pod, "app")

    def log(self, pod: str = "pod") -> str:
        """What a pod's container has printed."""
        return self.node.container_log(self.namespace, pod, "app").read_text()


@pytest.fixture
def cluster(control_plane: ControlPlane, process_node: ProcessNode, namespace: str) -> _Cluster:
    """The test's own corner of the cluster."""
    return _Cluster(control_plane, process_node, namespace)


def _wait(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, part="test", what=what, timeout_s=60, poll_s=0.2)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # nobody has collected it yet, but it does not run


def _environment(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in lines if line)


def test_a_rollout_replaces_the_processes_and_their_environment(cluster: _Cluster, apply: Apply) -> None:
    """A Deployment becomes available, and a changed env reaches new processes on addresses of their own."""
    apply(_config_map(COLOUR="blue"), _server_deployment("hello"))
    rollout = ("rollout", "status", "deployment/server", "-n", cluster.namespace, "--timeout=60s")
    cluster.kubectl(*rollout)
    before = {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in cluster.pods()}
    old_pids = [pid for name in before if (pid := cluster.pid(name)) is not None]
    assert len(set(before.values())) == 2
    assert not any(address.startswith("127.0.0.") for address in before.values())
    assert len(old_pids) == 2
    assert _environment(old_pids[0])["GREETING"] == "hello"
    assert _environment(old_pids[0])["COLOUR"] == "blue"

    apply(_server_deployment("goodbye"))
    cluster.kubectl(*rollout)
    _wait(lambda: not any(map(_runs, old_pids)), "the old processes to end")
    _wait(lambda: len(cluster.pods()) == 2, "the old pods to go")
    new_pids = [cluster.pid(pod["metadata"]["name"]) for pod in cluster.pods()]
    assert [_environment(pid)["GREETING"] for pid in new_pids if pid is not None] == ["goodbye", "goodbye"]


def test_nothing_of_our_own_environment_reaches_a_container(cluster: _Cluster, apply: Apply) -> None:
    """A consumer must see its pod's settings only, or a test passes for what the developer's shell exports."""
    apply(_pod({"command": _SLEEP}))
    _wait(cluster.ready, "the pod")
    pid = cluster.pid()
    assert pid is not None
    assert _environment(pid).keys() == {"PATH", "HOME", "HOSTNAME"}


def test_a_killed_container_is_restarted_and_counted(cluster: _Cluster, apply: Apply) -> None:
    """A crash shows as the API shows it in a cluster: restartCount and the signal's exit code."""
    apply(_pod({"command": _SLEEP}))
    _wait(cluster.ready, "the pod")
    pid = cluster.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    _wait(lambda: cluster.container()["restartCount"] == 1 and cluster.ready(), "the restart")
    assert cluster.container()["lastState"]["terminated"]["exitCode"] == 137
    assert cluster.pid() != pid


def test_a_deleted_pod_ends_with_all_its_processes(cluster: _Cluster, apply: Apply) -> None:
    """Also one that ignores SIGTERM, and also what it has started."""
    script = "trap '' TERM; sleep 1000 & echo child $!; while true; do sleep 0.1; done"
    apply(_pod({"command": ["bash", "-c", script]}))
    _wait(lambda: cluster.ready() and "child" in cluster.log(), "the pod")
    pid, child = cluster.pid(), int(cluster.log().split()[1])
    assert pid is not None
    cluster.kubectl("delete", "pod", "pod", "-n", cluster.namespace, "--timeout=60s")
    assert not _runs(pid)
    _wait(lambda: not _runs(child), "the child to end")
    assert cluster.pid() is None


def test_a_container_that_listens_ends_by_itself_within_the_grace(cluster: _Cluster, apply: Apply) -> None:
    """SIGTERM comes first: consumers leave their group on it."""
    script = "trap 'echo leaving; exit 0' TERM; echo up; while true; do sleep 0.1; done"
    apply(_pod({"command": ["bash", "-c", script]}, terminationGracePeriodSeconds=50))
    _wait(lambda: cluster.ready() and "up" in cluster.log(), "the pod")
    cluster.kubectl("delete", "pod", "pod", "-n", cluster.namespace, "--timeout=40s")
    assert cluster.log().split() == ["up", "leaving"]


def test_a_scheduling_gate_holds_a_pod_back(cluster: _Cluster, apply: Apply, control_plane: ControlPlane) -> None:
    """A gated pod gets no node; without the gate it runs."""
    apply(_pod({"command": _SLEEP}, schedulingGates=[{"name": "example.com/wait"}]))
    apply(_pod({"command": _SLEEP}) | {"metadata": {"name": "ungated"}})
    _wait(lambda: cluster.pid("ungated") is not None, "a pod that came later")
    gated = next(pod for pod in cluster.pods() if pod["metadata"]["name"] == "pod")
    assert "nodeName" not in gated["spec"]
    patch = [{"op": "remove", "path": "/spec/schedulingGates"}]
    control_plane.kubectl("patch", "pod", "pod", "-n", cluster.namespace, "--type=json", f"--patch={json.dumps(patch)}")
    _wait(lambda: cluster.pid() is not None, "the pod without its gate")


def test_a_cordoned_node_takes_no_pods_of_its_own_accord(cluster: _Cluster, apply: Apply) -> None:
    """Only who names it runs there, until it is uncordoned; then those that waited do, when it looks again."""
    cluster.kubectl("cordon", cluster.node.name)
    try:
        apply(_pod({"command": _SLEEP}))
        apply(_pod({"command": _SLEEP}, nodeName=cluster.node.name) | {"metadata": {"name": "bound"}})
        _wait(lambda: cluster.pid("bound") is not None, "a pod that came later")
        waiting = next(pod for pod in cluster.pods() if pod["metadata"]["name"] == "pod")
        assert "nodeName" not in waiting["spec"]
    finally:
        cluster.kubectl("uncordon", cluster.node.name)
    cluster.kubectl("label", "pod", "pod", "-n", cluster.namespace, "seen=again")
    _wait(lambda: cluster.pid() is not None, "the pod after all")


def test_a_missing_config_map_is_reported_and_waited_for(cluster: _Cluster, apply: Apply) -> None:
    """The container waits with the kubelet's reason and starts when the ConfigMap appears."""
    reference = {"configMapKeyRef": {"name": "settings", "key": "COLOUR"}}
    apply(_pod({"command": _SLEEP, "env": [{"name": "COLOUR", "valueFrom": reference}]}))
    _wait(lambda: cluster.waiting_reason() == "CreateContainerConfigError", "the reason")
    assert cluster.pid() is None
    apply(_config_map(COLOUR="green"))
    _wait(cluster.ready, "the pod")
    pid = cluster.pid()
    assert pid is not None
    assert _environment(pid)["COLOUR"] == "green"


def test_a_failing_liveness_probe_restarts_and_a_failing_readiness_probe_does_not(
    cluster: _Cluster, apply: Apply
) -> None:
    """The two probes must not be confused: one is about life, the other about traffic."""
    probe = {"periodSeconds": 1, "failureThreshold": 1}
    container = {
        "command": ["sh", "-c", "touch alive; exec sleep infinity"],
        "readinessProbe": probe | {"exec": {"command": ["test", "-e", "ready"]}},
        "livenessProbe": probe | {"exec": {"command": ["test", "-e", "alive"]}, "initialDelaySeconds": 1},
    }
    apply(_pod(container))
    _wait(lambda: cluster.container().get("started") is True, "the pod")
    assert not cluster.ready()
    pid = cluster.pid()
    assert pid is not None
    scratch = Path(_environment(pid)["HOME"])
    (scratch / "ready").touch()
    _wait(cluster.ready, "readiness")
    (scratch / "ready").unlink()
    _wait(lambda: not cluster.ready(), "unreadiness")
    assert cluster.container()["restartCount"] == 0
    (scratch / "alive").unlink()
    _wait(lambda: cluster.container()["restartCount"] == 1, "the restart")
    assert "liveness" in cluster.container()["lastState"]["terminated"]["message"]


def test_a_container_that_keeps_failing_is_backed_off(cluster: _Cluster, apply: Apply) -> None:
    """A crash loop shows as one, and does not become a busy loop."""
    apply(_pod({"command": ["false"]}))
    _wait(lambda: cluster.container().get("restartCount", 0) >= 2, "two restarts")
    _wait(lambda: cluster.waiting_reason() == "CrashLoopBackOff", "the back-off")


@pytest.mark.parametrize(("exit_code", "phase"), [(0, "Succeeded"), (3, "Failed")])
def test_a_pod_that_may_end_tells_how_it_ended(cluster: _Cluster, apply: Apply, exit_code: int, phase: str) -> None:
    """Jobs depend on the phase."""
    apply(_pod({"command": ["sh", "-c", f"exit {exit_code}"]}, restartPolicy="Never"))
    _wait(lambda: [pod["status"]["phase"] for pod in cluster.pods()] == [phase], phase)
    assert cluster.container()["state"]["terminated"]["exitCode"] == exit_code


def test_a_pod_the_node_cannot_run_says_why(cluster: _Cluster, apply: Apply) -> None:
    """What is not supported fails at once, with a sentence."""
    init = {"name": "init", "image": "none", "command": ["true"]}
    apply(_pod({"command": _SLEEP}, initContainers=[init]))
    _wait(lambda: [pod["status"]["phase"] for pod in cluster.pods()] == ["Failed"], "the failure")
    assert "init containers" in cluster.pods()[0]["status"]["message"]


def test_a_pod_deleted_by_force_ends_at_once(cluster: _Cluster, apply: Apply) -> None:
    """The object is gone before the node hears of it; its process must not stay for the whole grace."""
    script = "trap '' TERM; while true; do sleep 0.1; done"
    apply(_pod({"command": ["bash", "-c", script]}, terminationGracePeriodSeconds=3600))
    _wait(cluster.ready, "the pod")
    pid = cluster.pid()
    assert pid is not None
    cluster.kubectl("delete", "pod", "pod", "-n", cluster.namespace, "--force", "--grace-period=0")
    _wait(lambda: not _runs(pid), "the process to end")


def test_a_deleted_namespace_goes_with_its_processes(cluster: _Cluster, apply: Apply) -> None:
    """Nothing runs on for a namespace that is gone, and the node does not keep it from going."""
    apply(_config_map(COLOUR="blue"), _server_deployment("hello"))
    _wait(lambda: len([pod for pod in cluster.pods() if cluster.pid(pod["metadata"]["name"])]) == 2, "the pods")
    pids = [cluster.pid(pod["metadata"]["name"]) for pod in cluster.pods()]
    cluster.kubectl("delete", "namespace", cluster.namespace, "--timeout=60s")
    assert not any(_runs(pid) for pid in pids if pid is not None)


def test_containers_do_not_notice_that_the_api_server_is_away(
    cluster: _Cluster, apply: Apply, control_plane: ControlPlane
) -> None:
    """Faults of the API server are tested for the operator's sake; consumers must run through them, as in a cluster."""
    apply(_pod({"command": _SLEEP}))
    _wait(cluster.ready, "the pod")
    pid = cluster.pid()
    assert pid is not None
    control_plane.stop()
    os.kill(pid, signal.SIGKILL)
    _wait(lambda: cluster.pid() not in (None, pid), "a restart without the API server")
    second = cluster.pid()
    control_plane.start()
    _wait(lambda: cluster.container()["restartCount"] == 1, "the news to arrive")
    assert cluster.pid() == second


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
def test_pods_survive_the_nodes_restart_but_processes_do_not(
    run_dir: Path, control_plane: ControlPlane, namespace: str, apply: Apply, *, crash: bool
) -> None:
    """No container outlives its node, not even a paused one, and each is started again and counted."""
    with ProcessNode(run_dir, control_plane.kubeconfig, name=f"node-{namespace}") as node:
        cluster = _Cluster(control_plane, node, namespace)
        apply(_pod({"command": _SLEEP}, nodeName=node.name))
        _wait(cluster.ready, "the pod")
        pid = cluster.pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        if crash:
            node.process.kill()
        else:
            node.stop()
        _wait(lambda: not _runs(pid), "the process to end with its node")
        node.start()
        _wait(lambda: cluster.container()["restartCount"] == 1 and cluster.ready(), "the restart")
        assert cluster.pid() != pid
        cluster.kubectl("delete", "pod", "pod", "-n", namespace, "--timeout=60s")
    control_plane.kubectl("delete", "node", node.name)
