"""A raise of S that costs far more than its objective is worth is undone, or lowered to what is worth it."""

import dataclasses

import numpy as np

from heartbeat_tuner.decision.optimize import economics, improvement, search
from heartbeat_tuner.decision.optimize.cost_points import CostPoint
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.optimize.search import CostCache
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.limits.allowed_values import Infeasible, Rules
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing


@dataclasses.dataclass(frozen=True, slots=True)
class UndoneRaise:
    """A raise of S that turned out to cost too much.

    Attributes:
        before: what stood before our changes.
        new: what shall be: what would have been set instead, what stood before, or a session in between.
    """

    before: CostPoint
    new: CostPoint


def undone(question: Question, cost_cache: CostCache, rules: Rules, now: CostPoint) -> UndoneRaise | None:
    """Return what would be set had our changes not raised S, where it costs far more than may be paid for that.

    It would never come down again otherwise: shorter sessions miss the objective. At the broker no raise is undone:
    what stood before the first of our writes there is not remembered.

    Args:
        question: that is asked.
        cost_cache: of the group.
        rules: for the values that are set.
        now: what these cost.
    """
    before = None if question.profile.rebalancing is Rebalancing.CONSUMER else question.baseline
    if before is None or rules.upwards or before.session_timeout >= question.current.session_timeout:
        return None
    before = dataclasses.replace(before, max_poll_interval=question.current.max_poll_interval)
    earlier, cost_of_before = dataclasses.replace(rules, current=before), cost_cache.at(before)
    budget = improvement.budget_of(question, cost_cache, rules, now)
    # With the M of then as well: it is what may be paid more than.
    stood = (before,) if budget.before is None else (before, budget.before.settings)
    measure = max(cost_cache.at(settings).net_per_day for settings in stood)
    most = (1.0 + economics.SAFETY_PRICE) * measure
    if not 0.0 < (1.0 + economics.TOO_COSTLY) * measure < now.net_per_day:
        return None  # of a cost of nothing there is no share
    seldom = CostCache(_crashing_seldom(cost_cache.profile), rules)
    least = max(seldom.at(settings).net_per_day for settings in stood)
    if seldom.at(now.settings).net_per_day <= (1.0 + economics.TOO_COSTLY) * least:
        return None  # a crash or two more than usual, and the next fit would have the raise again
    costs = CostCache(cost_cache.profile, earlier)
    choice = search.choose(costs, earlier, question.objective.max_false_evictions_per_month)
    asked = dataclasses.replace(question, current=before, baseline=None)
    new = improvement.better(asked, costs, earlier, cost_of_before, choice)
    if new is None or new.settings.session_timeout < before.session_timeout:
        new = cost_of_before  # what is shorter still has not been set yet: it takes its own steps from there
    if not economics.likely(new, budget.per_month):
        new = _lowered(cost_cache, rules, now, before, most, budget.per_month) or new
    is_allowed = _may_be_set(earlier, new.settings) and improvement.improves(rules, now, new)
    return UndoneRaise(cost_of_before, new) if is_allowed else None


def _crashing_seldom(profile: Profile) -> Profile:
    """Return a group whose members crash as rarely as they may: below what is expected as far as the bound is above."""
    crashes = profile.crashes
    if crashes.upper_per_day is None or not crashes.per_day > 0:
        return profile
    share = crashes.per_day / max(float(crashes.upper_per_day[0]), crashes.per_day)
    return dataclasses.replace(profile, crashes=dataclasses.replace(crashes, per_day=share * crashes.per_day))


def _lowered(
    cost_cache: CostCache, rules: Rules, now: CostPoint, before: LivenessSettings, most: float, per_month: float
) -> CostPoint | None:
    """Return the cheapest values with an S between two that are likely to meet the objective at its price, if any do.

    Who would then be evicted again would have the raise again.

    Args:
        cost_cache: of the group.
        rules: for the values that are set.
        now: what is set, and what that costs.
        before: what stood before our changes.
        most: net cost that may be paid.
        per_month: false evictions that the objective allows.
    """
    answer = search.tables(cost_cache, rules, now.settings.max_poll_interval)
    points = []
    for table in [] if isinstance(answer, Infeasible) else answer:
        sessions_s = table.costs.sessions_s
        allowed = (
            table.within
            & (table.costs.evictions_per_month <= economics.EXPECTED_SHARE * per_month)
            & (table.net <= most)
        )
        allowed &= sessions_s >= before.session_timeout.total_seconds()
        allowed &= sessions_s < now.settings.session_timeout.total_seconds()
        if allowed.any():
            points.append(table.point(int(np.argmin(np.where(allowed, table.net, np.inf)))))
    point = min(points, key=lambda each: each.net_per_day, default=None)
    return point if point is not None and improvement.improves(rules, now, point) else None


def _may_be_set(rules: Rules, settings: LivenessSettings) -> bool:
    """Whether the limits of today allow values that were set once."""
    floor, ceiling = rules.session(settings)
    is_within = floor.value <= settings.session_timeout <= ceiling.value
    return is_within and rules.bounded(settings) == settings and not rules.client.violations(settings)
