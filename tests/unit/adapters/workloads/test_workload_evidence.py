"""What is made of a workload does not depend on the order in which its pods come."""

import dataclasses
from datetime import timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.adapters.workloads import workload_evidence
from heartbeat_tuner.api import parsing
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase
from tests.support import manifests, worlds

SESSION: Final = "KAFKA_SESSION_TIMEOUT_MS"


def _pod(number: int, session: str, *, ready: bool) -> dict[str, Any]:
    """Return a pod with a session timeout; one that never got ready says nothing against itself."""
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-03-02T11:00:00Z"}]
    running = {"startedAt": "2026-03-02T11:00:00Z"}
    return manifests.running_pod(
        metadata={"name": f"orders-{number}", "uid": f"uid-{number}"},
        spec={"containers": [manifests.container(env=[manifests.literal(SESSION, session)])]},
        status={
            "phase": "Running",
            "podIP": f"10.0.0.{number}",
            "conditions": conditions,
            "containerStatuses": [{"name": "app", "restartCount": 0, "state": {"running": running}}],
        },
    )


def test_the_order_of_pods_says_nothing() -> None:
    """A watch has them as they came, a list by name: were they different workloads, no write would ever be allowed."""
    pods = [_pod(0, "1000", ready=True), _pod(1, "30000", ready=False)]
    deployment = manifests.deployment()
    deployment["metadata"] |= {"uid": "workload-1", "resourceVersion": "7"}
    template = manifests.container(env=[manifests.literal(SESSION, "30000")])
    deployment["spec"]["template"] = {"spec": {"containers": [template]}}
    forwards, backwards = (
        workload_evidence.workload_of(worlds.policy(), deployment, given, {}, template="1")
        for given in (pods, pods[::-1])
    )
    assert forwards == backwards


def test_a_worker_of_connect_has_no_fetch_wait_to_be_set() -> None:
    """It has the consumers' default, of which nothing is said; what is set of the others is read."""
    deployment = manifests.deployment()
    deployment["metadata"] |= {"uid": "workload-1", "resourceVersion": "7"}
    template = manifests.container(env=[manifests.literal("CONNECT_SESSION_TIMEOUT_MS", "6000")])
    deployment["spec"]["template"] = {"spec": {"containers": [template]}}
    policy = parsing.policy_of(manifests.policy(spec={"client": {"library": "connect"}}))
    made = workload_evidence.workload_of(policy, deployment, [], {}, template="1")
    assert isinstance(made, Workload)
    assert made.current is not None
    settings = made.current.settings
    assert (settings.session_timeout, settings.fetch_wait) == (timedelta(seconds=6), timedelta(milliseconds=500))
    assert made.current.assumed == (Setting.HEARTBEAT_INTERVAL,)


def test_the_values_of_an_application_in_go_are_durations_with_units() -> None:
    """By the library of the policy: a Deployment does not say in which language its program is written."""
    deployment = manifests.deployment()
    deployment["metadata"] |= {"uid": "workload-1", "resourceVersion": "7"}
    template = manifests.container(env=[manifests.literal("KAFKA_SESSION_TIMEOUT", "6s")])
    deployment["spec"]["template"] = {"spec": {"containers": [template]}}
    policy = parsing.policy_of(manifests.policy(spec={"client": {"library": "franz-go"}}))
    made = workload_evidence.workload_of(policy, deployment, [], {}, template="1")
    assert isinstance(made, Workload)
    assert made.current is not None
    assert made.current.settings.session_timeout == timedelta(seconds=6)


CANARY: Final = Canary(
    worlds.NOW,
    worlds.NOW + timedelta(days=1),
    worlds.settings("20s"),
    worlds.settings("30s"),
    {SESSION: "20000"},
    2,
    "workload-1",
    "1",
    "",
)


def _seen(*pods: dict[str, Any], canary: Canary | None = CANARY, session: str = "30000") -> Workload:
    """Return what is made of a Deployment of three whose template has a session timeout in ms, of 30 s for one."""
    deployment = manifests.deployment()
    deployment["metadata"] |= {"uid": "workload-1", "resourceVersion": "7"}
    template = manifests.container(env=[manifests.literal(SESSION, session)])
    deployment["spec"] |= {"replicas": 3, "template": {"spec": {"containers": [template]}}}
    made = workload_evidence.workload_of(worlds.policy(canary=canary), deployment, pods, {}, template="1")
    assert isinstance(made, Workload)
    return made


def test_a_canarys_pods_are_not_what_is_set() -> None:
    """They are told apart by their environment; without a canary such pods differ from the others."""
    pods = [_pod(0, "30000", ready=True), _pod(1, "20000", ready=True), _pod(2, "20000", ready=False)]
    seen = _seen(*pods)
    assert seen.current is not None
    assert seen.current.settings.session_timeout == worlds.seconds(30)
    assert dict(seen.canary.uids) == {"orders-1": "uid-1", "orders-2": "uid-2"}
    assert [pod.pod for pod in seen.canary.rollout.ready] == ["orders-1"]
    assert (seen.canary.rollout.unready, seen.canary.total, len(seen.pods)) == (("orders-2",), 3, 3)
    assert _seen(*pods, canary=None).current is None


