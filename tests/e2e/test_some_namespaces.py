"""An install for some namespaces only: it cures there, and neither asks nor writes elsewhere."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from sandbox import audit, scenario
from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from tests.e2e import rights
from tests.e2e.conftest import NewTeam
from tests.e2e.idle_pods import STAYS, await_slots, enrol, pods_that, slots
from tests.e2e.operators import Operators
from tests.e2e.releases import NAMESPACE, Release
from tests.e2e.teams import Team

pytestmark = pytest.mark.timeout(600)

EVERYTHING: Final = {"operator": {"interval": "1s"}, "webhook": {"enabled": True}, "fitting": {"enabled": True}}


@pytest.fixture
def teams(new_team: NewTeam) -> Sequence[Team]:
    """Two that storm, two whose pods are to have static ids; the second of each is nobody's business here."""
    return [new_team(purpose) for purpose in ("inside", "outside", "crew", "strangers")]


@pytest.fixture
def release(sandbox: Sandbox, operators: Operators, teams: Sequence[Team], tmp_path: Path) -> Iterator[Release]:
    """The chart with everything on, for two of the namespaces."""
    operators.stop()
    inside, _, crew, _ = teams
    values = {**EVERYTHING, "watchNamespaces": [inside.namespace, crew.namespace]}
    with Release(sandbox, tmp_path, values) as installed:
        yield installed


def test_it_cures_there_and_leaves_the_others_alone(release: Release, sandbox: Sandbox, teams: Sequence[Team]) -> None:
    """With Roles in its namespaces and none elsewhere, operator and webhook do all they do."""
    inside, outside, crew, strangers = teams
    before = len(audit.accesses(sandbox.control_plane.audit_log))
    for team in (inside, outside):
        team.deploy(scenario.STORMING)
        team.apply_policy(team.name, mode="Apply")
    for team in (crew, strangers):
        enrol(team)
    with release.webhook() as webhook, release.operator() as operator:
        webhook.await_ready()
        operator.await_lead()
        for team in (crew, strangers):
            team.apply(pods_that(team, STAYS, replicas=2, grace_s=5))
            team.await_available(team.name)
        await_slots(crew, 2)
        inside.await_rolled_out()
        assert inside.env()["KAFKA_SESSION_TIMEOUT_MS"] == "30000"
        crew.kubectl("rollout", "restart", f"--namespace={crew.namespace}", f"deployment/{crew.name}")
        crew.await_available(crew.name, timeout_s=200)
        assert len(slots(crew)) == 2
        wait_until(lambda: "slots" in crew.status(), part="operator", what="the slots in the status", poll_s=0.5)
    assert outside.status() == {}
    assert "KAFKA_SESSION_TIMEOUT_MS" not in outside.env()
    assert slots(strangers) == {}

    wait_until(lambda: bool(watches(sandbox, before)), part="test", what="the ends of the watches", timeout_s=60)
    found = audit.accesses(sandbox.control_plane.audit_log)[before:]
    assert rights.refused(found) == []
    assert ("patch", "pods") in {(item.verb, item.resource) for item in found if item.namespace == crew.namespace}
    assert {item.namespace for item in found} == {inside.namespace, crew.namespace, NAMESPACE, ""}
    everywhere = {(item.verb, item.resource) for item in found if not item.namespace}
    registration = {("get", "mutatingwebhookconfigurations"), ("patch", "mutatingwebhookconfigurations")}
    assert everywhere == {*registration, ("create", "selfsubjectaccessreviews")}


def watches(sandbox: Sandbox, before: int) -> list[audit.Access]:
    """Return the watches of policies that have ended."""
    found = audit.accesses(sandbox.control_plane.audit_log)[before:]
    return [item for item in found if (item.verb, item.resource) == ("watch", "consumergrouppolicies")]


@pytest.mark.parametrize(
    ("namespaces", "sentence"),
    [
        ([], "may not list the ConsumerGroupPolicies of all namespaces; bind its ClusterRole by a ClusterRoleBinding"),
        (["elsewhere"], "of namespace elsewhere, which kubernetes.namespaces names; bind a Role with its rules there"),
    ],
)
def test_rights_that_are_missing_are_told_in_plain_words(
    release: Release, namespaces: Sequence[str], sentence: str
) -> None:
    """One line that names what to bind where, and no traceback; an Event about the pod says the same."""
    operator = release.operator(kubernetes={"namespaces": list(namespaces)})
    said = operator.last_words()
    assert sentence in said
    assert "Traceback" not in said
    ((reason, message),) = release.events_of(operator)
    assert reason == "CannotRun"
    assert sentence in message
