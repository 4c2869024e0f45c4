"""Which values are better than those set, by enough to change to them, and how far does one step go?

The cheapest values, where they improve on what is set (`guard`). Where the record shows danger, values that evict less,
and where what is set is not surely safe, values that cost less and evict no more. A static group also has to gain if
members are away for as long as usual. `tuning` makes an answer of it.
"""

import dataclasses

from heartbeat_tuner.decision.optimize import guard, poll_limits, search
from heartbeat_tuner.decision.optimize.cost_points import Choice, CostPoint
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.optimize.search import CostCache
from heartbeat_tuner.decision.profile.group_profile import USUAL_CRASHES, USUAL_RESTARTS
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import Infeasible, Rules


def better(
    question: Question, cost_cache: CostCache, rules: Rules, now: CostPoint, choice: Choice | Infeasible
) -> CostPoint | None:
    """Return the values to change to, if any are better by enough."""
    per_month = question.objective.max_false_evictions_per_month
    point: CostPoint | None
    if isinstance(choice, Choice) and _improves(rules, now, choice.point):
        point = choice.point
    elif rules.upwards:
        point = _relief(cost_cache, rules, now, choice, per_month)
    else:
        point = _no_riskier(cost_cache, rules, now, per_month) if question.watched_days >= guard.SURE_DAYS else None
    if point is not None and cost_cache.profile.static and not rules.upwards:
        point = _of_static(cost_cache, rules, now, point, per_month)
    return None if point is None or allowed_values.within_band(now.settings, point.settings) else point


def step(cost_cache: CostCache, rules: Rules, now: CostPoint, new: CostPoint) -> CostPoint | None:
    """Return the values, or those half of the way to them; None if these are no better than what is set.

    What policy, objective or broker allow at most comes before half of what is set: a person asked for it, or has to.
    """
    before, after = now.settings, new.settings
    session = min(allowed_values.half_of(before.session_timeout), rules.session(after)[1].value)
    limit = after.max_poll_interval
    if limit is not None and before.max_poll_interval is not None:
        limit = max(limit, min(allowed_values.half_of(before.max_poll_interval), rules.poll()[1].value))
    session = max(after.session_timeout, session)
    halfway = dataclasses.replace(after, session_timeout=session, max_poll_interval=limit)
    if halfway == after:
        return new
    point = cost_cache.at(halfway)
    return point if not rules.client.violations(halfway) and _improves(rules, now, point) else None


def _improves(rules: Rules, now: CostPoint, new: CostPoint) -> bool:
    return guard.improves(now, new, measured=rules.largest_poll_gap_s is not None)


def _of_static(
    cost_cache: CostCache, rules: Rules, now: CostPoint, new: CostPoint, per_month: float
) -> CostPoint | None:
    """Return the values, or those with the S that is set, if better also where members are away for as long as usual.

    A static member is not missed if it is back within S. How long that takes is measured to a scrape or two, which
    may be as long as the restart: an S that wins by a second may lose by the next.
    """
    restarts = dataclasses.replace(cost_cache.profile.restarts, law=USUAL_RESTARTS.law)
    crashes = dataclasses.replace(cost_cache.profile.crashes, law=USUAL_CRASHES.law)
    usual = CostCache(dataclasses.replace(cost_cache.profile, restarts=restarts, crashes=crashes), rules)
    before = usual.at(now.settings)
    candidates = [new]
    unmoved = dataclasses.replace(new.settings, session_timeout=now.settings.session_timeout)
    floor, ceiling = rules.session(unmoved)
    if floor.value <= unmoved.session_timeout <= ceiling.value:  # a person may have set what the objective forbids
        candidates.append(cost_cache.at(unmoved))
    for candidate in candidates:
        safe = candidate.evictions_upper <= per_month or guard.no_riskier(now, candidate, per_month)
        if (
            safe
            and not rules.client.violations(candidate.settings)
            and _improves(rules, now, candidate)
            and _improves(rules, before, usual.at(candidate.settings))
        ):
            return candidate
    return None


def _relief(
    cost_cache: CostCache, rules: Rules, now: CostPoint, choice: Choice | Infeasible, per_month: float
) -> CostPoint | None:
    """Return the values that help a group in danger, if any do; where no S is safe, another M may help."""
    limits = (
        poll_limits.where_none_is_safe(cost_cache.profile, rules, per_month)
        if isinstance(choice, Infeasible)
        else [choice.point.settings.max_poll_interval]
    )
    by_limit = [search.tables(cost_cache, rules, limit) for limit in limits]
    return guard.relief(
        [table for answer in by_limit if not isinstance(answer, Infeasible) for table in answer],
        now,
        per_month,
    )


def _no_riskier(cost_cache: CostCache, rules: Rules, now: CostPoint, per_month: float) -> CostPoint | None:
    """Return values that cost less and evict no more, where what is set is not surely safe, nor what costs less."""
    if now.evictions_upper <= per_month:
        return None
    choice = search.choose(cost_cache, rules, now.evictions_upper)
    if isinstance(choice, Infeasible) or not guard.no_riskier(now, choice.point, per_month):
        return None
    return choice.point if _improves(rules, now, choice.point) else None
