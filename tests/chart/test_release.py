"""`make release` without its images: the same bytes twice, and each file does what people download it for."""

import base64
import filecmp
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from packaging.utils import canonicalize_name

from heartbeat_tuner import __version__
from release import integrity, plugin
from sandbox.control_plane import ControlPlane
from tests.chart.rendering import KUBERNETES, NAME, Helm
from tests.support.documents import CHECKOUT

pytestmark = pytest.mark.timeout(300)

REGISTRY = "registry.example/team"
URL = "https://downloads.example/v1"


def made(folder: Path, key: Path) -> Path:
    """Make a release in a process of its own, as `make release` does."""
    words: list[str | Path] = [
        "--into",
        folder,
        "--registry",
        REGISTRY,
        "--url",
        URL,
        "--key",
        key,
        "python",
        "plugin",
        "chart",
    ]
    subprocess.run(
        [sys.executable, "-m", "release", *words], cwd=CHECKOUT, capture_output=True, check=True, timeout=250
    )
    return folder


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders, made with the same key."""
    folder = tmp_path_factory.mktemp("release")
    key = ec.generate_private_key(ec.SECP256R1())
    (folder / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return made(folder / "first", folder / "key"), made(folder / "second", folder / "key")


@pytest.fixture(scope="module")
def dist(twice: tuple[Path, Path]) -> Path:
    """One of the folders."""
    return twice[0]


def test_it_has_the_same_bytes_when_it_is_made_again(twice: tuple[Path, Path]) -> None:
    """Else nobody could check that it was made from its commit."""
    first, second = twice
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert filecmp.cmpfiles(first, second, names, shallow=False) == (names, [], [])


def test_sums_and_signature_hold_for_what_was_downloaded(dist: Path, tmp_path: Path) -> None:
    """By the two commands of docs/reference/release.md; every file but the signatures and their key is listed."""
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist, check=True, timeout=60)
    listed = {line.split()[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    unlisted = {"SHA256SUMS", "SHA256SUMS.sig", "cosign.pub", "provenance.dsse.json"}
    assert listed == {path.name for path in dist.iterdir()} - unlisted
    (tmp_path / "signature").write_bytes(base64.b64decode((dist / "SHA256SUMS.sig").read_text()))
    words = ["-sha256", "-verify", "cosign.pub", "-signature", str(tmp_path / "signature"), "SHA256SUMS"]
    subprocess.run(["openssl", "dgst", *words], cwd=dist, capture_output=True, check=True, timeout=60)


def test_the_provenance_names_the_commit_and_every_file(dist: Path) -> None:
    """With the sums that the files have."""
    statement = json.loads((dist / "provenance.json").read_text())
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    (dependency,) = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert dependency["digest"]["gitCommit"] == head.stdout.strip()
    for subject in statement["subject"]:
        assert subject["digest"]["sha256"] == integrity.digest(dist / subject["name"])


def test_the_bill_lists_the_core_and_not_the_operator(dist: Path) -> None:
    """cyclonedx-py checked it against the schema; here is what it says."""
    document = json.loads((dist / f"heartbeat_tuner-{__version__}.cdx.json").read_text())
    assert document["metadata"]["component"]["name"] == "heartbeat-tuner"
    names = {canonicalize_name(name) for name in plugin.distributions()}
    assert {component["name"] for component in document["components"]} == names
    assert all(component["purl"].startswith("pkg:pypi/") for component in document["components"])


def test_the_wheel_has_the_program_and_the_licence(dist: Path) -> None:
    """And its extras, by which the images install the rest."""
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        metadata = packed.read(f"heartbeat_tuner-{__version__}.dist-info/METADATA").decode()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "heartbeat_tuner/__main__.py" in names
    assert "Provides-Extra: operator" in metadata
    assert "Provides-Extra: fit" in metadata


def test_the_plugin_runs_from_its_archive(dist: Path, tmp_path: Path) -> None:
    """Through a link, as krew puts it on the PATH, and without the packages of this environment."""
    manifest = yaml.safe_load((dist / "heartbeat-tuner.krew.yaml").read_text())
    (platform,) = manifest["spec"]["platforms"]
    assert platform["uri"].startswith(f"{URL}/")
    archive = dist / platform["uri"].removeprefix(f"{URL}/")
    assert platform["sha256"] == integrity.digest(archive)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "store", filter="data")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / plugin.PROGRAM
    program.symlink_to(tmp_path / "store" / plugin.PROGRAM)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    for words, printed in (
        (["--version"], __version__),
        (["status", "--help"], "Usage: kubectl heartbeat-tuner status"),
    ):
        done = subprocess.run(
            [program, *words], capture_output=True, text=True, check=True, timeout=60, env={"PATH": path}
        )
        assert printed in done.stdout


def test_the_chart_installs_from_its_archive_with_the_registry_s_image(dist: Path, helm: Helm) -> None:
    """No `image.repository` has to be set any more."""
    options = ("--set=prometheus.url=http://prometheus:9090", "--set=kafka.clusters.main.bootstrapServers=kafka:9092")
    chart = dist / f"{NAME}-{__version__}.tgz"
    printed = helm.run("template", NAME, str(chart), f"--kube-version={KUBERNETES}", *options)
    assert f'image: "{REGISTRY}/heartbeat-tuner:{__version__}"' in printed.replace(
        "image: registry", 'image: "registry'
    )


@pytest.fixture
def installed(dist: Path, control_plane: ControlPlane) -> Iterator[str]:
    """What kubectl prints when the manifest is applied; everything is deleted afterwards."""
    yield control_plane.kubectl("apply", f"--filename={dist / 'install.yaml'}")
    control_plane.kubectl("delete", f"--filename={dist / 'install.yaml'}")


def test_the_manifest_installs_everything_with_one_command(installed: str) -> None:
    """Its namespace comes first, and its definitions before what uses them."""
    lines = installed.splitlines()
    assert lines[0] == f"namespace/{NAME} created"
    assert f"deployment.apps/{NAME} created" in lines
    assert "customresourcedefinition.apiextensions.k8s.io/consumergrouppolicies.heartbeat-tuner.dev created" in lines
