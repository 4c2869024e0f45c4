"""Which values should this group have? The question, the answer, and the order in which it is found.

What cannot be known is not decided. A group that rebalances all the time is outside the formulas, and only its record
speaks. Else: the cheapest values within objective, broker, client library and policy (`search`), if they are better
than what is set by enough (`improvement`), now or with the next restart (`economics`). `answer_sentences` has the
sentences.

An answer is the next step to them (`answer`): one step lowers neither S nor M below half of what is set, whatever a
model says, so that a wrong one shows in the group's record before it can do much.
"""

import dataclasses
import math

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.evictions.assessment import ENOUGH_EVICTIONS
from heartbeat_tuner.decision.optimize import answer_sentences, economics, guard, improvement, search, undone_raise
from heartbeat_tuner.decision.optimize.cost_points import Choice, CostPoint, Unsure
from heartbeat_tuner.decision.optimize.economics import Budget
from heartbeat_tuner.decision.optimize.guard import Leave
from heartbeat_tuner.decision.optimize.questions import SURE, Answer, Question
from heartbeat_tuner.decision.optimize.remedy import settled
from heartbeat_tuner.decision.optimize.search import CostCache
from heartbeat_tuner.decision.profile import censored
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join
from heartbeat_tuner.domain.verdicts import Confidence, Forecast, Prediction, Verdict
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import Infeasible, Rules
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile, Rebalancing


def answer(question: Question) -> Answer:
    """Return what to do for one group now: one step, which at most halves S and M."""
    return _found(question, stepwise=True)


def goal(question: Question) -> Answer:
    """Return what to do for one group in the end: what the steps of `answer` lead to, if nothing changes meanwhile."""
    return _found(question, stepwise=False)


def _found(question: Question, *, stepwise: bool) -> Answer:
    missing = _missing(question)
    if missing:
        return Answer(Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA, missing)
    with np.errstate(all="ignore"):
        return _answered(question, *rules_and_costs(question), stepwise=stepwise)


def forecast(answer: Answer) -> Forecast | None:
    """Return what an answer expects of the values set and of those recommended; None where it knows nothing."""
    if answer.now is None:
        return None
    band = (answer.lower, answer.upper, answer.uncapped)
    return Forecast(answer.now, answer.new, *band, answer.confidence, answer.price)


def expected(question: Question, target: LivenessSettings | None) -> Forecast | None:
    """Return what the values that are set bring to a group, and what any others would; None where nothing is known."""
    if _missing(question):
        return None
    with np.errstate(all="ignore"):
        cost_cache = CostCache(question.profile, _rules(question))
        now = cost_cache.at(question.current)
        new = None if target is None else cost_cache.at(target)
        if not all(
            math.isfinite(point.net_per_day + point.evictions_upper) for point in (now, new) if point is not None
        ):
            return None
        prediction = None if new is None else _predicted(cost_cache, new)
        return Forecast(_predicted(cost_cache, now), prediction, None, None, None, confidence(question))


def confidence(question: Question) -> Confidence:
    """Return how much data an answer rests on."""
    return _confidence(question.watched_days, question.member_days)


def _confidence(watched_days: float, member_days: float) -> Confidence:
    enough = (level for level, least in SURE.items() if watched_days >= least[0] and member_days >= least[1])
    return next(enough, Confidence.LOW)


def rules_and_costs(question: Question) -> tuple[Rules, CostCache]:
    """Return the rules and the costs that an answer rests on, to explain it."""
    rules = _rules(question)
    return rules, CostCache(_recorded(question, rules), rules)


def _rules(question: Question) -> Rules:
    per_month = question.objective.max_false_evictions_per_month
    consumer, client = question.profile.rebalancing is Rebalancing.CONSUMER, catalogue.client(question.profile.client)
    days = min(question.watched_days, question.gaps_watched_days)
    return Rules(
        client=client,
        current=question.current,
        bounds=question.bounds,
        broker_session=Range(question.least_session, question.most_session),
        broker_interval=question.broker_interval if consumer else Range(),
        max_detection_time=question.objective.max_detection_time,
        largest_poll_gap_s=question.largest_poll_gap_s,
        upwards=guard.endangered(question.evictions, question.evictions_days, per_month),
        gaps_too_few=min(question.gaps_watched_days, question.gaps_member_days) < guard.LEAST_DAYS,
        least_poll_limit=guard.least_poll_limit(client, days),
        outlasted=guard.outlasted(question.largest_absence_s, question.watched_days, per_month),
        held=question.held,
        brokers=question.brokers,
        bounds_assumed=question.bounds_assumed,
        consumer_protocol=consumer,
        fixed=question.fixed,
    )


