"""What befalls the two replicas, at the moments that count: nothing is written twice, nothing late, nothing is lost."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from sandbox import audit, scenario
from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from sandbox.request_proxy import Point
from tests.e2e import steered
from tests.e2e.conftest import NewTeam
from tests.e2e.operators import AUDIT_LAG_S, Operators, await_cycles
from tests.e2e.replicas import await_leader, await_status, edit, writes_without_lease
from tests.e2e.steered import Pair, Replica
from tests.e2e.teams import Team

pytestmark = pytest.mark.timeout(240)

AWAKE_S: Final = 1.5
BEYOND_THE_LEASE_S: Final = 5.0
BEARABLE_S: Final = 0.1
OUTAGE_S: Final = 5.0
REQUESTS_PER_S: Final = 20.0
"""More would be a tight loop: at rest a leader makes about ten, with a cycle every 0.5 s."""


@pytest.fixture(scope="module")
def running(sandbox: Sandbox, operators: Operators) -> Iterator[Pair]:
    """Two replicas for all tests of this module; a killed one is started again."""
    operators.stop()
    with Pair(sandbox) as started:
        yield started


@pytest.fixture
def pair(running: Pair, sandbox: Sandbox) -> Iterator[Pair]:
    """Both, well; afterwards nobody has written who did not hold the lease, and nobody has shown a traceback."""
    running.roles()
    began = datetime.now(UTC)
    told = [len(one.tracebacks()) for one in running.both]
    yield running
    running.roles()
    time.sleep(AUDIT_LAG_S)
    assert writes_without_lease(sandbox, since=began) == []
    assert [len(one.tracebacks()) for one in running.both] == told


@pytest.fixture
def storm(storming: Team, pair: Pair) -> Iterator[Team]:
    """A storm that is recommended to be cured; it is there when the test has seen both replicas well."""
    assert pair.both
    with steered.frozen(storming) as team:
        steered.recommend(team)
        yield team


@pytest.fixture
def team(new_team: NewTeam) -> Team:
    """A team whose policy names a Deployment that is not there: each change of it is one status to write."""
    team = new_team("plain")
    team.apply_policy_spec()
    return team


@dataclasses.dataclass(frozen=True)
class Moment:
    """A moment in an apply: the request that is held, and whether the leader's apply is done by then.

    Attributes:
        method: of the request.
        path: of a team's request.
        point: where it is held.
        applied: whether the Deployment is written by then.
        late: what becomes of the held apply when it goes on after another has led; None if it is not the apply.
    """

    method: str
    path: Callable[[Team], str]
    point: Point
    applied: bool
    late: int | None = None


MOMENTS: Final = {
    "before": Moment("GET", steered.policy_path, Point.BEFORE, applied=False),
    "sent": Moment("PATCH", steered.deployment_path, Point.BEFORE, applied=False, late=409),
    "written": Moment("PATCH", steered.deployment_path, Point.AFTER, applied=True),
    "unreported": Moment("PUT", steered.status_path, Point.BEFORE, applied=True),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("stopped", [False, True], ids=["killed", "stopped"])
def test_a_leader_that_falls_in_an_apply(pair: Pair, storm: Team, moment: Moment, *, stopped: bool) -> None:
    """Whoever dies or stands still, and wherever: one write of the Deployment, one record of it, by who may."""
    leader, follower = pair.roles()
    held = leader.requests.hold(moment.method, moment.path(storm), moment.point)
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    held.await_caught()
    if stopped:
        leader.operator.process.pause()
    else:
        leader.operator.process.kill()
    await_leader(follower.operator)
    steered.await_applied(storm)
    held.release()
    if stopped:
        leader.operator.process.resume()
        wait_until(lambda: leader.operator.answers("/readyz"), part="leader", what="an answer", timeout_s=30)
    time.sleep(AWAKE_S)

    writer = leader.operator.user if moment.applied else follower.operator.user
    tries = steered.applies(storm, since=began)
    assert [user for user, code in tries if code == 200] == [writer]
    assert [code for user, code in tries if user != writer] == ([] if moment.late is None else [moment.late])
    assert (leader.operator.leads(), follower.operator.leads()) == (False, True)
    assert steered.CURE.items() <= storm.env().items()
    assert storm.status()["applied"]["previous"]["sessionTimeout"] == "1s"


def await_unready(replica: Replica) -> None:
    """Wait until a replica says that it could not lead; it is alive all the same."""
    operator = replica.operator
    wait_until(lambda: not operator.answers("/readyz"), part=operator.user, what="being unready", timeout_s=60)
    assert operator.answers("/healthz")


def _slow(wire: FaultProxy) -> None:
    wire.delay(BEYOND_THE_LEASE_S)


WIRES: Final[dict[str, Callable[[FaultProxy], None]]] = {
    "cut": FaultProxy.cut,
    "black-hole": FaultProxy.black_hole,
    "half-open": FaultProxy.half_open,
    "slow": _slow,
}


@pytest.mark.parametrize("fault", [FaultProxy.half_open, _slow], ids=["half-open", "slow"])
def test_a_leader_behind_a_bad_wire_is_replaced(pair: Pair, team: Team, fault: Callable[[FaultProxy], None]) -> None:
    """Where the API server is too far from the leader alone, the other one leads and works."""
    leader, follower = pair.roles()
    fault(leader.wire)
    await_leader(follower.operator)
    await_unready(leader)
    edit(team, 1)
    await_status(team)


def test_a_slow_wire_is_borne(pair: Pair, storm: Team) -> None:
    """Slow answers that come within the lease's times cost time and nothing else."""
    leader, follower = pair.roles()
    for one in pair.both:
        one.wire.delay(BEARABLE_S)
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    steered.await_applied(storm)
    assert steered.applies(storm, since=began) == [(leader.operator.user, 200)]
    assert follower.operator.answers("/readyz")


