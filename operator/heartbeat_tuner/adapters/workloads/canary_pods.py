"""Which pods of a workload have a canary's values: pure.

They are known by their environment, which nobody can change in a pod that is there. The annotation that the webhook
leaves is for people: anybody who may edit a pod may write any text there.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.adapters.workloads import manifests, rollout_state
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.rollouts import CanaryPods
from heartbeat_tuner.domain.verifications import Canary

LATE: Final = timedelta(minutes=2)
"""So long after the end of a canary a webhook whose watch lags behind may still give its values to a pod."""

_Pod = Mapping[str, Any]

_ENDED: Final = frozenset({"Failed", "Succeeded"})
"""Phases of pods that their controller has replaced, and that lie about: of a node that was shut down, say."""


def parted(policy: Policy, workload: Mapping[str, Any], pods: Sequence[_Pod]) -> tuple[Sequence[_Pod], Sequence[_Pod]]:
    """Return the pods without a canary's values, and those with them; none of the latter where there is no canary.

    Pods that are being deleted, or are over, are in neither. Where the template itself has the values, since somebody
    deployed them, or the workload is another one, no pod has them from the canary: evicted, each would come back with
    them endlessly.

    Args:
        policy: with its canary.
        workload: the Deployment, StatefulSet or Rollout.
        pods: all that belong to it.
    """
    canary, name = policy.canary, policy.workload.container
    if canary is None or not canary.entries or workload["metadata"]["uid"] != canary.workload_uid:
        return pods, ()
    if _has(manifests.container_of(workload["spec"]["template"]["spec"], name), canary.entries):
        return pods, ()
    others, tried = list[_Pod](), list[_Pod]()
    for pod in filter(is_there, pods):
        has_values = _has(manifests.container_of(pod["spec"], name), canary.entries)
        (tried if has_values and not _came_later(canary, pod) else others).append(pod)
    return others, tried


def seen(workload: Mapping[str, Any], kind: str, tried: Sequence[_Pod], others: int) -> CanaryPods:
    """Return how far a canary's pods are.

    Args:
        workload: the Deployment, StatefulSet or Rollout.
        kind: which of the two.
        tried: the pods with the values.
        others: how many pods there are without them.
    """
    if not tried:
        return CanaryPods(total=others)
    uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in tried}
    return CanaryPods(uids, rollout_state.rollout_of(workload, kind, tried), len(tried) + others)


def _came_later(canary: Canary, pod: _Pod) -> bool:
    """Whether somebody else gave a pod the values, since it was created when the webhook gave them no more."""
    created = pod["metadata"].get("creationTimestamp")
    if canary.is_trying or created is None:
        return False
    return datetime.fromisoformat(created) > canary.until + LATE


def is_there(pod: _Pod) -> bool:
    """Whether a pod is not being deleted, and may run again."""
    return "deletionTimestamp" not in pod["metadata"] and pod.get("status", {}).get("phase") not in _ENDED


def _has(container: Mapping[str, Any] | None, entries: Mapping[str, str]) -> bool:
    """Whether a container sets all of these variables to these texts."""
    if container is None:
        return False
    literal = {entry["name"]: entry.get("value", "") for entry in container.get("env", ()) if "valueFrom" not in entry}
    return entries.items() <= literal.items()
