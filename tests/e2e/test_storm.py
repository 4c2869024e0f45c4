import time
from typing import Any

import pytest

from sandbox import scenario
from sandbox.demo.measuring import GroupWatch
from sandbox.scenario import Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import await_cycles
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("operator")]

SETTLING_S = 3.0
QUIET_S = 30.0
CURE = {
    "KAFKA_SESSION_TIMEOUT_MS": "30000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "1000",
    "KAFKA_MAX_WAIT_TIME_MS": "1000",
}


def owned_entries(team: Team) -> dict[str, set[str]]:
    """Return which managers own which environment entries of the Deployment's container."""
    owners: dict[str, set[str]] = {}
    document: dict[str, Any] = team.get("deployments", team.name)
    for entry in document["metadata"]["managedFields"]:
        fields = entry["fieldsV1"]
        for step in ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"app"}', "f:env"):
            fields = fields.get(step, {})
        for key in fields:
            owners.setdefault(key, set()).add(f"{entry['manager']} {entry['operation']}")
    return owners


def test_storm_is_cured_in_mode_apply(new_team: NewTeam, operator: Operator) -> None:
    """A storming group gets sound values by one write of the Deployment, is quiet after it, and its policy tells so."""
    team = new_team("storm")
    team.deploy(scenario.STORMING)
    watch = GroupWatch(team.sandbox.kafka.request_log, team.name)
    config_map_before = team.get("configmaps", team.name)
    began_s = time.time()

    team.apply_policy(team.name, mode="Apply")
    applied = team.await_condition("Applied", "Applied", status="True", timeout_s=150)
    team.await_available(team.name)
    storm = watch.measure(began_s)
    time.sleep(SETTLING_S)
    quiet_since_s = time.time()
    time.sleep(QUIET_S)
    quiet = watch.measure(quiet_since_s)

    assert storm.rebalances >= 3
    assert (quiet.rebalances, quiet.refused) == (0, 0)
    assert quiet.accepted > 0
    assert CURE.items() <= team.env().items()
    owners = owned_entries(team)
    assert all(owners[f'k:{{"name":"{name}"}}'] == {"heartbeat-tuner Apply"} for name in CURE)
    status = team.status()
    assert status["applied"]["values"] == {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}
    assert status["applied"]["previous"] == {"sessionTimeout": "1s", "heartbeatInterval": "333ms", "fetchWait": "5s"}
    assert "sessionTimeout 1s → 30s, heartbeatInterval 333ms → 1s, fetchWait 5s → 1s" in applied["message"]
    assert {("Warning", "CadenceExceedsSession"), ("Normal", "RollingOut"), ("Normal", "Applied")} <= {
        (kind, reason) for kind, reason, _ in team.events()
    }
    await_cycles(operator, 1)
    # A write that a changed resourceVersion refused would be no harm.
    assert [write.code for write in team.operator_writes("deployments")].count(200) == 1
    assert not team.operator_writes("configmaps")
    assert team.get("configmaps", team.name)["metadata"] == config_map_before["metadata"]
