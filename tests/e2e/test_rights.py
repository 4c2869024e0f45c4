"""Operator, webhook and fit with exactly the chart's rights: none is missing, and none is there that nothing uses."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from bench import fit_world
from sandbox import audit, scenario
from sandbox.binaries import Binaries
from sandbox.environment import Sandbox
from sandbox.fleet import KAFKAJS, fleet
from sandbox.processes import wait_until
from sandbox.prometheus import Prometheus
from tests.e2e import rights
from tests.e2e.conftest import NewTeam
from tests.e2e.idle_pods import ENDS_AT_ONCE, STAYS, await_slots, enrol, pods_that, slots
from tests.e2e.operators import AUDIT_LAG_S, Operators
from tests.e2e.releases import NAMESPACE, Release
from tests.e2e.rights import Right
from tests.e2e.teams import Team
from tests.support import java

pytestmark = pytest.mark.timeout(900)

EVERYTHING: Final = {"operator": {"interval": "1s"}, "webhook": {"enabled": True}, "fitting": {"enabled": True}}
LATE_S: Final = 150.0
"""A slot that is left over keeps its Lease while its last holder's session may last: a minute, and the looks."""


@pytest.fixture
def _quick_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let Spark's Java start quickly, as in the ring spark."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", java.options(tmp_path))


@pytest.fixture
def release(sandbox: Sandbox, operators: Operators, tmp_path: Path) -> Iterator[Release]:
    """The chart with everything on; no other operator acts meanwhile."""
    operators.stop()
    with Release(sandbox, tmp_path, EVERYTHING) as installed:
        yield installed


@pytest.fixture
def remembering(new_team: NewTeam, tmp_path: Path) -> Iterator[tuple[Team, Prometheus]]:
    """A Prometheus that has scraped a team's groups for two days."""
    team = new_team("fitted")
    truths = [dataclasses.replace(item, namespace=team.namespace) for item in fleet(4, kafkajs_share=0.5)]
    assert KAFKAJS in {truth.client for truth in truths}
    made = fit_world.history(tmp_path / "history", truths, days=2, interval_s=60)
    with Prometheus(tmp_path, Binaries(), kubeconfig=None, history=made.folder) as started:
        yield team, started


def gated(team: Team) -> list[str]:
    """Return the pods that wait for their slots."""
    return [item["metadata"]["name"] for item in team.get("pods")["items"] if item["spec"].get("schedulingGates")]


def until(condition: Callable[[], bool], what: str, *, timeout_s: float = 90) -> None:
    """Wait for something."""
    wait_until(condition, part="test", what=what, timeout_s=timeout_s, poll_s=0.5)


def give_slots(team: Team) -> None:
    """Have pods claim slots, wait for each other's, and meet a Lease that the webhook had not seen."""
    enrol(team)
    team.apply(pods_that(team, ENDS_AT_ONCE, replicas=2, grace_s=10))
    await_slots(team, 2)
    team.kubectl("rollout", "restart", f"--namespace={team.namespace}", f"deployment/{team.name}")
    team.await_available(team.name, timeout_s=200)
    assert len(slots(team)) == 2

    (lease,) = (item["metadata"] for item in team.get("leases")["items"] if item["metadata"]["name"].endswith("-0"))
    unseen = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": lease["name"].removesuffix("0") + "2"},
        "spec": {},
    }
    team.apply(json.dumps(unseen))
    team.kubectl("scale", f"--namespace={team.namespace}", f"deployment/{team.name}", "--replicas=3")
    team.await_available(team.name)
    team.kubectl("scale", f"--namespace={team.namespace}", f"deployment/{team.name}", "--replicas=1")


def take_the_policy_away_while_a_pod_waits(team: Team) -> None:
    """Its id would be nobody's: it is replaced."""
    enrol(team)
    team.apply(pods_that(team, STAYS, replicas=1, grace_s=60))
    await_slots(team, 1)
    team.kubectl("rollout", "restart", f"--namespace={team.namespace}", f"deployment/{team.name}")
    until(lambda: bool(gated(team)), "a pod that waits")
    (waiting,) = gated(team)
    team.delete_policy()
    until(lambda: waiting not in gated(team), "the end of its waiting")


