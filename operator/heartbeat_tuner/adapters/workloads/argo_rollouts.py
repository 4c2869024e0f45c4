"""A Rollout of Argo Rollouts, read as the Deployment that it stands for: pure.

A Rollout has a Deployment's replicas, selector and template. Its strategy, its revision and its observed generation are
written in other ways. They are put into a Deployment's form once, where an object comes in, so that everything behind
reads one form. What a Deployment does not have stays as it is: `status.abort` and `status.pauseConditions`.
"""

from collections.abc import Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.workloads import rollout_state
from heartbeat_tuner.domain.evidence import MissingWorkload
from heartbeat_tuner.domain.policies import ROLLOUT, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say

REVISION: Final = "rollout.argoproj.io/revision"

_DIGITS: Final = 18
"""Generations have 64 bits; who may edit the status may write any text there."""

_SHARE: Final = "25%"
"""What Argo takes for `maxSurge` and `maxUnavailable` of a canary that sets none."""

_SHOWN: Final = 253
"""Characters of a name that a sentence repeats."""


def as_deployment(body: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return a Rollout in the form of a Deployment; an object of another kind as it is.

    Args:
        body: the object, as the API server has it.
        kind: of the object.
    """
    if kind != ROLLOUT:
        return body
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    annotations = dict(metadata.get("annotations") or {})
    annotations.pop(rollout_state.REVISION, None)  # of the Deployment that it was before
    if REVISION in annotations:
        annotations[rollout_state.REVISION] = annotations[REVISION]
    template = spec.get("template") or {}
    form = {
        "replicas": 1 if spec.get("replicas") is None else spec["replicas"],
        "strategy": _strategy(spec.get("strategy") or {}),
        "template": {**template, "spec": {"containers": [], **(template.get("spec") or {})}},
    }
    return {
        **body,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, **form},
        "status": {**status, "observedGeneration": _generation(status.get("observedGeneration"))},
    }


def refused(reference: WorkloadRef, workload: Mapping[str, Any]) -> MissingWorkload | None:
    """Return why nothing is read of a Rollout that takes its template from another object; None for others."""
    source = workload["spec"].get("workloadRef") if reference.kind == ROLLOUT else None
    if not source:
        return None
    phrase = (
        "{workload} takes its template from {kind} {name} (spec.workloadRef): values written into the Rollout would "
        "reach no pod. Move the template into the Rollout (spec.template); or name {kind} {name} in the policy with "
        "mode Recommend, and set the values there yourself"
    )
    kind, name = (str(source.get(key, ""))[:_SHOWN] for key in ("kind", "name"))
    return MissingWorkload(Reason.WORKLOAD_UNSUPPORTED, say(phrase, workload=reference, kind=kind, name=name))


def _generation(text: object) -> int:
    """Return the generation that the controller has seen; 0 where the text is no number, as of versions before 1.0."""
    digits = str(text)
    return int(digits) if len(digits) <= _DIGITS and digits.isascii() and digits.isdigit() else 0


def _strategy(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a strategy as a Deployment has it: how many pods more and how many fewer there may be meanwhile.

    A blue-green rollout has a second set of pods beside the first, and so has a canary whose traffic is routed.
    """
    canary = given.get("canary")
    if canary is None or canary.get("trafficRouting"):
        shares = {"maxSurge": "100%", "maxUnavailable": 0}
    else:
        shares = {key: canary.get(key, _SHARE) for key in ("maxSurge", "maxUnavailable")}
    return {"type": "RollingUpdate", "rollingUpdate": shares}
