"""From the first chart to today's, back, and forward again: what people stored stays, and both versions read it.

tests/data/upgrade has the chart of commit 9c96bc7e and objects with every field that its definitions knew. Its images
are not there, so nothing of that version runs: what is tried are the definitions, and how today's operator reads.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from heartbeat_tuner.api import model_documents, parsing
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.models.group_model import GroupModel
from sandbox.control_plane import ControlPlane
from tests.chart.rendering import CHART, NAME, Helm
from tests.support.documents import CHECKOUT

pytestmark = pytest.mark.timeout(300)

DATA: Final = CHECKOUT / "tests" / "data" / "upgrade"
FIRST_CHART: Final = DATA / "heartbeat-tuner-9c96bc7e.tgz"
KINDS: Final = "consumergrouppolicies,consumergroupmodels"
NAMESPACE: Final = "shop"
POLICIES: Final = [("ConsumerGroupPolicy", name) for name in ("audit", "least", "orders")]


class Cluster:
    """A release in a cluster, and the objects that people have there."""

    def __init__(self, helm: Helm, control_plane: ControlPlane, values: Path) -> None:
        self._helm = helm
        self._control_plane = control_plane
        self._options = (f"--kubeconfig={control_plane.kubeconfig}", f"--namespace={NAME}", f"--values={values}")

    def run(self, verb: str, *words: str) -> None:
        """Run Helm, and wait until the definitions that it wrote are in force."""
        options = self._options[: 2 if verb in {"rollback", "uninstall"} else 3]
        self._helm.run(verb, NAME, *words, *options)
        if verb != "uninstall":
            self._control_plane.await_definitions()

    def store(self, documents: list[dict[str, Any]]) -> None:
        """Create objects with their status, strictly: no field that the definitions do not know."""
        for document in documents:
            text = json.dumps(document)
            self._control_plane.kubectl("apply", "--validate=strict", "--filename=-", stdin=text)
            if "status" in document:
                patch = json.dumps({"status": document["status"]})
                name = f"consumergrouppolicy/{document['metadata']['name']}"
                self._control_plane.kubectl(
                    *(
                        "patch",
                        name,
                        f"--namespace={NAMESPACE}",
                        "--subresource=status",
                        "--type=merge",
                        "--patch",
                        patch,
                    )
                )

    def objects(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the objects by kind and name, as the API server gives them out."""
        listed = self._control_plane.kubectl("get", KINDS, f"--namespace={NAMESPACE}", "--output=json")
        return {(item["kind"], item["metadata"]["name"]): item for item in json.loads(listed)["items"]}

    def touch(self, label: str) -> None:
        """Write something else of every policy: the API server then holds the whole to the rules of its definition."""
        scope = ("consumergrouppolicies", "--all", f"--namespace={NAMESPACE}")
        self._control_plane.kubectl("label", *scope, "--overwrite", f"touched={label}")
        said = json.dumps({"status": {"reason": "Cheaper"}})
        for _, name in POLICIES:
            words = (f"--namespace={NAMESPACE}", "--subresource=status", "--type=merge", f"--patch={said}")
            self._control_plane.kubectl("patch", f"consumergrouppolicy/{name}", *words)

    def write_model(self, fitted: GroupModel) -> None:
        """Write a model as the fit does, over the one that is there."""
        self._control_plane.kubectl("replace", "--filename=-", stdin=json.dumps(model_documents.document_of(fitted)))


@pytest.fixture
def cluster(helm: Helm, control_plane: ControlPlane, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster with the namespaces, and nothing of the release before or after."""
    values = tmp_path / "values.yaml"
    values.write_text((CHECKOUT / "charts" / NAME / "ci" / "minimal-values.yaml").read_text())
    for namespace in (NAME, NAMESPACE):
        control_plane.kubectl("create", "namespace", namespace)
    yield Cluster(helm, control_plane, values)
    control_plane.kubectl("delete", "crd", "--ignore-not-found", "--selector=app.kubernetes.io/name=heartbeat-tuner")
    for namespace in (NAME, NAMESPACE):
        control_plane.kubectl("delete", "namespace", namespace)


def asked(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[tuple[str, str], Any]:
    """Return the specs alone."""
    return {key: item["spec"] for key, item in objects.items()}


def policies(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Policy]:
    """Return the policies as today's operator reads them."""
    return {name: parsing.policy_of(item) for (kind, name), item in objects.items() if kind == "ConsumerGroupPolicy"}


def test_what_the_first_version_stored_is_read_by_today_s_and_survives_the_way_back(cluster: Cluster) -> None:
    """Defaults that are new fill in; a status that says what was written keeps saying it."""
    cluster.run("install", str(FIRST_CHART))
    cluster.store(list(yaml.safe_load_all((DATA / "objects.yaml").read_text())))
    first = cluster.objects()

    cluster.run("upgrade", str(CHART))
    cluster.touch("upgraded")
    upgraded = cluster.objects()
    for key, spec in asked(first).items():
        assert within(spec, asked(upgraded)[key]), key
    orders = policies(upgraded)["orders"]
    assert orders.application is not None
    assert orders.application.values.session_timeout == timedelta(seconds=45)
    assert orders.application.previous.session_timeout == timedelta(seconds=30)
    assert orders.bounds[Setting.SESSION_TIMEOUT].max == timedelta(minutes=1)
    assert policies(upgraded)["audit"].suspended
    model = model_documents.model_of(upgraded["ConsumerGroupModel", "orders"])
    assert model.days == 14
    cluster.write_model(model)

    cluster.run("rollback", "1")
    cluster.touch("back")
    back = cluster.objects()
    assert {key: back[key]["spec"] for key in POLICIES} == {key: first[key]["spec"] for key in POLICIES}
    assert policies(cluster.objects())["orders"].application == orders.application

    cluster.run("upgrade", str(CHART))
    cluster.touch("again")
    again = cluster.objects()
    assert policies(again)["orders"].application == orders.application
    assert model_documents.model_of(again["ConsumerGroupModel", "orders"]) == model
    cluster.run("uninstall")
    assert asked(cluster.objects()) == asked(again)


def within(part: Any, whole: Any) -> bool:
    """Whether a document has all of another, and maybe more."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and within(part[name], whole[name]) for name in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(within, part, whole))
    return bool(part == whole)
