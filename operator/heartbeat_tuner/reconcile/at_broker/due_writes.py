"""From a decision to what is written into a group's configuration: new values, or those before a write. Pure."""

import dataclasses
from datetime import datetime, timedelta

from heartbeat_tuner.domain.kafka_groups import GroupConfig, GroupOverrides, GroupWrite
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.reconcile.applications import promised_rate
from heartbeat_tuner.reconcile.outcomes import Decided


def due_write(outcome: Decided, now: datetime) -> GroupWrite | None:
    """Return what is to be written at the broker; None where nothing is, or nobody knows what is set there.

    Args:
        outcome: with the decision.
        now: the time.
    """
    policy, config, target = outcome.inputs.policy, outcome.inputs.group.config, outcome.decision.to_alter
    if config is None or target is None:
        return None
    write = _write(policy, config, target, now, reverts=outcome.decision.reverts)
    if write.reverts is None:
        return dataclasses.replace(write, promise=promised_rate(outcome.decision.forecast))
    harm = outcome.decision.finding.reason
    return write if harm is Reason.TAKEN_BACK else dataclasses.replace(write, harm=harm.value)


def _write(
    policy: Policy, config: GroupConfig, target: LivenessSettings, now: datetime, *, reverts: bool
) -> GroupWrite:
    """Return what is to be written: what stays as it is in force is not made the group's own.

    Back goes exactly what was the group's own before, and nothing else.
    """
    own, last = config.overrides, policy.group_write
    values = GroupOverrides(
        _own(own.session_timeout, config.session_timeout, target.session_timeout),
        _own(own.heartbeat_interval, config.heartbeat_interval, target.heartbeat_interval),
    )
    taken_back = last.at if reverts and last is not None else None
    if reverts and last is not None:
        values = last.previous
    at, before = now.replace(microsecond=0), last
    if before is not None:
        at, before = max(at, before.at + timedelta(seconds=1)), dataclasses.replace(before, before=None)
    return GroupWrite(
        policy.cluster,
        policy.group_id,
        values,
        own,
        at,
        policy.spec,
        before=before,
        replaced=GroupOverrides(config.session_timeout, config.heartbeat_interval),
        reverts=taken_back,
    )


def _own(own: timedelta | None, in_force: timedelta, wanted: timedelta) -> timedelta | None:
    return own if wanted == in_force else wanted
