"""What a status says of what stands at the broker: whether our values are there, or somebody else's. Pure."""

from datetime import datetime

from heartbeat_tuner.api.group_config_notes import group_write_status
from heartbeat_tuner.api.v1alpha1.group_config_v1alpha1 import GroupConfigStatus
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus
from heartbeat_tuner.decision.at_broker import group_reverts, last_write, write_holds
from heartbeat_tuner.domain.kafka_groups import Group, GroupWrite
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.outcomes import Decided


def applied(outcome: Decided) -> tuple[ConditionStatus, Finding] | None:
    """Return what the condition Applied says of the broker; None where it says something of the pods.

    Of what was written in both places it speaks of the newer one, unless something is to be written.
    """
    group, write, decision = outcome.inputs.group, outcome.last_group_write, outcome.decision
    if not group.consumer_protocol or not _is_about_broker(outcome):
        return None
    blocking = outcome.failure or (None if outcome.altered else decision.hold)
    if blocking is not None and decision.at_broker:
        return ConditionStatus.FALSE, blocking
    if write is None or (write.reverts is not None and write.spec != outcome.inputs.policy.spec):
        return None  # nothing of ours is there, and the policy asks for something else since
    if outcome.altered:
        return _of_ours(write)
    return _as_seen(write, group, outcome.inputs.seen_at)


def _is_about_broker(outcome: Decided) -> bool:
    """Whether what is to be written is at the broker; or, where nothing is, what was written last."""
    last, write, decision = outcome.last_application, outcome.last_group_write, outcome.decision
    if decision.target is not None or write is None:
        return decision.at_broker
    return last is None or write.at > last.at


def _as_seen(write: GroupWrite, group: Group, seen_at: datetime) -> tuple[ConditionStatus, Finding]:
    """Return what a look at the broker shows of a write of ours."""
    if group.config is None:
        phrase = "what group {group} has at the broker could not be read"
        return ConditionStatus.UNKNOWN, Finding(Reason.GROUP_UNREADABLE, say(phrase, group=group.group_id))
    if last_write.is_awaited(write, group, seen_at):
        return ConditionStatus.FALSE, write_holds.awaited(write)
    if last_write.is_foreign(write, group, seen_at):
        return ConditionStatus.FALSE, write_holds.foreign(write, group)
    return _of_ours(write)


def noted(outcome: Decided) -> GroupConfigStatus | None:
    """Return what the status notes of the last write; None where there was none."""
    write = outcome.last_group_write
    return None if write is None else group_write_status(write)


def _of_ours(write: GroupWrite) -> tuple[ConditionStatus, Finding]:
    """Return what there is to say of a write that is in force: one that took ours back left nothing of ours."""
    if write.reverts is not None:
        return ConditionStatus.FALSE, group_reverts.taken_back(write)
    return ConditionStatus.TRUE, _in_force(write)


def _in_force(write: GroupWrite) -> Finding:
    return Finding(
        Reason.APPLIED,
        say(
            "group {group} has {values} at the broker, written at {at:%Y-%m-%dT%H:%M:%SZ}, and {before} before; "
            "members follow with their next heartbeat, without a restart",
            group=write.group_id,
            values=str(write.values),
            at=write.at,
            before=str(write.previous),
        ),
    )
