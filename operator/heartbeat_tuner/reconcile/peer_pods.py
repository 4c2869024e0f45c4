"""Pods of the other policies that name the same Kafka group: their members are no strangers to each other. Pure.

That holds within a namespace, and only for pods of a workload in which a member of the group was seen: a tenant who
names another's group hides no member of it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from heartbeat_tuner.domain.evidence import Pod, Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.reconcile.gather.policy_workloads import ReadWorkload


def peer_pods(
    policies: Iterable[Policy], workloads: Mapping[ObjectKey, ReadWorkload], is_proven: Callable[[Policy], bool]
) -> Mapping[ObjectKey, tuple[Pod, ...]]:
    """Return the pods of other policies of the same group and namespace; policies without such pods are left out.

    Args:
        policies: all of them.
        workloads: of each policy, or why it could not be read.
        is_proven: whether a member of a policy's group was seen in its workload's pods.
    """
    groups = defaultdict[tuple[str, str, str], list[Policy]](list)
    for policy in policies:
        groups[policy.key.namespace, policy.cluster, policy.group_id].append(policy)
    peers: dict[ObjectKey, tuple[Pod, ...]] = {}
    for group in groups.values():
        if len(group) == 1:
            continue
        pods = {policy.key: _pods(workloads[policy.key]) for policy in group if is_proven(policy)}
        for policy in group:
            others = tuple(pod for key in sorted(pods) if key != policy.key for pod in pods[key])
            if others:
                peers[policy.key] = others
    return peers


def _pods(workload: ReadWorkload) -> tuple[Pod, ...]:
    return workload.pods if isinstance(workload, Workload) else ()
