"""Which values are better than those set, by enough to change to them, and how far does one step go?

The cheapest values, where they improve on what is set (`guard`). Where the record shows danger, values that evict less,
and where what is set is not surely safe, values that cost less and evict no more. A static group also has to gain if
members are away for as long as usual. `tuning` makes an answer of it.
"""

import dataclasses
import math
from collections.abc import Iterator
from datetime import timedelta

import numpy as np

from heartbeat_tuner.decision.optimize import economics, guard, poll_limits, search
from heartbeat_tuner.decision.optimize.cost_points import Choice, CostPoint, Mask, SessionTable
from heartbeat_tuner.decision.optimize.economics import Budget
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.optimize.search import CostCache
from heartbeat_tuner.decision.profile.group_profile import USUAL_CRASHES, USUAL_RESTARTS
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.verdicts import ObjectivePrice
from heartbeat_tuner.limits import allowed_values, smallest_changes
from heartbeat_tuner.limits.allowed_values import Infeasible, Rules
from heartbeat_tuner.models.failure_profile import Rebalancing


def better(
    question: Question, cost_cache: CostCache, rules: Rules, now: CostPoint, choice: Choice | Infeasible
) -> CostPoint | None:
    """Return the values to change to, if any are better by enough."""
    budget = budget_of(question, cost_cache, rules, now)
    point: CostPoint | None
    is_sure = isinstance(choice, Choice) and _is_sure(cost_cache, now, choice.point)
    if isinstance(choice, Choice) and is_sure and _saves(rules, budget, choice.point):
        point = choice.point
        if budget.at_broker and not rules.upwards and question.watched_days >= guard.SURE_DAYS:
            point = _sure_or_likely(cost_cache, rules, budget, point)
    else:
        point = _relief(cost_cache, rules, budget, choice) if rules.upwards else None
        if point is None and question.watched_days >= guard.SURE_DAYS:
            point = _no_riskier(cost_cache, rules, budget, is_safe_to_be_had=is_sure)
    if point is not None and cost_cache.profile.static and not rules.upwards:
        point = _of_static(cost_cache, rules, budget, point)
    return None if point is None or smallest_changes.within_band(now.settings, point.settings) else point


def budget_of(question: Question, cost_cache: CostCache, rules: Rules, now: CostPoint) -> Budget:
    """Return what the group may cost to meet its objective."""
    before = _known(cost_cache, question.baseline)
    per_month = question.objective.max_false_evictions_per_month
    at_broker = question.profile.rebalancing is Rebalancing.CONSUMER
    return Budget(now, before, per_month, shown=rules.upwards, counted=question.evictions > 0, at_broker=at_broker)


def _known(cost_cache: CostCache, settings: LivenessSettings | None) -> CostPoint | None:
    """Return what values cost; None where that is beyond all that can be computed."""
    point = None if settings is None else cost_cache.at(settings)
    is_known = point is not None and math.isfinite(point.net_per_day + point.crash_doubt_per_day)
    return point if is_known else None


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
    return point if not rules.client.violations(halfway) and improves(rules, now, point) else None


def objective_price(cost_cache: CostCache, budget: Budget, choice: Choice | Infeasible) -> ObjectivePrice | None:
    """Return what it costs to be sure to meet the objective, where that is more than is paid for it.

    None where what is set is expected to meet it, where no values are sure to, and where no price is in the way.
    """
    now = budget.now
    if not isinstance(choice, Choice) or now.evictions_per_month <= budget.per_month or not now.net_per_day > 0:
        return None
    best = choice.point
    if best.net_per_day > budget.in_danger:
        return _price_of(budget, best, best.net_per_day / now.net_per_day - 1.0, is_of_crashes=False)
    unmoved = dataclasses.replace(best.settings, session_timeout=now.settings.session_timeout)
    of_crashes = economics.in_doubt(now, best, cost_cache.at(unmoved))
    at_most = best.net_per_day + best.crash_doubt_per_day
    if not budget.allows_doubt(np.array(at_most), np.array(of_crashes)):
        return _price_of(budget, best, of_crashes / now.net_per_day, is_of_crashes=True)
    return None


def _price_of(budget: Budget, best: CostPoint, share: float, *, is_of_crashes: bool) -> ObjectivePrice:
    is_ours = budget.before is not None
    return ObjectivePrice(best.settings, share, is_of_crashes=is_of_crashes, follows_our_changes=is_ours)


def improves(rules: Rules, now: CostPoint, new: CostPoint) -> bool:
    """Whether a change saves enough to be sure of, by what is measured."""
    return guard.improves(now, new, measured=rules.largest_poll_gap_s is not None)


def _saves(rules: Rules, budget: Budget, new: CostPoint) -> bool:
    """Whether a change saves enough, and more where it takes back at the broker what we raised and may still be set."""
    now = budget.now
    may_stay = now.settings.session_timeout <= rules.session(now.settings)[1].value
    return improves(rules, now, new) and not (may_stay and budget.writes_back_and_forth(new))


def _is_better(rules: Rules, budget: Budget, new: CostPoint) -> bool:
    """Whether a change saves enough, or brings a group to its objective."""
    return improves(rules, budget.now, new) or budget.restores(new)


def _is_sure(cost_cache: CostCache, now: CostPoint, new: CostPoint) -> bool:
    """Whether a longer session costs little even if members crash as often as they may."""
    unmoved = dataclasses.replace(new.settings, session_timeout=now.settings.session_timeout)
    return economics.holds_in_doubt(now, new, cost_cache.at(unmoved))


