"""What Deployments, StatefulSets and pods say of a rollout."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heartbeat_tuner.adapters.workloads import container_env, manifests, rollout_state
from heartbeat_tuner.domain.rollouts import Failing, Rollout, Strategy, UpdatedPod
from tests.support import manifests as made

STARTED = datetime(2026, 3, 2, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "kind", "strategy", "at_once"),
    [
        ({}, "Deployment", Strategy.ROLLING, False),
        ({"replicas": 3}, "Deployment", Strategy.ROLLING, False),
        ({"replicas": 3, "strategy": {"type": "Recreate"}}, "Deployment", Strategy.RECREATE, True),
        (
            {"replicas": 3, "strategy": {"rollingUpdate": {"maxUnavailable": "100%"}}},
            "Deployment",
            "RollingUpdate",
            True,
        ),
        ({"replicas": 3, "strategy": {"rollingUpdate": {"maxUnavailable": 3}}}, "Deployment", "RollingUpdate", True),
        ({"replicas": 3, "strategy": {"rollingUpdate": {"maxUnavailable": 2}}}, "Deployment", "RollingUpdate", False),
        (
            {"replicas": 3, "strategy": {"rollingUpdate": {"maxUnavailable": "99%"}}},
            "Deployment",
            "RollingUpdate",
            False,
        ),
        ({"replicas": 1, "strategy": {"rollingUpdate": {"maxSurge": 0}}}, "Deployment", "RollingUpdate", True),
        ({"replicas": 1, "strategy": {"rollingUpdate": {"maxSurge": "0%"}}}, "Deployment", "RollingUpdate", True),
        ({"replicas": 0, "strategy": {"rollingUpdate": {"maxUnavailable": 1}}}, "Deployment", "RollingUpdate", False),
        ({"replicas": 3, "strategy": {"type": "Later"}}, "Deployment", Strategy.ROLLING, False),
        ({"updateStrategy": {"type": "OnDelete"}}, "StatefulSet", Strategy.ON_DELETE, False),
        ({"podManagementPolicy": "Parallel"}, "StatefulSet", Strategy.ROLLING, False),
    ],
)
def test_how_pods_are_replaced(spec: dict[str, Any], kind: str, strategy: Strategy, *, at_once: bool) -> None:
    """One after the other unless the spec says more; what a later Kubernetes calls it is taken for that."""
    assert rollout_state.strategy_of(spec, kind) == strategy
    assert rollout_state.stops_all_at_once(spec, kind) is at_once


@pytest.mark.parametrize(
    ("spec", "kind", "partition"),
    [
        ({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}, "StatefulSet", 2),
        ({"updateStrategy": {"rollingUpdate": {"partition": 0}}}, "StatefulSet", 0),
        ({"updateStrategy": {"type": "RollingUpdate"}}, "StatefulSet", 0),
        ({"updateStrategy": {"type": "OnDelete"}}, "StatefulSet", 0),
        ({}, "StatefulSet", 0),
        ({"strategy": {"rollingUpdate": {"partition": 2}}}, "Deployment", 0),
    ],
)
def test_from_which_pod_on_a_template_reaches_them(spec: dict[str, Any], kind: str, partition: int) -> None:
    """Of a StatefulSet pods before its partition keep the template before, also where they are created again."""
    assert rollout_state.partition_of(spec, kind) == partition


@pytest.mark.parametrize(
    ("kind", "annotations", "observed", "revision"),
    [
        ("Deployment", {"deployment.kubernetes.io/revision": "3"}, 9, 3),
        ("Deployment", {"deployment.kubernetes.io/revision": "3"}, 8, None),
        ("Deployment", {"deployment.kubernetes.io/revision": "third"}, 9, 0),
        ("Deployment", {"deployment.kubernetes.io/revision": "9" * 5_000}, 9, 0),
        ("Deployment", {}, 9, 0),
        ("StatefulSet", {"deployment.kubernetes.io/revision": "3"}, 9, 9),
        ("StatefulSet", {}, 8, None),
    ],
)
def test_rollouts_are_counted(kind: str, annotations: dict[str, str], observed: int, revision: int | None) -> None:
    """A Deployment's generation counts changes of annotations, too: it says nothing of rollouts."""
    workload = {
        "metadata": {"generation": 9, "annotations": annotations},
        "status": {"observedGeneration": observed},
    }
    assert rollout_state.revision_of(workload, kind) == revision


def pod(state: dict[str, Any], *, restarts: int = 0, ready: str = "False", **last: Any) -> dict[str, Any]:
    """Return a pod whose container is in a state."""
    container = {"name": "app", "restartCount": restarts, "state": state, "lastState": last}
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-03-02T11:00:05Z"}]
    return made.running_pod(
        metadata={"name": "orders-0", "uid": "u", "creationTimestamp": "2026-03-02T10:59:00Z"},
        status={"podIP": "10.0.0.1", "conditions": conditions, "containerStatuses": [container]},
    )


RUNNING = {"running": {"startedAt": "2026-03-02T11:00:00Z"}}
ENDED = {"exitCode": 7}


