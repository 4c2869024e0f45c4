"""Which installed programs are taken, and what the built ones are called."""

import re
from pathlib import Path

import pytest

from sandbox.binaries import (
    CHART_PROGRAMS,
    CHART_TOOLS,
    NODE_PROGRAMS,
    NODE_TOOLS,
    PROGRAMS,
    TOOLS,
    Binaries,
    choose,
    linker_flags,
)

_OLD, _NEW = Path("/old/program"), Path("/new/program")


@pytest.mark.parametrize(
    ("name", "shown", "taken"),
    [
        ("kubectl", "Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0", False),
        ("kubectl", "Client Version: v1.35.4\nKustomize Version: v5.7.1", True),
        ("kubectl", "Client Version: v1.37.1\nKustomize Version: v5.7.1", False),
        ("kube-apiserver", "Kubernetes v1.36.3", True),
        ("kube-apiserver", "Kubernetes v0.0.0-master+$Format:%H$", False),
        ("etcd", "etcd Version: 3.4.23\nGit SHA: Not provided", False),
        ("etcd", "etcd Version: 3.5.1\nGit SHA: e8732fb5f", True),
        ("prometheus", "prometheus, version 2.42.0+ds (branch: debian/sid)", False),
        ("prometheus", "prometheus, version 3.13.5 (branch: , revision: unknown)", True),
        ("prometheus", "Segmentation fault", False),
    ],
)
def test_only_supported_versions_are_taken(name: str, shown: str, *, taken: bool) -> None:
    """A program that is too old for the recipes must not be used just because it is there."""
    assert choose(PROGRAMS[name], {_OLD: shown}) == (_OLD if taken else None)


def test_a_refused_program_is_named_and_the_next_one_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """People must see why their own kubectl is not used."""
    shown = {_OLD: "Client Version: v1.32.4", _NEW: "Client Version: v1.35.4"}
    assert choose(PROGRAMS["kubectl"], shown) == _NEW
    assert "/old/program is version 1.32.4, not used" in capsys.readouterr().err


def test_the_assets_folder_goes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBEBUILDER_ASSETS is how people choose a version."""
    for folder in ("assets", "path"):
        program = tmp_path / folder / "etcd"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho etcd Version: 3.6.1\n")
        program.chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin")
    assert Binaries().path("etcd") == tmp_path / "assets" / "etcd"


def test_what_is_neither_installed_nor_cached_is_to_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` asks for Go only because of these."""
    monkeypatch.setenv("HEARTBEAT_TUNER_SANDBOX_CACHE", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Binaries().to_build() == list(PROGRAMS)


def test_versions_come_from_the_module() -> None:
    """A raised pin in go.mod must not leave programs that call themselves by the old version."""
    flags = linker_flags(
        "require k8s.io/kubernetes v1.36.3\n\tgithub.com/prometheus/prometheus v0.305.12 // indirect\n"
    )
    assert "component-base/version.gitVersion=v1.36.3" in flags
    assert "gitMinor=36" in flags
    assert "common/version.Version=3.5.12" in flags


def test_what_is_built_is_supported() -> None:
    """Else a build would be refused when it is found on PATH later."""
    flags = linker_flags((TOOLS / "go.mod").read_text()).split()
    versions = dict(flag.rsplit("=", 1) for flag in flags if "=" in flag)
    kubernetes = f"Kubernetes {versions['k8s.io/component-base/version.gitVersion']}"
    prometheus = f"prometheus, version {versions['github.com/prometheus/common/version.Version']}"
    assert choose(PROGRAMS["kube-apiserver"], {_NEW: kubernetes}) == _NEW
    assert choose(PROGRAMS["prometheus"], {_NEW: prometheus}) == _NEW


def test_what_is_built_for_the_chart_is_supported() -> None:
    """Likewise, from a module of its own."""
    flags = linker_flags((CHART_TOOLS / "go.mod").read_text()).split()
    versions = dict(flag.rsplit("=", 1) for flag in flags if "=" in flag)
    helm = versions["helm.sh/helm/v3/internal/version.version"]
    promtool = f"promtool, version {versions['github.com/prometheus/common/version.Version']}"
    assert choose(CHART_PROGRAMS["helm"], {_NEW: helm}) == _NEW
    assert choose(CHART_PROGRAMS["promtool"], {_NEW: promtool}) == _NEW


def test_what_is_built_for_a_node_is_supported() -> None:
    """Likewise, from a third."""
    flags = linker_flags((NODE_TOOLS / "go.mod").read_text()).split()
    versions = dict(flag.rsplit("=", 1) for flag in flags if "=" in flag)
    kubernetes = f"Kubernetes {versions['k8s.io/component-base/version.gitVersion']}"
    assert all(choose(program, {_NEW: kubernetes}) == _NEW for program in NODE_PROGRAMS.values())


def pins(folder: Path) -> set[str]:
    """Return what decides whether Kubernetes' and Prometheus' libraries are compiled once for two modules."""
    text = (folder / "go.mod").read_text()
    return set(re.findall(r"^\t(k8s\.io/\S+ => .+|github\.com/prometheus/\S+ v\S+)", text, flags=re.MULTILINE))


def test_the_modules_share_what_they_share() -> None:
    """Else Kubernetes' and Prometheus' libraries would be compiled twice: minutes more on a first run."""
    ours, of_chart, of_node = (pins(folder) for folder in (TOOLS, CHART_TOOLS, NODE_TOOLS))
    assert of_chart <= ours
    assert of_node <= ours
    assert all([their for their in theirs if their.startswith("k8s.io/client-go")] for theirs in (of_chart, of_node))
    assert [item for item in of_chart if item.startswith("github.com/prometheus/prometheus ")]
