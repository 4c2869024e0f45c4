"""Two replicas of the operator: one writes, the other waits, and what happens to the first does no harm."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

import pytest

from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from sandbox.scenario import LEASE_NAMESPACE
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import AUDIT_LAG_S, Operators
from tests.e2e.replicas import LONG, SHORT, Replicas, await_leader, await_status, edit, writers, writes_without_lease
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(200), pytest.mark.faults]

BUSY_INTERVAL_S: Final = 0.2
EDIT_EVERY_S: Final = 0.4
"""Faster ones would refuse every status, by a version that is newer still."""

WIRE_DELAY_S: Final = 0.1
"""So that a leader who is stopped mostly waits for an answer, or for a connection to write on."""

AWAKE_S: Final = 2.0
PAUSES: Final = 3


@pytest.fixture
def wire(sandbox: Sandbox) -> Iterator[FaultProxy]:
    """The first replica's wire to the API server."""
    port = urlsplit(sandbox.control_plane.url).port
    assert port is not None
    with FaultProxy(LOOPBACK, port) as started:
        yield started


@pytest.fixture
def replicas(sandbox: Sandbox, operators: Operators, wire: FaultProxy) -> Iterator[Replicas]:
    """Two replicas, not started yet; afterwards nobody has written who did not hold the lease."""
    operators.stop()
    sandbox.control_plane.kubectl("delete", "lease", "--all", f"--namespace={LEASE_NAMESPACE}")
    made, began = Replicas(sandbox, f"https://{LOOPBACK}:{wire.port}"), datetime.now(UTC)
    yield made
    made.stop()
    time.sleep(AUDIT_LAG_S)
    assert writes_without_lease(sandbox, since=began) == []


@pytest.fixture
def team(new_team: NewTeam) -> Team:
    """A team whose policy names a Deployment that is not there: each change of it is one status to write."""
    team = new_team("led")
    team.apply_policy_spec()
    return team


@contextlib.contextmanager
def edits(team: Team) -> Iterator[None]:
    """Change the policy's spec all the time, so that there is always a status to write."""
    ended = threading.Event()

    def work() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            edit(team, number)
            ended.wait(EDIT_EVERY_S)

    thread = threading.Thread(target=work, name="edits")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_only_the_leader_writes_and_hands_over_when_told_to_end(replicas: Replicas, team: Team) -> None:
    """Both are well, one writes; SIGTERM gives the lease back, long before it would have run out."""
    began = datetime.now(UTC)
    leader, follower = replicas.start(LONG).both
    for number in range(2):
        edit(team, number)
        await_status(team)
    assert writers(team, since=began) == {leader.user}
    assert [item.page("/healthz") for item in replicas.both] == ["ok\n", "ok\n"]
    assert [item.page("/readyz") for item in replicas.both] == ["ok\n", "ok\n"]
    assert (leader.leads(), follower.leads()) == (True, False)

    handed_over = datetime.now(UTC)
    leader.process.stop(grace_s=30)
    assert await_leader(follower, timeout_s=60) < 30
    edit(team, 3)
    await_status(team)
    assert leader.process.returncode() == 0
    events = [json.loads(line)["event"] for line in leader.log.read_text().splitlines() if line.startswith("{")]
    assert events[-2:] == ["leadership released", "stopped"]
    assert writers(team, since=handed_over) == {follower.user}


def test_a_killed_leader_is_replaced_by_one_that_cures(replicas: Replicas, new_team: NewTeam) -> None:
    """The lease runs out, and the storm that the dead one did not cure is cured."""
    team = new_team("orphan")
    team.deploy(scenario.STORMING)
    leader, follower = replicas.start(SHORT).both
    leader.process.kill()
    team.apply_policy(team.name, mode="Apply")
    await_leader(follower)
    team.await_condition("Applied", "RollingOut", status="False", timeout_s=60)
    assert team.env()["KAFKA_SESSION_TIMEOUT_MS"] == "30000"


def test_a_leader_that_stood_still_writes_nothing_more(replicas: Replicas, wire: FaultProxy, team: Team) -> None:
    """Stopped past its lease, wherever in its cycle, it awakes to find that it does not lead."""
    leader, follower = replicas.start(SHORT, interval_s=BUSY_INTERVAL_S).both
    wire.delay(WIRE_DELAY_S)
    with edits(team):
        for _ in range(PAUSES):
            leader.process.pause()
            await_leader(follower)
            awake = datetime.now(UTC)
            leader.process.resume()
            time.sleep(AWAKE_S)
            assert not leader.leads()
            assert writers(team, since=awake) == {follower.user}
            leader, follower = follower, leader


@pytest.mark.parametrize("fault", [FaultProxy.cut, FaultProxy.black_hole], ids=["cut", "black hole"])
def test_a_leader_that_is_cut_off_is_replaced(
    replicas: Replicas, wire: FaultProxy, team: Team, fault: Callable[[FaultProxy], None]
) -> None:
    """The one that cannot see the API server is not ready, and stays a follower when it can again."""
    leader, follower = replicas.start(SHORT).both
    fault(wire)
    await_leader(follower)
    wait_until(lambda: not leader.answers("/readyz"), part=leader.user, what="being unready", timeout_s=30)
    assert leader.page("/healthz") == "ok\n"
    edit(team, 1)
    await_status(team)
    wire.heal()
    wait_until(lambda: leader.answers("/readyz"), part=leader.user, what="being ready again", timeout_s=30)
    assert (leader.leads(), follower.leads()) == (False, True)
