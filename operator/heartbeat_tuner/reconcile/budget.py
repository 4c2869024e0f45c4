"""The fleet's budget: how many rollouts of ours may be under way at once, and whose turn comes first. Pure.

What is under way is counted anew in each cycle, by what the workloads themselves show: a new leader counts as its
predecessor did. A workload that could not be read counts by what its policy's status said last, since what is unknown
must not make room.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.status_v1alpha1 import ConditionType
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.outcomes import Decided, Surprise

CURES: Final = frozenset(
    {Reason.CADENCE_EXCEEDS_SESSION, Reason.POLL_GAP_EXCEEDS_LIMIT, Reason.UNSTABLE, Reason.DANGER}
)
"""Reasons of changes that a group in trouble needs; all others only save."""


def under_way(
    policies: Iterable[Policy],
    workloads: Mapping[ObjectKey, Workload | Finding | Surprise],
    bodies: Mapping[ObjectKey, Mapping[str, Any]],
) -> int:
    """Return how many workloads are being rolled out by us.

    Args:
        policies: that were looked at.
        workloads: of each policy, or why it could not be read.
        bodies: the policies' objects, with their statuses.
    """
    rolling = set[tuple[str, ObjectKey]]()
    for policy in policies:
        match workloads[policy.key]:
            case Workload() as workload:
                is_ours = workload.our_rollout
            case Finding(reason=Reason.API_SERVER_ERROR) | Surprise():
                is_ours = _was_rolling_out(bodies[policy.key])
            case Finding():
                is_ours = False
        if is_ours:
            rolling.add((policy.workload.kind, policy.workload.key))
    return len(rolling)


def in_turn(outcomes: Iterable[Decided]) -> list[Decided]:
    """Return those that have something to write: cures first, then by what a change saves, then by name."""
    return sorted((one for one in outcomes if one.decision.to_apply is not None), key=_rank)


def held(outcome: Decided, *, limit: int, busy: int) -> Decided:
    """Return an outcome whose turn has not come.

    Args:
        outcome: what was decided.
        limit: how many rollouts may be under way.
        busy: how many are.
    """
    sentence = (
        f"{busy} rollouts of the tuner's are under way in the fleet, and rollout.maxConcurrent of the operator's "
        f"configuration allows {limit}; this change waits for its turn: cures first, then what saves most"
    )
    hold = Finding(Reason.FLEET_BUDGET_SPENT, sentence)
    return dataclasses.replace(outcome, decision=dataclasses.replace(outcome.decision, hold=hold))


def _rank(outcome: Decided) -> tuple[bool, float, ObjectKey]:
    forecast = outcome.decision.forecast
    saving = 0.0 if forecast is None or forecast.new is None else forecast.now.net_per_day - forecast.new.net_per_day
    return outcome.decision.finding.reason not in CURES, -saving, outcome.key


def _was_rolling_out(body: Mapping[str, Any]) -> bool:
    conditions = parsing.status_of(body).conditions
    return any(one.type is ConditionType.APPLIED and one.reason is Reason.ROLLING_OUT for one in conditions)