@pytest.mark.parametrize(
    ("pod_object", "expected"),
    [
        (pod(RUNNING), None),
        (pod({"waiting": {"reason": "ContainerCreating"}}), None),
        (pod({}), None),
        (pod({"terminated": ENDED}), Failing("orders-0", "container app ended with code 7", 0, container="app")),
        (
            pod({"waiting": {"reason": "CrashLoopBackOff"}}, restarts=2, terminated=ENDED),
            Failing("orders-0", "container app ends again and again, with exit code 7", 2, container="app"),
        ),
        (
            pod(RUNNING, restarts=3, ready="True", terminated=ENDED),
            Failing(
                "orders-0",
                "container app ends again and again, with exit code 7",
                restarts=3,
                ready_since=STARTED + timedelta(seconds=5),
                container="app",
            ),
        ),
        (
            pod({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}),
            Failing("orders-0", "container app waits: ImagePullBackOff (no such image)", 0, container="app"),
        ),
        (
            pod({"waiting": {"reason": "CreateContainerConfigError"}}),
            Failing("orders-0", "container app waits: CreateContainerConfigError", 0, container="app"),
        ),
    ],
)
def test_why_a_pod_fails(pod_object: dict[str, Any], expected: Failing | None) -> None:
    """In words that stay while it crashes again and again."""
    assert rollout_state.failing_pod(pod_object) == expected


def test_a_pod_is_ready_since_the_later_of_its_condition_and_its_container() -> None:
    """A container that was started again may have done so faster than the condition moved."""
    assert rollout_state.ready_since(pod(RUNNING, ready="True"), STARTED) == STARTED + timedelta(seconds=5)
    assert rollout_state.ready_since(pod(RUNNING, ready="True"), STARTED + timedelta(hours=1)) == STARTED + timedelta(
        hours=1
    )
    assert rollout_state.ready_since(pod(RUNNING), STARTED) is None
    assert (
        rollout_state.ready_since({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, STARTED) == STARTED
    )
    found = manifests.running_pod(pod(RUNNING, ready="True"), "app")
    assert found is not None
    assert found.ready_since == STARTED + timedelta(seconds=5)


def test_the_container_that_fails_is_named() -> None:
    """The one that was restarted most often, an init container among them: a sidecar's crash says nothing of values."""
    crashing = {"waiting": {"reason": "CrashLoopBackOff"}}
    sidecar = {"name": "proxy", "restartCount": 4, "state": crashing, "lastState": {"terminated": ENDED}}
    beside = pod(crashing, restarts=3, terminated=ENDED)
    beside["status"]["containerStatuses"].append(sidecar)
    assert named(beside) == "proxy"
    beside["status"]["containerStatuses"][0]["restartCount"] = 5
    assert named(beside) == "app"
    before = pod(RUNNING)
    before["status"]["initContainerStatuses"] = [{**sidecar, "name": "migrate"}]
    assert named(before) == "migrate"


def named(body: dict[str, Any]) -> str:
    """Return which container of a pod fails."""
    found = rollout_state.failing_pod(body)
    assert found is not None
    return found.container


def test_pods_that_are_ready_are_listed_since_their_last_start() -> None:
    """With the restarts of the container that had most; one that is not ready, or says no start, is not among them."""
    ready, waits = pod(RUNNING, restarts=1, ready="True"), pod(RUNNING)
    later = {"name": "proxy", "restartCount": 4, "state": {"running": {"startedAt": "2026-03-02T11:30:00Z"}}}
    ready["status"]["containerStatuses"].append(later)
    found = rollout_state.rollout_of(made.deployment(), "Deployment", [ready, waits, pod({}, ready="True")])
    assert found.ready == (UpdatedPod("orders-0", STARTED + timedelta(minutes=30), 4),)
    assert found.unready == (waits["metadata"]["name"],)


EXCEEDED = {
    "type": "Progressing",
    "status": "False",
    "reason": "ProgressDeadlineExceeded",
    "lastUpdateTime": "2026-03-02T11:10:00Z",
}


def test_how_far_a_rollout_is() -> None:
    """By what the controller says of the newest template; what it said of an older one counts for nothing."""
    body = made.deployment(replicas=4, updatedReplicas=1)
    body["status"]["conditions"] = [EXCEEDED]
    body["spec"]["progressDeadlineSeconds"] = 20
    found = rollout_state.rollout_of(body, "Deployment", [pod({"terminated": ENDED})])
    assert found == Rollout(
        wanted=4,
        updated=1,
        deadline=timedelta(seconds=20),
        exceeded=True,
        progressed=datetime(2026, 3, 2, 11, 10, tzinfo=UTC),
        failing=(Failing("orders-0", "container app ended with code 7", 0, container="app"),),
        pods=frozenset({"orders-0"}),
    )
    body["status"]["observedGeneration"] = 1
    unseen = rollout_state.rollout_of(body, "Deployment", [])
    assert (unseen.updated, unseen.exceeded) == (0, False)


def test_a_stateful_set_progresses_with_its_newest_pod() -> None:
    """It has neither a deadline nor a condition."""
    body = made.deployment()
    found = rollout_state.rollout_of(body, "StatefulSet", [pod(RUNNING)])
    assert (found.deadline, found.exceeded) == (timedelta(seconds=600), False)
    assert found.progressed == datetime(2026, 3, 2, 10, 59, tzinfo=UTC)
    assert rollout_state.rollout_of(body, "StatefulSet", []).progressed is None


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (made.literal("S", "30000"), '{name: S, value: "30000"}'),
        (made.literal("S", None), "{name: S}"),
        (made.literal("S", "swordfish"), "{name: S}"),
        (made.from_key("S", "orders", "s"), "{name: S, valueFrom: {configMapKeyRef: {name: orders, key: s}}}"),
        (
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b", "optional": True}}},
            "{name: S, valueFrom: {secretKeyRef: {name: a, key: b, optional: true}}}",
        ),
    ],
)
def test_an_entry_is_named_as_it_stands_in_the_manifest(entry: dict[str, Any], line: str) -> None:
    """But for texts that look like no duration."""
    container = made.container(env=[entry])
    assert container_env.line(container, "S") == line
    assert container_env.line(container, "H") is None