def _of_static(cost_cache: CostCache, rules: Rules, budget: Budget, new: CostPoint) -> CostPoint | None:
    """Return the values, or those with the S that is set, if better also where members are away for as long as usual.

    A static member is not missed if it is back within S. How long that takes is measured to a scrape or two, which
    may be as long as the restart: an S that wins by a second may lose by the next.
    """
    now = budget.now
    restarts = dataclasses.replace(cost_cache.profile.restarts, law=USUAL_RESTARTS.law)
    crashes = dataclasses.replace(cost_cache.profile.crashes, law=USUAL_CRASHES.law)
    usual = CostCache(dataclasses.replace(cost_cache.profile, restarts=restarts, crashes=crashes), rules)
    before = _known(usual, None if budget.before is None else budget.before.settings)
    usual_budget = dataclasses.replace(budget, now=usual.at(now.settings), before=before)
    candidates = [new]
    unmoved = dataclasses.replace(new.settings, session_timeout=now.settings.session_timeout)
    floor, ceiling = rules.session(unmoved)
    if floor.value <= unmoved.session_timeout <= ceiling.value:  # a person may have set what the objective forbids
        candidates.append(cost_cache.at(unmoved))
    for candidate in candidates:
        safe = candidate.evictions_upper <= budget.per_month or guard.no_riskier(now, candidate)
        if (
            safe
            and not rules.client.violations(candidate.settings)
            and _is_better(rules, budget, candidate)
            and _is_better(rules, usual_budget, usual.at(candidate.settings))
        ):
            return candidate
    return None


def _sure_or_likely(cost_cache: CostCache, rules: Rules, budget: Budget, sure: CostPoint) -> CostPoint:
    """Return values that are sure to meet the objective, or those that are likely to and cost over a tenth less.

    To be sure is worth a tenth, as the objective itself. What is set is not sure either, and at the broker a further
    step is free once more is known; a session that was raised to be sure stays for long.
    """
    likely = _no_riskier(cost_cache, rules, budget, is_safe_to_be_had=True)
    if likely is None or sure.net_per_day <= (1 + economics.SAFETY_PRICE) * likely.net_per_day:
        return sure
    return likely


def _relief(cost_cache: CostCache, rules: Rules, budget: Budget, choice: Choice | Infeasible) -> CostPoint | None:
    """Return the values that help a group in danger, if any do; where no S is safe, another M may help."""
    limits = (
        poll_limits.where_none_is_safe(cost_cache.profile, rules, budget.per_month)
        if isinstance(choice, Infeasible)
        else [choice.point.settings.max_poll_interval]
    )
    by_limit = [search.tables(cost_cache, rules, limit) for limit in limits]
    return guard.relief(
        [table for answer in by_limit if not isinstance(answer, Infeasible) for table in answer],
        budget,
        measured=rules.largest_poll_gap_s is not None,
    )


def _no_riskier(cost_cache: CostCache, rules: Rules, budget: Budget, *, is_safe_to_be_had: bool) -> CostPoint | None:
    """Return values that cost less, evict no more and lower nothing, where what is set is not surely safe.

    S, H and M are tried each by itself and together, for an S that cannot be had says nothing against another M or H.
    Those go first that are expected to meet the objective with some room. Where no values are sure to meet it at a
    price that may be paid, others are better than what is set, too; the answer says that they do not meet it.
    """
    per_month = budget.per_month
    if budget.now.evictions_upper <= per_month:
        return None
    raised = dataclasses.replace(rules, upwards=True)
    points = [
        point
        for limit in poll_limits.where_none_is_safe(cost_cache.profile, raised, per_month)
        for point in _cheaper(cost_cache, raised, budget, limit)
    ]
    likely = [point for point in points if economics.likely(point, per_month)]
    candidates = likely or ([] if is_safe_to_be_had else points)
    return min(candidates, key=lambda point: point.net_per_day, default=None)


def _cheaper(cost_cache: CostCache, rules: Rules, budget: Budget, poll_limit: timedelta | None) -> Iterator[CostPoint]:
    """Return the cheapest values with one M that evict no more.

    For each H they are the cheapest of all, of those likely to be safe, of those that also halve the evictions, of
    those that leave a tenth of them, and at the broker of those that are expected to be safe.
    """
    now = budget.now
    answer = search.tables(cost_cache, rules, poll_limit)
    for table in [] if isinstance(answer, Infeasible) else answer:
        safer = table.within & (table.upper <= now.evictions_upper)
        safer &= table.costs.evictions_per_month <= now.evictions_per_month
        safer &= economics.affordable(table, budget, budget.most)
        likely = economics.EXPECTED_SHARE * budget.per_month
        evicted = now.evictions_per_month
        halved, nearer = min(likely, economics.RESTORED * evicted), economics.NEARER * evicted
        for most in (likely, halved, nearer, budget.without_a_rollout, np.inf):
            helping = safer & (table.costs.evictions_per_month <= most)
            if not helping.any():
                continue
            for point in _longest_first(table, helping, now):
                if guard.no_riskier(now, point) and _is_better(rules, budget, point):
                    yield point
                    break


def _longest_first(table: SessionTable, helping: Mask, now: CostPoint) -> list[CostPoint]:
    """Return the longest session that costs hardly more than the cheapest one, and the cheapest one.

    What is not sure to meet the objective should evict little where that costs next to nothing.
    """
    cheapest = int(np.argmin(np.where(helping, table.net, np.inf)))
    longest = table.point(search.longest_alike(table, helping, cheapest))
    if smallest_changes.too_small(now.settings.session_timeout, longest.settings.session_timeout):
        return [table.point(cheapest)]
    return [longest, table.point(cheapest)]
