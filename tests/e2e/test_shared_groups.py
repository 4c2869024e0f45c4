"""Two Deployments of one group: with a policy each a conflict is named; with one policy one is written after the other.

The pods of the first have to stay ready for a minute before the second is written. So the one policy goes on beside the
two, and both are one test: in any other order each would wait by itself.
"""

import json
import time
from datetime import datetime, timedelta
from typing import Any

import pytest

from sandbox import consumers, scenario
from sandbox.processes import wait_until
from sandbox.scenario import ConsumerSettings, Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import AUDIT_LAG_S
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(200), pytest.mark.usefixtures("operator")]

# Members are removed before each beat, and are there for most of the time: the broker shows them to the operator.
STORMING = ConsumerSettings(session_timeout_ms=4_000, heartbeat_interval_ms=333, fetch_wait_ms=5_000)
VARIABLE = "KAFKA_SESSION_TIMEOUT_MS"
FLOOR: dict[str, Any] = {"sessionTimeout": {"min": "40s"}}


def sessions(team: Team, names: tuple[str, str]) -> list[str | None]:
    """Return the session timeout that each Deployment's own env sets; None where it sets none."""
    shown = []
    for name in names:
        entries = team.get("deployments", name)["spec"]["template"]["spec"]["containers"][0]["env"]
        shown.append({entry["name"]: entry.get("value") for entry in entries}.get(VARIABLE))
    return shown


def deploy_two(team: Team, *, dies_with: str = "") -> tuple[str, str]:
    """Deploy two Deployments of one pod each in one stormy group; return their names.

    Args:
        team: whose.
        dies_with: a session timeout with which the second does not start.
    """
    first, second = team.name, f"{team.name}-second"
    team.sandbox.kafka.create_topic(first, scenario.PARTITIONS)
    manifest = team.consumer_manifest(second, STORMING).replace(f'value: "{second}"', f'value: "{first}"')
    command = consumers.kafkajs_command()
    dying = ["sh", "-c", f'[ "${VARIABLE}" = "{dies_with}" ] && exit 7; exec "$@"', "sh", *command]
    manifest = manifest.replace(json.dumps(command), json.dumps(dying) if dies_with else json.dumps(command))
    for text in (team.manifest(STORMING, replicas=1), manifest.replace("replicas: 3", "replicas: 1")):
        team.apply(text)
    return first, second


def test_two_deployments_of_a_group_are_written_one_after_the_other(new_team: NewTeam, operator: Operator) -> None:
    """Whether each has a policy, or both have one."""
    several = new_team("several")
    refs = [{"name": name, "container": "app"} for name in deploy_two(several, dies_with="30000")]
    several.apply_policy_spec(mode="Apply", workloadRef=None, workloadRefs=refs)
    two_policies_agree(new_team("shared"), operator)
    one_policy_goes_on(several, operator)


def two_policies_agree(team: Team, operator: Operator) -> None:
    """Each names the other and both values; with the same bounds one rollout begins after the other."""
    first, second = names = deploy_two(team)
    workload = {"name": second, "container": "app"}

    team.apply_policy_spec(first, mode="Apply")
    team.apply_policy_spec(second, mode="Apply", workloadRef=workload, bounds=FLOOR)
    conflicts = [team.await_condition("Applied", "Conflict", name=name, status="False") for name in names]
    assert [team.namespace in conflict["message"] for conflict in conflicts] == [True, True]
    assert (
        f"this policy wants sessionTimeout 30s, policy {team.namespace}/{second} wants sessionTimeout 40s"
        in conflicts[0]["message"]
    )
    assert f"policy {team.namespace}/{first} wants sessionTimeout 30s" in conflicts[1]["message"]
    assert sessions(team, names) == [None, None]

    team.apply_policy_spec(first, mode="Apply", bounds=FLOOR)
    wait_until(lambda: sessions(team, names).count("40000") == 1, part=first, what="a write", process=operator.process)
    begun = sessions(team, names).index("40000")
    waits = team.await_condition("Applied", "RolloutInProgress", name=names[1 - begun], status="False")
    assert f"Deployment {team.namespace}/{names[begun]} (policy {team.namespace}/{names[begun]})" in waits["message"]
    wait_until(lambda: sessions(team, names) == ["40000"] * 2, part=first, what="both writes", timeout_s=90)

    time.sleep(AUDIT_LAG_S)
    assert [write.code for write in team.operator_writes("deployments")].count(200) == 2


def one_policy_goes_on(several: Team, operator: Operator) -> None:
    """The second gets the values when the pod of the first has stayed ready with them for a minute; it dies of them.

    So both get back what they had before, the second first.
    """
    first, second = names = (several.name, f"{several.name}-second")
    wait_until(lambda: sessions(several, names)[0] == "30000", part=first, what="a write", process=operator.process)
    wait_until(lambda: sessions(several, names) == ["30000"] * 2, part=second, what="both writes", timeout_s=150)

    wait_until(lambda: all("applied" in state for state in workload_states(several).values()), part=second, what="both")
    states = workload_states(several)
    written = {name: datetime.fromisoformat(state["applied"]["changeTime"]) for name, state in states.items()}
    ready_since = min(ready_times(several, first), default=written[first])
    assert states[second]["applied"]["startTime"] == states[first]["applied"]["changeTime"]
    assert written[first] < ready_since <= written[second] - timedelta(minutes=1)

    wait_until(lambda: sessions(several, names) == [None] * 2, part=first, what="both reverts", timeout_s=90)
    wait_until(lambda: all(map(is_reverted, workload_states(several).values())), part=first, what="say so")
    back = {name: state["applied"] for name, state in workload_states(several).items()}
    assert [back[name]["revertedChangeTime"] for name in names] == [
        states[name]["applied"]["changeTime"] for name in names
    ]
    assert back[second]["changeTime"] < back[first]["changeTime"]
    assert "code 7" in several.await_condition("Verified", "Reverted", status="False")["message"]

    time.sleep(AUDIT_LAG_S)
    assert [write.code for write in several.operator_writes("deployments")].count(200) == 4


def workload_states(team: Team) -> dict[str, Any]:
    """Return what the team's policy shows of each workload, by name."""
    return {state["name"]: state for state in team.status()["workloads"]}


def is_reverted(state: dict[str, Any]) -> bool:
    """Whether a workload's last change, as the status shows it, took another one back."""
    return "revertedChangeTime" in state["applied"]


def ready_times(team: Team, name: str) -> list[datetime]:
    """Return since when the pods of a Deployment's newest template have been ready."""
    times = []
    for pod in team.get("pods", labels=f"app={name}")["items"]:
        conditions = {condition["type"]: condition for condition in pod["status"]["conditions"]}
        if "deletionTimestamp" not in pod["metadata"] and conditions["Ready"]["status"] == "True":
            times.append(datetime.fromisoformat(conditions["Ready"]["lastTransitionTime"]))
    return times
