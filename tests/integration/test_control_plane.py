"""The control plane of the sandbox behaves as a cluster's."""

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from sandbox import audit, reads
from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.errors import SandboxError
from sandbox.processes import wait_until

pytestmark = pytest.mark.timeout(300)


def _deployment(replicas: int) -> dict[str, object]:
    container = {"name": "app", "image": "none", "command": ["sleep", "infinity"]}
    # A scheduler that does not exist: the pods must stay Pending whether or not a node runs beside this test.
    template = {
        "metadata": {"labels": {"app": "idle"}},
        "spec": {"schedulerName": "nobody", "containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "idle"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "idle"}}, "template": template},
    }


def test_controllers_create_the_pods_of_a_deployment(
    control_plane: ControlPlane, namespace: str, apply: Callable[..., None]
) -> None:
    """The controller manager works, and the ServiceAccount that pods need is there."""
    apply(_deployment(replicas=2))

    def phases() -> list[str]:
        return control_plane.kubectl("get", "pods", "-n", namespace, "-o", "jsonpath={.items[*].status.phase}").split()

    wait_until(lambda: phases() == ["Pending", "Pending"], part="test", what="two pending pods", timeout_s=30)


def test_a_user_has_no_rights_until_rbac_gives_some(control_plane: ControlPlane, binaries: Binaries) -> None:
    """RBAC is on: else no test would notice a right missing in the chart."""

    def get_pods() -> subprocess.CompletedProcess[str]:
        kubeconfig = control_plane.kubeconfig_for("operator")
        command = [str(binaries.path("kubectl")), f"--kubeconfig={kubeconfig}", "get", "pods"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    denied = get_pods()
    assert denied.returncode != 0
    assert 'User "operator" cannot list resource "pods"' in denied.stderr

    control_plane.kubectl("create", "clusterrolebinding", "operator-views", "--clusterrole=view", "--user=operator")

    try:
        wait_until(lambda: get_pods().returncode == 0, part="test", what="the right to list pods", timeout_s=30)
    finally:
        control_plane.kubectl("delete", "clusterrolebinding", "operator-views")


def test_an_unknown_user_is_an_error_that_names_the_known_ones(control_plane: ControlPlane) -> None:
    """A misspelt user fails where it is asked for, not later as "Unauthorized"."""
    with pytest.raises(SandboxError, match=r"operater.*operator"):
        control_plane.kubeconfig_for("operater")


def test_the_audit_log_tells_writes_from_reads_and_dry_runs(control_plane: ControlPlane, namespace: str) -> None:
    """Counting writes is how later tests show that nothing is written needlessly."""
    began = datetime.now(UTC)
    create = ("create", "configmap", "seen", "-n", namespace)
    control_plane.kubectl(*create, "--dry-run=server")
    control_plane.kubectl(*create)
    control_plane.kubectl("get", "configmap", "seen", "-n", namespace)

    def own_writes() -> list[tuple[str, str, str, str, int]]:
        return [
            (write.user, write.verb, write.resource, write.name, write.code)
            for write in audit.writes(control_plane.audit_log, since=began)
            if write.namespace == namespace and write.name == "seen"
        ]

    wait_until(lambda: bool(own_writes()), part="test", what="the audit log's line", timeout_s=30)
    assert own_writes() == [("admin", "create", "configmaps", "seen", 201)]


def test_kubectl_failures_say_what_kubectl_said(control_plane: ControlPlane) -> None:
    """A failed kubectl is a sentence with its reason, not an exit status."""
    with pytest.raises(SandboxError, match=r"no-such-pod.*not found"):
        control_plane.kubectl("get", "pod", "no-such-pod")


def test_reads_see_what_kubectl_sees(control_plane: ControlPlane, namespace: str) -> None:
    """An object with all its fields, those that a label chooses, and a sentence about one that is not there."""
    for name in ("chosen", "other"):
        control_plane.kubectl("create", "configmap", name, f"--namespace={namespace}", f"--from-literal=is={name}")
    control_plane.kubectl("label", "configmap", "chosen", f"--namespace={namespace}", "chosen=yes")
    shown = control_plane.kubectl(
        "get", "configmap", "chosen", f"--namespace={namespace}", "--show-managed-fields", "--output=json"
    )
    assert reads.read(control_plane, namespace, "configmaps", "chosen") == json.loads(shown)
    for selector in ({"labels": "chosen=yes"}, {"fields": "metadata.name=chosen"}):
        (item,) = reads.read(control_plane, namespace, "configmaps", **selector)["items"]
        assert item["data"] == {"is": "chosen"}
    with pytest.raises(SandboxError, match=r'404: .*configmaps \\"gone\\" not found'):
        reads.read(control_plane, namespace, "configmaps", "gone")