def break_the_certificate(sandbox: Sandbox) -> None:
    """Leave a Secret that holds no certificate."""
    broken = json.dumps({"data": {"tls.crt": ""}})
    sandbox.control_plane.kubectl(
        *("patch", "secret", "released-webhook", f"--namespace={NAMESPACE}", "--type=merge", f"--patch={broken}")
    )


def stateful(team: Team) -> str:
    """Return the storming consumers as a StatefulSet."""
    text = team.manifest(scenario.STORMING)
    return text.replace("kind: Deployment", "kind: StatefulSet").replace(
        "replicas: 3", f"replicas: 3\n  serviceName: {team.name}\n  podManagementPolicy: Parallel"
    )


@pytest.mark.usefixtures("_quick_java")
def test_every_right_is_used_and_none_is_missing(
    release: Release,
    sandbox: Sandbox,
    new_team: NewTeam,
    remembering: tuple[Team, Prometheus],
) -> None:
    """By the API server's own record of who asked for what, and which role allowed it."""
    log = sandbox.control_plane.audit_log
    before = len(audit.accesses(log))  # of other tests of releases, whose rights were others
    crew, stubborn, deployed, ordinals = map(new_team, ("crew", "stubborn", "deployed", "ordinals"))
    fitted, prometheus = remembering

    with release.webhook() as webhook:
        webhook.await_ready()
        give_slots(crew)
        take_the_policy_away_while_a_pod_waits(stubborn)

        deployed.deploy(scenario.STORMING)
        deployed.apply_policy(deployed.name, mode="Apply")
        sandbox.kafka.create_topic(ordinals.name, scenario.PARTITIONS)
        ordinals.apply(stateful(ordinals))
        reference = {"kind": "StatefulSet", "name": ordinals.name, "container": "app"}
        ordinals.apply_policy_spec(mode="Apply", workloadRef=reference)
        with release.operator() as operator:
            operator.await_lead()
            for since in ("24h", "48h"):
                assert release.fit(prometheus.url, since=since)["models"]["written"] == 4
            deployed.await_rolled_out()
            ordinals.await_rolled_out(kind="statefulset")

        def lease_is_given_up() -> bool:
            asked = rights.used(audit.accesses(log)[before:])
            return any((item.verb, item.resource) == ("delete", "leases") for item in asked)

        until(lease_is_given_up, "the Lease of a slot that is left over to go", timeout_s=LATE_S)
    nowhere = release.webhook(admission={"address": "192.0.2.1", "port": 8443})
    assert "192.0.2.1" in nowhere.last_words()
    ((reason, _),) = release.events_of(nowhere)
    assert reason == "CannotRun"
    break_the_certificate(sandbox)
    with release.webhook() as webhook:
        webhook.await_ready()
    assert fitted.get("consumergroupmodels")["items"]

    def watches_ended() -> bool:
        asked = rights.used(audit.accesses(log)[before:])
        return {item for item in granted if item.verb == "watch"} <= asked

    granted = rights.granted(release.roles())
    until(watches_ended, "the ends of the watches in the log", timeout_s=30 + AUDIT_LAG_S)
    found = audit.accesses(log)[before:]
    unused = [f"not used: {item}" for item in sorted(granted - rights.used(found))]
    wrong = [*(f"refused: {item}" for item in rights.refused(found)), *unused]
    assert not wrong, "\n".join(wrong)
    assert len(granted) > 25


def test_a_right_that_is_missing_or_not_used_shows() -> None:
    """The record of a run that did one of two things, and was refused a third."""
    role = {
        "kind": "Role",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
    }
    get = audit.Access("u", "get", "", "pods", "shop", "a", ("Role", "r"), made=False)
    secret = dataclasses.replace(get, resource="secrets", role=None)
    assert rights.granted([role]) - rights.used([get, secret]) == {Right(("Role", "r"), "list", "pods", "")}
    assert rights.refused([get, secret]) == ["u get secrets"]