@pytest.mark.parametrize("fault", WIRES.values(), ids=WIRES)
def test_without_an_api_server_nobody_leads(pair: Pair, team: Team, fault: Callable[[FaultProxy], None]) -> None:
    """Cut off from the API server, both are alive and not ready; when it is back, one of them goes on."""
    for one in pair.both:
        fault(one.wire)
    for one in pair.both:
        await_unready(one)
        assert not one.operator.leads()
    edit(team, 1)
    for one in pair.both:
        one.wire.heal()
    pair.await_leader()
    await_status(team, timeout_s=60)


def test_a_restarted_api_server_is_found_again(pair: Pair, storm: Team, sandbox: Sandbox) -> None:
    """A restart of the API server in the middle of an apply costs a cycle."""
    leader, _ = pair.roles()
    held = leader.requests.hold("PATCH", steered.deployment_path(storm))
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    held.await_caught()
    sandbox.control_plane.restart_api_server()
    held.release()
    steered.await_applied(storm)
    assert [code for _, code in steered.applies(storm, since=began) if code == 200] == [200]


def reject(sandbox: Sandbox, verbs: list[str], resources: list[str]) -> None:
    """Have the API server answer the operators' requests with 429: its priority level has no seats."""
    api = "flowcontrol.apiserver.k8s.io/v1"
    limited = {
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Reject"},
    }
    rule = {"verbs": verbs, "apiGroups": ["*"], "resources": resources, "namespaces": ["*"], "clusterScope": True}
    schema = {
        "priorityLevelConfiguration": {"name": "no-seats"},
        "matchingPrecedence": 1,
        "rules": [
            {
                "subjects": [{"kind": "User", "user": {"name": user}} for user in OPERATOR_USERS],
                "resourceRules": [rule],
            }
        ],
    }
    level = {"type": "Limited", "limited": limited}
    for kind, spec in (("PriorityLevelConfiguration", level), ("FlowSchema", schema)):
        document = {"apiVersion": api, "kind": kind, "metadata": {"name": "no-seats"}, "spec": spec}
        sandbox.control_plane.kubectl("apply", "--filename=-", stdin=json.dumps(document))


def seat(sandbox: Sandbox) -> None:
    """End what `reject` began."""
    for kind in ("flowschema", "prioritylevelconfiguration"):
        sandbox.control_plane.kubectl("delete", kind, "no-seats", "--ignore-not-found")


@pytest.fixture
def rejecting(sandbox: Sandbox) -> Iterator[Callable[[list[str], list[str]], None]]:
    """Reject by priority and fairness, until the test's end at the latest."""
    yield lambda verbs, resources: reject(sandbox, verbs, resources)
    seat(sandbox)


def requests_per_s(replica: Replica, *, for_s: float) -> float:
    """Return how many requests it makes."""
    already = len(replica.requests.asked)
    time.sleep(for_s)
    return (len(replica.requests.asked) - already) / for_s


def test_429_for_everything(pair: Pair, team: Team, sandbox: Sandbox, rejecting: Callable[..., None]) -> None:
    """An API server that sends everybody away is asked no oftener than before, and goes unheard for no longer."""
    await_status(team)
    rejecting(["*"], ["*"])
    for one in pair.both:
        await_unready(one)
        assert requests_per_s(one, for_s=OUTAGE_S) < REQUESTS_PER_S
    edit(team, 1)
    seat(sandbox)
    pair.await_leader()
    await_status(team, timeout_s=60)


def test_429_for_writes(pair: Pair, storm: Team, sandbox: Sandbox, rejecting: Callable[..., None]) -> None:
    """Writes that are sent away are tried again once in a cycle, and the first that is let through is the last."""
    leader, _ = pair.roles()
    began = datetime.now(UTC)
    rejecting(["patch", "update"], ["deployments", "consumergrouppolicies/status"])
    time.sleep(AUDIT_LAG_S)
    steered.switch_to_apply(storm)
    wait_until(lambda: refused_applies(storm, 429, since=began) >= 2, part="operators", what="429 twice")
    assert requests_per_s(leader, for_s=OUTAGE_S) < REQUESTS_PER_S
    assert leader.operator.answers("/readyz")
    seat(sandbox)
    steered.await_applied(storm)
    assert [code for _, code in steered.applies(storm, since=began) if code != 429] == [200]


