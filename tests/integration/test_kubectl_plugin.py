"""The plugin on a real API server, through the real kubectl: what it shows, and what it writes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from heartbeat_tuner.adapters.kubernetes.stop_notes import RESUMED, STOPPED
from heartbeat_tuner.adapters.workloads import field_owners
from heartbeat_tuner.cli.kubectl.plugin import plugin
from sandbox.control_plane import ControlPlane
from tests.support import reports

pytestmark = pytest.mark.timeout(180)

CHECKOUT: Final = Path(__file__).parents[2]
STORM: Final = {"KAFKAJS_SESSION_TIMEOUT": "1000"}
CURE: Final = {"KAFKAJS_SESSION_TIMEOUT": "30000", "KAFKAJS_HEARTBEAT_INTERVAL": "1000"}


class Shop:
    """A namespace with a policy, its Deployment with the operator's values, and the plugin."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace
        self.flags = (f"--kubeconfig={plane.kubeconfig}", f"--namespace={namespace}")

    def plugin(self, *arguments: str, status: int = 0) -> str:
        """Run a command of the plugin, and return what it prints, or how it fails."""
        result = CliRunner().invoke(plugin, [*arguments, *self.flags])
        assert result.exit_code == status, result.output
        return result.stderr if status == 2 else result.stdout

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in the namespace."""
        return self.plane.kubectl(*arguments, f"--namespace={self.namespace}", stdin=stdin)

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Return an object."""
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "--show-managed-fields", "--output=json"))
        return found

    def env(self) -> dict[str, str]:
        """Return the literal entries of the Deployment's container."""
        container = self.get("deployment", "orders")["spec"]["template"]["spec"]["containers"][0]
        return {entry["name"]: entry["value"] for entry in container.get("env", ())}

    def values(self, entries: dict[str, str]) -> None:
        """Write values as the operator does: by server-side apply."""
        env = [{"name": name, "value": value} for name, value in entries.items()]
        template = {"spec": {"containers": [{"name": "app", "env": env}]}}
        document = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "orders"},
            "spec": {"template": template},
        }
        self.kubectl(
            "apply", "--server-side", "--field-manager=heartbeat-tuner", "--filename=-", stdin=json.dumps(document)
        )


@pytest.fixture(scope="module")
def defined(control_plane: ControlPlane) -> ControlPlane:
    """An API server that knows our kinds."""
    control_plane.kubectl("apply", "--server-side", f"--filename={CHECKOUT / 'crds'}")
    control_plane.await_definitions()
    return control_plane


@pytest.fixture
def shop(defined: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A policy whose values the operator has just written."""
    monkeypatch.setenv("PATH", os.pathsep.join((str(defined.kubectl_path.parent), os.environ["PATH"])))
    found = Shop(defined, namespace)
    template = {
        "metadata": {"labels": {"app": "orders"}},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "app", "image": "none"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "orders"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "orders"}, "spec": spec}
    found.kubectl("apply", "--filename=-", stdin=json.dumps(deployment))
    found.values(CURE)
    document = reports.policy()
    applied = {
        **document["status"]["applied"],
        "workloadUid": found.get("deployment", "orders")["metadata"]["uid"],
        "container": "app",
        "entries": CURE,
        "previousEntries": STORM,
    }
    metadata = {"name": "orders"}
    found.kubectl("apply", "--filename=-", stdin=json.dumps({**document, "metadata": metadata, "status": None}))
    status = json.dumps({"status": {**document["status"], "applied": applied}})
    found.kubectl("patch", "cgp", "orders", "--subresource=status", "--type=merge", f"--patch={status}")
    return found


def test_status_is_a_tree_as_kubectl_finds_the_program(shop: Shop, tmp_path: Path) -> None:
    """Of the policy, its workload and pods, and the last change."""
    program = tmp_path / "kubectl-heartbeat_tuner"
    program.write_text(f"#!{sys.executable}\nfrom heartbeat_tuner.cli.kubectl.plugin import main\nmain()\n")
    program.chmod(0o755)
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    command = ["kubectl", "heartbeat-tuner", "status", *shop.flags]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}).stdout
    assert f"{shop.namespace}/orders  Apply  Healthy" in shown
    assert "├── Deployment orders, container app: 0 of 2 pods ready" in shown
    assert "Pending, not ready" in shown
    assert "UTC set: session timeout 1s → 30s" in shown


def test_pause_and_resume_are_the_field_of_the_policy(shop: Shop) -> None:
    """A name that is not there is kubectl's sentence."""
    assert shop.plugin("pause", "orders") == "policy orders paused\n"
    assert shop.get("cgp", "orders")["spec"]["suspend"] is True
    assert "Apply, suspended" in shop.plugin("status", "orders")
    assert shop.plugin("resume", "orders") == "policy orders resumed\n"
    assert shop.get("cgp", "orders")["spec"]["suspend"] is False
    assert 'policies.heartbeat-tuner.dev "ordrs" not found' in shop.plugin("status", "ordrs", status=2)


def test_revert_writes_the_values_before_as_a_person(shop: Shop) -> None:
    """The operator finds them taken over by somebody else, and the entry that it had added gone."""
    assert "nothing was written" in shop.plugin("revert", "orders", "--dry-run")
    assert shop.env() == CURE
    said = shop.plugin("revert", "orders")
    assert "KAFKAJS_SESSION_TIMEOUT 30s → 1s" in said
    assert "KAFKAJS_HEARTBEAT_INTERVAL 1s → no entry" in said
    assert f"kubectl -n {shop.namespace} set env deployment/orders -c app KAFKAJS_SESSION_TIMEOUT-\n" in said
    assert shop.env() == STORM
    held = field_owners.holdings_of(shop.get("deployment", "orders"), "app", kind="Deployment", us="heartbeat-tuner")
    assert held.values_of == {"KAFKAJS_SESSION_TIMEOUT": "kubectl-heartbeat-tuner"}
    again = shop.plugin("revert", "orders", status=2)
    assert "it has the values before the change already" in again


def test_the_fleet_is_resumed_with_the_reason_of_the_stop(shop: Shop) -> None:
    """As docs/how-to/fleet-stop.md does by hand."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "tuner"}}
    shop.kubectl("apply", "--filename=-", stdin=json.dumps(lease))
    assert shop.plugin("resume-fleet", "--lease=tuner") == "changes are not stopped\n"
    shop.kubectl("annotate", "lease", "tuner", f"{STOPPED}=maintenance until Tuesday")
    assert "changes were stopped: " in (said := shop.plugin("resume-fleet", "--lease=tuner"))
    assert "maintenance until Tuesday" in said
    assert shop.get("lease", "tuner")["metadata"]["annotations"][STOPPED] == RESUMED


def test_explain_and_report_read_the_cluster(shop: Shop, tmp_path: Path) -> None:
    """Without a Prometheus: the policy, its status and the models are what they have."""
    assert f"{shop.namespace}/orders, group orders: Healthy\n" in shop.plugin("explain", "orders")
    shop.plugin("report", f"--output={tmp_path / 'page.html'}")
    assert "orders" in (tmp_path / "page.html").read_text()
