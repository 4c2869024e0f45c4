import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.scenario import Operator
from tests.e2e.operators import Operators, await_cycles
from tests.e2e.teams import Team

pytestmark = pytest.mark.timeout(300)

CYCLES = 10


@pytest.fixture
def settled(healthy: Team, operator: Operator) -> Iterator[Team]:
    """The healthy team with a policy in mode Apply that has found its verdict."""
    healthy.apply_policy(healthy.name, mode="Apply")
    healthy.await_verdict("Unproven", timeout_s=150)  # minutes without an eviction show nothing of a month
    await_cycles(operator, 1)
    yield healthy
    healthy.delete_policy()


def logged(operator: Operator, team: Team) -> list[dict[str, Any]]:
    """Return the operator's log lines that are about the team, or about nobody in particular."""
    lines = [json.loads(line) for line in operator.log.read_text().splitlines() if line.startswith("{")]
    about_others = ("policy", "policies", "workloads")  # of what another test left behind
    return [line for line in lines if all(team.name in str(line[key]) for key in about_others if key in line)]


def test_healthy_group_is_left_alone(settled: Team, operator: Operator) -> None:
    """A healthy group in mode Apply is not written to in many cycles, nor is its status, nor the log."""
    since, lines = datetime.now(UTC), logged(operator, settled)

    await_cycles(operator, CYCLES)

    assert not settled.operator_writes("deployments")
    assert not settled.operator_writes("consumergrouppolicies", since=since)
    assert not settled.operator_writes("events", since=since)
    assert logged(operator, settled) == lines


def test_restarted_operator_writes_nothing(settled: Team, operators: Operators) -> None:
    """An operator that starts again comes to the status that stands already, without a write."""
    operators.stop()
    since, status = datetime.now(UTC), settled.status()

    await_cycles(operators.get(), CYCLES)

    assert settled.status() == status
    assert not settled.operator_writes("deployments")
    assert not settled.operator_writes("consumergrouppolicies", since=since)
    assert not settled.operator_writes("events", since=since)
