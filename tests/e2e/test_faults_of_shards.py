"""What happens to one shard's leader is that shard's alone, and no policy is ever handled by two."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain

import pytest

from sandbox.environment import Sandbox
from tests.e2e import sharded
from tests.e2e.operators import Operators, await_cycles
from tests.e2e.replicas import await_status, edit
from tests.e2e.sharded import LEASE, SHARDS, USERS, Fleet
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(300), pytest.mark.faults]

TEAMS = 2
"""Namespaces of each shard."""

CLOCK_S = 0.1
"""The API server's log and a replica's clock are not the same."""


@pytest.fixture
def teams(sandbox: Sandbox) -> Iterator[dict[int, list[Team]]]:
    """Two namespaces of each shard, with a policy in each."""
    made = sharded.by_shard(sandbox, TEAMS)
    yield made
    for team in chain(*made.values()):
        team.delete()


@pytest.fixture
def fleet(sandbox: Sandbox, operators: Operators) -> Iterator[Fleet]:
    """Replicas that are not started yet."""
    operators.stop()
    with Fleet(sandbox) as made:
        yield made


def change_all(teams: dict[int, list[Team]], number: int) -> None:
    """Change every policy, and wait until its status has followed."""
    for team in chain(*teams.values()):
        edit(team, number)
    for team in chain(*teams.values()):
        await_status(team, timeout_s=60)


def test_a_killed_leader_s_shard_is_taken_over_and_the_others_never_notice(
    fleet: Fleet, teams: dict[int, list[Team]]
) -> None:
    """Its policies are looked at again when the lease is over; whoever comes back gets a shard from who has two."""
    for user in USERS:
        fleet.start(user)
    fleet.await_led(1, 1, 1)
    change_all(teams, 1)
    began = datetime.now(UTC)
    leaders = fleet.leaders()
    assert sorted(leaders.values()) == sorted(USERS)
    for operator in fleet.replicas.values():
        await_cycles(operator, 2)
    statuses = [write for write in fleet.writes(since=began) if write.resource == "consumergrouppolicies"]
    assert statuses == []  # nothing changed

    orphaned, victim = 1, fleet.replicas[leaders[1]]
    victim.process.kill()
    killed = datetime.now(UTC)
    for team in teams[orphaned]:
        edit(team, 2)
    for team in teams[orphaned]:
        await_status(team, timeout_s=60)
    looked_at = datetime.now(UTC)
    change_all(teams, 3)
    fleet.await_led(1, 2)

    everything = fleet.writes()
    namespaces = {team.namespace for team in chain(*teams.values())}
    assert sharded.strangers(everything, namespaces) == []
    for shard, leader in leaders.items():
        of_shard = {team.namespace for team in teams[shard]}
        wrote = {write.user for write in everything if write.namespace in of_shard and write.time > killed}
        claims = sharded.renewals(everything, shard)
        if shard != orphaned:
            assert wrote == {leader}
            assert {user for at, user in claims if at > began} == {leader}
            continue
        (successor,) = wrote
        assert successor != leader
        last = max(at for at, user in claims if user == leader)
        taken = min(at for at, user in claims if user == successor and at > last)
        assert (taken - last).total_seconds() >= LEASE.total_seconds() - CLOCK_S
    assert (looked_at - killed).total_seconds() < LEASE.total_seconds() + 20

    victim.__enter__()  # `stop` of its process, registered when it was first started, ends it
    fleet.await_led(1, 1, 1)
    change_all(teams, 4)
    assert sharded.strangers(fleet.writes(), namespaces) == []


def test_another_number_of_shards_leads_when_the_last_of_the_old_has_gone(
    fleet: Fleet, teams: dict[int, list[Team]]
) -> None:
    """As in a rollout that changes it: no policy is handled by its shard of three and by its shard of two."""
    old = [fleet.start(user) for user in USERS[:2]]
    fleet.await_led(1, 2)
    change_all(teams, 1)
    new = fleet.start(USERS[2], shards=2)
    old[0].process.stop(grace_s=30)
    fleet.await_led(0, SHARDS)
    time.sleep(2 * LEASE.total_seconds())
    assert new.led() == 0
    old[1].process.stop(grace_s=30)
    ended = datetime.now(UTC)
    fleet.await_led(2)
    change_all(teams, 2)
    namespaces = {team.namespace for team in chain(*teams.values())}
    wrote = [write for write in fleet.writes() if write.namespace in namespaces and write.succeeded]
    assert {write.user for write in wrote if write.time > ended} == {new.user}
    assert {write.user for write in wrote if write.time < ended} <= set(USERS[:2])
