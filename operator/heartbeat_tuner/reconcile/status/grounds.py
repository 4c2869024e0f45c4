"""What a policy's status rests on: as long as that stays, so does the status, and nothing has to be worked out. Pure.

A status is made of the one before it, the outcome of the cycle and the time. Nearly always nothing has happened, and to
find that out by making ten thousand statuses takes longer than everything else in a cycle. What moves in every cycle
(the record's numbers) is in a status only by the decision. The time is in it by the pods, which have to stay ready for
a while, and by the end of what the webhook sets: who remembers a status makes it again every few minutes for that.
"""

import dataclasses
from typing import Any

from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import Mode, Policy
from heartbeat_tuner.domain.rollouts import has_settled
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, NotRead
from heartbeat_tuner.reconcile.status import landing, statements

Grounds = tuple[Any, ...]
"""Compared as a whole."""


def grounds_of(outcome: Blocked | Decided | NotRead, policy: Policy | None, slots: object) -> Grounds | None:
    """Return what a status rests on; None where this cycle wrote, or wanted to: then it is made again.

    Args:
        outcome: of this cycle.
        policy: as it was seen in it; None where it could not be read.
        slots: what there is to say of its slots.
    """
    if isinstance(outcome, NotRead):
        return NotRead, policy
    if isinstance(outcome, Blocked):
        return outcome.finding, policy, slots
    acted = (outcome.application, outcome.failure, outcome.intent, outcome.canary, outcome.group_write)
    if any(act is not None for act in acted):
        return None
    inputs = outcome.inputs
    return (
        outcome.decision,
        policy,
        slots,
        inputs.policy,
        inputs.workload,
        _of_pods(outcome),
        inputs.group.consumer_protocol,
        inputs.group.config,
        *_of_migration(outcome),
        isinstance(inputs.record, Unknown),
        inputs.ownership,
        inputs.model,
        inputs.history,
        None if inputs.followed is None else dataclasses.replace(inputs.followed, message=""),
    )


def _of_migration(outcome: Decided) -> Grounds:
    """Return what is said of a move to the consumer protocol, beside policy and workload."""
    inputs = outcome.inputs
    group = inputs.settled if inputs.group.rebalancing and inputs.settled is not None else inputs.group
    static = frozenset(member.host for member in group.members if member.instance_id is not None)
    versions = () if isinstance(inputs.record, Unknown) else inputs.record.client_versions
    return group.rebalancing, group.assignor, static, inputs.cluster.group_version, inputs.cluster.consumer, versions


def _of_pods(outcome: Decided) -> Grounds:
    """Return what is said of the pods: whether a change has reached them, and whether they stay."""
    inputs, last = outcome.inputs, outcome.last_application
    stays = inputs.policy.mode is Mode.INITIAL and any(
        has_settled(pod.ready_since, pod.restarts, inputs.now) for pod in inputs.workload.pods
    )
    if last is None:
        return (stays,)
    return stays, *(landing.landing_of(statements.change(outcome, last, had_landed=landed)) for landed in (False, True))
