"""The bundle for OLM has what the chart installs, and OLM's own definition takes it.

OLM itself does not run here: it installs from catalogs, which are images in a registry.
"""

import contextlib
import json
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from heartbeat_tuner import __version__
from release import olm, versions
from release.chart import INSTALLATION
from sandbox import module_files
from sandbox.control_plane import ControlPlane
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.chart.rendering import CHART, NAME, Helm, Rendered

MODULE, VERSION = "github.com/operator-framework/api", "v0.37.0"
DEFINITION = "crds/operators.coreos.com_clusterserviceversions.yaml"
SHA256 = "6d7dfda8e5b0d0487d73acae4bed91a696c600a7563025f88ccda4134201a231"
IMAGE = {"image": {"repository": f"registry.example/team/{NAME}"}}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def rendered(helm: Helm) -> Rendered:
    """What the chart installs with its defaults."""
    return helm.render(INSTALLATION, IMAGE)


@pytest.fixture
def bundle(rendered: Rendered) -> dict[str, str]:
    """The bundle's files, by path."""
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    with tarfile.open(fileobj=BytesIO(olm.bundle(rendered.objects, about, __version__))) as tar:
        streams = {member.name: tar.extractfile(member) for member in tar.getmembers()}
        return {name: stream.read().decode() for name, stream in streams.items() if stream is not None}


@pytest.fixture
def service_version(bundle: dict[str, str]) -> Any:
    """The bundle's ClusterServiceVersion."""
    return yaml.safe_load(bundle[f"manifests/{NAME}.clusterserviceversion.yaml"])


@pytest.fixture
def definition(control_plane: ControlPlane) -> Iterator[None]:
    """OLM's definition, on the API server."""
    file = f"--filename={module_files.file(MODULE, VERSION, DEFINITION, SHA256)}"
    control_plane.kubectl("create", file)
    wait_until(lambda: _is_served(control_plane), part="kube-apiserver", what="OLM's definition")
    yield
    control_plane.kubectl("delete", file, "--wait=true")


def _is_served(control_plane: ControlPlane) -> bool:
    with contextlib.suppress(SandboxError):
        return "List" in control_plane.kubectl(
            "get", "--raw=/apis/operators.coreos.com/v1alpha1/clusterserviceversions"
        )
    return False


@pytest.mark.usefixtures("definition")
def test_the_api_server_takes_it_by_olms_definition(
    control_plane: ControlPlane, bundle: dict[str, str], tmp_path: Path
) -> None:
    """No field is misspelled, none is missing, and each has the right type."""
    text = bundle[f"manifests/{NAME}.clusterserviceversion.yaml"]
    (tmp_path / "version.yaml").write_text(text)
    created = control_plane.kubectl("create", "--validate=strict", f"--filename={tmp_path / 'version.yaml'}")
    assert created.startswith(f"clusterserviceversion.operators.coreos.com/{NAME}.v{versions.semantic(__version__)}")
    (tmp_path / "wrong.yaml").write_text(text.replace("clusterPermissions:", "clusterPermission:"))
    with pytest.raises(SandboxError, match="unknown field"):
        control_plane.kubectl("create", "--validate=strict", f"--filename={tmp_path / 'wrong.yaml'}")


def test_it_grants_what_the_chart_grants(service_version: Any, rendered: Rendered) -> None:
    """The same rules for the same account, in the cluster and in its own namespace."""
    install = service_version["spec"]["install"]["spec"]
    expected = [{"serviceAccountName": NAME, "rules": rendered.one("ClusterRole")["rules"]}]
    assert install["clusterPermissions"] == expected
    assert install["permissions"] == [{"serviceAccountName": NAME, "rules": rendered.one("Role")["rules"]}]


def test_it_runs_the_charts_pods(service_version: Any, rendered: Rendered) -> None:
    """All of their settings; only nothing of Helm, and no checksum of a configuration that OLM does not know."""
    (deployment,) = service_version["spec"]["install"]["spec"]["deployments"]
    charted = rendered.one("Deployment")
    assert deployment["spec"]["template"]["spec"] == charted["spec"]["template"]["spec"]
    assert deployment["spec"]["selector"] == charted["spec"]["selector"]
    assert deployment["spec"]["template"]["metadata"]["annotations"] == {}
    assert "Helm" not in deployment["label"].values()


def test_it_owns_every_definition_that_it_carries(service_version: Any, bundle: dict[str, str]) -> None:
    """OLM refuses a bundle where the two differ; each has its file, and no file names a namespace."""
    carried = [yaml.safe_load(text) for path, text in bundle.items() if path.startswith("manifests/")]
    definitions = {item["metadata"]["name"] for item in carried if item["kind"] == "CustomResourceDefinition"}
    owned = {entry["name"] for entry in service_version["spec"]["customresourcedefinitions"]["owned"]}
    assert definitions == owned == {f"consumergroup{kind}.heartbeat-tuner.dev" for kind in ("policies", "models")}
    assert {item["kind"] for item in carried} == {"ClusterServiceVersion", *olm.CARRIED}
    assert not any("namespace" in item["metadata"] for item in carried)


def test_its_example_is_one_that_the_policies_definition_takes(service_version: Any) -> None:
    """A console offers it as the first policy."""
    (example,) = json.loads(service_version["metadata"]["annotations"]["alm-examples"])
    assert example["kind"] == "ConsumerGroupPolicy"
    assert set(example["spec"]) >= {"groupId", "clusterRef", "workloadRef", "client"}


def test_its_image_says_what_its_annotations_say(bundle: dict[str, str]) -> None:
    """Catalogs read the labels of the image, and OLM the file."""
    annotations = yaml.safe_load(bundle["metadata/annotations.yaml"])["annotations"]
    labels = [line for line in bundle["bundle.Dockerfile"].splitlines() if line.startswith("LABEL ")]
    assert labels == [f"LABEL {key}={value}" for key, value in annotations.items()]


def test_a_kind_that_nobody_placed_is_refused(rendered: Rendered) -> None:
    """A new object of the chart would be missing where OLM installs."""
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    with pytest.raises(ValueError, match="has a Gateway"):
        olm.bundle([*rendered.objects, {"kind": "Gateway", "metadata": {"name": "new"}}], about, __version__)
