"""May a group's configuration be written now?

It concerns every member of the group, and Kafka has no field owners. So all members must be the workload's, and nothing
is written over a value that somebody set since our last write, until the policy asks for something else.
"""

from collections.abc import Sequence
from datetime import datetime

from heartbeat_tuner.decision.at_broker import group_reverts, last_write
from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import Pod, Workload
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupWrite, Member
from heartbeat_tuner.domain.policies import ASKING_AGAIN, Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding


def finding(
    policy: Policy,
    workload: Workload,
    group: Group,
    cluster: Cluster,
    others: tuple[Sequence[Pod], Sequence[Member]],
    seen_at: datetime,
) -> Finding | None:
    """Return why a group's configuration may not be written now; None where it may.

    Args:
        policy: that asks for it.
        workload: whose pods are the group's members.
        group: as it is described.
        cluster: whether the operator may write there.
        others: pods of other policies of the group, and members of none that were seen lately.
        seen_at: when the group was.
    """
    if not cluster.alters_groups:
        return _read_only(policy)
    if policy.mode is Mode.INITIAL:
        phrase = "spec.mode is Initial, which is about new pods: group {group} is written at the broker in mode Apply"
        return Finding(Reason.RECOMMEND_MODE, say(phrase, group=policy.group_id))
    return (
        _not_ours(policy, workload, group, others)
        or _foreign(policy, group, seen_at, for_good=False)
        or group_reverts.stays_away(policy)
    )


def of_revert(
    policy: Policy,
    workload: Workload,
    group: Group,
    cluster: Cluster,
    others: tuple[Sequence[Pod], Sequence[Member]],
    seen_at: datetime,
) -> Finding | None:
    """Return why what stood before our last write may not be written again now; None where it may.

    Args:
        policy: with the write.
        workload: whose pods are the group's members.
        group: as it is described.
        cluster: whether the operator may write there.
        others: pods of other policies of the group, and members of none that were seen lately.
        seen_at: when the group was.
    """
    if not cluster.alters_groups:
        return _read_only(policy)
    # Over what somebody set since nothing goes back, whatever the policy asks for by now.
    return _not_ours(policy, workload, group, others) or _foreign(policy, group, seen_at, for_good=True)


def awaited(write: GroupWrite) -> Finding:
    """Say that the broker may only not show our last write yet."""
    phrase = "{values} of group {group} was written at {at:%Y-%m-%dT%H:%M:%SZ}, and the broker does not show it yet"
    return Finding(Reason.ROLLING_OUT, say(phrase, values=str(write.values), group=write.group_id, at=write.at))


def foreign(write: GroupWrite, group: Group) -> Finding:
    """Say that somebody set another value since our last write."""
    return Finding(
        Reason.GROUP_CONFIG_FOREIGN,
        say(
            "group {group} has {found} at the broker, where the tuner wrote {ours} at {at:%Y-%m-%dT%H:%M:%SZ}: "
            "somebody else set that, and it is left alone until {fields} is edited",
            group=group.group_id,
            found="" if group.config is None else str(group.config.overrides),
            ours=str(write.values),
            at=write.at,
            fields=ASKING_AGAIN,
        ),
    )


def _read_only(policy: Policy) -> Finding:
    phrase = (
        "kafka.clusters.{cluster}.alterGroups of the operator's configuration is not true: group {group} is not "
        "written; set the value yourself, with kafka-configs --alter --entity-type groups"
    )
    return Finding(Reason.GROUPS_NOT_ALTERED, say(phrase, cluster=policy.cluster, group=policy.group_id))


def _foreign(policy: Policy, group: Group, seen_at: datetime, *, for_good: bool) -> Finding | None:
    write = policy.group_write
    if write is None:
        return None
    if last_write.is_awaited(write, group, seen_at):
        return awaited(write)
    if (for_good or write.spec == policy.spec) and last_write.is_foreign(write, group, seen_at):
        return foreign(write, group)
    return None


def _not_ours(
    policy: Policy, workload: Workload, group: Group, others: tuple[Sequence[Pod], Sequence[Member]]
) -> Finding | None:
    peers, strangers = others
    seen = members_at_pods.compare(group.members, workload.pods)
    if seen.inside and not (seen.outside or seen.unclear or peers or strangers):
        return None
    phrase = (
        "group {group} has {inside} members in pods of {workload} alone, and {outside} elsewhere or in pods of another "
        "policy: what is set for the group is set for all of them, so it is not written"
    )
    outside = max(len(seen.outside) + len(seen.unclear), len(strangers), len(peers))
    words = say(phrase, group=policy.group_id, inside=len(seen.inside), workload=policy.workload, outside=outside)
    return Finding(Reason.GROUP_NOT_OWNED, words)
