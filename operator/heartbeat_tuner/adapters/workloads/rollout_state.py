"""What a workload and its pods say of a rollout: pure. A Rollout comes in the form of a Deployment (`argo_rollouts`).

A pod is of the newest template here if its environment has the template's values: ReplicaSets are not read.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.domain.policies import STATEFUL_SET
from heartbeat_tuner.domain.rollouts import DEFAULT_DEADLINE, MANY_CRASHES, Failing, Rollout, Strategy, UpdatedPod

_DEFAULT_UNAVAILABLE: Final = "25%"
_PERCENT_DIGITS: Final = 9
"""So many digits of a share are read: the API server takes any number of them, `int` only some thousands."""

REVISION: Final = "deployment.kubernetes.io/revision"

_REVISION_DIGITS: Final = 18
"""The controller counts with 64 bits; who may edit the Deployment may write any text there."""

MAX_NAMED: Final = 200
"""Characters of a container's own message that a sentence repeats."""


def strategy_of(spec: Mapping[str, Any], kind: str) -> Strategy:
    """Return how the pods of a workload are replaced."""
    given = spec.get("updateStrategy" if kind == STATEFUL_SET else "strategy") or {}
    name = given.get("type", Strategy.ROLLING)
    return Strategy(name) if name in set(Strategy) else Strategy.ROLLING


def stops_all_at_once(spec: Mapping[str, Any], kind: str) -> bool:
    """Whether a rollout may stop all pods before a new one is ready: by Recreate, or by so large a `maxUnavailable`."""
    if kind == STATEFUL_SET:
        return False
    if strategy_of(spec, kind) is Strategy.RECREATE:
        return True
    rolling, replicas = (spec.get("strategy") or {}).get("rollingUpdate") or {}, spec.get("replicas", 1)
    unavailable = _share(rolling.get("maxUnavailable", _DEFAULT_UNAVAILABLE), replicas)
    if not unavailable and rolling.get("maxSurge", 1) in {0, "0%", "0"}:
        unavailable = 1  # one of the two has to be more than nothing
    return bool(replicas) and unavailable >= replicas


def is_paused(workload: Mapping[str, Any]) -> bool:
    """Whether changes of the template reach no pod, or no further one."""
    return bool(workload["spec"].get("paused", False)) or bool(step_of(workload))


def step_of(workload: Mapping[str, Any]) -> str:
    """Return at which step a Rollout waits, as a field with its value; empty where it waits at none."""
    status = workload.get("status", {})
    reasons = [str(pause.get("reason", "")) for pause in status.get("pauseConditions") or ()]
    if not reasons or status.get("observedGeneration", 0) < workload["metadata"]["generation"]:
        return ""
    return f"status.pauseConditions: {reasons[0][:MAX_NAMED]}"


def partition_of(spec: Mapping[str, Any], kind: str) -> int:
    """Return the ordinal from which on a StatefulSet's pods get a change of its template; 0 where all get it."""
    if kind != STATEFUL_SET:
        return 0
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    return int(rolling.get("partition", 0))


def revision_of(workload: Mapping[str, Any], kind: str) -> int | None:
    """Return a number that rises by one with each rollout; None until the controller has seen the newest spec.

    `metadata.generation` is no such number for a Deployment: it rises with each change of an annotation, too. The
    Deployment controller numbers its rollouts in an annotation, before it notes which generation it has seen.
    """
    metadata = workload["metadata"]
    if workload.get("status", {}).get("observedGeneration", 0) < metadata["generation"]:
        return None
    if kind == STATEFUL_SET:
        return int(metadata["generation"])
    text = metadata.get("annotations", {}).get(REVISION, "")
    return int(text) if len(text) <= _REVISION_DIGITS and text.isascii() and text.isdigit() else 0


def rollout_of(workload: Mapping[str, Any], kind: str, pods: Sequence[Mapping[str, Any]]) -> Rollout:
    """Return how far a workload's pods are.

    Args:
        workload: the Deployment, StatefulSet or Rollout.
        kind: which of them.
        pods: those of the newest template that are not being deleted.
    """
    spec, status = workload["spec"], workload.get("status", {})
    seen = status.get("observedGeneration", 0) >= workload["metadata"]["generation"]
    progressing = _condition(status, "Progressing")
    failing = [failure for pod in sorted(pods, key=_name) if (failure := failing_pod(pod)) is not None]
    return Rollout(
        wanted=spec.get("replicas", 1),
        updated=status.get("updatedReplicas", 0) if seen else 0,
        deadline=_deadline(spec, kind),
        exceeded=seen and progressing.get("reason") == "ProgressDeadlineExceeded",
        aborted=seen and bool(status.get("abort", False)),
        progressed=_progressed(progressing, pods),
        failing=tuple(failing),
        ready=tuple(ready for pod in pods if (ready := _ready_pod(pod)) is not None),
        unready=tuple(sorted(_name(pod) for pod in pods if _is_unready(pod))),
        pods=frozenset(map(_name, pods)),
    )


