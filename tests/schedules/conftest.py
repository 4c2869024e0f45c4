"""A sandbox of its own: nothing else may write while every write is looked at."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

import pytest

from sandbox import kafka, scenario
from sandbox.audit import Tail
from sandbox.binaries import Binaries
from sandbox.environment import Sandbox
from sandbox.network import LOOPBACK
from tests.schedules.replicas import Replicas
from tests.schedules.schedule import Act
from tests.schedules.stage import SIZE, Played, Shown, Stage, deploy
from tests.support.fleets import Fleet, PodMetrics, Scrapes

SCRAPES = Scrapes(every_s=0.5, reach_s=20.0, from_start=True)


@dataclasses.dataclass
class Tally:
    """What all schedules of a session amount to."""

    schedules: int = 0
    hits: dict[Act, int] = dataclasses.field(default_factory=dict)
    leadership_changes: int = 0
    refused: int = 0
    unanswered: int = 0
    interrupted: int = 0
    struck_before_reverts: int = 0
    late_writes: int = 0
    late_events: int = 0
    lost_on_the_way: int = 0
    stood_still: int = 0

    def add(self, played: Played) -> None:
        """Count one more."""
        self.schedules += 1
        for _, act in played.hits:
            self.hits[act] = self.hits.get(act, 0) + 1
        self.leadership_changes += played.trail.changes()
        self.refused += played.trail.refused()
        self.unanswered += played.trail.unanswered()
        self.interrupted += played.interrupted
        self.struck_before_reverts += played.struck_before_reverts
        self.late_writes += len(played.trail.without_lease())
        self.late_events += played.trail.late_events()
        self.stood_still += played.stood_still
        self.lost_on_the_way += played.trail.lost_on_the_way()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take stock when all schedules have been played, whatever the order of the others."""
    items.sort(key=lambda item: item.name == "test_the_schedules_bite")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get the programs before the first test: building them takes longer than a test may."""
    if session.items and not session.config.getoption("collectonly"):
        Binaries().get_all()
        kafka.class_archive()


def telling(fleets: Sequence[Fleet]) -> PodMetrics:
    """Return a Prometheus that tells of a storm in each pod that runs without values of the tuner's."""
    return PodMetrics(fleets, storms=lambda env: "KAFKA_SESSION_TIMEOUT_MS" not in env, scrapes=SCRAPES)


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Two fleets in a storm and two replicas."""
    with contextlib.ExitStack() as running:
        sandbox = running.enter_context(Sandbox(tmp_path_factory.mktemp("sandbox")))
        scenario.install(sandbox)
        tail = Tail(sandbox.control_plane.audit_log)
        fleets = [running.enter_context(Fleet(sandbox, name, SIZE)) for name in ("red", "blue")]
        for fleet in fleets:
            deploy(fleet)
        metrics = running.enter_context(telling(fleets))
        replicas = running.enter_context(Replicas(sandbox, f"http://{LOOPBACK}:{metrics.port}"))
        yield Stage(fleets, replicas, tail)


@pytest.fixture(scope="session")
def undisturbed(stage: Stage) -> list[Shown]:
    """What stands at the end when nothing happens."""
    return stage.play("undisturbed", ()).end


@pytest.fixture(scope="session")
def tally() -> Tally:
    """Counts over all schedules."""
    return Tally()
