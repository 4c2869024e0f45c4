"""A healthy group of which a model knows its delays: what it could have more cheaply is known too."""

import dataclasses
from typing import Any

from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from tests.support import fitted, worlds


def known(
    now: LivenessSettings | None = None,
    *,
    partitions: int = 4,
    days: float = 14.0,
    gap_days: float | None = None,
    **changes: Any,
) -> DecisionInput:
    """Return a healthy Java group of three, watched for some days, of which a model says what delays it has.

    Args:
        now: what is set.
        partitions: of each member.
        days: for how long its absences were seen.
        gap_days: likewise its gaps between polls; None: as long.
        changes: of the policy.
    """
    absences = fitted.quantity(group_days=days, member_days=3 * days, values=int(2_880 * days))
    seen = days if gap_days is None else gap_days
    gaps = fitted.quantity(group_days=seen, member_days=3 * seen, values=int(2_880 * seen), largest_s=4.0)
    model = fitted.fitted(client="java", quantities={ABSENCE: absences, POLL_GAP: gaps})
    base = worlds.situation(
        policy=worlds.java_policy(**changes),
        model=model,
        has=worlds.workload(now or worlds.java_settings()),
        seen=dataclasses.replace(worlds.record(silence=worlds.seconds(5)), longest_poll_gap=worlds.seconds(2)),
    )
    return _sharing(base, partitions)


def known_kafkajs(now: LivenessSettings | None = None, **changes: Any) -> DecisionInput:
    """Return a healthy KafkaJS group of three, watched for 14 days, of which a model says how it is absent."""
    base = worlds.situation(
        policy=worlds.policy(**changes),
        model=fitted.fitted(),
        has=worlds.workload(now),
        seen=worlds.record(silence=worlds.seconds(6)),
    )
    return _sharing(base, 4)


def _sharing(inputs: DecisionInput, partitions: int) -> DecisionInput:
    members = tuple(dataclasses.replace(member, partitions=partitions) for member in inputs.group.members)
    return dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, members=members))
