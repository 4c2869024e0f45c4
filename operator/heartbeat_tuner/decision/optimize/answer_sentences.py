"""The sentences of an answer, with the numbers of the day."""

from datetime import timedelta
from typing import Final

from heartbeat_tuner.decision.evictions.expected_evictions import figure
from heartbeat_tuner.decision.optimize import economics
from heartbeat_tuner.decision.optimize.cost_points import CostPoint
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.sentences import Reading, Sentence, join, say
from heartbeat_tuner.domain.verdicts import ObjectivePrice
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import Limit, Rules

_ABOVE: Final = ", where the objective allows {objective:g}{unshown}"
_UNSHOWN: Final = "; the group's own record does not show more than that"

_PRICE: Final = (
    ". To be sure to meet the objective {costs} {costsMore:.0%} more than what is set{how}, and at most {paid:.0%} "
    "{measure}are paid for it: set bounds.sessionTimeout.min to {longerSession} where that is worth it, or "
    "objective.maxFalseEvictionsPerMonth to what may happen"
)

NO_FIGURE: Final = "the rates and delays measured give no cost of what is set: they are beyond all that can be computed"


def told(now: CostPoint, new: CostPoint, largest_s: float) -> str:
    """Say all that there is to say of a change.

    Args:
        now: what is set.
        new: what shall be.
        largest_s: the longest absence seen, in seconds.
    """
    before, after = now.settings, new.settings
    return join("", (changed(now, new), halved(before, after), shorter_than_seen(before, after, largest_s)))


def changed(now: CostPoint, new: CostPoint) -> Sentence:
    """Say what to set, and what that brings."""
    return say(
        "Set {moves}: {costNew} instead of {costNow} stalled partition-seconds a day (beside {floor} that no setting "
        "can change); false evictions a month {evictionsNew} instead of {evictionsNow}; a crash is noticed after "
        "{detectionNew} s instead of {detectionNow} s",
        moves=_changes(now.settings, new.settings),
        costNew=_figure(new.net_per_day),
        costNow=_figure(now.net_per_day),
        floor=_figure(now.floor_per_day),
        evictionsNew=_evictions(new),
        evictionsNow=_evictions(now),
        detectionNew=_figure(new.detection_s),
        detectionNow=_figure(now.detection_s),
    )


def undone(before: CostPoint, now: CostPoint) -> Sentence:
    """Say that a raise of S turned out to cost too much.

    Args:
        before: what stood before it, and what that costs.
        now: what is set.
    """
    return say(
        "With the operator's changes since sessionTimeout {before} the group costs {costsMore:.0%} more than before "
        "them, by what is known now, and at most {paid:.0%} are paid for the objective",
        before=before.settings.session_timeout,
        costsMore=Reading(now.net_per_day / before.net_per_day - 1.0),
        paid=economics.SAFETY_PRICE,
    )


def halved(now: LivenessSettings, new: LivenessSettings) -> str:
    """Say that one step goes no further; empty where it need not."""
    session, limit, before = new.session_timeout, new.max_poll_interval, now.max_poll_interval
    short = session < now.session_timeout and session == allowed_values.half_of(now.session_timeout)
    low = limit is not None and before is not None and limit < before and limit == allowed_values.half_of(before)
    return "; one step at most halves a timeout: more may follow after rollout.cooldown" if short or low else ""


def shorter_than_seen(now: LivenessSettings, new: LivenessSettings, largest_s: float) -> Sentence | str:
    """Say that a lower S would end in an absence that the group has had, and on whose word; empty where it would not.

    Args:
        now: what is set.
        new: what shall be.
        largest_s: the longest absence seen, in seconds.
    """
    session = new.session_timeout
    if session >= now.session_timeout or session.total_seconds() > largest_s:
        return ""
    return say(
        "; the longest absence seen, {largestAbsence:about}, would end a session of {session}: the model, of this "
        "group and of all of its library (pool), calls it rare enough for the objective",
        largestAbsence=Reading(timedelta(seconds=largest_s)),
        session=session,
    )


def left(now: CostPoint, best: CostPoint, per_month: float, price: ObjectivePrice | None, *, shown: bool) -> Sentence:
    """Say why what is set stays.

    Args:
        now: what is set.
        best: the cheapest values that are sure to meet the objective.
        per_month: false evictions that it allows.
        price: of the objective, where that is too much.
        shown: whether the group's own record shows more evictions than it allows.
    """
    above = now.evictions_upper > per_month
    return say(
        "Left as it is: {costNow} stalled partition-seconds a day, and the best that is safe ({best}) costs "
        "{costBest}, which is not better by enough; false evictions a month {evictions}{above}{price}",
        costNow=_figure(now.net_per_day),
        best=_values(best.settings),
        costBest=_figure(best.net_per_day),
        evictions=_evictions(now),
        above=say(_ABOVE, objective=per_month, unshown="" if shown else _UNSHOWN) if above else "",
        price="" if price is None else _price(price),
    )


def _price(price: ObjectivePrice) -> Sentence:
    """Say what it costs to meet the objective for sure, and the two ways out."""
    is_of_those = price.follows_our_changes and not price.is_of_crashes
    return say(
        _PRICE,
        costs="may cost" if price.is_of_crashes else "costs",
        costsMore=Reading(price.share),
        how=", if members crash as often as they may" if price.is_of_crashes else "",
        paid=economics.IN_DOUBT if price.is_of_crashes else economics.SAFETY_PRICE,
        measure="more than the values before the operator's changes " if is_of_those else "",
        longerSession=price.values.session_timeout,
    )


