"""Which values should this group have? The question, the answer, and the order in which it is found.

What cannot be known is not decided. A group that rebalances all the time is outside the formulas, and only its record
speaks. Else: the cheapest values within objective, broker, client library and policy (`choosing`), if they are better
than what is set by enough (`guard`), now or with the next restart (`economics`). `telling` has the sentences.

An answer is the next step to them (`answer`): one step lowers neither S nor M below half of what is set, whatever a
model says, so that a wrong one shows in the group's record before it can do much.
"""

import dataclasses
import functools
import math
from collections.abc import Hashable, Mapping
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import censored, choosing, economics, estimate, guard, poll_limits, rules, telling
from heartbeat_tuner.decision.choice import settled
from heartbeat_tuner.decision.choosing import Choice, Point, Prices
from heartbeat_tuner.decision.estimate import USUAL_CRASHES, USUAL_RESTARTS, Facts
from heartbeat_tuner.decision.guard import Leave
from heartbeat_tuner.decision.rules import Infeasible, Limit, Rules
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Forecast, Prediction, Verdict
from heartbeat_tuner.tails.group_model import GroupModel
from heartbeat_tuner.tails.profile import Happening, Profile, Rebalancing

CONSUMER_INTERVAL: Final = Range(timedelta(seconds=5), timedelta(seconds=15))
"""H that a broker accepts for groups of KIP-848, where nothing else is set."""


_SURE: Final = {Confidence.HIGH: (14.0, 30.0), Confidence.MEDIUM: (7.0, 7.0)}
"""From how many days, and member-days, on: two weeks with two of each weekday, and a month of an objective."""


@dataclasses.dataclass(frozen=True)
class History:
    """What befalls a group by its model, worked out when somebody needs it: that takes a millisecond.

    Attributes:
        model: what its history says.
        facts: the group as it is now.
    """

    model: GroupModel
    facts: Facts

    @functools.cached_property
    def profile(self) -> Profile:
        """What befalls the group, expected and at most."""
        return estimate.profile(self.model, self.facts)


