"""Java groups: paused processes are cured by a longer session, slow handlers by a longer poll limit."""

import re
import time
from collections.abc import Iterator
from typing import Final

import pytest

from sandbox import request_log, scenario
from sandbox.environment import Sandbox
from sandbox.producer import Trickle
from sandbox.request_log import RequestLog
from sandbox.scenario import JavaSettings, Operator
from tests.e2e.operators import await_cycles
from tests.e2e.teams import Team

pytestmark = [pytest.mark.e2e_java, pytest.mark.timeout(300), pytest.mark.usefixtures("operator")]

NERVOUS: Final = JavaSettings(session_timeout_ms=6_000, heartbeat_interval_ms=2_000, max_poll_interval_ms=300_000)
HASTY: Final = JavaSettings(
    session_timeout_ms=45_000, heartbeat_interval_ms=1_000, max_poll_interval_ms=5_000, handler_ms=8_000
)
PAUSE_S: Final = 8.0
BETWEEN_PAUSES_S: Final = 3.0
MOST_PAUSES: Final = 14
QUIET_S: Final = 25.0
SETTLING_S: Final = 5.0
"""A group still rebalances when its new pods are all ready: they have joined, but the last change is not yet shared."""


@pytest.fixture(scope="module")
def paused(sandbox: Sandbox) -> Iterator[Team]:
    """A team whose processes stand still for longer than their session now and then."""
    yield from deployed(sandbox, "paused", NERVOUS)


@pytest.fixture(scope="module")
def slow(sandbox: Sandbox) -> Iterator[Team]:
    """A team whose handlers take longer than their poll limit; it is there from the module's start, to come of age."""
    for team in deployed(sandbox, "slow", HASTY):
        with Trickle(sandbox.kafka.bootstrap, team.name, every_s=0.5):
            yield team


def deployed(sandbox: Sandbox, purpose: str, settings: JavaSettings) -> Iterator[Team]:
    """Yield a team with Java consumers and a policy in mode Apply."""
    team = Team(sandbox, purpose)
    team.create()
    team.deploy_java(settings)
    team.apply_policy(team.name, mode="Apply", library="java")
    yield team
    team.delete()


@pytest.fixture
def modern(sandbox: Sandbox) -> Iterator[Team]:
    """A team whose group speaks the consumer protocol, with values of its own at the broker."""
    team = Team(sandbox, "modern")
    team.create()
    sandbox.kafka.create_topic(team.name)
    prescribed = {"consumer.session.timeout.ms": "20000", "consumer.heartbeat.interval.ms": "2000"}
    sandbox.kafka.configure_group(team.name, prescribed)
    manifest = team.java_consumer_manifest(team.name, NERVOUS, replicas=1)
    classic = re.compile(r'^  KAFKA_(SESSION_TIMEOUT|HEARTBEAT_INTERVAL)_MS: ".*"$', re.MULTILINE)
    team.apply(classic.sub("", manifest).replace("\ndata:\n", "\ndata:\n  KAFKA_GROUP_PROTOCOL: consumer\n"))
    team.await_available(team.name)
    team.apply_policy(team.name, mode="Apply", library="java")
    yield team
    team.delete()


def pause_one(team: Team, number: int) -> None:
    """Let the process of one pod stand still for longer than its session."""
    with team.sandbox.node.paused(team.namespace, team.pods()[number % 2]):
        time.sleep(PAUSE_S)
    time.sleep(BETWEEN_PAUSES_S)


@pytest.mark.usefixtures("slow")
def test_paused_processes_are_cured_by_a_longer_session(paused: Team) -> None:
    """Members that stood still for 8 s under S = 6 s are evicted, seen as such, and not evicted after the change."""
    log, began_s = RequestLog(paused.sandbox.kafka.request_log), time.time()
    for number in range(MOST_PAUSES):
        pause_one(paused, number)
        if "applied" in paused.status():
            break
    paused.await_rolled_out()
    paused.await_available(paused.name)
    time.sleep(SETTLING_S)
    cured_s = time.time()
    for number in range(3):
        pause_one(paused, number)
    ended_s = time.time()

    records = log.read_new()
    # The operator may be sure of the cure after fewer pauses than three; where it is quick, the third has no effect.
    assert len(request_log.evicted(records, paused.name, began_s, cured_s)) >= 2
    assert request_log.evicted(records, paused.name, cured_s, ended_s) == set()
    assert request_log.rebalances(records, paused.name, cured_s, ended_s) == 0
    status = paused.status()
    assert status["applied"]["previous"]["sessionTimeout"] == "6s"
    assert status["applied"]["values"] == {
        "sessionTimeout": "45s",
        "heartbeatInterval": "2s",
        "fetchWait": "500ms",
        "maxPollInterval": "5m",
    }
    assert paused.env()["KAFKA_SESSION_TIMEOUT_MS"] == "45000"
    assert "KAFKA_MAX_POLL_INTERVAL_MS" not in paused.env()  # what does not change is not taken over
    assert status["groupProtocol"] == "Classic"
    reasons = {reason for _, reason, _ in paused.events()}
    assert "Danger" in reasons
    hindered = scenario.condition(paused.policy(paused.name), "ConsumerProtocolReady")
    assert (hindered["status"], hindered["reason"]) == ("False", "SettingsRefused")
    assert "KAFKA_SESSION_TIMEOUT_MS and KAFKA_HEARTBEAT_INTERVAL_MS then" in hindered["message"]
    assert "The operator wrote KAFKA_SESSION_TIMEOUT_MS, " in hindered["message"]
    assert "the cluster does" not in hindered["message"]  # its group.version is 1, and was read
    assert "SettingsRefused" not in reasons


def test_handlers_that_outlast_the_poll_limit_are_named_as_such(slow: Team) -> None:
    """Their members leave while they beat: that is no silence, so M is raised, and S is left alone."""
    log, began_s = RequestLog(slow.sandbox.kafka.request_log), time.time()
    slow.await_rolled_out(timeout_s=240)
    slow.await_available(slow.name)
    time.sleep(SETTLING_S)
    cured_s = time.time()
    time.sleep(QUIET_S)

    records = log.read_new()
    assert len(request_log.left(records, slow.name, 0.0, cured_s)) >= 3
    assert request_log.evicted(records, slow.name, 0.0, time.time()) == set()
    assert request_log.left(records, slow.name, cured_s, time.time()) == set()
    assert cured_s > began_s
    status = slow.status()
    assert status["applied"]["previous"]["maxPollInterval"] == "5s"
    assert status["applied"]["values"]["maxPollInterval"] == "5m"
    assert status["applied"]["values"]["sessionTimeout"] == "45s"
    assert "KAFKA_SESSION_TIMEOUT_MS" not in slow.env()
    report = [message for _, reason, message in slow.events() if reason == "PollGapExceedsLimit"]
    assert report
    assert "did not poll for 5s (maxPollInterval), though they went on beating" in report[0]
    assert "no session timeout can help" in report[0]


def test_a_kip_848_group_is_seen_for_what_it_is(modern: Team, operator: Operator) -> None:
    """Its S and H are read from the group's configuration at the broker, shown, and left alone."""
    found = modern.await_condition("Recommended", "ConsumerProtocol", status="Unknown")
    await_cycles(operator, 2)

    assert "are a session of 20s and a heartbeat every 2s" in found["message"]
    status = modern.status()
    assert status["groupProtocol"] == "Consumer"
    assert status["current"] == {
        "sessionTimeout": "20s",
        "heartbeatInterval": "2s",
        "fetchWait": "500ms",
        "maxPollInterval": "5m",
    }
    assert not modern.operator_writes("deployments")