def unsure(now: CostPoint, why: str) -> Sentence:
    """Say why what is set stays where no values are sure to meet the objective."""
    return say(
        "Left as it is: {costNow} stalled partition-seconds a day; false evictions a month {evictions}. {why}",
        costNow=_figure(now.net_per_day),
        evictions=_evictions(now),
        why=why,
    )


def missed(
    rules: Rules, ceiling: Limit, needed: CostPoint | None, safest: CostPoint, per_month: float, *, late: float
) -> Sentence:
    """Say what the objective needs, what does not allow it, and what that costs.

    Args:
        rules: of the values.
        ceiling: the longest session that may be, by the limit that says so.
        needed: the shortest session beyond that with which the objective is surely met; None where none is.
        safest: of the values that may be set.
        per_month: false evictions that the objective allows.
        late: false evictions a month for late polls, at most.
    """
    handlers = _shorter_handlers(rules, safest, late=late > per_month)
    if needed is None:
        phrase = (
            "No values are sure to keep false evictions within {objective:g} a month "
            "(objective.maxFalseEvictionsPerMonth): at most {evictionsUpper} a month must be computed with, however "
            "long the session timeout is{handlers}"
        )
        return say(phrase, objective=per_month, evictionsUpper=_figure(safest.evictions_upper), handlers=handlers)
    return say(
        "No session timeout fits: the group needs at least {least} to be sure of at most {objective:g} false "
        "evictions a month, but {limit} allows at most {most}. Expected a month are {evictionsMost} false evictions "
        "with {most}, and {evictionsLeast} with {least}; stalled partition-seconds a day {costMost} and "
        "{costLeast}{handlers}",
        least=Reading(needed.settings.session_timeout),
        objective=per_month,
        limit=ceiling.name,
        most=safest.settings.session_timeout,
        evictionsMost=_evictions(safest),
        evictionsLeast=_evictions(needed),
        costMost=_figure(safest.net_per_day),
        costLeast=_figure(needed.net_per_day),
        handlers=handlers,
    )


def _shorter_handlers(rules: Rules, safest: CostPoint, *, late: bool) -> Sentence | str:
    """Return what handlers could do about it; empty where they have no part in it."""
    room = safest.settings.session_timeout - rules.period(safest.settings).longest
    if rules.client.handler_delays_beat:
        phrase = (
            "; or let handlers come back, or call heartbeat(), within {room}: {client} does not beat while one runs"
        )
        return say(phrase, room=room, client=rules.client.title)
    limit = safest.settings.max_poll_interval
    if not late or limit is None:
        return ""
    return say(
        "; or let handlers come back to poll well within maxPollInterval {limit}: take fewer records", limit=limit
    )


def too_little(watched_days: float, member_days: float) -> Sentence:
    """Say that there are too few data for a change."""
    return say(
        "other values look better, but the group was watched for {watchedDays} days and {memberDays} member-days only; "
        "at least one of each is needed",
        watchedDays=_figure(watched_days),
        memberDays=_figure(member_days),
    )


def unstable(now: CostPoint, target: LivenessSettings | None) -> Sentence:
    """Say that the group rebalances all the time, and what its record asks for."""
    storm = _storm(now)
    if target is None:
        return storm
    return say("{storm}; by its record, set {moves}", storm=storm, moves=_changes(now.settings, target))


def calmed(now: CostPoint, new: CostPoint) -> Sentence:
    """Say that the group rebalances all the time, and under which values it hardly would."""
    return say(
        "{storm}; set {moves}, and expect {shareNew:.2%} of the day, and false evictions a month {evictions}",
        storm=_storm(now),
        moves=_changes(now.settings, new.settings),
        shareNew=Reading(new.rebalancing_share),
        evictions=_evictions(new),
    )


def _storm(now: CostPoint) -> Sentence:
    return say(
        "the group is expected to rebalance for {share:.0%} of the day, where no cost can be computed",
        share=Reading(now.rebalancing_share),
    )


def _changes(before: LivenessSettings, after: LivenessSettings) -> str:
    return ", ".join(
        f"{setting} {durations.show(before[setting])} → {durations.show(after[setting])}"
        for setting in liveness.changed(before, after)
    )


def _values(settings: LivenessSettings) -> str:
    return ", ".join(f"{name} {durations.show(value)}" for name, value in settings.by_setting.items())


def _evictions(point: CostPoint) -> Sentence:
    return say(
        "{evictions} (at most {evictionsUpper})",
        evictions=_figure(point.evictions_per_month),
        evictionsUpper=_figure(point.evictions_upper),
    )


def _figure(number: float) -> Reading:
    """Return a figure of a forecast: it follows the group's size, which is no news by itself."""
    return Reading(figure(number))


def advice(message: str, held: Limit | None) -> str:
    """Return an answer's sentence, and what a budget of heartbeats holds back.

    Args:
        message: of the answer.
        held: the least H that the budget leaves; None where it leaves any.
    """
    if held is None:
        return message
    return say(
        "{answer}; heartbeatInterval is not set below {least}: {budget}, and other groups gain more by it",
        answer=message,
        least=held.value,
        budget=held.name,
    )
