"""A policy that names another tenant's object: refused by the definition, and harmless where it was stored before."""

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml

from heartbeat_tuner.api import crd
from sandbox.control_plane import ControlPlane
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.teams import Team, policy_document

pytestmark = [pytest.mark.timeout(400), pytest.mark.row("B1")]

PIN: Final = "4242"
"""What the victim has in a variable."""


def evil(victim: str) -> dict[str, dict[str, Any]]:
    """Return changes of a policy's spec that name something of a victim's, each in another field."""
    reference = {"name": "mine", "container": "app"}
    client = {"library": "kafkajs"}
    return {
        "spec.workloadRef.name": {"workloadRef": {**reference, "name": f"../../{victim}/deployments/payments"}},
        "spec.workloadRef.container": {"workloadRef": {**reference, "container": "../app"}},
        "spec.workloadRef.kind": {"workloadRef": {**reference, "kind": "Secret"}},
        "spec.clusterRef": {"clusterRef": "evil:9092/"},
        "spec.client.env.sessionTimeout.name": {"client": {**client, "env": {"sessionTimeout": {"name": "A B/C"}}}},
    }


def document(team: Team, changes: dict[str, Any], name: str = "") -> str:
    """Return a policy with these changes."""
    policy = copy.deepcopy(policy_document(team.name))
    policy["metadata"] |= {"name": name or team.name, "namespace": team.namespace}
    policy["spec"] |= changes
    return json.dumps(policy)


def test_the_definition_refuses_what_is_no_name(new_team: NewTeam) -> None:
    """At `kubectl apply`, with a sentence that says what a name is."""
    team = new_team("paths")
    for field, changes in evil("victim").items():
        with pytest.raises(SandboxError) as refused:
            team.apply(document(team, changes))
        assert field in str(refused.value)
        assert "must be" in str(refused.value) or "Unsupported value" in str(refused.value)


def test_the_definitions_are_structural(sandbox: Sandbox) -> None:
    """The API server has nothing to say against any of them."""
    found = json.loads(sandbox.control_plane.kubectl("get", "crd", "--output=json"))["items"]
    names = {f"{kind.plural}.heartbeat-tuner.dev" for kind in crd.KINDS}
    conditions = {
        (item["metadata"]["name"], condition["type"])
        for item in found
        if item["metadata"]["name"] in names
        for condition in item["status"]["conditions"]
        if condition["status"] == "True"
    }
    assert conditions == {(name, kind) for name in names for kind in ("Established", "NamesAccepted")}


@contextlib.contextmanager
def as_before(control_plane: ControlPlane) -> Iterator[None]:
    """Have the definition of policies as it was before there were rules; the right one afterwards."""
    old = yaml.safe_load(crd.to_yaml(crd.POLICY))
    _without_rules(old)
    control_plane.kubectl("replace", "--filename=-", stdin=json.dumps(_current(control_plane, old)))
    try:
        yield
    finally:
        right = _current(control_plane, crd.manifest(crd.POLICY))
        control_plane.kubectl("replace", "--filename=-", stdin=json.dumps(right))


def _current(control_plane: ControlPlane, definition: dict[str, Any]) -> dict[str, Any]:
    name = definition["metadata"]["name"]
    stored = json.loads(control_plane.kubectl("get", "crd", name, "--output=json"))
    return {**stored, "spec": {**definition["spec"], "conversion": stored["spec"]["conversion"]}}


def _without_rules(node: Any) -> None:
    if isinstance(node, dict):
        node.pop("x-kubernetes-validations", None)
        for child in node.values():
            _without_rules(child)
    elif isinstance(node, list):
        for child in node:
            _without_rules(child)


def test_one_that_was_stored_before_reads_nobody_elses_object(
    operator: Operator, new_team: NewTeam, sandbox: Sandbox
) -> None:
    """It becomes InvalidPolicy with field, value, rule and fix, also under the new definition; nothing is shown."""
    attacker, victim = new_team("attacker"), new_team("victim")
    victim.apply(payments())
    changes = {
        **evil(victim.namespace)["spec.workloadRef.name"],
        "client": {"library": "kafkajs", "env": {"sessionTimeout": {"name": "PIN"}}},
        "mode": "Apply",
    }
    changes["workloadRef"]["container"] = "vault"
    with as_before(sandbox.control_plane):
        wait_until(lambda: _taken(attacker, changes), part="test", what="a definition without rules", poll_s=0.3)
    found = attacker.await_condition("Ready", "InvalidPolicy", status="False", timeout_s=60)
    assert "spec.workloadRef.name: must be the name of an object in the policy's namespace" in found["message"]
    assert "value: '../../" in found["message"]
    said = json.dumps(attacker.status())
    assert PIN not in said
    assert "vault" not in said
    assert operator.process.alive()


def payments() -> str:
    """Return the victim's Deployment, which nothing runs."""
    container = {"name": "vault", "image": "none", "env": [{"name": "PIN", "value": PIN}]}
    labels = {"app": "payments"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "payments"}, "spec": spec})


def _taken(team: Team, changes: dict[str, Any]) -> bool:
    try:
        team.apply(document(team, changes))
    except SandboxError:
        return False
    return True
