"""All real parts, started once for all end-to-end tests of a session; each test works with a team of its own."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeAlias

import pytest

from sandbox import consumers, kafka, scenario
from sandbox.binaries import Binaries
from sandbox.environment import Sandbox
from sandbox.scenario import Operator
from tests.e2e import sharded, steered
from tests.e2e.operators import AUDIT_LAG_S, Operators
from tests.e2e.replicas import writes_without_lease
from tests.e2e.static_figures import Figures
from tests.e2e.static_members import started_webhook
from tests.e2e.steered import Pair
from tests.e2e.teams import Team
from tests.support import webhooks
from tests.support.webhooks import Replica

__all__ = [
    "_healthy_comes_of_age",
    "healthy",
    "new_team",
    "operator",
    "operators",
    "pytest_collection_finish",
    "sandbox",
    "storming",
    "webhook",
]
"""What the rings trust and hostile share with the end-to-end tests: each starts these parts for itself."""

NewTeam: TypeAlias = Callable[[str], Team]
"""Makes a team for a purpose; it is deleted after the test."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get the programs before the first test: building them takes longer than a test may, and a person watches."""
    if not _asked_for(session, "sandbox") or session.config.getoption("collectonly"):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        Binaries().get_all()
        Binaries().path("helm")
        consumers.kafkajs_command()
        kafka.class_archive()
        consumers.java_class_archive()


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """API server, node, Kafka and Prometheus, with the CustomResourceDefinition and the operator's rights."""
    with Sandbox(tmp_path_factory.mktemp("sandbox"), users=(*sharded.USERS, webhooks.USER)) as started:
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


@pytest.fixture(scope="module")
def _pair(sandbox: Sandbox, operators: Operators) -> Iterator[Pair]:
    """Two replicas for all tests of this module; a killed one is started again."""
    operators.stop()
    with Pair(sandbox) as started:
        yield started


@pytest.fixture
def pair(_pair: Pair, sandbox: Sandbox) -> Iterator[Pair]:
    """Both, well; afterwards nobody has written who did not hold the lease, and nobody has shown a traceback."""
    _pair.roles()
    began = datetime.now(UTC)
    report = [len(item.tracebacks()) for item in _pair.both]
    yield _pair
    _pair.roles()
    time.sleep(AUDIT_LAG_S)
    assert writes_without_lease(sandbox, since=began) == []
    assert [len(item.tracebacks()) for item in _pair.both] == report


@pytest.fixture
def storm(storming: Team, pair: Pair) -> Iterator[Team]:
    """A storm that is recommended to be cured; it is there when the test has seen both replicas well."""
    assert pair.both
    with steered.frozen(storming) as team:
        steered.recommend(team)
        yield team


@pytest.fixture(scope="module")
def webhook(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """The webhook, asked about each new pod; it gives nothing where no policy has static membership."""
    with started_webhook(sandbox, tmp_path_factory.mktemp("webhook")) as replica:
        yield replica


@pytest.fixture(scope="session")
def figures(request: pytest.FixtureRequest) -> Iterator[Figures]:
    """What is measured of static members; shown at the end."""
    measured = Figures()
    yield measured
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{measured}\n")  # noqa: T201 - figures are for people, too


@pytest.fixture
def plain(new_team: NewTeam) -> Team:
    """A team whose policy names a Deployment that is not there: each change of it is one status to write."""
    team = new_team("plain")
    team.apply_policy_spec()
    return team


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
