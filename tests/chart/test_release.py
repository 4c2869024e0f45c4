"""`make release` without its images: the same bytes twice, and each file does what people download it for."""

import base64
import filecmp
import json
import os
import shutil
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
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from heartbeat_tuner import __version__
from release import integrity, pins, plugin
from release.platforms import PYTHON, Platform
from sandbox.control_plane import ControlPlane
from tests.chart.plugin_archives import compiled_for, made_platforms
from tests.chart.rendering import KUBERNETES, NAME, Helm
from tests.support.documents import CHECKOUT

pytestmark = pytest.mark.timeout(600)

REGISTRY = "registry.example/team"
URL = "https://downloads.example/v1"

with_its_python = pytest.mark.skipif(
    shutil.which(f"python{PYTHON}") is None, reason=f"the plugin is for python{PYTHON}, and none is on the PATH"
)


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
        *(f"--platform={platform.name}" for platform in made_platforms()),
        "python",
        "plugin",
        "chart",
    ]
    subprocess.run(
        [sys.executable, "-m", "release", *words], cwd=CHECKOUT, capture_output=True, check=True, timeout=290
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


@pytest.fixture(scope="module")
def programs(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Platform, Path]:
    """The program of each archive, which is unpacked as krew does it: by the manifest."""
    manifest = yaml.safe_load((dist / "heartbeat-tuner.krew.yaml").read_text())
    entries = {tuple(entry["selector"]["matchLabels"].values()): entry for entry in manifest["spec"]["platforms"]}
    unpacked = {}
    for platform in made_platforms():
        entry, store = entries[platform.os, platform.arch], tmp_path_factory.mktemp("store")
        assert entry["uri"].startswith(f"{URL}/")
        archive = dist / entry["uri"].removeprefix(f"{URL}/")
        assert entry["sha256"] == integrity.digest(archive)
        with tarfile.open(archive) as tar:
            tar.extractall(store, filter="data")
        unpacked[platform] = store / entry["bin"]
    return unpacked


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
    names = {canonicalize_name(name) for name in pins.distributions()}
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


def test_the_manifest_has_the_platforms_that_were_asked_for(dist: Path) -> None:
    """And each has an archive and a bill, which the sums and the provenance list as they do all files."""
    manifest = yaml.safe_load((dist / "heartbeat-tuner.krew.yaml").read_text())
    names = [entry["uri"].removeprefix(f"{URL}/") for entry in manifest["spec"]["platforms"]]
    assert sorted(names) == sorted(plugin.archive_name(platform) for platform in made_platforms())
    assert sorted(names) == sorted(path.name for path in dist.glob(f"{plugin.PROGRAM}-*.tar.gz"))
    statement = json.loads((dist / "provenance.json").read_text())
    bills = {name.replace(".tar.gz", ".cdx.json") for name in names}
    assert {*names, *bills} <= {subject["name"] for subject in statement["subject"]}


@with_its_python
def test_the_plugin_runs_from_its_archive(programs: dict[Platform, Path], tmp_path: Path) -> None:
    """Through a link, as krew puts it on the PATH, and without the packages of this environment."""
    target = programs[made_platforms()[0]]
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / plugin.PROGRAM
    program.symlink_to(os.path.relpath(target, program.parent))
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    for words, printed in (
        (["--version"], __version__),
        (["status", "--help"], "Usage: kubectl heartbeat-tuner status"),
    ):
        done = subprocess.run(
            [program, *words], capture_output=True, text=True, check=True, timeout=60, env={"PATH": path}
        )
        assert printed in done.stdout


def test_each_archive_is_compiled_for_its_platform(programs: dict[Platform, Path]) -> None:
    """Nobody runs that of another platform before its users do."""
    for platform, program in programs.items():
        files = [path for path in (program.parent / "lib").rglob("*") if path.is_file()]
        compiled = {path: made for path in files if (made := compiled_for(path))}
        assert [path for path, made in compiled.items() if (platform.os, platform.machine) not in made] == []
        packages = {path.relative_to(program.parent / "lib").parts[0] for path in compiled}
        assert {"charset_normalizer", "markupsafe", "numpy", "pydantic_core", "regex", "yaml"} <= packages
        assert all(path.name.endswith(platform.suffix) for path in compiled if ".cpython-" in path.name)


@with_its_python
def test_an_archive_refuses_a_python_of_another_platform(programs: dict[Platform, Path]) -> None:
    """Instead of NumPy's traceback."""
    other = made_platforms()[1]
    done = subprocess.run([programs[other], "--version"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert f"compiled for CPython 3.11 on {other.name}, and the python3.11 on the PATH is another one" in done.stderr


def test_a_plugin_without_its_python_says_which_one_it_needs(programs: dict[Platform, Path], tmp_path: Path) -> None:
    """Instead of the shell's "not found" about a program that nobody called."""
    for name in ("dirname", "readlink"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    words: list[str | Path] = ["/bin/sh", programs[made_platforms()[0]], "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, env={"PATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == "Error: put python3.11 on the PATH: kubectl heartbeat-tuner is compiled for it\n"


def test_an_archive_s_bill_lists_the_wheels_in_it(dist: Path, programs: dict[Platform, Path]) -> None:
    """One version of each package, where the core's bill has all that the lock has; CycloneDX's schema takes it."""
    for platform, program in programs.items():
        name = plugin.archive_name(platform)
        text = (dist / name.replace(".tar.gz", ".cdx.json")).read_text()
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
        document = json.loads(text)
        assert document["metadata"]["component"]["name"] == name
        listed = {f"{each['name'].replace('-', '_')}-{each['version']}.dist-info" for each in document["components"]}
        assert listed == {path.name for path in (program.parent / "lib").glob("*.dist-info")}


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
