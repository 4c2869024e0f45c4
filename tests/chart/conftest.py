"""Helm, and where a test wants one a real API server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from release import wheels
from sandbox.binaries import CHART_PROGRAMS, Binaries
from sandbox.control_plane import ControlPlane
from tests.chart.plugin_archives import made_platforms
from tests.chart.rendering import VARIANTS, Helm, Rendered

_BINARIES = Binaries()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get the programs before the first test: building them takes longer than a test may, and a person watches."""
    if not session.items or session.config.getoption("collectonly"):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        for name in CHART_PROGRAMS:
            _BINARIES.path(name)
        if any("control_plane" in getattr(item, "fixturenames", ()) for item in session.items):
            _BINARIES.get_all()
        if any("dist" in getattr(item, "fixturenames", ()) for item in session.items):
            wheels.fetch(made_platforms())


@pytest.fixture(scope="session")
def promtool() -> Path:
    """The program that tests alerts."""
    return _BINARIES.path("promtool")


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    """Helm."""
    return Helm(_BINARIES.path("helm"), tmp_path)


@pytest.fixture(scope="session")
def variants(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rendered]:
    """Each supported shape, rendered once."""
    helm = Helm(_BINARIES.path("helm"), tmp_path_factory.mktemp("values"))
    return {name: helm.render(path) for name, path in VARIANTS.items()}


@pytest.fixture
def minimal(variants: dict[str, Rendered]) -> Rendered:
    """What comes of the least that has to be said."""
    return variants["minimal"]


@pytest.fixture
def full(variants: dict[str, Rendered]) -> Rendered:
    """What comes with everything on."""
    return variants["full"]


@pytest.fixture
def lake(variants: dict[str, Rendered]) -> Rendered:
    """What comes with the history in a bucket, another name, and definitions of somebody else."""
    return variants["lake"]


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A running API server with controllers."""
    with ControlPlane(tmp_path_factory.mktemp("sandbox"), _BINARIES) as started:
        yield started
