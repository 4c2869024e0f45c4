"""What befalls the two replicas, at the moments that count: nothing is written twice, nothing late, nothing is lost."""

import dataclasses
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import pytest

from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from sandbox.request_proxy import Point
from tests.e2e import steered
from tests.e2e.replicas import await_leader, await_status, edit
from tests.e2e.steered import Pair
from tests.e2e.teams import Team

pytestmark = [pytest.mark.timeout(240), pytest.mark.faults]

AWAKE_S: Final = 1.5
BEYOND_THE_LEASE_S: Final = 5.0
BEARABLE_S: Final = 0.1


@dataclasses.dataclass(frozen=True)
class Moment:
    """A moment in an apply: the request that is held, and whether the leader's apply is done by then.

    Attributes:
        method: of the request.
        path: of a team's request.
        point: where it is held.
        applied: whether the Deployment is written by then.
        late: what becomes of the held apply when it goes on after another has led; None if it is not the apply.
        reported: whether it is a request that comes after the apply.
    """

    method: str
    path: Callable[[Team], str]
    point: Point
    applied: bool
    late: int | None = None
    reported: bool = False


MOMENTS: Final = {
    "before": Moment("GET", steered.policy_path, Point.BEFORE, applied=False),
    "sent": Moment("PATCH", steered.deployment_path, Point.BEFORE, applied=False, late=409),
    "written": Moment("PATCH", steered.deployment_path, Point.AFTER, applied=True),
    "unannounced": Moment("PUT", steered.status_path, Point.BEFORE, applied=False),
    "unreported": Moment("PUT", steered.status_path, Point.BEFORE, applied=True, reported=True),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("stopped", [False, True], ids=["killed", "stopped"])
def test_a_leader_that_falls_in_an_apply(pair: Pair, storm: Team, moment: Moment, *, stopped: bool) -> None:
    """Whoever dies or stands still, and wherever: one write of the Deployment, one record of it, by who may."""
    leader, follower = pair.roles()
    after = steered.deployment_path(storm) if moment.reported else ""
    held = leader.requests.hold(moment.method, moment.path(storm), moment.point, after=after)
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


def _slow(wire: FaultProxy) -> None:
    wire.delay(BEYOND_THE_LEASE_S)


WIRES: Final[dict[str, Callable[[FaultProxy], None]]] = {
    "cut": FaultProxy.cut,
    "black-hole": FaultProxy.black_hole,
    "half-open": FaultProxy.half_open,
    "slow": _slow,
}


@pytest.mark.parametrize("fault", [FaultProxy.half_open, _slow], ids=["half-open", "slow"])
def test_a_leader_behind_a_bad_wire_is_replaced(pair: Pair, plain: Team, fault: Callable[[FaultProxy], None]) -> None:
    """Where the API server is too far from the leader alone, the other one leads and works."""
    leader, follower = pair.roles()
    fault(leader.wire)
    await_leader(follower.operator)
    steered.await_unready(leader)
    edit(plain, 1)
    await_status(plain)


def test_a_slow_wire_is_borne(pair: Pair, storm: Team) -> None:
    """Slow answers that come within the lease's times cost time and nothing else."""
    leader, follower = pair.roles()
    for item in pair.both:
        item.wire.delay(BEARABLE_S)
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    steered.await_applied(storm)
    assert steered.applies(storm, since=began) == [(leader.operator.user, 200)]
    assert follower.operator.answers("/readyz")


@pytest.mark.parametrize("fault", WIRES.values(), ids=WIRES)
def test_without_an_api_server_nobody_leads(pair: Pair, plain: Team, fault: Callable[[FaultProxy], None]) -> None:
    """Cut off from the API server, both are alive and not ready; when it is back, one of them goes on."""
    for item in pair.both:
        fault(item.wire)
    for item in pair.both:
        steered.await_unready(item)
        assert not item.operator.leads()
    edit(plain, 1)
    for item in pair.both:
        item.wire.heal()
    pair.await_leader()
    await_status(plain, timeout_s=60)


def test_a_restarted_api_server_is_found_again(pair: Pair, storm: Team, sandbox: Sandbox) -> None:
    """A restart of the API server in the middle of an apply costs a cycle."""
    leader, _ = pair.roles()
    held = leader.requests.hold("PATCH", steered.deployment_path(storm))
    began = datetime.now(UTC)
    steered.switch_to_apply(storm)
    held.await_caught()
    sandbox.control_plane.restart_api_server()
    held.lose()
    steered.await_applied(storm)
    assert [code for _, code in steered.applies(storm, since=began) if code == 200] == [200]
