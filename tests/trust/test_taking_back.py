"""Row A9: a change whose new pods crash, or never get ready, is taken back once; the pods before it are not disturbed.

One fleet of cheap pods lives through all of it. Two replicas look at it, and the one that leads is killed when the API
server has done the first write that takes values back, and before the answer comes.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from sandbox import audit, scenario
from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.request_proxy import Point
from tests.e2e.operators import AUDIT_LAG_S, Operators, await_cycles
from tests.e2e.replicas import await_leader
from tests.e2e.steered import Pair
from tests.support import written
from tests.support.fleets import Fleet, PodMetrics, Scrapes

pytestmark = pytest.mark.timeout(300)

SCRAPES: Final = Scrapes(every_s=0.5, reach_s=120.0, from_start=False)
WHY: Final = {
    "killed": "container app ends again and again, with exit code 7",
    "crashes": "container app ends again and again, with exit code 7",
    "hangs": "no progress for 12s",
    "later": "container app ends again and again, with exit code 7",
    "replaced": "container app ends again and again, with exit code 7",
}
"""In the first one's revert the leader is killed; the last one's pods before are gone when its new ones crash."""

NAMES: Final = tuple(WHY)
STANDING: Final = ("killed", "crashes", "hangs", "later")
"""Whose new pods are never available, so that Kubernetes leaves the ones before alone."""

DEADLINE_S: Final = 12
LATER_S: Final = 30
CYCLES: Final = 10


Pods = dict[str, tuple[str, int, str]]
"""Uid, restarts and template of pods, by name."""


@dataclasses.dataclass(frozen=True)
class Ended:
    """What stands when all is over.

    Attributes:
        before: the pods of each Deployment before anything was written.
        pods: likewise at the end.
        policies: by short name, as all of these.
        deployments: likewise.
        patches: the writes of each Deployment that the operators sent and nobody refused.
    """

    before: dict[str, Pods]
    pods: dict[str, Pods]
    policies: dict[str, dict[str, Any]]
    deployments: dict[str, dict[str, Any]]
    patches: dict[str, list[audit.Write]]

    def condition(self, short: str, kind: str) -> tuple[str, str, str]:
        """Return status, reason and message."""
        found = scenario.condition(self.policies[short], kind)
        return found["status"], found["reason"], found["message"]


@pytest.fixture(scope="module")
def ended(sandbox: Sandbox, operators: Operators) -> Iterator[Ended]:
    """All that happens to the fleet; no other operator runs meanwhile."""
    operators.stop()
    # Policies that another story left would make the namespace share the places.
    sandbox.control_plane.kubectl("delete", "consumergrouppolicies", "--all", "--all-namespaces", "--timeout=30s")
    with Fleet(sandbox, "reverts", len(NAMES)) as fleet:
        fleet.deploy(scenario.STORMING)
        _prepare(fleet)
        with PodMetrics(
            [fleet], storms=lambda env: env.get("KAFKA_SESSION_TIMEOUT_MS") != "30000", scrapes=SCRAPES
        ) as metrics:
            url = f"http://{LOOPBACK}:{metrics.port}"
            with Pair(sandbox, prometheus_url=url, grants=scenario.EVERY_GROUP) as pair:  # nobody consumes
                yield _played(fleet, pair)
        fleet.kubectl("delete", "namespace", fleet.namespace, "--wait=false")


def _prepare(fleet: Fleet) -> None:
    """Make each Deployment what its name says, before anybody writes to it."""
    probe = {"exec": {"command": ["true"]}, "initialDelaySeconds": 1, "periodSeconds": 1}
    at_once = written.container(fleet, "[ $CURED = 1 ] && exit 7; exec sleep infinity", readinessProbe=probe)
    later = written.container(fleet, f"[ $CURED = 1 ] && {{ sleep {LATER_S}; exit 7; }}; exec sleep infinity")
    never = {"exec": {"command": ["sh", "-c", '[ "$KAFKA_SESSION_TIMEOUT_MS" != 30000 ]']}, "periodSeconds": 1}
    hangs = written.container(fleet, "exec sleep infinity", readinessProbe=never)
    changes = {
        "killed": at_once,
        "crashes": at_once,
        "hangs": {**hangs, "progressDeadlineSeconds": DEADLINE_S},
        "later": later,
        "replaced": later,
    }
    for short, spec in changes.items():
        fleet.change(_full(fleet, short), spec)
    fleet.await_rolled_out()
    # Not before: nobody waits for pods to be available that are.
    fleet.change(_full(fleet, "later"), {"minReadySeconds": 2 * LATER_S})


def _played(fleet: Fleet, pair: Pair) -> Ended:
    leader, follower = pair.roles()
    before, began = _pods(fleet), datetime.now(UTC)
    path = rf"/deployments/{_full(fleet, 'killed')}\?"
    held = leader.requests.hold("PATCH", path, Point.AFTER, after=path)
    fleet.create_policies(mode="Apply")
    held.await_caught(timeout_s=120)
    leader.operator.process.kill()
    await_leader(follower.operator)
    held.release()
    wait_until(
        lambda: all(_is_back(policy) for policy in fleet.policies().values()),
        part=fleet.namespace,
        what="all values taken back",
        timeout_s=150,
        poll_s=0.5,
    )
    fleet.await_rolled_out()
    await_cycles(follower.operator, CYCLES)
    time.sleep(AUDIT_LAG_S)
    return Ended(
        before=before,
        pods=_pods(fleet),
        policies=_by_short(fleet, fleet.policies().__getitem__),
        deployments=_by_short(fleet, fleet.deployments().__getitem__),
        patches=_by_short(fleet, lambda name: _patches(fleet, name, began)),
    )


def _full(fleet: Fleet, short: str) -> str:
    return fleet.names[NAMES.index(short)]


def _by_short(fleet: Fleet, fact: Callable[[str], Any]) -> dict[str, Any]:
    return {short: fact(name) for short, name in zip(NAMES, fleet.names, strict=True)}


def _is_back(policy: dict[str, Any]) -> bool:
    return scenario.condition(policy, "Verified")["reason"] == "Reverted"


def _pods(fleet: Fleet) -> dict[str, Pods]:
    """Return the pods of each Deployment."""
    found: dict[str, Pods] = {short: {} for short in NAMES}
    shorts = dict(zip(fleet.names, NAMES, strict=True))
    for pod in fleet.pods():
        (container,), meta = pod["status"]["containerStatuses"], pod["metadata"]
        facts = meta["uid"], container["restartCount"], meta["labels"]["pod-template-hash"]
        found[shorts[meta["labels"]["app"]]][meta["name"]] = facts
    return found


def _patches(fleet: Fleet, name: str, since: datetime) -> list[audit.Write]:
    done = audit.writes(fleet.sandbox.control_plane.audit_log, since=since)
    return [
        item
        for item in done
        if (item.namespace, item.resource, item.name, item.subresource) == (fleet.namespace, "deployments", name, "")
        and item.user in OPERATOR_USERS
        and not item.refused
    ]


@pytest.mark.row("A9")
@pytest.mark.parametrize("short", NAMES)
def test_values_whose_pods_fail_are_taken_back_once(ended: Ended, short: str) -> None:
    """Whether they crash at once, after half a minute of being ready, or hang: one write, and one that undoes it."""
    assert len(ended.patches[short]) == 2
    container = ended.deployments[short]["spec"]["template"]["spec"]["containers"][0]
    assert not container.get("env")
    status, reason, message = ended.condition(short, "Verified")
    assert (status, reason) == ("False", "Reverted")
    assert "RolloutFailed" in message
    assert WHY[short] in message
    (failed,) = ended.policies[short]["status"]["reverted"]
    assert failed["outcome"] == "RolloutFailed"
    assert failed["values"]["sessionTimeout"] == "30s"
    assert ended.condition(short, "Applied")[:2] == ("False", "FailedBefore")


@pytest.mark.row("A9")
@pytest.mark.parametrize("short", STANDING)
def test_the_pods_before_are_not_disturbed(ended: Ended, short: str) -> None:
    """The template is the very one of before, so that they are its pods: the same ones, and none was restarted."""
    assert ended.pods[short] == ended.before[short]
    assert len(ended.pods[short]) == 1


@pytest.mark.row("A9")
def test_pods_that_are_gone_come_back_of_the_template_before(ended: Ended) -> None:
    """Where the new pods were ready for long enough to take the place of the ones before."""
    ((uid, _, template),) = ended.before["replaced"].values()
    ((new_uid, restarts, new_template),) = ended.pods["replaced"].values()
    assert (new_template, restarts) == (template, 0)
    assert new_uid != uid


@pytest.mark.row("A9")
def test_a_leader_that_falls_in_its_revert_is_followed_by_one_who_knows(ended: Ended) -> None:
    """The new one writes nothing again, and says what it finds as one that did it would."""
    by_user = {item.user for item in ended.patches["killed"]}
    assert len(by_user) == 1
    assert ended.patches["later"][-1].user not in by_user
    assert _findings(ended.policies["killed"]) == _findings(ended.policies["crashes"])


def _findings(policy: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return type, status and reason of all conditions."""
    return [
        (condition["type"], condition["status"], condition["reason"]) for condition in policy["status"]["conditions"]
    ]