def test_an_annotation_makes_no_pod_one_of_a_canary() -> None:
    """Whoever may edit pods may write any; the environment of a pod that is there nobody can change."""
    forged = _pod(0, "30000", ready=True)
    forged["metadata"]["annotations"] = {"heartbeat-tuner.dev/canary-of": "orders"}
    assert dict(_seen(forged, _pod(1, "30000", ready=True)).canary.uids) == {}


def test_a_pod_that_is_going_is_none_of_it_any_more() -> None:
    """It was evicted already."""
    going = _pod(1, "20000", ready=True)
    going["metadata"]["deletionTimestamp"] = "2026-03-02T12:00:00Z"
    seen = _seen(_pod(0, "30000", ready=True), going)
    assert (dict(seen.canary.uids), seen.canary.total) == ({}, 1)


def test_a_pod_that_has_a_part_of_the_values_is_none_of_it() -> None:
    """Nor one that takes the variable from elsewhere."""
    two = dataclasses.replace(CANARY, entries={SESSION: "20000", "KAFKA_HEARTBEAT_INTERVAL_MS": "2000"})
    other = _pod(1, "20000", ready=True)
    other["spec"]["containers"][0]["env"] = [{"name": SESSION, "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]
    assert dict(_seen(_pod(0, "20000", ready=True), canary=two).canary.uids) == {}
    assert dict(_seen(_pod(0, "30000", ready=True), other).canary.uids) == {}


def test_pods_have_their_values_of_a_template_that_has_them_or_of_another_workload() -> None:
    """Somebody deployed what was tried: evicted, each pod would come back with the values, and be evicted for ever."""
    pods = [_pod(number, "20000", ready=True) for number in range(3)]
    deployed = _seen(*pods, session="20000")
    assert (dict(deployed.canary.uids), deployed.canary.total) == ({}, 3)
    another = _seen(*pods, canary=dataclasses.replace(CANARY, workload_uid="workload-0"))
    assert dict(another.canary.uids) == {}


def test_a_pod_that_is_over_is_none_of_it_and_none_of_the_others() -> None:
    """Its node was shut down, and its controller has made another: for it no canary would ever be complete."""
    over = [_pod(number, session, ready=False) for number, session in ((2, "20000"), (3, "30000"))]
    for pod in over:
        ended = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": "2026-03-02T11:59:00Z"}}
        pod["status"] |= {"phase": "Failed", "containerStatuses": [{"name": "app", "restartCount": 0, "state": ended}]}
    seen = _seen(_pod(0, "30000", ready=True), _pod(1, "20000", ready=True), *over)
    assert (dict(seen.canary.uids), seen.canary.total) == ({"orders-1": "uid-1"}, 2)
    assert seen.canary.rollout.failing == ()


def test_the_pods_of_a_canary_are_known_when_the_policy_names_other_variables_by_now() -> None:
    """Else they would keep the values, and nobody would take them back."""
    renamed = dataclasses.replace(CANARY, entries={"OLD_SESSION_MS": "20000"})
    pod = _pod(1, "30000", ready=True)
    pod["spec"]["containers"][0]["env"].append(manifests.literal("OLD_SESSION_MS", "20000"))
    assert dict(_seen(_pod(0, "30000", ready=True), pod, canary=renamed).canary.uids) == {"orders-1": "uid-1"}


def test_a_pod_that_came_with_the_values_after_the_end_is_none_of_it() -> None:
    """Something else gives them to new pods: each would be evicted, and come back with them, for ever."""
    ended = dataclasses.replace(CANARY, phase=CanaryPhase.ENDED, until=worlds.NOW)
    before, later = _pod(1, "20000", ready=True), _pod(2, "20000", ready=True)
    before["metadata"]["creationTimestamp"] = "2026-03-02T11:59:00Z"
    later["metadata"]["creationTimestamp"] = "2026-03-02T12:02:01Z"
    pods = (_pod(0, "30000", ready=True), before, later)
    assert set(_seen(*pods, canary=ended).canary.uids) == {"orders-1"}
    assert set(_seen(*pods).canary.uids) == {"orders-1", "orders-2"}


@pytest.mark.parametrize("partition", [0, 2])
def test_a_partition_is_seen_through_what_is_held(partition: int) -> None:
    """A gate holds what would reach a part of the pods."""
    stateful = manifests.deployment()
    stateful["metadata"] |= {"uid": "workload-1", "resourceVersion": "7"}
    stateful["spec"] |= {"replicas": 3, "template": {"spec": {"containers": [manifests.container()]}}}
    stateful["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    reference = dataclasses.replace(worlds.policy().workload, kind="StatefulSet")
    policy = dataclasses.replace(worlds.policy(), workload=reference)
    seen = workload_evidence.workload_of(policy, stateful, [], {}, template="1")
    assert isinstance(seen, Workload)
    assert seen.partition == partition


def test_a_pod_that_is_over_says_nothing_against_the_template() -> None:
    """The kubelet evicted it from a full node; it lies about, and would crash for ever as far as its restarts say."""
    over = _pod(1, "30000", ready=False)
    ended = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": "2026-03-02T11:59:00Z"}}
    over["status"] |= {"phase": "Failed", "containerStatuses": [{"name": "app", "restartCount": 4, "state": ended}]}
    seen = _seen(_pod(0, "30000", ready=True), over, canary=None)
    assert seen.rollout.failing == ()
    assert seen.rollout.pods == {"orders-0"}
