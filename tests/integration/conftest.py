"""The real parts, started once for all integration tests of a session; each test works in a namespace of its own."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from sandbox import consumers, kafka
from sandbox.binaries import Binaries
from sandbox.control_plane import ControlPlane
from sandbox.node import ProcessNode
from sandbox.prometheus import Prometheus
from tests.exporters.replayed import Replayed
from tests.exporters.replayed import replayed as replay_all

_BINARIES = Binaries()

Apply: TypeAlias = Callable[..., None]
"""Applies manifests."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get the programs before the first test: building them takes longer than a test may, and a person watches."""
    needed = any("binaries" in getattr(item, "fixturenames", ()) for item in session.items)
    if not needed or session.config.getoption("collectonly"):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        _BINARIES.get_all()
        if any("kafka" in getattr(item, "fixturenames", ()) for item in session.items):
            kafka.class_archive()
        if any("start_java_pod" in getattr(item, "fixturenames", ()) for item in session.items):
            consumers.java_class_archive()


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The programs, found or built."""
    return _BINARIES


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all logs and data of this session."""
    return tmp_path_factory.mktemp("sandbox")


@pytest.fixture(scope="session")
def control_plane(run_dir: Path, binaries: Binaries) -> Iterator[ControlPlane]:
    """A running API server with controllers."""
    with ControlPlane(run_dir, binaries) as started:
        yield started


@pytest.fixture(scope="session")
def process_node(run_dir: Path, control_plane: ControlPlane) -> Iterator[ProcessNode]:
    """A node on which pods run as processes."""
    with ProcessNode(run_dir, control_plane.kubeconfig) as started:
        yield started


@pytest.fixture(scope="session")
def prometheus(run_dir: Path, binaries: Binaries, control_plane: ControlPlane) -> Iterator[Prometheus]:
    """A Prometheus that scrapes annotated pods."""
    with Prometheus(run_dir, binaries, kubeconfig=control_plane.kubeconfig) as started:
        yield started


@pytest.fixture(scope="session")
def replayed(run_dir: Path, binaries: Binaries) -> Iterator[Replayed]:
    """A Prometheus with what real exporters showed (tests/data/scrapes)."""
    with replay_all(run_dir / "replayed", binaries) as started:
        yield started


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own, deleted afterwards."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    control_plane.create_namespace(name)
    yield name
    control_plane.delete_namespace(name)


@pytest.fixture
def apply(control_plane: ControlPlane, namespace: str) -> Apply:
    """Apply manifests in the test's namespace."""

    def apply_documents(*documents: dict[str, Any]) -> None:
        control_plane.apply(namespace, *documents)

    return apply_documents
