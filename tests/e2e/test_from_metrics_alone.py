"""Real consumers seen through their metrics alone: no policy, no operator, no question to broker or API server."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from sandbox import forked_commands
from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from sandbox.scenario import JavaSettings
from tests.e2e.teams import Team
from tests.support import cases, fitted

pytestmark = [pytest.mark.e2e_java, pytest.mark.timeout(300)]

STEADY: Final = JavaSettings(session_timeout_ms=45_000, heartbeat_interval_ms=3_000, max_poll_interval_ms=300_000)
STORM_FLAGS: Final = ("--session-timeout", "1s", "--heartbeat-interval", "333ms", "--fetch-wait", "5s")


@pytest.fixture(scope="module")
def steady(sandbox: Sandbox) -> Iterator[Team]:
    """A team of Java consumers that are well, with the library's defaults."""
    team = Team(sandbox, "steady")
    team.create()
    team.deploy_java(STEADY)
    yield team
    team.delete()


def run(sandbox: Sandbox, command: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a command as people do; return its exit status and what it says."""
    done = forked_commands.run(command, "--prometheus", sandbox.prometheus.url, "-o", "json", *arguments)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, found


def recommended(sandbox: Sandbox, *arguments: str) -> dict[str, Any]:
    """Return what is recommended once the pods have been there for a minute."""
    found: dict[str, Any] = {}

    def known() -> bool:
        status, said = run(sandbox, "recommend", *arguments)
        found.update(said)
        return status == 0

    wait_until(known, part="recommend", what="an answer", timeout_s=150, poll_s=5.0)
    return found


def test_doctor_finds_both_groups_whole(sandbox: Sandbox, storming: Team, steady: Team) -> None:
    """The sandbox's consumers export as the pages tell people to: KafkaJS with its counters, Java by the agent."""
    found: dict[str, Any] = {}

    def whole() -> bool:
        places = [argument for team in (storming, steady) for argument in ("--namespace", team.namespace)]
        status, said = run(sandbox, "doctor", *places)
        found.update(said)
        shown = {group["group"] for group in said["groups"] if group["pods"]}
        return status == 0 and shown == {storming.name, steady.name}

    wait_until(whole, part="doctor", what="two whole groups", timeout_s=90, poll_s=5.0)
    seen = {group["group"]: (group["convention"], group["pods"], group["measurable"]) for group in found["groups"]}
    assert seen == {
        storming.name: ("kafkajs", storming.pods(), True),
        steady.name: ("jmx-exporter", steady.pods(), True),
    }


def test_a_real_storm_is_cured_from_metrics_alone(sandbox: Sandbox, storming: Team) -> None:
    """What the operator decides with broker and API server, it decides without."""
    found = recommended(sandbox, "--group", storming.name, "--client", "kafkajs", *STORM_FLAGS)
    assert (found["verdict"], found["reason"]) == ("Change", "CadenceExceedsSession")
    assert found["pods"] == storming.pods()
    assert found["measured"]["evictions"] >= 3
    assert [setting["recommendedMilliseconds"] for setting in found["settings"].values()] == [30_000, 1_000, 1_000]


def test_java_consumers_that_are_well_are_left_alone(sandbox: Sandbox, steady: Team) -> None:
    """Their beat is what the settings give, measured and computed."""
    given = ("--session-timeout", "45s", "--heartbeat-interval", "3s", "--max-poll-interval", "5m")
    found = recommended(sandbox, "--group", steady.name, "--client", "java", *given)
    assert (found["verdict"], found["measured"]["evictions"]) == ("Unproven", 0)
    assert found["measured"]["beatPeriodSeconds"] == pytest.approx(3.05, rel=0.2)
    assert not any("do not beat as" in note for note in found["notes"])


def models(folder: Path, *teams: tuple[Team, str]) -> str:
    """Return the folder with a model of each team, as last night's fit would have written it."""
    now = datetime.now(UTC)
    days = {"since": now.date() - timedelta(days=14), "until": now.date() - timedelta(days=1), "fitted_at": now}
    found = []
    for team, client in teams:
        fields = {"namespace": team.namespace, "group": team.name, "client": client, **days}
        found.append(fitted.model(**fields) if client == "kafkajs" else cases.model(**fields))
    ModelFiles(folder).write(found)
    return str(folder)


def test_live_groups_are_explained_and_played(sandbox: Sandbox, storming: Team, steady: Team, tmp_path: Path) -> None:
    """The Java exporter tells members and partitions; of KafkaJS somebody has to."""
    folder = models(tmp_path, (storming, "kafkajs"), (steady, "java"))
    java = ("--group", steady.name, "--client", "java", "--models", folder)
    found = recommended(sandbox, *java)
    assert found["members"] == len(steady.pods())
    assert found["partitions"] > 0
    assert found["forecast"]["now"]["detectionSeconds"] == pytest.approx(43.5, abs=0.1)
    status, said = run(sandbox, "explain", *java)
    assert (status, said["links"][-1]["link"]) == (0, "answer")
    status, played = run(sandbox, "simulate", *java, "--to", "session-timeout=20s", "--days", "5")
    assert (status, set(played["scenes"])) == (0, {"now", "whatIf"})

    storm = ("--group", storming.name, "--client", "kafkajs", "--models", folder, "--partitions", "6", *STORM_FLAGS)
    found = recommended(sandbox, *storm)
    assert (found["verdict"], found["reason"]) == ("Change", "CadenceExceedsSession")
    status, said = run(sandbox, "explain", *storm, "--members", "3")
    assert status == 0
    assert "CadenceExceedsSession" in said["links"][-1]["title"]
