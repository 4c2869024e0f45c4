"""One rollout of a Kafka group at a time, where several policies name it. Pure.

Each rollout disturbs the whole group, and of two at once nobody could say which did what. So a change waits while the
workload of another policy of its group replaces its pods, no matter who began that. It waits no longer than that
rollout's progress deadline, and for another namespace's only where a member of the group was seen in its own pods:
nobody keeps a group waiting by naming it.
"""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import CanaryPhase
from heartbeat_tuner.reconcile.outcomes import UnexpectedFailure

GroupKey = tuple[str, str]
"""A Kafka cluster's name, and a group's."""

_ELSEWHERE: Final = "a workload of another namespace"


@dataclasses.dataclass(frozen=True, slots=True)
class GroupRollout:
    """A rollout, for the other policies of its Kafka group.

    Attributes:
        policy: whose workload is rolled out.
        is_proven: whether a member of the group was seen in the workload's pods.
    """

    policy: Policy
    is_proven: bool

    @property
    def group(self) -> GroupKey:
        """The Kafka cluster's name, and the group's."""
        return group_of(self.policy)

    def is_of(self, namespace: str) -> bool:
        """Whether the policy is of a namespace."""
        return self.policy.key.namespace == namespace

    def concerns(self, policy: Policy) -> bool:
        """Whether a change by another policy of the group has to wait for it."""
        counts = self.is_proven or self.is_of(policy.key.namespace)
        return counts and _workload(self.policy) not in map(_place, workload_parts.references(policy))


def rollouts(
    policies: Iterable[Policy],
    workloads: Mapping[ObjectKey, Workload | Finding | UnexpectedFailure],
    holders: Collection[tuple[str, ObjectKey]],
    *,
    proven: Collection[ObjectKey],
    now: datetime,
) -> list[GroupRollout]:
    """Return the rollouts that other policies of the same group wait for: ours, and those of anybody else.

    Args:
        policies: that were looked at.
        workloads: of each policy, or why it could not be read.
        holders: kind and address of the workloads that are being rolled out by us.
        proven: the policies in whose workload's pods a member of the group was seen.
        now: the time.
    """
    rolling = (
        policy
        for policy, read in workload_parts.looks(policies, workloads)
        if _workload(policy) in holders or _is_replacing_pods(read, now) or _is_trying(policy, now)
    )
    return [GroupRollout(policy, policy.key in proven) for policy in rolling]


def first_before(policy: Policy, others: Sequence[GroupRollout]) -> GroupRollout | None:
    """Return a rollout that a change has to wait for, one of its own namespace if there is one; None if it need not.

    Args:
        policy: whose change it is.
        others: rollouts of the same group.
    """
    before = [other for other in others if other.concerns(policy)]
    own = [other for other in before if other.is_of(policy.key.namespace)]
    return min(own or before, key=lambda other: other.policy.key, default=None)


def hold(policy: Policy, before: GroupRollout) -> Finding:
    """Return what a change waits for; of another namespace only that there is a rollout."""
    other, whose = before.policy, _ELSEWHERE
    if before.is_of(policy.key.namespace):
        whose = say("{workload} (policy {policy})", workload=other.workload, policy=other.key)
    phrase = (
        "a rollout of {whose} is not finished, whose pods consume in group {group}, too: a group has one rollout at a "
        "time; this change waits for its turn"
    )
    return Finding(Reason.ROLLOUT_IN_PROGRESS, say(phrase, whose=whose, group=policy.group_id))


def group_of(policy: Policy) -> GroupKey:
    """Return which group a policy names."""
    return policy.cluster, policy.group_id


def _is_replacing_pods(workload: Workload | Finding | UnexpectedFailure, now: datetime) -> bool:
    """Whether somebody's rollout of a workload goes on; without progress until its deadline it keeps nobody waiting."""
    if not isinstance(workload, Workload) or not workload.rolling_out or workload.paused:
        return False
    progressed = workload.rollout.progressed
    return progressed is not None and not workload.rollout.is_overdue(progressed, now)


def _is_trying(policy: Policy, now: datetime) -> bool:
    """Whether a canary of the group is watched: what others do would be seen at its pods, too."""
    canary = policy.canary
    return canary is not None and canary.phase is CanaryPhase.RUNNING and now < canary.until


def _workload(policy: Policy) -> tuple[str, ObjectKey]:
    return _place(policy.workload)


def _place(reference: WorkloadRef) -> tuple[str, ObjectKey]:
    return reference.kind, reference.key