def ready_since(pod: Mapping[str, Any], started: datetime) -> datetime | None:
    """Return since when the pod is ready and its container runs, which began at `started`; None if it is not ready."""
    ready = _condition(pod.get("status", {}), "Ready")
    if ready.get("status") != "True":
        return None
    since = ready.get("lastTransitionTime")
    return started if since is None else max(started, datetime.fromisoformat(since))


def failing_pod(pod: Mapping[str, Any]) -> Failing | None:
    """Return why a pod is not ready, or did not stay so; None if its containers give no reason."""
    status = pod.get("status", {})
    statuses = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    for container in sorted(statuses, key=lambda container: -container.get("restartCount", 0)):
        why = next(_troubles(container), None)
        if why is not None:
            started = container.get("state", {}).get("running", {}).get("startedAt")
            since = None if started is None else ready_since(pod, datetime.fromisoformat(started))
            name, restarts = container["name"], container.get("restartCount", 0)
            return Failing(_name(pod), f"container {name} {why}", restarts, since, name)
    return None


def _ready_pod(pod: Mapping[str, Any]) -> UpdatedPod | None:
    """Return a pod that is ready, with its last start; None for others."""
    statuses = pod.get("status", {}).get("containerStatuses", ())
    starts = [status.get("state", {}).get("running", {}).get("startedAt") for status in statuses]
    started = max((datetime.fromisoformat(start) for start in starts if start is not None), default=None)
    since = None if started is None else ready_since(pod, started)
    restarts = max((status.get("restartCount", 0) for status in statuses), default=0)
    return None if since is None else UpdatedPod(_name(pod), since, restarts)


def _is_unready(pod: Mapping[str, Any]) -> bool:
    """Whether a pod's containers all run, none of them failed, and it is not ready all the same."""
    statuses = pod.get("status", {}).get("containerStatuses", ())
    runs = bool(statuses) and all("running" in status.get("state", {}) for status in statuses)
    return runs and failing_pod(pod) is None and _ready_pod(pod) is None


def _troubles(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a container, in words that stay while it crashes again and again."""
    waiting, restarts = status.get("state", {}).get("waiting", {}), status.get("restartCount", 0)
    ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated")
    if ended is not None and (restarts or "terminated" in status.get("state", {}) or waiting):
        code = ended.get("exitCode")
        yield f"ends again and again, with exit code {code}" if restarts >= MANY_CRASHES else f"ended with code {code}"
    reason = waiting.get("reason")
    if reason not in {None, "ContainerCreating", "PodInitializing"}:
        message = waiting.get("message", "")[:MAX_NAMED]
        yield f"waits: {reason}" + (f" ({message})" if message else "")


def _progressed(progressing: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> datetime | None:
    """Return when a Deployment's controller saw progress last, or the newest pod was made, whichever is later."""
    texts = [progressing.get("lastUpdateTime"), *(pod["metadata"].get("creationTimestamp") for pod in pods)]
    return max((datetime.fromisoformat(text) for text in texts if text is not None), default=None)


def _deadline(spec: Mapping[str, Any], kind: str) -> timedelta:
    if kind == STATEFUL_SET or "progressDeadlineSeconds" not in spec:
        return DEFAULT_DEADLINE
    return timedelta(seconds=spec["progressDeadlineSeconds"])


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    return next((condition for condition in status.get("conditions", ()) if condition["type"] == kind), {})


def _name(pod: Mapping[str, Any]) -> str:
    name: str = pod["metadata"]["name"]
    return name


def _share(given: object, replicas: int) -> int:
    """Return a number of pods, given as one or as a share of all, rounded down."""
    if isinstance(given, int):
        return given
    percent = int(str(given).removesuffix("%").lstrip("0")[:_PERCENT_DIGITS] or "0")
    return math.floor(replicas * percent / 100)
