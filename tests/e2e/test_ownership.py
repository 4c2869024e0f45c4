from dataclasses import dataclass

import pytest

from sandbox import scenario
from sandbox.demo.measuring import GroupWatch
from sandbox.scenario import Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import await_cycles
from tests.e2e.teams import Team

pytestmark = pytest.mark.timeout(300)

STORMING_ENTRIES = {
    "KAFKA_SESSION_TIMEOUT_MS": "1000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "333",
    "KAFKA_MAX_WAIT_TIME_MS": "5000",
}


@dataclass(frozen=True)
class Manager:
    """Somebody who applies manifests."""

    name: str
    flags: tuple[str, ...]

    def apply(self, team: Team, manifest: str) -> None:
        """Apply a manifest in the team's namespace."""
        team.kubectl("apply", *self.flags, f"--namespace={team.namespace}", "--filename=-", stdin=manifest)


GITOPS = Manager("gitops", ("--server-side", "--field-manager=gitops"))
KUBECTL = Manager("kubectl-client-side-apply", ())


@pytest.mark.parametrize("manager", [GITOPS, KUBECTL], ids=lambda manager: manager.name)
def test_entries_of_somebody_else_are_not_forced(new_team: NewTeam, operator: Operator, manager: Manager) -> None:
    """Literal entries of another manager are left alone and told; once they are gone, the storm is cured."""
    team = new_team("owned")
    manifest = team.manifest(scenario.STORMING)
    lines = "".join(f'\n            - {{name: {name}, value: "{value}"}}' for name, value in STORMING_ENTRIES.items())
    team.sandbox.kafka.create_topic(team.name, scenario.PARTITIONS)
    manager.apply(team, manifest.replace("\n          env:", f"\n          env:{lines}"))
    team.await_available(team.name)
    watch = GroupWatch(team.sandbox.kafka.request_log, team.name)
    team.apply_policy(team.name, mode="Apply")

    found = team.await_condition("Applied", "FieldOwned", status="False")
    await_cycles(operator, 3)
    assert all(name in found["message"] for name in STORMING_ENTRIES)
    assert manager.name in found["message"]
    assert "Take out of the manifest's env: {name: KAFKA_SESSION_TIMEOUT_MS, value: " in found["message"]
    assert not team.operator_writes("deployments")
    assert STORMING_ENTRIES.items() <= team.env().items()
    assert watch.measure(0).rebalances >= 3

    manager.apply(team, manifest)
    assert not STORMING_ENTRIES.keys() & team.env().keys()
    team.await_rolled_out()
    assert team.env()["KAFKA_SESSION_TIMEOUT_MS"] == "30000"
