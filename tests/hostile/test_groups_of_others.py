"""Row B7: a policy may name anybody's Kafka group, and is shown nothing of it."""

import json
import re
from datetime import UTC, datetime

import pytest

from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.scenario import Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.idle_pods import ENDS_AT_ONCE, pods_that
from tests.e2e.operators import INTERVAL_S, Operators, await_cycles
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(240), pytest.mark.row("B7")]

NO_SUCH_GROUP = "nobody-s-group"


def spies(new_team: NewTeam, *groups: str) -> Team:
    """Return a team that has, for each of these groups, a pod that consumes nothing, and a policy for both."""
    team = new_team("mallory")
    for group in groups:
        deployment = json.loads(pods_that(team, ENDS_AT_ONCE, replicas=1, grace_s=1))
        deployment["metadata"]["name"] = group
        deployment["spec"]["selector"]["matchLabels"] = {"app": group}
        deployment["spec"]["template"]["metadata"]["labels"] = {"app": group}
        team.apply(json.dumps(deployment))
        team.apply_policy_spec(group, groupId=group, workloadRef={"name": group, "container": "app"}, mode="Apply")
    return team


def seen(team: Team, operator: Operator, group: str) -> list[str]:
    """Return all that can be read of a policy: status, Events and metrics, with neither its name nor times."""
    status = json.dumps(team.status(group), sort_keys=True)
    items = team.get("events")["items"]
    events = [
        f"{item['reason']}: {item['message']}"
        for item in items
        if item["involvedObject"].get("kind", "").startswith("Cons")
        if item["involvedObject"]["name"] == group
    ]
    mine = (f'namespace="{team.namespace}"', f'policy="{group}"')
    page = [line for line in operator.page("/metrics").splitlines() if all(item in line for item in mine)]
    text = [re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME", event) for event in (status, *sorted(set(events)), *page)]
    return [item.replace(group, "GROUP") for item in text]


def test_nobody_is_shown_anothers_group(storming: Team, new_team: NewTeam, operator: Operator) -> None:
    """A storm and a group that does not exist look the same to who has no part in them; a forged note changes nothing.

    The group's own namespace sees it all the while.
    """
    mallory = spies(new_team, storming.name, NO_SUCH_GROUP)
    storming.apply_policy(storming.name, mode="Recommend")
    for group in (storming.name, NO_SUCH_GROUP):
        mallory.await_available(group)
    try:
        for group in (storming.name, NO_SUCH_GROUP):
            found = mallory.await_condition("Ready", "GroupNotOwned", name=group, status="False")
            assert f"no member of group {group} is seen to connect from a pod of Deployment" in found["message"]
        storming.await_condition("Ready", "Watching", status="True")
        assert storming.status()["groupOwnership"]["groupId"] == storming.name
        await_cycles(operator, 3)
        found_of_it = seen(mallory, operator, storming.name)
        assert found_of_it == seen(mallory, operator, NO_SUCH_GROUP)
        assert len(found_of_it) > 2
        assert set(mallory.status(storming.name)) == {
            "conditions",
            "installation",
            "observedGeneration",
            "reason",
            "verdict",
        }

        forge(mallory, storming)
        began = datetime.now(UTC)
        await_cycles(operator, 3)
        assert scenario.condition(mallory.policy(storming.name), "Ready")["reason"] == "GroupNotOwned"
        assert not {"groupProtocol", "recommendation", "summary"} & set(mallory.status(storming.name))
        assert mallory.operator_writes("deployments", since=began) == []
    finally:
        storming.delete_policy()


def forge(team: Team, victim: Team) -> None:
    """Write the note into the status by which the operator knows groups whose consumers are gone."""
    note = {
        "clusterRef": "main",
        "groupId": victim.name,
        "workloadUid": team.get("deployments", victim.name)["metadata"]["uid"],
        "proofTime": "2026-01-01T00:00:00Z",
    }
    team.kubectl(
        *("patch", "cgp", victim.name, f"--namespace={team.namespace}", "--subresource=status", "--type=merge"),
        *("--patch", json.dumps({"status": {"groupOwnership": note}})),
    )


def test_the_next_leader_shows_what_is_granted_or_noted(
    sandbox: Sandbox, storming: Team, new_team: NewTeam, operators: Operators
) -> None:
    """Whoever runs the operator grants a group to a namespace, and no other gains by it.

    A workload that was scaled to zero keeps its group, though this leader has seen none of its members.
    """
    operators.get()
    resting = new_team("resting")
    resting.apply_policy_spec()
    resting.deploy(scenario.HEALTHY, replicas=1)
    resting.await_condition("Ready", "Watching", status="True")
    resting.apply(resting.manifest(scenario.HEALTHY, replicas=0))
    operators.stop()
    mallory, partner = spies(new_team, storming.name), spies(new_team, storming.name)
    grants = [{"namespaces": [partner.namespace], "groups": [f"{storming.name[:-1]}*"]}]
    resting.await_available(resting.name)
    with Operator(sandbox, interval_s=INTERVAL_S, grants=grants) as operator:
        partner.await_condition("Ready", "Watching", name=storming.name, status="True")
        mallory.await_condition("Ready", "GroupNotOwned", name=storming.name, status="False")
        await_cycles(operator, 2)
        resting.await_condition("Ready", "Watching", status="True")
        assert "groupOwnership" not in partner.status(storming.name)
