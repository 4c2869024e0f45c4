"""How an answer was found, in numbers, for who wants it explained: the same rules and prices, looked at once more."""

import dataclasses
import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import numpy as np

from heartbeat_tuner.decision.cost import cost_model
from heartbeat_tuner.decision.cost.cost_model import Costs
from heartbeat_tuner.decision.optimize import search, tuning
from heartbeat_tuner.decision.optimize.cost_points import CostPoint, SessionTable
from heartbeat_tuner.decision.optimize.questions import Answer, Question
from heartbeat_tuner.decision.optimize.search import CostCache
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import Infeasible, Rules
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile
from heartbeat_tuner.tails.law import Law

_NEVER: Final = FailureProcess(0.0, Law.constant(0.0))

CAUSES: Final[Mapping[str, str]] = {
    "pauses": "pauses",
    "node_pauses": "nodePauses",
    "outages": "outages",
    "slow_handlers": "slowHandlers",
}
"""What evicts members that live: the field of a profile, and its name among the terms of the cost."""


@dataclasses.dataclass(frozen=True, slots=True)
class Interval:
    """What one H costs with the session that is the cheapest for it.

    Attributes:
        beat: H, W and M.
        point: with that session; None where none is within the rules and the objective.
    """

    beat: LivenessSettings
    point: CostPoint | None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The numbers behind an answer.

    Attributes:
        rules: of the values.
        profile: what happens to the group, with what its record says.
        now: the cost of what is set.
        new: the cost of what is recommended; None where nothing is.
        causes: false evictions a month that must be computed with for each cause, at what is set.
        intervals: the shortest H first; empty where two limits collide.
        rollout: stalled partition-seconds of replacing every pod once, at what is set.
        least_session_s: that the rules allow with the beat that is set.
        most_session_s: the greatest.
    """

    rules: Rules
    profile: Profile
    now: Costs
    new: Costs | None
    causes: Mapping[str, float]
    intervals: tuple[Interval, ...]
    rollout: float
    least_session_s: float
    most_session_s: float


def explain(question: Question, answer: Answer) -> Explanation:
    """Return the numbers behind an answer."""
    with np.errstate(all="ignore"):
        rules, cost_cache = tuning.rules_and_costs(question)
        target = answer.target
        now = costs_of(cost_cache.profile, rules, question.current)
        beat = question.current if target is None else target
        low, high = rules.session(question.current)
        return Explanation(
            rules=rules,
            profile=cost_cache.profile,
            now=now,
            new=None if target is None else costs_of(cost_cache.profile, rules, target),
            causes=_causes(cost_cache.profile, rules, question.current, now),
            intervals=_intervals(cost_cache, rules, beat, question.objective.max_false_evictions_per_month),
            rollout=cost_cache.rollout(question.current),
            least_session_s=low.value.total_seconds(),
            most_session_s=high.value.total_seconds(),
        )


def costs_of(profile: Profile, rules: Rules, settings: LivenessSettings) -> Costs:
    """Return what one set of values costs, by cause."""
    limit = allowed_values.poll_limit(rules.client, settings)
    return cost_model.costs(
        profile,
        interval_s=settings.heartbeat_interval.total_seconds(),
        wait_s=settings.fetch_wait.total_seconds(),
        poll_limit_s=None if limit is None else limit.total_seconds(),
        sessions_s=np.array([settings.session_timeout.total_seconds()]),
    )


def without(profile: Profile, *fields: str) -> Profile:
    """Return the profile of a group that some happenings never happen to, by their fields."""
    never: dict[str, Any] = dict.fromkeys(fields, _NEVER)
    return dataclasses.replace(profile, **never)


def _causes(profile: Profile, rules: Rules, settings: LivenessSettings, now: Costs) -> dict[str, float]:
    """Return how many evictions a month each cause may bring: what would be missing without it."""
    whole, causes = float(now.evictions_upper_per_month[0]), {}
    for field, name in CAUSES.items():
        others = costs_of(without(profile, field), rules, settings)
        share = whole - float(others.evictions_upper_per_month[0])
        if math.isfinite(share) and share > 0:
            causes[name] = share
    return causes


def _intervals(cost_cache: CostCache, rules: Rules, beat: LivenessSettings, per_month: float) -> tuple[Interval, ...]:
    tables = search.tables(cost_cache, rules, beat.max_poll_interval)
    if isinstance(tables, Infeasible):
        return ()
    cheapest: dict[timedelta, Interval] = {}
    for interval in sorted((_interval(table, per_month) for table in tables), key=_cost):
        cheapest.setdefault(interval.beat.heartbeat_interval, interval)  # with the W that costs least
    return tuple(cheapest[heartbeat] for heartbeat in sorted(cheapest))


def _interval(table: SessionTable, per_month: float) -> Interval:
    feasible = table.within & (table.upper <= per_month)
    index = int(np.argmin(np.where(feasible, table.net, np.inf)))
    return Interval(table.beat, table.point(index) if feasible.any() else None)


def _cost(interval: Interval) -> float:
    return math.inf if interval.point is None else interval.point.net_per_day