def refused_applies(team: Team, status: int, *, since: datetime) -> int:
    """Return how many tries to write the Deployment were answered so."""
    return [code for _, code in steered.applies(team, since=since)].count(status)


@pytest.mark.parametrize("status", [500, 503])
def test_5xx_for_writes(pair: Pair, storm: Team, status: int) -> None:
    """A server that fails is told in the status as soon as that can be written, and tried once in a cycle."""
    leader, _ = pair.roles()
    began = datetime.now(UTC)
    leader.requests.refuse("PATCH", steered.deployment_path(storm), status, {"Retry-After": "1"})
    steered.switch_to_apply(storm)
    found = storm.await_condition("Applied", "ApiServerError", status="False")
    assert f"with {status}" in found["message"]
    assert requests_per_s(leader, for_s=OUTAGE_S) < REQUESTS_PER_S
    leader.requests.heal()
    steered.await_applied(storm)
    assert steered.applies(storm, since=began) == [(leader.operator.user, 200)]


def test_5xx_for_everything(pair: Pair, team: Team) -> None:
    """An API server that only fails is as good as none, and is asked no oftener."""
    for one in pair.both:
        one.requests.refuse(".*", ".*", 503, {"Retry-After": "1"})
    for one in pair.both:
        await_unready(one)
        assert requests_per_s(one, for_s=OUTAGE_S) < REQUESTS_PER_S
    edit(team, 1)
    for one in pair.both:
        one.requests.heal()
    pair.await_leader()
    await_status(team, timeout_s=60)


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
    held = leader.requests.hold("PUT", steered.status_path(storm))
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    held.await_caught()
    storm.patch("cgp", storm.name, {"metadata": {"labels": {"touched": "meanwhile"}}})
    held.release()
    steered.await_applied(storm)
    assert [code for _, code in steered.applies(storm, since=began)] == [200]
    tries = audit.writes(sandbox.control_plane.audit_log, since=began)
    assert [one.code for one in tries if (one.namespace, one.subresource) == (storm.namespace, "status")][:2] == [
        409,
        200,
    ]


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


DEPLOYMENTS: Final = 2
"""Which rule of the operator's ClusterRole gives rights on Deployments."""


@pytest.fixture
def rights(sandbox: Sandbox) -> Iterator[Callable[[list[str]], None]]:
    """Give the operator these rights on Deployments and no others; all are given back afterwards."""

    def give(verbs: list[str]) -> None:
        patch = [{"op": "replace", "path": f"/rules/{DEPLOYMENTS}/verbs", "value": verbs}]
        sandbox.control_plane.kubectl(
            "patch", "clusterrole", "heartbeat-tuner", "--type=json", f"--patch={json.dumps(patch)}"
        )

    yield give
    give(["get", "patch"])


def test_the_right_to_read_deployments_taken_and_given_back(
    pair: Pair, team: Team, rights: Callable[[list[str]], None]
) -> None:
    """What may not be read is told as that, with the API server's own words."""
    assert pair.both
    team.await_condition("Ready", "WorkloadNotFound")
    rights(["patch"])
    found = team.await_condition("Ready", "ApiServerError", status="False")
    assert "403" in found["message"]
    assert 'cannot get resource "deployments"' in found["message"]
    rights(["get", "patch"])
    team.await_condition("Ready", "WorkloadNotFound")


def test_the_right_to_write_deployments_taken_and_given_back(
    pair: Pair, storm: Team, rights: Callable[[list[str]], None]
) -> None:
    """What may not be written is recommended, told as that, and written when it may be."""
    leader, _ = pair.roles()
    rights(["get"])
    steered.switch_to_apply(storm)
    found = storm.await_condition("Applied", "ApiServerError", status="False")
    assert 'cannot patch resource "deployments"' in found["message"]
    assert requests_per_s(leader, for_s=2) < REQUESTS_PER_S
    rights(["get", "patch"])
    steered.await_applied(storm)


def test_the_definition_deleted_and_installed_again(pair: Pair, new_team: NewTeam, sandbox: Sandbox) -> None:
    """Without the CustomResourceDefinition there are no policies; with it the operator goes on with those that come."""
    team = new_team("undefined")
    team.apply_policy_spec()
    team.await_condition("Ready", "WorkloadNotFound")
    try:
        sandbox.control_plane.kubectl("delete", "crd", "consumergrouppolicies.heartbeat-tuner.dev")
        time.sleep(OUTAGE_S)
        assert all(one.operator.process.alive() for one in pair.both)
        assert all(one.operator.answers("/healthz") for one in pair.both)
        assert all(requests_per_s(one, for_s=2) < REQUESTS_PER_S for one in pair.both)
    finally:
        scenario.install(sandbox)
    team.apply_policy_spec()
    team.await_condition("Ready", "WorkloadNotFound", timeout_s=90)
