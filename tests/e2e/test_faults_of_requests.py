"""What the API server answers the two replicas: it sends them away, fails, refuses a stale view or a right."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from sandbox import audit, scenario
from sandbox.environment import Sandbox
from sandbox.processes import Process, wait_until
from tests.e2e import fairness, steered
from tests.e2e.conftest import NewTeam
from tests.e2e.fairness import NoSeats
from tests.e2e.operators import await_cycles
from tests.e2e.replicas import await_status, edit
from tests.e2e.steered import Pair
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(240), pytest.mark.faults]

OUTAGE_S: Final = 2.0
REQUESTS_PER_S: Final = 30.0
"""More would be a tight loop: at rest a leader makes about ten, and twenty where writes are refused, every 0.5 s."""


@pytest.fixture
def no_seats(sandbox: Sandbox) -> Iterator[NoSeats]:
    """Sends the operators away, until the test's end at the latest."""
    seats = NoSeats(sandbox)
    yield seats
    seats.give_back()


def test_429_for_everything(pair: Pair, plain: Team, no_seats: NoSeats) -> None:
    """An API server that sends everybody away is asked no oftener than before, and goes unheard for no longer."""
    await_status(plain)
    no_seats.take(["*"], ["*"])
    for item in pair.both:
        steered.await_unready(item)
        assert steered.requests_per_s(item, for_s=OUTAGE_S) < REQUESTS_PER_S
    edit(plain, 1)
    no_seats.give_back()
    pair.await_leader()
    await_status(plain, timeout_s=60)


def test_429_for_writes(pair: Pair, storm: Team, no_seats: NoSeats) -> None:
    """Writes that are sent away are tried again once in a cycle, and the first that is let through is the last."""
    leader, _ = pair.roles()
    began = datetime.now(UTC)
    no_seats.take(["patch", "update"], ["deployments", fairness.STATUS])
    steered.switch_to_apply(storm)
    wait_until(lambda: refused_statuses(storm, 429, since=began) >= 2, part="operators", what="429 twice")
    assert steered.requests_per_s(leader, for_s=OUTAGE_S) < REQUESTS_PER_S
    assert leader.operator.answers("/readyz")
    no_seats.give_back()
    steered.await_applied(storm)
    assert [code for _, code in steered.applies(storm, since=began) if code != 429] == [200]


def refused_statuses(team: Team, status: int, *, since: datetime) -> int:
    """Return how many tries to write the policy's status were answered so: each write is announced there first."""
    tries = audit.writes(team.sandbox.control_plane.audit_log, since=since)
    return [try_.code for try_ in tries if (try_.namespace, try_.subresource) == (team.namespace, "status")].count(
        status
    )


@pytest.mark.parametrize("status", [500, 503])
def test_5xx_for_writes(pair: Pair, storm: Team, status: int) -> None:
    """A server that fails is told in the status as soon as that can be written, and tried once in a cycle."""
    leader, _ = pair.roles()
    began = datetime.now(UTC)
    leader.requests.refuse("PATCH", steered.deployment_path(storm), status, {"Retry-After": "1"})
    steered.switch_to_apply(storm)
    found = storm.await_condition("Applied", "ApiServerError", status="False")
    assert f"with {status}" in found["message"]
    assert steered.requests_per_s(leader, for_s=OUTAGE_S) < REQUESTS_PER_S
    leader.requests.heal()
    steered.await_applied(storm)
    assert steered.applies(storm, since=began) == [(leader.operator.user, 200)]


def test_5xx_for_everything(pair: Pair, plain: Team) -> None:
    """An API server that only fails is as good as none, and is asked no oftener."""
    for item in pair.both:
        item.requests.refuse(".*", ".*", 503, {"Retry-After": "1"})
    for item in pair.both:
        steered.await_unready(item)
        assert steered.requests_per_s(item, for_s=OUTAGE_S) < REQUESTS_PER_S
    edit(plain, 1)
    for item in pair.both:
        item.requests.heal()
    pair.await_leader()
    await_status(plain, timeout_s=60)


def test_a_deployment_edited_before_the_apply_arrives(pair: Pair, storm: Team) -> None:
    """The apply rests on the version that was read: it is refused, and the next cycle decides on the new one."""
    leader, _ = pair.roles()
    held = leader.requests.hold("PATCH", steered.deployment_path(storm))
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    held.await_caught()
    storm.patch("deployment", storm.name, {"metadata": {"labels": {"edited": "meanwhile"}}})
    held.release()
    steered.await_applied(storm)
    assert [code for _, code in steered.applies(storm, since=began)] == [409, 200]


def test_a_policy_touched_before_its_status_arrives(pair: Pair, storm: Team, sandbox: Sandbox) -> None:
    """The status rests on the version that was read: it is refused, the next cycle writes it, and the apply counts."""
    leader, _ = pair.roles()
    held = leader.requests.hold("PUT", steered.status_path(storm), after=steered.deployment_path(storm))
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    held.await_caught()
    storm.patch("cgp", storm.name, {"metadata": {"labels": {"touched": "meanwhile"}}})
    held.release()
    steered.await_applied(storm)
    assert [code for _, code in steered.applies(storm, since=began)] == [200]
    tries = audit.writes(sandbox.control_plane.audit_log, since=began)
    policies = [try_ for try_ in tries if (try_.namespace, try_.resource) == (storm.namespace, "consumergrouppolicies")]
    codes = [policy.code for policy in policies if policy.subresource == "status"]
    assert 200 in codes
    # A status that was under way when the mode was switched is refused, too.
    assert codes[codes.index(200) :][:3] == [200, 409, 200]


