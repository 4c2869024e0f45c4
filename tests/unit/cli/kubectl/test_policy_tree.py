"""The tree of a policy: what it shows of hostile, missing and many things."""

from typing import Any

import pytest

from heartbeat_tuner.cli.kubectl import policy_tree
from heartbeat_tuner.cli.kubectl.policy_tree import SeenWorkload, TreeNode
from heartbeat_tuner.cli.reporting import reported_policies
from heartbeat_tuner.cli.reporting.reported_policies import ReportedPolicy
from heartbeat_tuner.domain.policies import WorkloadRef
from tests.support import reports
from tests.support.worlds import NOW

UID = "b7c4a5a2-4d3b-4b59-9d0b-5d1f0a6c2f11"
ENTRIES = {"KAFKA_SESSION_TIMEOUT_MS": "20000"}


def view(**status: Any) -> ReportedPolicy:
    """Return a policy with other fields of status."""
    (found,), _ = reported_policies.read([reports.policy(**status)], NOW)
    return found


def pod(name: str, *, ready: bool = True, restarts: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a pod of the Deployment."""
    entries = [{"name": key, "value": value} for key, value in (env or {}).items()]
    return {
        "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-03-02T11:55:00Z"},
        "spec": {"containers": [{"name": "app", "image": "a", "env": entries}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [{"name": "app", "restartCount": restarts}],
        },
    }


def deployment(*, replicas: int = 3, ready: int = 3, updated: int = 3) -> dict[str, Any]:
    """Return the policy's Deployment."""
    template = {"spec": {"containers": [{"name": "app", "image": "a"}]}}
    return {
        "metadata": {"name": "orders", "uid": UID},
        "spec": {"replicas": replicas, "template": template},
        "status": {"readyReplicas": ready, "updatedReplicas": updated},
    }


def drawn(found: ReportedPolicy, seen: SeenWorkload | None = None) -> list[str]:
    """Return the lines of a policy whose only workload was seen so."""
    workloads: dict[WorkloadRef, SeenWorkload] = {} if seen is None else {found.policy.workload: seen}
    return policy_tree.lines(policy_tree.tree(found, workloads))


def test_pods_that_are_not_ready_come_first() -> None:
    """They are what somebody who looks has to see."""
    pods = [pod("orders-1"), pod("orders-2", ready=False, restarts=2), pod("orders-3", restarts=1)]
    lines = drawn(view(), SeenWorkload(deployment(ready=2, updated=1), pods))
    assert "├── Deployment orders, container app: 2 of 3 pods ready, 1 with the newest template" in lines
    assert [line[8:] for line in lines if line.startswith("│   ")] == [
        "orders-2  Running, not ready, 2 restarts",
        "orders-1  Running, ready",
        "orders-3  Running, ready, 1 restart",
    ]


def test_a_large_workload_shows_its_first_pods() -> None:
    """And how many more there are."""
    lines = drawn(view(), SeenWorkload(deployment(), [pod(f"orders-{number:03}") for number in range(25)]))
    assert "│   └── 5 more" in lines
    assert len(lines) == 25


def test_pods_of_a_canary_are_known_by_their_values() -> None:
    """An annotation that somebody else wrote says nothing."""
    tried = {"sessionTimeout": "20s", "heartbeatInterval": "1s", "fetchWait": "1s"}
    canary = {
        "startTime": "2026-03-02T11:50:00Z",
        "deadlineTime": "2026-03-03T11:50:00Z",
        "values": tried,
        "previous": {**tried, "sessionTimeout": "30s"},
        "entries": ENTRIES,
        "pods": 1,
        "workloadUid": UID,
        "phase": "Running",
    }
    lines = drawn(view(canary=canary), SeenWorkload(deployment(), [pod("orders-1", env=ENTRIES), pod("orders-2")]))
    assert "│   ├── orders-1  Running, ready, canary" in lines
    assert "│   └── orders-2  Running, ready" in lines
    words = "canary in 1 pod: session timeout 30s → 20s; Running: its pods are not all ready yet"
    assert f"├── 2026-03-02 11:50 UTC {words}" in lines
    assert "set: session timeout 1s → 30s" in lines[-1]
    assert not any("canary in" in line for line in drawn(view(canary={**canary, "phase": "Over"})))


def test_values_that_a_person_replaced_are_shown_as_they_are_now() -> None:
    """And without values, if nobody knows what is set."""
    applied = reports.policy()["status"]["applied"]
    noted = {"applied": applied, "detectionTime": "2026-03-02T11:55:00Z", "generation": 2, "by": "kubectl-set"}
    now = {"sessionTimeout": "45s", "heartbeatInterval": "1s", "fetchWait": "1s"}
    line = drawn(view(takenBack=noted, current=now))[2]
    assert line == "└── 2026-03-02 11:55 UTC taken out by kubectl-set: session timeout 30s → 45s"
    assert drawn(view(takenBack=noted, current=None))[2] == "└── 2026-03-02 11:55 UTC taken out by kubectl-set"


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (SeenWorkload(), "Deployment orders, container app: not found"),
        (SeenWorkload(problem="pods is forbidden"), "Deployment orders, container app: pods is forbidden"),
        (SeenWorkload(deployment()), "Deployment orders, container app: 3 of 3 pods ready"),
    ],
)
def test_what_cannot_be_seen_is_said(seen: SeenWorkload, words: str) -> None:
    """It is no empty workload."""
    assert f"├── {words}" in drawn(view(), seen)


def test_what_holds_a_change_back_is_shown() -> None:
    """And a policy of which nothing is known yet says so."""
    condition = {
        "type": "Applied",
        "status": "False",
        "reason": "OutsideWindow",
        "message": "the next window opens on Monday",
        "lastTransitionTime": "2026-03-02T11:50:00Z",
        "observedGeneration": 2,
    }
    lines = drawn(view(conditions=[condition]))
    assert lines[-1] == "└── Applied=False OutsideWindow: the next window opens on Monday"
    unseen = {**condition, "type": "MetricsAvailable", "reason": "NoSeries", "message": "no series of group orders"}
    lines = drawn(view(conditions=[unseen]))
    assert lines[-1] == "└── MetricsAvailable=False NoSeries: no series of group orders"
    bare = drawn(view(verdict=None, applied=None, verification=None))
    assert bare == ["shop/orders  Apply  not decided yet", "└── values: not known yet"]


def test_a_terminal_is_not_steered_by_what_others_wrote() -> None:
    """Escapes in messages are shown as text."""
    verification = {"changeTime": "2026-03-02T11:40:00Z", "outcome": "Verified", "message": "\x1b[2J\nnothing"}
    lines = drawn(view(verification=verification), SeenWorkload(problem="\x1b]0;title\x07"))
    assert all(line.isprintable() for line in lines)


def test_a_terminal_without_lines_gets_others() -> None:
    """Of ASCII alone."""
    node = TreeNode("a", (TreeNode("b", (TreeNode("c"),)), TreeNode("d")))
    assert policy_tree.lines(node, ascii_only=True) == ["a", "|-- b", "|   `-- c", "`-- d"]