def _recorded(question: Question, rules: Rules) -> Profile:
    """Return the profile with what the record says of it, where all evictions are for silence."""
    profile, member_days = question.profile, question.evictions_days * question.profile.members
    if allowed_values.poll_limit(rules.client, question.current) is not None or not member_days > 0:
        return profile
    period = rules.period(question.current).usual

    def recorded(absences: FailureProcess) -> FailureProcess:
        return censored.with_evictions(
            absences,
            question.evictions,
            member_days,
            session_s=question.current.session_timeout.total_seconds(),
            period_s=period.total_seconds(),
        )

    if rules.client.handler_delays_beat and profile.slow_handlers is not None:
        return dataclasses.replace(profile, slow_handlers=recorded(profile.slow_handlers))
    return dataclasses.replace(profile, pauses=recorded(profile.pauses))


def _missing(question: Question) -> str:
    """Return why nothing can be said of a group; empty if something can."""
    if question.largest_absence_s is None:
        return "no absence of a member can be measured, so nothing is known of what a session must outlast"
    if not (question.watched_days > 0 and question.member_days > 0):
        return "the group was not watched yet"
    if question.profile.members < 1:
        return "the group has no members"
    return ""


def _answered(question: Question, rules: Rules, cost_cache: CostCache, *, stepwise: bool) -> Answer:
    now = cost_cache.at(question.current)
    if not math.isfinite(now.net_per_day + now.evictions_upper):
        return Answer(Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA, answer_sentences.NO_FIGURE)
    per_month = question.objective.max_false_evictions_per_month
    answer = Answer(
        Verdict.HEALTHY,
        Reason.HEALTHY,
        "",
        now=_predicted(cost_cache, now),
        objective_met=now.evictions_upper <= per_month,
        confidence=confidence(question),
    )
    if guard.unstable(now):
        return _unstable(question, rules, cost_cache, now, answer)
    choice = search.choose(cost_cache, rules, per_month)
    answer = dataclasses.replace(answer, uncapped=_uncapped(cost_cache, rules, choice, per_month))
    if isinstance(choice, Choice):
        answer = dataclasses.replace(answer, lower=choice.lower, upper=choice.upper)
    undone = undone_raise.undone(question, cost_cache, rules, now)
    new = improvement.better(question, cost_cache, rules, now, choice) if undone is None else undone.new
    budget = improvement.budget_of(question, cost_cache, rules, now)
    if new is not None and stepwise and undone is None:
        new = improvement.step(cost_cache, rules, now, new)
    if new is not None:
        is_urgent = rules.upwards and guard.cures(now, new)
        unmet = choice.message if isinstance(choice, Infeasible) and new.evictions_upper > per_month else ""
        unmet = unmet if undone is None else answer_sentences.undone(undone.before, now)
        return _changed(question, cost_cache, budget, new, answer, urgent=is_urgent, unmet=unmet)
    if isinstance(choice, Unsure):
        return dataclasses.replace(answer, message=answer_sentences.unsure(now, choice.message))
    if isinstance(choice, Infeasible):
        return _infeasible(choice, answer)
    price = improvement.objective_price(cost_cache, budget, choice)
    message = answer_sentences.left(now, choice.point, per_month, price, shown=rules.upwards)
    return dataclasses.replace(answer, message=message, price=price)