_OF_THE_MODEL: Final = frozenset(
    {
        "watched_days",
        "member_days",
        "largest_absence_s",
        "largest_poll_gap_s",
        "gaps_watched_days",
        "gaps_member_days",
    }
)
"""Fields of a question that its model says."""


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """All that an answer rests on. Nothing in it moves while nothing happens, so that an answer may be remembered.

    Attributes:
        history: what befalls the group, by its model; or as somebody knows it.
        current: what is set.
        objective: what the group must hold.
        bounds: the policy's, by setting.
        least_session: that the broker accepts.
        most_session: likewise.
        watched_days: the span of the data behind `profile`.
        member_days: the same, of all members together.
        evictions: false ones in the group's own record.
        evictions_days: the span of that record.
        largest_absence_s: that was seen; None where absences are not measured.
        largest_poll_gap_s: that was seen; None where poll gaps are not measured: M is then left alone.
        horizon: within which a change must have paid for its own restarts.
        broker_interval: H that the broker accepts; asked of groups of KIP-848 alone.
        held: the least H that the budget of the cluster's heartbeats leaves; None where it leaves any.
        gaps_watched_days: the span of the poll gaps seen; infinite where they were seen for as long as all else.
        gaps_member_days: the same, of all members together.
        brokers: of the Kafka cluster.
        bounds_assumed: the broker's bounds could not be read, and are those of one that nobody configured.
    """

    history: History | Profile
    current: LivenessSettings
    objective: Objective
    bounds: Mapping[Setting, Range]
    least_session: timedelta
    most_session: timedelta
    watched_days: float
    member_days: float
    evictions: int
    evictions_days: float
    largest_absence_s: float | None
    largest_poll_gap_s: float | None
    horizon: timedelta
    broker_interval: Range = CONSUMER_INTERVAL
    held: Limit | None = None
    gaps_watched_days: float = math.inf
    gaps_member_days: float = math.inf
    brokers: int = 1
    bounds_assumed: bool = False

    @property
    def profile(self) -> Profile:
        """What befalls the group, expected and at most."""
        return self.history if isinstance(self.history, Profile) else self.history.profile

    @property
    def key(self) -> Hashable:
        """All of it but what the model says, of which only whose it is; None where there is no model."""
        if isinstance(self.history, Profile):
            return None
        model, left_out = self.history.model, {"history", "bounds", *_OF_THE_MODEL}
        rest = (getattr(self, field) for field in self.__slots__ if field not in left_out)
        whose = (model.namespace, model.group, model.cluster)
        return (whose, self.history.facts, frozenset(self.bounds.items()), *rest)

    def without_record(self) -> "Question":
        """Return the same of a group that nobody watched."""
        return dataclasses.replace(self, evictions=0, evictions_days=0.0)

    def rests_on(self, target: LivenessSettings) -> tuple[float, float]:
        """Return the days, and member-days, behind a change; gaps between polls speak for a lower M, too."""
        if not guard.lowers_poll_limit(self.current, target):
            return self.watched_days, self.member_days
        return min(self.watched_days, self.gaps_watched_days), min(self.member_days, self.gaps_member_days)


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What to do, and why.

    Attributes:
        verdict: at a glance; unknown with a target where only a record can say that it would help.
        reason: of it.
        message: the sentence with its numbers.
        target: the values that should be set; None where nothing should be changed.
        lower: the least S that costs about the same as the best; None where none is known.
        upper: the greatest.
        uncapped: the best values without the policy's bounds, where these are others.
        now: what the values set bring; None where that is unknown.
        new: what the target brings.
        objective_met: whether false evictions are within the objective, at 95 %, with what will be in force.
        wait_for_restart: the change does not pay for a rollout of its own: the next restart brings it for nothing.
        only_recommend: there is too little data to make the change, and enough to show it.
        confidence: how much data all this rests on.
    """

    verdict: Verdict
    reason: Reason
    message: str
    target: LivenessSettings | None = None
    lower: timedelta | None = None
    upper: timedelta | None = None
    uncapped: LivenessSettings | None = None
    now: Prediction | None = None
    new: Prediction | None = None
    objective_met: bool | None = None
    wait_for_restart: bool = False
    only_recommend: bool = False
    confidence: Confidence = Confidence.LOW


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
        return _answered(question, *reckoned(question), stepwise=stepwise)


def forecast(found: Answer) -> Forecast | None:
    """Return what an answer expects of the values set and of those recommended; None where it knows nothing."""
    if found.now is None:
        return None
    return Forecast(found.now, found.new, found.lower, found.upper, found.uncapped, found.confidence)


def expected(question: Question, target: LivenessSettings | None) -> Forecast | None:
    """Return what the values set, and others, bring to a group, whoever chose them; None where nothing is known."""
    if _missing(question):
        return None
    with np.errstate(all="ignore"):
        prices = Prices(question.profile, _rules(question))
        now = prices.at(question.current)
        new = None if target is None else prices.at(target)
        if not all(math.isfinite(one.net_per_day + one.evictions_upper) for one in (now, new) if one is not None):
            return None
        told = None if new is None else _predicted(prices, new)
        return Forecast(_predicted(prices, now), told, None, None, None, confidence(question))


def confidence(question: Question) -> Confidence:
    """Return how much data an answer rests on."""
    return _confidence(question.watched_days, question.member_days)


def _confidence(watched_days: float, member_days: float) -> Confidence:
    enough = (level for level, least in _SURE.items() if watched_days >= least[0] and member_days >= least[1])
    return next(enough, Confidence.LOW)


def reckoned(question: Question) -> tuple[Rules, Prices]:
    """Return the rules and the prices that an answer is found by, for who explains it."""
    of = _rules(question)
    return of, Prices(_recorded(question, of), of)


def _rules(question: Question) -> Rules:
    per_month = question.objective.max_false_evictions_per_month
    consumer = question.profile.rebalancing is Rebalancing.CONSUMER
    return Rules(
        client=catalogue.client(question.profile.client),
        current=question.current,
        bounds=question.bounds,
        broker_session=Range(question.least_session, question.most_session),
        broker_interval=question.broker_interval if consumer else Range(),
        max_detection_time=question.objective.max_detection_time,
        largest_poll_gap_s=question.largest_poll_gap_s,
        upwards=guard.endangered(question.evictions, question.evictions_days, per_month),
        gaps_too_few=min(question.gaps_watched_days, question.gaps_member_days) < guard.LEAST_DAYS,
        held=question.held,
        brokers=question.brokers,
        bounds_assumed=question.bounds_assumed,
        consumer_protocol=consumer,
    )


def _recorded(question: Question, of: Rules) -> Profile:
    """Return the profile with what the record says of it, where all evictions are for silence."""
    profile, member_days = question.profile, question.evictions_days * question.profile.members
    if rules.poll_limit(of.client, question.current) is not None or not member_days > 0:
        return profile
    period = of.period(question.current).usual

    def recorded(absences: Happening) -> Happening:
        return censored.with_evictions(
            absences,
            question.evictions,
            member_days,
            session_s=question.current.session_timeout.total_seconds(),
            period_s=period.total_seconds(),
        )

    if of.client.handler_delays_beat and profile.slow_handlers is not None:
        return dataclasses.replace(profile, slow_handlers=recorded(profile.slow_handlers))
    return dataclasses.replace(profile, pauses=recorded(profile.pauses))


def _missing(question: Question) -> str:
    """Return why nothing can be said of a group; empty if something can."""
    if question.largest_absence_s is None:
        return "no absence of a member can be measured, so nothing is known of what a session must bear"
    if not (question.watched_days > 0 and question.member_days > 0):
        return "the group was not watched yet"
    if question.profile.members < 1:
        return "the group has no members"
    return ""


def _answered(question: Question, of: Rules, prices: Prices, *, stepwise: bool) -> Answer:
    now = prices.at(question.current)
    if not math.isfinite(now.net_per_day + now.evictions_upper):
        return Answer(Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA, telling.NO_FIGURE)
    per_month = question.objective.max_false_evictions_per_month
    kept = Answer(
        Verdict.HEALTHY,
        Reason.HEALTHY,
        "",
        now=_predicted(prices, now),
        objective_met=now.evictions_upper <= per_month,
        confidence=confidence(question),
    )
    if guard.unstable(now):
        return _unstable(question, of, prices, now, kept)
    choice = choosing.choose(prices, of, per_month)
    kept = dataclasses.replace(kept, uncapped=_uncapped(prices, of, choice, per_month))
    if isinstance(choice, Choice):
        kept = dataclasses.replace(kept, lower=choice.lower, upper=choice.upper)
    new = _better(question, prices, of, now, choice)
    if new is not None and stepwise:
        new = _step(prices, of, now, new)
    if new is not None:
        return _changed(question, prices, now, new, kept, urgent=of.upwards)
    if isinstance(choice, Infeasible):
        return _infeasible(choice, kept)
    return dataclasses.replace(kept, message=telling.left(now, choice.point, per_month))


def _better(question: Question, prices: Prices, of: Rules, now: Point, choice: Choice | Infeasible) -> Point | None:
    """Return the values to change to, if any are better by enough."""
    per_month = question.objective.max_false_evictions_per_month
    found: Point | None
    if isinstance(choice, Choice) and _improves(of, now, choice.point):
        found = choice.point
    elif of.upwards:
        found = _relief(prices, of, now, choice, per_month)
    else:
        found = _no_riskier(prices, of, now, per_month) if question.watched_days >= guard.SURE_DAYS else None
    if found is not None and prices.profile.static and not of.upwards:
        found = _of_static(prices, of, now, found, per_month)
    return None if found is None or rules.within_band(now.settings, found.settings) else found


def _step(prices: Prices, of: Rules, now: Point, new: Point) -> Point | None:
    """Return the values, or those half of the way to them; None if these are no better than what is set.

    What policy, objective or broker allow at most comes before half of what is set: a person asked for it, or has to.
    """
    before, after = now.settings, new.settings
    session = min(rules.half_of(before.session_timeout), of.session(after)[1].value)
    limit = after.max_poll_interval
    if limit is not None and before.max_poll_interval is not None:
        limit = max(limit, min(rules.half_of(before.max_poll_interval), of.poll()[1].value))
    session = max(after.session_timeout, session)
    step = dataclasses.replace(after, session_timeout=session, max_poll_interval=limit)
    if step == after:
        return new
    found = prices.at(step)
    return found if not of.client.violations(step) and _improves(of, now, found) else None


def _improves(of: Rules, now: Point, new: Point) -> bool:
    return guard.improves(now, new, measured=of.largest_poll_gap_s is not None)


def _of_static(prices: Prices, of: Rules, now: Point, new: Point, per_month: float) -> Point | None:
    """Return the values, or those with the S that is set, if better also where members are away for as long as usual.

    A static member is not missed if it is back within S. How long that takes is measured to a scrape or two, which
    may be as long as the restart: an S that wins by a second may lose by the next.
    """
    restarts = dataclasses.replace(prices.profile.restarts, law=USUAL_RESTARTS.law)
    crashes = dataclasses.replace(prices.profile.crashes, law=USUAL_CRASHES.law)
    usual = Prices(dataclasses.replace(prices.profile, restarts=restarts, crashes=crashes), of)
    before = usual.at(now.settings)
    candidates = [new]
    unmoved = dataclasses.replace(new.settings, session_timeout=now.settings.session_timeout)
    floor, ceiling = of.session(unmoved)
    if floor.value <= unmoved.session_timeout <= ceiling.value:  # a person may have set what the objective forbids
        candidates.append(prices.at(unmoved))
    for one in candidates:
        safe = one.evictions_upper <= per_month or guard.no_riskier(now, one, per_month)
        if (
            safe
            and not of.client.violations(one.settings)
            and _improves(of, now, one)
            and _improves(of, before, usual.at(one.settings))
        ):
            return one
    return None


def _relief(prices: Prices, of: Rules, now: Point, choice: Choice | Infeasible, per_month: float) -> Point | None:
    """Return the values that help a group in danger, if any do; where no S is safe, another M may help."""
    limits = (
        poll_limits.where_none_is_safe(prices.profile, of, per_month)
        if isinstance(choice, Infeasible)
        else [choice.point.settings.max_poll_interval]
    )
    found = [choosing.tables(prices, of, limit) for limit in limits]
    return guard.relief([table for one in found if not isinstance(one, Infeasible) for table in one], now, per_month)


def _no_riskier(prices: Prices, of: Rules, now: Point, per_month: float) -> Point | None:
    """Return values that cost less and evict no more, where what is set is not surely safe, nor what costs less."""
    if now.evictions_upper <= per_month:
        return None
    choice = choosing.choose(prices, of, now.evictions_upper)
    if isinstance(choice, Infeasible) or not guard.no_riskier(now, choice.point, per_month):
        return None
    return choice.point if _improves(of, now, choice.point) else None


def _changed(question: Question, prices: Prices, now: Point, new: Point, kept: Answer, *, urgent: bool) -> Answer:
    """Answer with other values, as far as the data allow it; what is urgent needs no more data."""
    days, member_days = question.rests_on(new.settings)
    leave = guard.leave(now.settings, new.settings, watched_days=days, member_days=member_days)
    if leave is Leave.NONE and not urgent:
        return dataclasses.replace(kept, reason=Reason.TOO_LITTLE_DATA, message=telling.too_little(days, member_days))
    session, only_recommend = new.settings.session_timeout, leave is Leave.RECOMMEND and not urgent
    in_force = now if only_recommend else new
    return dataclasses.replace(
        kept,
        verdict=Verdict.CHANGE,
        reason=Reason.DANGER if urgent else Reason.CHEAPER,
        message=telling.changed(now, new) + telling.halved(now.settings, new.settings),
        target=new.settings,
        lower=min(kept.lower or session, session),
        upper=max(kept.upper or session, session),
        new=_predicted(prices, new),
        objective_met=in_force.evictions_upper <= question.objective.max_false_evictions_per_month,
        wait_for_restart=not urgent
        and economics.waits(question.profile, now, new, prices.rollout(now.settings), question.horizon),
        only_recommend=only_recommend,
        confidence=_confidence(days, member_days),
    )


def _unstable(question: Question, of: Rules, prices: Prices, now: Point, kept: Answer) -> Answer:
    """Answer for a group that is outside the formulas, if its record shows that it evicts.

    What is set cannot be reckoned with; values under which the group would hardly rebalance can. If there are none that
    are safe, the record alone speaks.
    """
    kept = dataclasses.replace(kept, verdict=Verdict.UNKNOWN, reason=Reason.UNSTABLE)
    if not of.upwards:
        return dataclasses.replace(kept, message=telling.unstable(now, None))
    choice = choosing.choose(prices, of, question.objective.max_false_evictions_per_month)
    if isinstance(choice, Choice) and not guard.unstable(choice.point):
        return dataclasses.replace(
            kept,
            message=telling.calmed(now, choice.point),
            target=choice.point.settings,
            lower=choice.lower,
            upper=choice.upper,
            new=_predicted(prices, choice.point),
            objective_met=True,
        )
    target = settled(of, question.largest_absence_s or 0.0)
    if isinstance(target, Infeasible):
        return _infeasible(target, kept)
    session = target.session_timeout  # three beats and half as much again as what was borne: never about what is set
    return dataclasses.replace(
        kept, message=telling.unstable(now, target), target=target, lower=session, upper=session, objective_met=None
    )


def _infeasible(why: Infeasible, kept: Answer) -> Answer:
    return dataclasses.replace(kept, verdict=Verdict.INFEASIBLE, reason=Reason.INFEASIBLE, message=why.message)


def _uncapped(prices: Prices, of: Rules, choice: Choice | Infeasible, per_month: float) -> LivenessSettings | None:
    """Return the best values without the policy's bounds, where those within are others."""
    if not of.bounds:
        return None
    free = choosing.choose(prices, of.unbounded(), per_month)
    if isinstance(free, Infeasible) or (isinstance(choice, Choice) and choice.point.settings == free.point.settings):
        return None
    return free.point.settings


def _predicted(prices: Prices, point: Point) -> Prediction:
    return Prediction(
        point.net_per_day,
        point.floor_per_day,
        point.evictions_per_month,
        point.evictions_upper,
        point.detection_s,
        prices.rollout(point.settings),
    )
