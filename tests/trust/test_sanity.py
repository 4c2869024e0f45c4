"""Values that are not in force, groups that others disturb, numbers of another unit: nothing is written, and why.

The consumers are real ones; a shell before them gives them other settings than their environment says, as an
application does that keeps its settings in a file.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
import yaml

from sandbox import consumers, scenario
from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from sandbox.scenario import ConsumerSettings, Operator
from tests.e2e.operators import Operators, await_cycles
from tests.e2e.teams import POLL_S, Team

pytestmark = [pytest.mark.timeout(300)]

STORMS: Final = "export KAFKA_SESSION_TIMEOUT_MS=1000 KAFKA_HEARTBEAT_INTERVAL_MS=333 KAFKA_MAX_WAIT_TIME_MS=5000"
TAKES_SECONDS: Final = "export KAFKA_SESSION_TIMEOUT_MS=$((KAFKA_SESSION_TIMEOUT_MS * 1000))"
OTHERS: Final = "reports"


@dataclass(frozen=True)
class Fleet:
    """Groups that were started together, so that their waits overlap.

    Attributes:
        ignoring: has the storm's settings in a file, and its environment says the same until it is written.
        claiming: storms, and its environment says that it cannot.
        silent: storms, and nothing says what is set.
        seconds: reads its session timeout in seconds.
        shared: is well, and another Deployment of its group storms.
    """

    ignoring: Team
    claiming: Team
    silent: Team
    seconds: Team
    shared: Team


@pytest.fixture(scope="module")
def fleet(sandbox: Sandbox) -> Iterator[Fleet]:
    """All of them, with their policies in mode Apply and a short cooldown."""
    made: list[Team] = []

    def team(purpose: str, settings: ConsumerSettings, first: str = "", *, stated: bool = True) -> Team:
        new = Team(sandbox, purpose)
        made.append(new)
        new.create()
        sandbox.kafka.create_topic(new.name, scenario.PARTITIONS)
        new.apply(manifest(new, settings, first, stated=stated))
        return new

    seconds = ConsumerSettings(session_timeout_ms=30, heartbeat_interval_ms=1_000, fetch_wait_ms=1_000)
    started = Fleet(
        ignoring=team("ignoring", scenario.STORMING, STORMS),
        claiming=team("claiming", scenario.HEALTHY, STORMS),
        silent=team("silent", scenario.STORMING, STORMS, stated=False),
        seconds=team("seconds", seconds, TAKES_SECONDS),
        shared=team("shared", scenario.HEALTHY),
    )
    started.shared.apply(manifest(started.shared, scenario.STORMING, name=OTHERS))
    for item in made:
        item.apply_policy_spec(mode="Apply", rollout={"cooldown": "1s"})
    yield started
    for item in made:
        item.delete()


def manifest(team: Team, settings: ConsumerSettings, first: str = "", *, stated: bool = True, name: str = "") -> str:
    """Return two consumers of the team's group.

    Args:
        team: whose group it is.
        settings: what the environment says.
        first: what a shell does before it becomes the consumer.
        stated: whether the environment says anything.
        name: of the Deployment, if it is not the team's.
    """
    config, deployment = yaml.safe_load_all(team.consumer_manifest(team.name, settings))
    spec: dict[str, Any] = deployment["spec"]
    spec["replicas"] = 2
    container = spec["template"]["spec"]["containers"][0]
    if first:
        container["command"] = ["sh", "-c", f'{first}; exec "$0" "$@"', *consumers.kafkajs_command()]
    if not stated:
        config["data"] = {}
    if name:
        config["metadata"]["name"] = deployment["metadata"]["name"] = name
        container["envFrom"] = [{"configMapRef": {"name": name}}]
        spec["selector"]["matchLabels"] = spec["template"]["metadata"]["labels"] = {"app": name}
    return f"{json.dumps(config)}\n---\n{json.dumps(deployment)}"


def written(team: Team) -> int:
    """Return how often the team's Deployment was written."""
    return [write.code for write in team.operator_writes("deployments")].count(200)


@pytest.mark.row("A7")
def test_a_number_of_seconds_is_answered_with_no_value(fleet: Fleet, operator: Operator) -> None:
    """30 in a variable of seconds is no session of 30 ms, and no storm."""
    team = fleet.seconds
    found = team.await_condition("Ready", "SettingUnreadable", status="False", timeout_s=120)
    assert "KAFKA_SESSION_TIMEOUT_MS (sessionTimeout) of container app reads as 30 ms" in found["message"]
    assert "recommendation" not in team.status()
    await_cycles(operator, 2)
    assert written(team) == 0


@pytest.mark.row("A2")
def test_an_application_that_ignores_its_environment_is_written_once(
    fleet: Fleet, operators: Operators, operator: Operator
) -> None:
    """The storm goes on with the new values, which proves that nobody uses them; a new leader knows it, too."""
    team = fleet.ignoring
    found = team.await_condition("Recommended", "NoEffect", status="Unknown", timeout_s=180)
    assert "does not use what was written" in found["message"]
    assert team.await_condition("Applied", "NoEffect", status="False")
    assert team.await_condition("Verified", "NoEffect", status="False")
    assert "recommendation" not in team.status()
    assert written(team) == 1
    env, proof = team.env(), team.status()["contradicted"]
    operators.stop()
    operator = operators.get()
    await_cycles(operator, 5)
    assert (written(team), team.env(), team.status()["contradicted"]) == (1, env, proof)
    team.patch("deployment", team.name, {"spec": {"template": {"metadata": {"annotations": {"changed": "1"}}}}})
    wait_until(
        lambda: team.status().get("contradicted") != proof,
        part=team.name,
        what="a new look after the template changed",
        timeout_s=60,
        poll_s=POLL_S,
    )


@pytest.mark.row("A2")
@pytest.mark.usefixtures("operator")
def test_values_that_are_not_in_force_are_no_ground_for_others(fleet: Fleet) -> None:
    """Before any write: sessions of 30 s cannot end every 5 s."""
    team = fleet.claiming
    found = team.await_condition("Recommended", "SettingsNotInForce", status="Unknown", timeout_s=120)
    assert "what the pods' environment says is not what the application uses" in found["message"]
    assert "recommendation" not in team.status()
    assert written(team) == 0


@pytest.mark.row("A8")
@pytest.mark.usefixtures("operator")
def test_no_value_is_recommended_from_an_assumption_that_the_record_contradicts(fleet: Fleet) -> None:
    """Nothing shows that S is 1 s; that it is not the library's 30 s, the evictions do."""
    team = fleet.silent
    found = team.await_condition("Recommended", "SettingAssumed", status="Unknown", timeout_s=120)
    assert "spec.client.current" in found["message"]
    assert "recommendation" not in team.status()
    assert written(team) == 0


@pytest.mark.row("A6")
@pytest.mark.usefixtures("operator")
def test_a_group_that_another_deployment_disturbs_is_not_healthy(fleet: Fleet) -> None:
    """Its own members are well; who makes it rebalance is named, and nothing of ours is changed."""
    team = fleet.shared
    found = team.await_condition("Recommended", "RebalancedByOthers", status="Unknown", timeout_s=200)
    others = {item["metadata"]["name"] for item in team.get("pods", labels=f"app={OTHERS}")["items"]}
    assert any(f"{name} at " in found["message"] for name in others)
    assert "recommendation" not in team.status()
    assert written(team) == 0
