"""What a Rollout of Argo's says, in a Deployment's form."""

from typing import Any

import pytest

from heartbeat_tuner.adapters.workloads import argo_rollouts, manifests, rollout_state, trimming, workload_sizes
from heartbeat_tuner.domain.policies import ObjectKey, WorkloadRef
from tests.support import manifests as made

ROLLED = WorkloadRef("Rollout", ObjectKey("shop", "orders-consumer"), "app")


def rollout(*, spec: dict[str, Any] | None = None, annotations: Any = None, **status: Any) -> dict[str, Any]:
    """Return a Rollout of generation 2 in the form of a Deployment; one that is finished if no status is given."""
    finished = {"observedGeneration": "2", "replicas": 3, "updatedReplicas": 3}
    template = {"spec": {"containers": [made.container()]}}
    body = {
        "metadata": {"name": "orders-consumer", "uid": "u", "generation": 2, "annotations": annotations},
        "spec": {"replicas": 3, "template": template, **(spec or {})},
        "status": {**finished, **status},
    }
    return dict(argo_rollouts.as_deployment(body, "Rollout"))


@pytest.mark.parametrize("observed", ["1", None, "", "5b8c9d7f4", "\N{SUPERSCRIPT TWO}", "9" * 5000])
def test_a_generation_that_nobody_has_seen_is_a_rollout_that_goes_on(observed: str | None) -> None:
    """It is a text; versions before 1.0 wrote a hash, and who may write the status may write anything."""
    assert not manifests.is_rolling_out(rollout())
    assert manifests.is_rolling_out(rollout(observedGeneration=observed))
    assert rollout_state.revision_of(rollout(observedGeneration=observed), "Rollout") is None


def test_the_revision_is_argos_own() -> None:
    """A Rollout that was a Deployment before may carry that one's number still."""
    both = {"rollout.argoproj.io/revision": "7", "deployment.kubernetes.io/revision": "99"}
    assert rollout_state.revision_of(rollout(annotations=both), "Rollout") == 7
    old = {"deployment.kubernetes.io/revision": "99"}
    assert rollout_state.revision_of(rollout(annotations=old), "Rollout") == 0


@pytest.mark.parametrize(
    ("strategy", "pods", "at_once"),
    [
        ({}, 6, False),
        ({"canary": {}}, 4, False),
        ({"canary": {"maxSurge": "50%"}}, 5, False),
        ({"canary": {"maxSurge": 0, "maxUnavailable": 3}}, 3, True),
        ({"canary": {"trafficRouting": {"istio": {}}}}, 6, False),
        ({"blueGreen": {"activeService": "orders"}}, 6, False),
    ],
)
def test_how_many_pods_there_may_be(strategy: dict[str, Any], pods: int, *, at_once: bool) -> None:
    """A second set of pods are members too."""
    spec = rollout(spec={"strategy": strategy})["spec"]
    assert workload_sizes.size_of(spec, "Rollout") == pods
    assert rollout_state.stops_all_at_once(spec, "Rollout") is at_once


def test_without_replicas_there_is_one_pod() -> None:
    """As for a Deployment."""
    assert rollout(spec={"replicas": None})["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("spec", "status", "pause"),
    [
        ({}, {}, ""),
        ({"paused": True}, {}, ""),
        ({}, {"pauseConditions": [{"reason": "CanaryPauseStep"}]}, "status.pauseConditions: CanaryPauseStep"),
        ({}, {"pauseConditions": [{"reason": "x" * 900}]}, "status.pauseConditions: " + "x" * 200),
        ({}, {"pauseConditions": [{"reason": "CanaryPauseStep"}], "observedGeneration": "1"}, ""),
    ],
)
def test_where_it_waits(spec: dict[str, Any], status: dict[str, Any], pause: str) -> None:
    """A step of the rollout before says nothing of the one that nobody has seen yet."""
    body = rollout(spec=spec, **status)
    assert rollout_state.step_of(body) == pause
    assert rollout_state.is_paused(body) is bool(pause or spec)


def test_an_abort_counts_for_the_generation_that_was_seen() -> None:
    """The next template has not been aborted."""
    assert rollout_state.rollout_of(rollout(abort=True), "Rollout", []).aborted
    assert not rollout_state.rollout_of(rollout(abort=True, observedGeneration="1"), "Rollout", []).aborted


def test_a_template_of_another_object_is_refused_by_its_name() -> None:
    """Also after it was trimmed for the watch; a Deployment with such a field is none of Argo's."""
    source = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "orders-template"}
    body = rollout(spec={"template": None, "workloadRef": source})
    for seen in (body, trimming.workload(body, [], us="us")):
        refused = argo_rollouts.refused(ROLLED, seen)
        assert refused is not None
        assert "takes its template from Deployment orders-template (spec.workloadRef)" in str(refused.message)
    assert argo_rollouts.refused(ROLLED, rollout()) is None
    deployment = WorkloadRef("Deployment", ROLLED.key, "app")
    assert argo_rollouts.refused(deployment, body) is None
    assert argo_rollouts.as_deployment(body, "Deployment") is body


def managed(manager: str | None, containers: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of `managedFields` that covers containers of the template."""
    fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": containers}}}}
    return {"fieldsV1": fields, **({} if manager is None else {"manager": manager})}


def test_who_has_all_containers_as_one_value() -> None:
    """By an entry that covers the list, and no part of it; seen after trimming too."""
    body = rollout()
    part: dict[str, Any] = {'k:{"name":"app"}': {".": {}, "f:image": {}}}
    other = {"manager": "status", "fieldsV1": {"f:status": {}}}
    body["metadata"]["managedFields"] = [managed("helm", {}), managed("helm", {}), managed(None, {}), other]
    for seen in (body, trimming.workload(body, [], us="us")):
        assert manifests.owners_of_all_containers(seen) == ("helm", "an unnamed manager")
    body["metadata"]["managedFields"] = [managed("helm", part), other]
    for seen in (body, trimming.workload(body, [], us="us")):
        assert manifests.owners_of_all_containers(seen) == ()
