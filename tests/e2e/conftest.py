"""All real parts, started once for all end-to-end tests of a session; each test works with a team of its own."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from sandbox import consumers, kafka, scenario
from sandbox.binaries import Binaries
from sandbox.environment import Sandbox
from sandbox.scenario import Operator
from tests.e2e.operators import Operators
from tests.e2e.teams import Team

NewTeam: TypeAlias = Callable[[str], Team]
"""Makes a team for a purpose; it is deleted after the test."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get the programs before the first test: building them takes longer than a test may, and a person watches."""
    if not _asked_for(session, "sandbox") or session.config.getoption("collectonly"):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        Binaries().get_all()
        consumers.kafkajs_command()
        consumers.java_command()
        kafka._jars()


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """API server, node, Kafka and Prometheus, with the CustomResourceDefinition and the operator's rights."""
    with Sandbox(tmp_path_factory.mktemp("sandbox")) as started:
        scenario.install(started)
        yield started


@pytest.fixture(scope="session")
def operators(sandbox: Sandbox) -> Iterator[Operators]:
    """Operators that are told something special."""
    started = Operators(sandbox)
    yield started
    started.stop()


@pytest.fixture
def operator(operators: Operators) -> Operator:
    """The operator, told the truth about the sandbox."""
    return operators.get()


@pytest.fixture
def new_team(sandbox: Sandbox) -> Iterator[NewTeam]:
    """Makes teams."""
    made: list[Team] = []

    def make(purpose: str) -> Team:
        team = Team(sandbox, purpose)
        team.create()
        made.append(team)
        return team

    yield make
    for team in made:
        team.delete()


@pytest.fixture(scope="session")
def storming(sandbox: Sandbox) -> Iterator[Team]:
    """A team whose group storms all the time; who gives it a policy takes it away again, and cures nothing."""
    yield from _deployed(sandbox, "storming", scenario.STORMING)


@pytest.fixture(scope="session")
def healthy(sandbox: Sandbox) -> Iterator[Team]:
    """A team whose group is well; who gives it a policy takes it away again."""
    yield from _deployed(sandbox, "healthy", scenario.HEALTHY)


@pytest.fixture(scope="session", autouse=True)
def _healthy_comes_of_age(request: pytest.FixtureRequest) -> None:
    """Start the healthy pods first: the verdict needs a minute of their lives, in which other tests can run."""
    if _asked_for(request.session, "healthy"):
        request.getfixturevalue("healthy")


def _deployed(sandbox: Sandbox, purpose: str, settings: scenario.ConsumerSettings) -> Iterator[Team]:
    team = Team(sandbox, purpose)
    team.create()
    team.deploy(settings)
    yield team
    team.delete()


def _asked_for(session: pytest.Session, fixture: str) -> bool:
    return any(fixture in getattr(item, "fixturenames", ()) for item in session.items)
