import time
from typing import Any

import pytest

from sandbox import scenario
from sandbox.scenario import ConsumerSettings
from tests.e2e.conftest import NewTeam

pytestmark = [pytest.mark.timeout(200), pytest.mark.usefixtures("operator")]

CREATION_TIME_STEP_S = 1.1


def test_policy_waits_for_workload_and_group(new_team: NewTeam) -> None:
    """A policy that comes first names what is missing, one after the other, and is ready when all is there."""
    team = new_team("early")
    team.apply_policy_spec()

    workload = team.await_condition("Ready", "WorkloadNotFound", status="False")
    team.deploy(scenario.HEALTHY, replicas=0)
    group = team.await_condition("Ready", "GroupNotOwned", status="False")
    team.apply(team.manifest(scenario.HEALTHY))
    team.await_condition("Ready", "Watching", status="True")
    team.await_condition("MetricsAvailable", "Fresh", status="True")

    assert workload["message"] == f"Deployment {team.name}/{team.name} does not exist"
    assert group["message"].startswith(f"Deployment {team.name}/{team.name} has no running pod")


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        (
            {"workloadRef": {"name": "idle", "container": "sidecar"}},
            "ContainerNotFound",
            "no container sidecar; it has app",
        ),
        ({"clusterRef": "elsewhere"}, "ClusterNotConfigured", "clusterRef 'elsewhere' names no Kafka cluster"),
    ],
)
def test_wrong_name_is_told_and_can_be_mended(
    new_team: NewTeam, changes: dict[str, Any], reason: str, words: str
) -> None:
    """A policy that names what is not there says which name is wrong, and goes on as soon as it is right."""
    team = new_team("misnamed")
    team.deploy(scenario.HEALTHY, replicas=0)
    if "workloadRef" in changes:
        changes = {"workloadRef": {**changes["workloadRef"], "name": team.name}}

    team.apply_policy_spec(**changes)
    found = team.await_condition("Ready", reason, status="False")
    team.apply_policy_spec()
    team.await_condition("Ready", "GroupNotOwned", status="False")

    assert words in found["message"]


def test_younger_of_two_policies_yields(new_team: NewTeam) -> None:
    """Of two policies for one container the older one holds, and the younger takes over once that is deleted."""
    team = new_team("rivals")
    team.apply_policy_spec("z-older")
    time.sleep(CREATION_TIME_STEP_S)
    team.apply_policy_spec("a-younger")

    found = team.await_condition("Ready", "Conflict", name="a-younger", status="False")
    older = team.await_condition("Ready", "WorkloadNotFound", name="z-older")
    team.kubectl("delete", "cgp", "z-older", f"--namespace={team.namespace}")
    team.await_condition("Ready", "WorkloadNotFound", name="a-younger")

    assert f"policy {team.namespace}/z-older is older" in found["message"]
    assert older["status"] == "False"


def test_unreadable_value_is_named(new_team: NewTeam) -> None:
    """A value that is no number of milliseconds is told with container, variable and value, and can be corrected."""
    team = new_team("unreadable")
    settings = ConsumerSettings(session_timeout_ms=30_000, heartbeat_interval_ms=4_321, fetch_wait_ms=1_000)
    manifest = team.manifest(settings, replicas=0)
    team.sandbox.kafka.create_topic(team.name, scenario.PARTITIONS)
    team.apply(manifest.replace('"4321"', '"4s"'))
    team.apply_policy_spec()

    found = team.await_condition("Ready", "SettingUnreadable", status="False")
    team.apply(manifest)
    team.await_condition("Ready", "GroupNotOwned", status="False")

    assert "container app has KAFKA_HEARTBEAT_INTERVAL_MS='4s'" in found["message"]
    assert "spec.client.env" in found["message"]