def _changed(
    question: Question,
    cost_cache: CostCache,
    budget: Budget,
    new: CostPoint,
    answer: Answer,
    *,
    urgent: bool,
    unmet: str,
) -> Answer:
    """Answer with other values, as far as the data allow it; what is urgent needs no more data.

    Args:
        question: that is answered.
        cost_cache: of the group.
        budget: of the group, with what is set.
        new: what shall be.
        answer: as far as it is known.
        urgent: whether the group's record shows that it evicts, and these values cure that.
        unmet: why the values may miss the objective; empty where they are sure to meet it.
    """
    now = budget.now
    days, member_days = question.rests_on(new.settings)
    leave = guard.leave(watched_days=days, member_days=member_days)
    if leave is Leave.NONE and not urgent:
        return dataclasses.replace(
            answer, reason=Reason.TOO_LITTLE_DATA, message=answer_sentences.too_little(days, member_days)
        )
    session, only_recommend = new.settings.session_timeout, leave is Leave.RECOMMEND and not urgent
    in_force, per_month = now if only_recommend else new, question.objective.max_false_evictions_per_month
    is_chance = 0 < question.evictions < ENOUGH_EVICTIONS  # what misses the objective by one eviction may not miss it
    rollout = cost_cache.rollout(now.settings)
    is_paid = economics.is_paid_by_savings(budget.before, new, rollout, question.horizon)
    is_asked = urgent or ((not is_chance or is_paid) and economics.restores_the_objective(now, new, per_month))
    return dataclasses.replace(
        answer,
        verdict=Verdict.CHANGE,
        reason=Reason.DANGER if urgent else Reason.CHEAPER,
        message=join(". ", (answer_sentences.told(now, new, question.largest_absence_s or 0.0), unmet)),
        target=new.settings,
        lower=min(answer.lower or session, session),
        upper=max(answer.upper or session, session),
        new=_predicted(cost_cache, new),
        objective_met=in_force.evictions_upper <= per_month,
        wait_for_restart=not is_asked
        and economics.is_not_worth_a_rollout(question.profile, now, new, rollout, question.horizon),
        only_recommend=only_recommend,
        confidence=_confidence(days, member_days),
    )


def _unstable(question: Question, rules: Rules, cost_cache: CostCache, now: CostPoint, answer: Answer) -> Answer:
    """Answer for a group that is outside the formulas, if its record shows that it evicts.

    What is set cannot be computed with; values under which the group would hardly rebalance can. If there are none that
    are safe, the record alone speaks.
    """
    answer = dataclasses.replace(answer, verdict=Verdict.UNKNOWN, reason=Reason.UNSTABLE)
    if not rules.upwards:
        return dataclasses.replace(answer, message=answer_sentences.unstable(now, None))
    choice = search.choose(cost_cache, rules, question.objective.max_false_evictions_per_month)
    if isinstance(choice, Choice) and not guard.unstable(choice.point):
        return dataclasses.replace(
            answer,
            message=answer_sentences.calmed(now, choice.point),
            target=choice.point.settings,
            lower=choice.lower,
            upper=choice.upper,
            new=_predicted(cost_cache, choice.point),
            objective_met=True,
        )
    target = settled(rules, question.largest_absence_s or 0.0)
    if isinstance(target, Infeasible):
        return _infeasible(target, answer)
    session = target.session_timeout  # three beats and half as much again as was outlasted: never about what is set
    return dataclasses.replace(
        answer,
        message=answer_sentences.unstable(now, target),
        target=target,
        lower=session,
        upper=session,
        objective_met=None,
    )


def _infeasible(why: Infeasible, answer: Answer) -> Answer:
    return dataclasses.replace(answer, verdict=Verdict.INFEASIBLE, reason=Reason.INFEASIBLE, message=why.message)


def _uncapped(
    cost_cache: CostCache, rules: Rules, choice: Choice | Infeasible, per_month: float
) -> LivenessSettings | None:
    """Return the best values without the policy's bounds, where those within are others."""
    if not rules.bounds:
        return None
    free = search.choose(cost_cache, rules.unbounded(), per_month)
    if isinstance(free, Infeasible) or (isinstance(choice, Choice) and choice.point.settings == free.point.settings):
        return None
    return free.point.settings


def _predicted(cost_cache: CostCache, point: CostPoint) -> Prediction:
    return Prediction(
        point.net_per_day,
        point.floor_per_day,
        point.evictions_per_month,
        point.evictions_upper,
        point.detection_s,
        cost_cache.rollout(point.settings),
        point.stalled_per_eviction,
    )
