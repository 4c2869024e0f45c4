"""What the pages tell people to type works on a real API server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sandbox.control_plane import ControlPlane
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.support import documents
from tests.support.pages import parsed

pytestmark = pytest.mark.timeout(180)

_NAMES = ("KAFKA_SESSION_TIMEOUT_MS", "KAFKA_HEARTBEAT_INTERVAL_MS", "KAFKA_MAX_WAIT_TIME_MS")


def _run(control_plane: ControlPlane, namespace: str, command: str, folder: Path) -> str:
    """Run a documented shell command with the sandbox's kubectl first on PATH, in a namespace; return what it says."""
    (folder / "kubectl").unlink(missing_ok=True)
    (folder / "kubectl").symlink_to(control_plane.kubectl_path)
    config = folder / "kubeconfig"
    config.write_text(control_plane.kubeconfig.read_text())
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "KUBECONFIG": str(config)}
    use = ["kubectl", "config", "set-context", "--current", f"--namespace={namespace}"]
    subprocess.run(use, env=environment, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        ["bash", "-ec", command],
        env=environment,
        cwd=documents.CHECKOUT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def test_the_definition_installs_and_takes_the_quick_start_s_policy(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The installation page's first command makes the quick start's policy acceptable."""
    _, _, install, *_ = documents.code_blocks("docs/how-to/install.md", "shell")  # after two of Helm
    _run(control_plane, namespace, install, tmp_path)
    control_plane.await_definitions()
    (policy,) = documents.code_blocks(documents.QUICK_START, "yaml")
    policy = policy.replace("namespace: shop", f"namespace: {namespace}")
    answer = control_plane.kubectl("apply", "--dry-run=server", "--filename=-", stdin=policy)
    assert "created" in answer


def test_a_cluster_s_policies_become_a_page(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """The documented pipe takes what kubectl prints of both kinds."""
    _, _, install, *_ = documents.code_blocks("docs/how-to/install.md", "shell")  # after two of Helm
    _run(control_plane, namespace, install, tmp_path)
    control_plane.await_definitions()
    (policy,) = documents.code_blocks(documents.QUICK_START, "yaml")
    control_plane.kubectl("apply", "--filename=-", stdin=policy.replace("namespace: shop", f"namespace: {namespace}"))
    commands = documents.code_blocks("docs/how-to/report.md", "shell")
    command = next(command for command in commands if command.startswith("kubectl get"))
    (tmp_path / "heartbeat-tuner").symlink_to(Path(sys.executable).parent / "heartbeat-tuner")
    page = _run(control_plane, namespace, f"{command.strip()} --namespace {namespace} --output -", tmp_path)
    assert f"main/{namespace}/orders" in parsed(page).text
    assert parsed(page).errors == []


def test_the_operator_s_manifests_are_accepted_as_restricted(control_plane: ControlPlane, namespace: str) -> None:
    """The API server takes each object, and the pods as they would be made, where only restricted ones may run."""
    manifest = documents.CHECKOUT / "docs" / "how-to" / "install.yaml"
    dry_run = ("apply", f"--namespace={namespace}", "--dry-run=server", "--filename=-")
    answer = control_plane.kubectl(*dry_run, stdin=manifest.read_text())
    assert [line.partition("/")[0] for line in answer.splitlines()] == [
        "serviceaccount",
        "configmap",
        "deployment.apps",
        "poddisruptionbudget.policy",
    ]
    assert all("created (server dry run)" in line for line in answer.splitlines())

    account, _, deployment, _ = yaml.safe_load_all(manifest.read_text())
    control_plane.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    control_plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(account))
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"] |= {"name": "heartbeat-tuner"}
    assert "created" in control_plane.kubectl(*dry_run, stdin=json.dumps(pod))
    del pod["spec"]["containers"][0]["securityContext"]
    with pytest.raises(SandboxError, match="violates PodSecurity"):
        control_plane.kubectl(*dry_run, stdin=json.dumps(pod))


def test_the_removal_command_gives_the_values_back(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """After the documented command, no entry of ours is left, and the others are."""
    container = {"name": "app", "image": "none", "env": [{"name": "OTHER", "value": "1"}]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "orders-consumer"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "orders"}},
            "template": {"metadata": {"labels": {"app": "orders"}}, "spec": {"containers": [container]}},
        },
    }
    control_plane.kubectl("apply", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(deployment))
    ours = {"name": "app", "env": [{"name": name, "value": "1000"} for name in _NAMES]}
    applied = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "orders-consumer"},
        "spec": {"template": {"spec": {"containers": [ours]}}},
    }
    server_side = ("--server-side", "--field-manager=heartbeat-tuner", "--filename=-")
    control_plane.kubectl("apply", f"--namespace={namespace}", *server_side, stdin=json.dumps(applied))

    note = f"--namespace={namespace}", "deployment/orders-consumer", "heartbeat-tuner.dev/applied={}"
    control_plane.kubectl("annotate", *note)
    remove, carriers, _ = documents.code_blocks("docs/how-to/remove.md", "shell")
    assert f"Deployment {namespace}/orders-consumer {{}}\n" in _run(control_plane, namespace, carriers, tmp_path)
    _run(control_plane, namespace, remove, tmp_path)
    assert f"{namespace}/" not in _run(control_plane, namespace, carriers, tmp_path)

    left = json.loads(control_plane.kubectl("get", "deployment", "orders-consumer", f"-n={namespace}", "-o=json"))
    assert left["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "OTHER", "value": "1"}]


def test_the_documented_bindings_give_the_operator_its_rights_and_no_more(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """The lease by its name in the operator's own namespace, and nothing that a reader would be surprised at."""
    _, _, define, bind, *_ = documents.code_blocks("docs/how-to/install.md", "shell")
    _run(control_plane, namespace, define, tmp_path)  # kubectl asks for rights on kinds that are known
    control_plane.await_definitions()
    _run(control_plane, namespace, bind, tmp_path)

    def may(verb: str, what: str, where: str) -> bool:
        who = "--as=system:serviceaccount:heartbeat-tuner:heartbeat-tuner"
        command = [str(control_plane.kubectl_path), f"--kubeconfig={control_plane.kubeconfig}", "auth", "can-i"]
        return (
            subprocess.run([*command, who, f"-n={where}", verb, what], check=False, capture_output=True).returncode == 0
        )

    own, lease = "heartbeat-tuner", "leases.coordination.k8s.io"
    try:
        wait_until(lambda: may("update", f"{lease}/heartbeat-tuner", own), part="test", what="the rights", timeout_s=30)
        assert may("get", f"{lease}/heartbeat-tuner", own)
        assert may("create", lease, own)
        assert may("patch", "deployments.apps", namespace)
        assert may("list", "consumergroupmodels.heartbeat-tuner.dev", namespace)
        assert may("list", lease, namespace)
        refused = [
            ("update", f"{lease}/another", own),
            ("delete", f"{lease}/heartbeat-tuner", own),
            ("get", lease, namespace),
            ("create", lease, namespace),
            ("get", "secrets", own),
            ("update", "deployments.apps", namespace),
            ("patch", "consumergrouppolicies.heartbeat-tuner.dev", namespace),
            ("patch", "consumergroupmodels.heartbeat-tuner.dev", namespace),
            ("create", "consumergroupmodels.heartbeat-tuner.dev", namespace),
        ]
        assert [item for item in refused if may(*item)] == []
    finally:
        control_plane.kubectl("delete", "namespace", own, "--wait=false")
        for kind in ("clusterrole", "clusterrolebinding"):
            control_plane.kubectl("delete", kind, "heartbeat-tuner")
