"""The rendered objects on a real API server: accepted, installed, upgraded, rolled back and removed."""

import dataclasses
import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from heartbeat_tuner.api import crd
from heartbeat_tuner.api.v1alpha1 import fields
from sandbox.control_plane import ControlPlane
from tests.chart.rendering import CHART, MONITORING, NAME, VARIANTS, WITHOUT_MONITORING, Helm, Values
from tests.support.documents import CHECKOUT

pytestmark = pytest.mark.timeout(300)  # a dozen calls of Helm and kubectl, each of a second or more on a busy machine

_DEFINITIONS = tuple(f"{kind.plural}.{fields.GROUP}" for kind in crd.KINDS)
_OURS = f"app.kubernetes.io/instance={NAME}"
_KINDS = (
    "deployments,services,configmaps,serviceaccounts,poddisruptionbudgets,cronjobs,persistentvolumeclaims,roles,"
    "rolebindings,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,customresourcedefinitions,"
    "networkpolicies,validatingadmissionpolicies,validatingadmissionpolicybindings"
)


@dataclasses.dataclass(frozen=True)
class Release:
    """A release under way in a cluster."""

    helm: Helm
    control_plane: ControlPlane

    def run(self, *words: str, values: tuple[str, ...] = ()) -> str:
        """Run Helm against the cluster; values are names of variants."""
        cluster = f"--kubeconfig={self.control_plane.kubeconfig}"
        given: list[Path | Values] = [VARIANTS[name] for name in values]
        given += [WITHOUT_MONITORING] if values else []
        return self.helm.run(*words, cluster, f"--namespace={NAME}", values=given)

    def objects(self) -> set[str]:
        """Return kind and name of every object of the release."""
        listed = self.control_plane.kubectl(
            "get", _KINDS, f"--namespace={NAME}", f"--selector={_OURS}", "--ignore-not-found", "--output=json"
        )
        items = json.loads(listed)["items"] if listed else []
        return {f"{item['kind']}/{item['metadata']['name']}" for item in items}


@pytest.fixture
def release(helm: Helm, control_plane: ControlPlane) -> Iterator[Release]:
    """A namespace to install into, and nothing of the release before or after."""
    control_plane.kubectl("create", "namespace", NAME)
    found = Release(helm, control_plane)
    yield found
    if NAME in found.run("list", "--short"):
        found.run("uninstall", NAME)
    control_plane.kubectl("delete", "crd", "--ignore-not-found", *_DEFINITIONS)
    control_plane.kubectl("delete", "namespace", NAME)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_api_server_accepts_every_object(helm: Helm, control_plane: ControlPlane, name: str) -> None:
    """Strictly: no field that it does not know. The Prometheus Operator's kinds apart."""
    namespace = f"dry-{uuid.uuid4().hex[:8]}"
    rendered = helm.render(VARIANTS[name], namespace=namespace)
    objects = [item for item in rendered.objects if item["kind"] not in MONITORING]
    namespaces = sorted({item["metadata"].get("namespace", namespace) for item in objects} | {namespace})
    control_plane.kubectl("create", "--filename=-", stdin=yaml.safe_dump_all(map(_namespace, namespaces)))
    try:
        assert len(objects) >= 10
        document = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        words = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename=-")
        accepted = control_plane.kubectl(*words, stdin=document)
        assert len(accepted.splitlines()) == len(objects)
    finally:
        control_plane.kubectl("delete", "namespace", *namespaces)  # other tests make some of the same names


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def test_the_life_of_a_release(release: Release, tmp_path: Path) -> None:
    """Installed with everything, made smaller, rolled back, removed: what is to stay stays, and nothing else."""
    notes = release.run("install", NAME, str(CHART), values=("full",))
    everything = release.objects()
    assert f"MutatingWebhookConfiguration/{NAME}" in everything
    rights = {
        (NAME, "patch", "deployments.apps", "shop"): "yes",
        (NAME, "get", "secrets", NAME): "no",
        (f"{NAME}-webhook", "patch", "pods", "shop"): "yes",
        (f"{NAME}-fit", "patch", "consumergroupmodels.heartbeat-tuner.dev", "shop"): "yes",
        (f"{NAME}-fit", "get", "pods", "shop"): "no",
    }
    for (who, verb, what, where), answer in rights.items():
        assert may(release.control_plane, who, verb, what, where) == answer, (who, verb, what)

    typed = printed(notes, "kubectl apply")
    kubectl = release.control_plane.kubectl_path
    environment = {
        "KUBECONFIG": str(release.control_plane.kubeconfig),
        "PATH": f"{kubectl.parent}:{os.environ['PATH']}",
    }
    release.control_plane.await_definitions()
    done = subprocess.run(
        ["bash", "-c", typed], env=environment, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path
    )
    assert done.stdout == "consumergrouppolicy.heartbeat-tuner.dev/orders created\n", done.stderr

    release.run("upgrade", NAME, str(CHART), "--set=webhook.enabled=false", values=("full",))
    assert release.objects() < everything
    assert not [item for item in release.objects() if "webhook" in item.lower()]
    release.run("rollback", NAME, "1")
    assert release.objects() == everything

    release.run("upgrade", NAME, str(CHART), values=("minimal",))
    assert not [item for item in release.objects() if item.startswith("CronJob/")]
    # A volume that was kept is in the way of `helm rollback`, which the README says, with this instead.
    release.run("upgrade", NAME, str(CHART), values=("full",))
    assert release.objects() == everything

    release.run("uninstall", NAME)
    stays = {f"CustomResourceDefinition/{name}" for name in _DEFINITIONS}
    assert release.objects() == {*stays, f"PersistentVolumeClaim/{NAME}-history"}
    policies = release.control_plane.kubectl("get", "consumergrouppolicies", "--namespace=default", "--output=name")
    assert policies == "consumergrouppolicy.heartbeat-tuner.dev/orders\n"


def test_definitions_of_another_hand_are_adopted(release: Release) -> None:
    """Whoever applied crds/ before gets the chart's with the option that the README names."""
    release.control_plane.kubectl("apply", f"--filename={CHECKOUT / 'crds'}")
    release.run("install", NAME, str(CHART), "--take-ownership", values=("minimal",))
    assert {f"CustomResourceDefinition/{name}" for name in _DEFINITIONS} < release.objects()


def test_definitions_go_where_that_was_said_before(release: Release) -> None:
    """As the installation page tells."""
    release.run("install", NAME, str(CHART), values=("minimal",))
    release.run("upgrade", NAME, str(CHART), "--reuse-values", "--set=crds.keep=false")
    release.run("uninstall", NAME, "--wait")
    assert release.objects() == set()


def may(control_plane: ControlPlane, who: str, verb: str, what: str, where: str) -> str:
    """Return whether a service account may do that: yes or no."""
    account = f"--as=system:serviceaccount:{NAME}:{who}"
    words = (str(control_plane.kubectl_path), f"--kubeconfig={control_plane.kubeconfig}", "auth", "can-i")
    done = subprocess.run(
        [*words, verb, what, f"--namespace={where}", account], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip()


def printed(notes: str, command: str) -> str:
    """Return the paragraph of the notes that begins with this command."""
    (found,) = [part for part in notes.split("\n\n") if part.startswith(command)]
    return found
