"""May this policy be shown the Kafka group that it names? Pure.

A policy may name any group, and Kafka shows the operator all of them. So its namespace has to take part in the group:
a member connects from the address of one of the workload's pods, which nobody but Kubernetes gives out; or the
operator's configuration grants the group. Before that nothing of the group is said, not even whether it exists.

A proof outlives the moment. Members are gone for a while in a storm, a rollout or a crash, so a group stays the
policy's for as long as it was seen to be, an hour at most: an address that Kubernetes gave to another pod while Kafka
still shows its former user proves nothing for longer than that session lasts. And a workload without a pod that is
ready has nobody to prove anything with: by the note in its status it goes on as a group without members, whatever Kafka
says of it, since anybody who may write statuses could write such a note.
"""

import dataclasses
import json
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import Group, GroupOwnership, GroupState, UnreadableGroup
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.domain.verdicts import Finding

LONGEST_MEMORY: Final = timedelta(hours=1)

Described = Group | UnreadableGroup | None
"""What a coordinator said of a group; None if there is none of that name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Proven:
    """What was seen of one policy during this leadership.

    Attributes:
        policy_uid: of the policy.
        subject: whose group it was seen to be; its `since` is the first look that showed it.
        until: the last one.
    """

    policy_uid: str
    subject: GroupOwnership
    until: datetime

    def is_about(self, policy: Policy, workload: Workload, *, now: datetime) -> bool:
        """Whether it is this policy's, and not of long ago."""
        is_same = self.policy_uid == policy.uid and _is_of(self.subject, policy, workload)
        return is_same and now - self.until <= LONGEST_MEMORY

    def lasts(self, *, now: datetime) -> bool:
        """Whether it still counts at a moment at which nothing is seen."""
        return now - self.until <= self.until - self.subject.since


def look(
    known: Proven | None, policy: Policy, workload: Workload, described: Described, *, now: datetime
) -> Proven | None:
    """Return what is proven after one more look; None if nothing is, or not any more.

    Args:
        known: what was proven before.
        policy: that names the group.
        workload: with its running pods.
        described: the group.
        now: the time of the look.
    """
    if known is not None and not known.is_about(policy, workload, now=now):
        known = None
    if not isinstance(described, Group) or not members_at_pods.compare(described.members, workload.pods).inside:
        return known if known is not None and known.lasts(now=now) else None
    if known is not None:
        return dataclasses.replace(known, until=now)
    subject = GroupOwnership(policy.cluster, policy.group_id, workload.uid, since=now)
    return Proven(policy.uid, subject, until=now)


def shown(
    policy: Policy, workload: Workload, described: Described, *, granted: bool, proven: Proven | None
) -> Described | Finding:
    """Return what the policy may be shown of the group, or why nothing.

    Args:
        policy: that names the group.
        workload: with its running pods.
        described: the group.
        granted: whether the operator's configuration gives it to the policy's namespace.
        proven: what `look` returned of this look.
    """
    if granted or proven is not None:
        return described
    if isinstance(described, UnreadableGroup) and not described.tells_of_group:
        return described
    return by_note(policy, workload) or Finding(Reason.GROUP_NOT_OWNED, _sentence(policy, workload))


def by_note(policy: Policy, workload: Workload) -> Group | None:
    """Return the group without members that a note lets a policy have; None where pods are ready, or there is no note.

    Pods that crash with our values are members of nothing, and what did harm has to be taken back from them.
    """
    note = policy.ownership
    can_prove = any(pod.ready_since is not None for pod in workload.pods)
    if can_prove or note is None or not _is_of(note, policy, workload):
        return None
    return Group(policy.group_id, GroupState.EMPTY, (), consumer_protocol=note.consumer_protocol)


def why(described: Described, workload: Workload) -> str:
    """Return what the operator's own log says of a group that is not shown."""
    match described:
        case None:
            return "the group does not exist"
        case UnreadableGroup(message):
            return message
    comparison = members_at_pods.compare(described.members, workload.pods)
    if not described.members:
        return "the group has no members"
    phrase = "of its members {outside} connect from elsewhere, {shared} from addresses that pods share with their nodes"
    return say(phrase, outside=len(comparison.outside), shared=len(comparison.unclear))


def _is_of(subject: GroupOwnership, policy: Policy, workload: Workload) -> bool:
    subject_key = (subject.cluster, subject.group_id, subject.workload_uid)
    return subject_key == (policy.cluster, policy.group_id, workload.uid)


def _sentence(policy: Policy, workload: Workload) -> Sentence:
    """Return what the policy's author has to do; nothing in it depends on the group."""
    group, namespace = policy.group_id, policy.key.namespace
    grant = f"{{namespaces: [{namespace}], groups: [{json.dumps(group)}]}}"
    if not workload.pods:
        lacks = "{workload} has no running pod that could be a member of group {group}"
    elif all(pod.on_host_network for pod in workload.pods):
        lacks = "the pods of {workload} share their nodes' addresses, which prove nothing"
    else:
        lacks = "no member of group {group} is seen to connect from a pod of {workload}"
    return say(
        "{lacks}: nothing of the group is shown, not even whether it exists. If spec.groupId is right, start its "
        "consumers in these pods; if they reach the brokers through a proxy, NAT or the node's network, have the "
        "operator's configuration grant the group: kafka.clusters.{cluster}.grants: [{grant}]",
        lacks=say(lacks, workload=workload_parts.named(policy), group=group),
        cluster=policy.cluster,
        grant=grant,
    )
