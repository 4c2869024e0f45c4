"""Policies in every state that has points for Prometheus, and a registry that tells of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import timedelta

from heartbeat_tuner.adapters.http.telemetry import Telemetry
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.exposed import (
    GROUP_EVICTIONS,
    GROUP_LOOK,
    GROUP_MEMBERS,
    GROUP_REBALANCE_TIME,
    GROUP_REBALANCES,
    MetricPoint,
)
from heartbeat_tuner.domain.policies import Application, Mode, ObjectKey
from heartbeat_tuner.domain.verifications import FollowedChange
from heartbeat_tuner.reconcile.installations.namespace_owners import Why
from heartbeat_tuner.reconcile.outcomes import Decided, Outcome
from heartbeat_tuner.reconcile.status import metric_points, reporting
from tests.support import tuned, worlds

CURED = worlds.settings("30s", "1s", "1s")

WATCHED = (
    MetricPoint(GROUP_LOOK, ("orders",), worlds.NOW.timestamp()),
    *(MetricPoint(GROUP_MEMBERS, ("orders", where), 1.0) for where in ("inside", "unclear", "outside")),
    MetricPoint(GROUP_REBALANCES, ("orders",), 2.0),
    MetricPoint(GROUP_REBALANCE_TIME, ("orders",), 5.0),
    *(
        MetricPoint(GROUP_EVICTIONS, ("orders", "orders-0", certainty), 1.0)
        for certainty in ("certain", "doubtful", "unseen")
    ),
)
"""What the group watcher shows of a group with one pod."""


def points_of(outcome: Outcome) -> tuple[MetricPoint, ...]:
    """Return the points of a policy that was never looked at before."""
    policy = outcome.inputs.policy if isinstance(outcome, Decided) else None
    status = reporting.status_after(Status(), outcome, generation=1, now=worlds.NOW).status
    return metric_points.points(policy, outcome, status)


def cheaper() -> Decided:
    """Return a group that could have cheaper values, with a model, in mode Recommend, whose record tells all."""
    situation = tuned.known(mode=Mode.RECOMMEND)
    record = dataclasses.replace(
        worlds.record(rebalances=2.0, span=worlds.HOUR, silence=worlds.seconds(9), beat=worlds.seconds(3)),
        longest_poll_gap=worlds.seconds(4),
        poll_gap_evictions=1,
        rebalancing_share=0.01,
    )
    situation = dataclasses.replace(situation, record=record)
    return Decided(situation, decide(situation))


def cured() -> Decided:
    """Return a storm whose cure was just written."""
    situation = worlds.storm()
    return Decided(situation, decide(situation), Application(CURED, worlds.STORM, worlds.NOW, "workload-1"))


def reverted() -> Decided:
    """Return a group whose last change the operator took back an hour ago; all pods have the values before it again."""
    at = worlds.NOW - worlds.HOUR
    last = Application(worlds.STORM, CURED, at, "workload-1", reverts=at - worlds.HOUR)
    situation = worlds.situation(policy=worlds.policy(application=last))
    followed = FollowedChange(at, landed=at + timedelta(minutes=3))
    situation = dataclasses.replace(situation, followed=followed)
    return Decided(situation, decide(situation))


def telemetry(points: Mapping[ObjectKey, Sequence[MetricPoint]] | None = None) -> Telemetry:
    """Return what an operator exposes that has made one pass: over these policies, or else one of each kind."""
    found = Telemetry()
    if points is None:
        kinds = {"a": cheaper(), "b": cured(), "c": reverted()}
        points = {ObjectKey("shop", name): (*points_of(outcome), *WATCHED) for name, outcome in kinds.items()}
    found.cycle_finished(verdicts={}, writes={}, points=points, duration_s=0.1, overrun_s=0.0)
    found.left_to_others({why.value: 0 for why in Why})
    return found
