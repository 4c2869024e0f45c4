"""What became of a write into a group's configuration, by what the broker shows, and what stood before it? Pure.

The write was noted before it was done, and its answer may be lost. A broker may show the value before for a moment.
"""

import dataclasses
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.decision.optimize import questions
from heartbeat_tuner.domain.kafka_groups import Group, GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy

SHOWN_WITHIN: Final = timedelta(seconds=60)
"""A broker shows a new value well before; what it shows until then may be the one before."""


def after_look(policy: Policy, group: Group, seen_at: datetime) -> Policy:
    """Return a policy with its last write as it is known after a look; with the one before where it was not done.

    Args:
        policy: with the write as its status has it.
        group: as it is described.
        seen_at: when that was.
    """
    write = policy.group_write
    settled = None if write is None else _settled(write, policy, group, seen_at)
    return policy if settled is write else dataclasses.replace(policy, group_write=settled)


def _settled(write: GroupWrite, policy: Policy, group: Group, seen_at: datetime) -> GroupWrite | None:
    if (write.cluster, write.group_id) != (policy.cluster, policy.group_id):
        return None
    if write.answered or group.config is None:
        return write
    overrides = group.config.overrides
    if overrides == write.values:
        return dataclasses.replace(write, answered=True, before=None)
    return write.before if overrides == write.previous and not is_awaited(write, group, seen_at) else write


def is_foreign(write: GroupWrite | None, group: Group, seen_at: datetime) -> bool:
    """Whether somebody set another value since our last write."""
    if write is None or group.config is None or group.config.overrides == write.values:
        return False
    return not is_awaited(write, group, seen_at)


def is_awaited(write: GroupWrite, group: Group, seen_at: datetime) -> bool:
    """Whether the broker may only not show our last write yet."""
    shows_before = group.config is not None and group.config.overrides == write.previous
    return shows_before and seen_at - write.at <= SHOWN_WITHIN


def baseline(policy: Policy, group: Group, current: LivenessSettings) -> LivenessSettings | None:
    """Return what stood before our changes, at the broker and in the pods; None where nothing of ours is set.

    Of the writes at the broker only the last is remembered: what was in force before it stands for all of them. What a
    revert left is nobody's saving, and no measure.

    Args:
        policy: with our last change of its pods, and our last write at the broker.
        group: as it is described.
        current: what is set.
    """
    if not group.consumer_protocol:
        return questions.baseline(policy, current)
    write, change, before = policy.group_write, policy.application, current
    overrides = None if group.config is None else group.config.overrides
    if write is not None and write.reverts is None and overrides == write.values:
        session, interval = write.replaced.session_timeout, write.replaced.heartbeat_interval
        before = dataclasses.replace(
            before,
            session_timeout=session or before.session_timeout,
            heartbeat_interval=interval or before.heartbeat_interval,
        )
    if change is not None and change.reverts is None and change.values.max_poll_interval == current.max_poll_interval:
        first = change.baseline or change.previous
        before = dataclasses.replace(before, max_poll_interval=first.max_poll_interval)
    return None if before == current else before
