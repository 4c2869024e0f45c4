"""What happens to workloads, policies and the watch on them while the two replicas are well."""

import time
from datetime import UTC, datetime
from typing import Final

import pytest

from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from sandbox.request_proxy import Point
from tests.e2e import steered
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import await_cycles
from tests.e2e.replicas import await_leader
from tests.e2e.steered import Pair
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(240), pytest.mark.faults]

CYCLES: Final = 3
CREATION_TIME_STEP_S: Final = 1.1
"""Creation times are whole seconds; of two policies of one second the name would decide."""


def test_a_deployment_made_anew_and_its_namespace_deleted(pair: Pair, new_team: NewTeam) -> None:
    """What was written to another object of that name counts for nothing, and what is gone is not written."""
    leader, _ = pair.roles()
    team = new_team("anew")
    team.deploy(scenario.STORMING, replicas=1)
    began = datetime.now(UTC)
    written = leader.requests.hold("PATCH", steered.deployment_path(team), Point.AFTER)
    team.apply_policy(team.name, mode="Apply")
    written.await_caught()
    team.kubectl("delete", "deployment", team.name, f"--namespace={team.namespace}")
    team.apply(team.manifest(scenario.STORMING, replicas=1))
    sent = leader.requests.hold("PATCH", steered.deployment_path(team))
    written.release()

    sent.await_caught(timeout_s=90)  # within the cooldown of the old one
    leader.requests.refuse("PATCH", steered.deployment_path(team), 503)  # else the next cycle would be in time
    team.delete()
    wait_until(lambda: not team.get("deployments")["items"], part=team.name, what="the Deployment's end")
    sent.release()
    await_cycles(leader.operator, CYCLES)
    assert [code for _, code in steered.applies(team, since=began)] in ([200, 404], [200, 409])
    assert leader.operator.leads()


def test_the_younger_of_two_policies_waits(pair: Pair, storm: Team) -> None:
    """Of two policies for one container the older holds; when it is deleted, the other one takes over."""
    leader, _ = pair.roles()
    began = datetime.now(UTC)
    time.sleep(CREATION_TIME_STEP_S)
    storm.apply_policy_spec("rival", mode="Apply")
    found = storm.await_condition("Ready", "Conflict", name="rival", status="False")
    assert f"policy {storm.namespace}/{storm.name} is older" in found["message"]
    await_cycles(leader.operator, CYCLES)
    assert steered.applies(storm, since=began) == []

    storm.delete_policy()
    wait_until(lambda: "applied" in storm.status("rival"), part=storm.name, what="the rival's apply", timeout_s=30)
    assert steered.applies(storm, since=began) == [(leader.operator.user, 200)]


def test_a_rollout_that_never_ends(pair: Pair, storm: Team) -> None:
    """New pods that cannot start leave the old ones running; the operator waits and writes nothing more."""
    leader, _ = pair.roles()
    before, began = storm.pods(), datetime.now(UTC)
    steered.switch_to_apply(storm)
    storm.await_condition("Applied", "RollingOut", status="False")
    await_cycles(leader.operator, CYCLES)
    assert steered.applies(storm, since=began) == [(leader.operator.user, 200)]
    assert "being replaced" in storm.await_condition("Applied", "RollingOut", status="False")["message"]
    assert storm.pods() == before


def test_a_deployment_scaled_to_zero(pair: Pair, storm: Team) -> None:
    """Without pods nothing is decided, whatever the metrics still say; with pods again the record begins again."""
    leader, _ = pair.roles()
    began = datetime.now(UTC)
    storm.kubectl("scale", f"deployment/{storm.name}", "--replicas=0", f"--namespace={storm.namespace}")
    try:
        wait_until(lambda: not storm.pods(), part=storm.name, what="the pods' end")
        await_cycles(leader.operator, 1)
        steered.switch_to_apply(storm)
        await_cycles(leader.operator, CYCLES)
        status = storm.status()
        assert (status["verdict"], status["reason"]) == ("Unknown", "TooLittleData")
        assert steered.applies(storm, since=began) == []
    finally:
        storm.kubectl("scale", f"deployment/{storm.name}", "--replicas=3", f"--namespace={storm.namespace}")
    steered.await_applied(storm)
    assert steered.applies(storm, since=began) == [(leader.operator.user, 200)]


def test_a_silent_watch_and_a_new_leader(pair: Pair, plain: Team) -> None:
    """Who begins to lead lists first: it acts on what is there, though its own watch has told it nothing of it."""
    leader, follower = pair.roles()
    for item in pair.both:
        item.requests.silence_watches()
    plain.apply_policy_spec("unseen")
    plain.delete_policy()
    await_cycles(leader.operator, CYCLES)
    assert plain.status("unseen") == {}

    leader.operator.process.kill()
    await_leader(follower.operator)
    plain.await_condition("Ready", "WorkloadNotFound", name="unseen")  # else it would wait for the older one's end
    assert "list ahead of watch" in follower.operator.log.read_text()


def test_a_deletion_that_a_restarted_api_server_does_not_show(pair: Pair, plain: Team, sandbox: Sandbox) -> None:
    """It has no events of the time before, so the watch begins again with what there is; a list shows what is not.

    Soon, not when the regular one comes after five minutes.
    """
    leader, follower = pair.roles()
    plain.apply_policy_spec("deleted")
    wait_until(lambda: plain.status("deleted") != {}, part=plain.name, what="the policy's status", timeout_s=60)
    follower.wire.cut()  # it must not lead meanwhile: who begins to lead lists anyway
    plain.kubectl("delete", "cgp", "deleted", f"--namespace={plain.namespace}")
    sandbox.control_plane.restart_api_server()
    await_leader(leader.operator)
    follower.wire.heal()

    def is_forgotten() -> bool:
        lines = follower.operator.log.read_text().splitlines()
        return any("list ahead of watch" in line and f"{plain.namespace}/deleted" in line for line in lines)

    wait_until(is_forgotten, part=follower.operator.user, what="a list that shows the deletion", timeout_s=60)
    assert leader.operator.leads()
