"""Promises of the security page that no other test shows: what accounts may read, what pods are, what names do."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from sandbox.scenario import Operator
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import Operators, await_cycles
from tests.e2e.releases import NAME, NAMESPACE, Release
from tests.hostile.stolen import Thief

pytestmark = pytest.mark.timeout(300)

EVERYTHING: Final = {"webhook": {"enabled": True}, "fitting": {"enabled": True}}
API: Final = "/apis/heartbeat-tuner.dev/v1alpha1"
INJECTED: Final = 'x"} 1 heartbeat_tuner_leader{forged="yes\\'


@pytest.fixture
def release(sandbox: Sandbox, operators: Operators, tmp_path: Path) -> Iterator[Release]:
    """The chart with everything on."""
    operators.stop()
    with Release(sandbox, tmp_path, EVERYTHING) as installed:
        yield installed


@pytest.fixture
def restricted(sandbox: Sandbox) -> Iterator[str]:
    """A namespace in which only restricted pods may run."""
    name, kubectl = f"restricted-{uuid.uuid4().hex[:8]}", sandbox.control_plane.kubectl
    kubectl("create", "namespace", name)
    kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def test_accounts_read_no_secrets_and_the_fit_writes_models_only(sandbox: Sandbox, release: Release) -> None:
    """By what the API server answers to each token."""
    secrets, pods = f"/api/v1/namespaces/{NAMESPACE}/secrets", f"/api/v1/namespaces/{NAMESPACE}/pods"
    deployments = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    for account in (NAME, f"{NAME}-webhook", f"{NAME}-fit"):
        thief = Thief(sandbox.control_plane, release.token(account))
        assert thief.does("GET", f"{secrets}/somebody-elses").forbidden
        assert thief.does("GET", secrets).forbidden
        assert thief.does("GET", "/api/v1/secrets").forbidden
        if account.endswith("-fit"):
            assert thief.does("GET", f"{API}/consumergroupmodels").done
            assert all(thief.does("GET", path).forbidden for path in (pods, deployments))
            assert thief.merges(f"{deployments}/any", {"spec": {"replicas": 0}}).forbidden
            assert thief.does("DELETE", f"{API}/namespaces/{NAMESPACE}/consumergroupmodels/any").forbidden
        thief.close()


def test_the_charts_pods_are_restricted(sandbox: Sandbox, restricted: str, release: Release) -> None:
    """The API server itself would run each of them where only restricted pods may; one that is not, it refuses."""
    templates = [item["spec"]["template"] for item in release.rendered.objects if item["kind"] == "Deployment"]
    templates += [
        item["spec"]["jobTemplate"]["spec"]["template"]
        for item in release.rendered.objects
        if item["kind"] == "CronJob"
    ]
    assert len(templates) == 3
    for number, template in enumerate(templates):
        pod = json.loads(json.dumps({"apiVersion": "v1", "kind": "Pod", **template}))
        pod["metadata"]["name"] = f"pod-{number}"
        pod["spec"].pop("serviceAccountName", None)
        _dry_run(sandbox, restricted, pod)
        for container in pod["spec"]["containers"]:
            container["securityContext"] = {"allowPrivilegeEscalation": True}
        with pytest.raises(SandboxError, match="violates PodSecurity"):
            _dry_run(sandbox, restricted, pod)


def test_a_group_id_makes_up_no_series(new_team: NewTeam, operator: Operator) -> None:
    """A line break is refused at `kubectl apply`; quotes and backslashes are escaped, and stay what they are."""
    team = new_team("injecting")
    with pytest.raises(SandboxError, match="groupId must not hold control or replacement characters"):
        team.apply_policy_spec(groupId=f"{INJECTED}\n")
    team.apply_policy_spec(groupId=INJECTED)
    wait_until(lambda: bool(team.status().get("verdict")), part="operator", what="the policy's status", poll_s=0.4)
    await_cycles(operator, 2)
    samples = [
        sample for family in text_string_to_metric_families(operator.page("/metrics")) for sample in family.samples
    ]
    assert {
        sample.labels["group"]
        for sample in samples
        if sample.labels.get("policy") == team.name and "group" in sample.labels
    } == {INJECTED}
    assert [sample.labels for sample in samples if sample.name == "heartbeat_tuner_leader"] == [{}]


def _dry_run(sandbox: Sandbox, namespace: str, pod: dict[str, Any]) -> None:
    answer = sandbox.control_plane.kubectl(
        *("apply", f"--namespace={namespace}", "--dry-run=server", "--filename=-"), stdin=json.dumps(pod)
    )
    assert "created" in answer
