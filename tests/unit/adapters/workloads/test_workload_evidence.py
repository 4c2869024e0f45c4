"""What is made of a workload does not depend on the order in which its pods come."""

from typing import Any, Final

from heartbeat_tuner.adapters.workloads import workload_evidence
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
