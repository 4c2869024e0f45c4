"""A group of the consumer protocol whose members are fenced: its session is raised at the broker, without a restart."""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

from heartbeat_tuner.cli.kubectl.plugin import plugin
from sandbox.environment import Sandbox
from sandbox.request_log import UNKNOWN_MEMBER_ID, Heartbeat, Record, RequestLog
from sandbox.scenario import JavaSettings, Operator
from tests.e2e.operators import AUDIT_LAG_S, INTERVAL_S, Operators
from tests.e2e.teams import Team

pytestmark = pytest.mark.timeout(300)

ROWS: Final = Path("build/broker-side.json")
NERVOUS: Final = {"consumer.session.timeout.ms": "4000", "consumer.heartbeat.interval.ms": "1000"}
REPLICAS: Final = 3
"""One pause each: losses of one member within a minute count as one."""

PAUSE_S: Final = 6.0
BETWEEN_PAUSES_S: Final = 1.5
OF_AGE_S: Final = 90.0
"""The record of a minute, and some cycles."""


@pytest.fixture
def altering(sandbox: Sandbox, operators: Operators) -> Iterator[Operator]:
    """The operator, with leave to write into groups' configurations."""
    operators.stop()
    with Operator(sandbox, interval_s=INTERVAL_S, alters_groups=True) as started:
        yield started


@pytest.fixture
def modern(sandbox: Sandbox) -> Iterator[Team]:
    """A team of Java consumers in a group of the consumer protocol, with a session that somebody made too short."""
    team = Team(sandbox, "broker-side")
    team.create()
    sandbox.kafka.create_topic(team.name, REPLICAS)
    sandbox.kafka.configure_group(team.name, NERVOUS)
    unused = JavaSettings(session_timeout_ms=1, heartbeat_interval_ms=1, max_poll_interval_ms=300_000)
    manifest = team.java_consumer_manifest(team.name, unused, replicas=REPLICAS)
    classic = re.compile(r'^  KAFKA_(SESSION_TIMEOUT|HEARTBEAT_INTERVAL)_MS: ".*"$', re.MULTILINE)
    team.apply(classic.sub("", manifest).replace("\ndata:\n", "\ndata:\n  KAFKA_GROUP_PROTOCOL: consumer\n"))
    team.await_available(team.name)
    team.apply_policy(team.name, mode="Apply", library="java")
    yield team
    team.delete()


def pause_each(team: Team) -> None:
    """Let the process of one pod after another stand still for longer than the short session."""
    for pod in team.pods():
        with team.sandbox.node.paused(team.namespace, pod):
            time.sleep(PAUSE_S)
        time.sleep(BETWEEN_PAUSES_S)


def beats(records: list[Record], team: Team, since_s: float, until_s: float) -> list[Heartbeat]:
    """Return the heartbeats of a team's group in a window."""
    return [
        one
        for one in records
        if isinstance(one, Heartbeat) and one.group_id == team.name and since_s <= one.arrival_s < until_s
    ]


def fenced(heartbeats: list[Heartbeat]) -> int:
    """Return how many members learnt from a beat that they are members no more."""
    return sum(1 for beat in heartbeats if beat.error_code == UNKNOWN_MEMBER_ID)


def epoch(heartbeats: list[Heartbeat]) -> int:
    """Return the newest epoch that a member was in."""
    return max(beat.generation_id for beat in heartbeats)


def taken_back(team: Team) -> dict[str, Any]:
    """Ask for the last write to be taken back, as a person does; return what the status notes once it is."""
    path = os.pathsep.join((str(team.sandbox.control_plane.kubectl_path.parent), os.environ["PATH"]))
    flags = [f"--kubeconfig={team.sandbox.control_plane.kubeconfig}", f"--namespace={team.namespace}"]
    result = CliRunner(env={"PATH": path}).invoke(plugin, ["revert", team.name, *flags])
    assert result.exit_code == 0, result.output
    team.await_condition("Applied", "TakenBack", status="False")
    noted: dict[str, Any] = team.status()["groupConfig"]
    return noted


def configured(team: Team) -> dict[str, str]:
    """Return what is set at the broker for a team's group itself."""
    resource = ConfigResource(ResourceType.GROUP, team.name)
    admin = AdminClient({"bootstrap.servers": team.sandbox.kafka.bootstrap, "log_level": 0})
    entries = admin.describe_configs([resource])[resource].result(30).values()
    return {entry.name: entry.value for entry in entries if entry.source == ConfigSource.GROUP_CONFIG.value}


def test_a_session_is_raised_at_the_broker_and_nothing_restarts(modern: Team, altering: Operator) -> None:
    """Members that stood still for 6 s under S = 4 s are fenced; under S = 45 s none is, and no epoch began between."""
    assert altering.process.alive()
    log, began_s, pods = RequestLog(modern.sandbox.kafka.request_log), time.time(), modern.pods()
    modern.await_condition("Recommended", "ConsumerProtocol", status="Unknown")
    time.sleep(5.0)  # the operator has read since when nothing shows: it asks for losses once it knows the protocol
    pause_each(modern)
    settled_s = time.time()
    written = modern.await_condition("Applied", "Applied", status="True", timeout_s=OF_AGE_S)
    time.sleep(2.0)  # each member has beaten since
    changed_s = time.time()
    pause_each(modern)
    ended_s, status = time.time(), modern.status()
    reverted = taken_back(modern)
    time.sleep(2.0)  # likewise
    back_s = time.time()
    time.sleep(AUDIT_LAG_S)

    records = log.read_new()
    before, between, after, back = (
        beats(records, modern, *window)
        for window in ((began_s, settled_s), (settled_s, changed_s), (changed_s, ended_s), (ended_s, back_s))
    )
    row: dict[str, Any] = {
        "group_type": "consumer",
        "client": "java",
        "changed": {"before": status["groupConfig"]["previous"], "after": status["groupConfig"]["values"]},
        "restarts": len(modern.operator_writes("deployments")) + len(set(pods) ^ set(modern.pods())),
        "rebalances_by_change": epoch(between) - min(beat.generation_id for beat in between),
        "rebalances_by_revert": epoch(back) - min(beat.generation_id for beat in back),
        "evictions_before": fenced(before),
        "evictions_after": fenced(after),
    }
    row["ok"] = row["evictions_before"] >= REPLICAS and not any(
        row[name] for name in ("restarts", "rebalances_by_change", "rebalances_by_revert", "evictions_after")
    )
    ROWS.parent.mkdir(exist_ok=True)
    ROWS.write_text(json.dumps({"rows": [row]}, indent=2) + "\n")
    assert row["ok"], row
    assert "without a restart" in written["message"]
    assert status["groupConfig"]["values"] == {"sessionTimeout": "45s", "heartbeatInterval": "1s"}
    assert status["groupConfig"]["previous"] == {"sessionTimeout": "4s", "heartbeatInterval": "1s"}
    assert status["current"]["sessionTimeout"] == "45s"
    assert reverted["values"] == {"sessionTimeout": "4s", "heartbeatInterval": "1s"}
    assert reverted["revertedChangeTime"] == status["groupConfig"]["changeTime"]
    assert configured(modern) == NERVOUS