def _suspend(team: Team) -> None:
    team.patch("cgp", team.name, {"spec": {"suspend": True}})


def _recommend_only(team: Team) -> None:
    team.patch("cgp", team.name, {"spec": {"mode": "Recommend"}})


TAKEN_BACK: Final[dict[str, Callable[[Team], None]]] = {
    "suspended": _suspend,
    "edited": _recommend_only,
    "deleted": Team.delete_policy,
}


@pytest.mark.parametrize("take_back", TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_a_policy_taken_back_before_the_last_look(pair: Pair, storm: Team, take_back: Callable[[Team], None]) -> None:
    """The policy is looked at once more right before the apply: what it does not ask for any more is not written."""
    leader, _ = pair.roles()
    held = leader.requests.hold("GET", steered.policy_path(storm))
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    held.await_caught()
    take_back(storm)
    held.release()
    await_cycles(leader.operator, 3)
    assert steered.applies(storm, since=began) == []


@pytest.mark.parametrize("take_back", TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_a_policy_taken_back_after_the_last_look(pair: Pair, storm: Team, take_back: Callable[[Team], None]) -> None:
    """An apply that has been sent is done, once and as a whole; nothing follows it."""
    leader, _ = pair.roles()
    held = leader.requests.hold("PATCH", steered.deployment_path(storm))
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    held.await_caught()
    take_back(storm)
    held.release()
    await_cycles(leader.operator, 3)
    assert steered.applies(storm, since=began) == [(leader.operator.user, 200)]
    assert steered.CURE.items() <= storm.env().items()


READING: Final = ("get", "list", "watch")


@pytest.fixture
def without(sandbox: Sandbox) -> Iterator[Callable[..., None]]:
    """Leave the operator its rights on Deployments without these; all are given back afterwards."""
    role = json.loads(sandbox.control_plane.kubectl("get", "clusterrole", "heartbeat-tuner", "-o=json"))
    (number,) = (number for number, rule in enumerate(role["rules"]) if "deployments" in rule["resources"])
    granted = role["rules"][number]["verbs"]

    def leave(*taken: str) -> None:
        verbs = [verb for verb in granted if verb not in taken]
        patch = [{"op": "replace", "path": f"/rules/{number}/verbs", "value": verbs}]
        sandbox.control_plane.kubectl(
            "patch", "clusterrole", "heartbeat-tuner", "--type=json", f"--patch={json.dumps(patch)}"
        )

    yield leave
    leave()


def test_the_right_to_read_deployments_taken_and_given_back(
    pair: Pair, plain: Team, without: Callable[..., None]
) -> None:
    """What may not be read is reported as that, with the API server's own words.

    The API server does not end a watch whose right was taken away, so the wires break here.
    """
    plain.await_condition("Ready", "WorkloadNotFound")
    without(*READING)
    for item in pair.both:
        item.wire.cut()
        item.wire.heal()
    found = plain.await_condition("Ready", "ApiServerError", status="False")
    assert "403" in found["message"]
    assert 'resource "deployments"' in found["message"]
    without()
    plain.await_condition("Ready", "WorkloadNotFound")


def test_the_right_to_write_deployments_taken_and_given_back(
    pair: Pair, storm: Team, without: Callable[..., None]
) -> None:
    """What may not be written is recommended, reported as that, and written when it may be."""
    leader, _ = pair.roles()
    without("patch")
    steered.switch_to_apply(storm)
    found = storm.await_condition("Applied", "ApiServerError", status="False")
    assert 'cannot patch resource "deployments"' in found["message"]
    assert steered.requests_per_s(leader, for_s=2) < REQUESTS_PER_S
    without()
    steered.await_applied(storm)


def await_end(process: Process) -> None:
    """Wait until a process has ended."""
    wait_until(lambda: not process.alive(), part="operators", what="their end", timeout_s=60)


def test_the_definition_deleted_and_installed_again(pair: Pair, new_team: NewTeam, sandbox: Sandbox) -> None:
    """Without policies to watch the processes end in order, to be started again; with the definition they go on."""
    leader, _ = pair.roles()
    team = new_team("undefined")
    team.apply_policy_spec()
    team.await_condition("Ready", "WorkloadNotFound")
    already = len(leader.operator.log.read_text())
    try:
        sandbox.control_plane.kubectl("delete", "crd", "consumergrouppolicies.heartbeat-tuner.dev")
        for item in pair.both:
            process = item.operator.process
            await_end(process)
            assert process.returncode() not in {None, 0}
        report = leader.operator.log.read_text()[already:]
        assert '"leadership released"' in report
        assert "Error: the API server ended the watch of ConsumerGroupPolicies: 404" in report
    finally:
        scenario.install(sandbox)
    pair.roles()
    team.apply_policy_spec()
    team.await_condition("Ready", "WorkloadNotFound")
