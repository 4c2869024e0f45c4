"""The links of the decision engine: cost, constraint, choice, guard and economics of one answer."""

from datetime import timedelta
from typing import Final

from heartbeat_tuner.cli.group.chain import Link, Row
from heartbeat_tuner.cli.group.forecasts import number
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.cli.group.group_options import is_brokers
from heartbeat_tuner.decision.optimize import economics, guard
from heartbeat_tuner.decision.optimize.explanation import Explanation
from heartbeat_tuner.decision.optimize.questions import Answer, Question
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict

TERMS: Final = {
    "pauses": "pauses",
    "nodePauses": "pauses of a node",
    "outages": "outages",
    "crashes": "crashes",
    "restarts": "restarts",
    "hangs": "hung handlers",
    "slowHandlers": "long gaps between polls",
}
"""The causes of a standstill, by the names that the cost gives them."""

STALLED: Final = "partition-s a day"
_DAY: Final = timedelta(days=1)


def links(case: Case, asked: Question, answer: Answer, explanation: Explanation) -> list[Link]:
    """Return cost, constraint, choice, guard and economics."""
    return [
        _cost(explanation),
        _constraint(asked, explanation),
        _choice(case, asked, answer, explanation),
        *_decided(asked, answer, explanation),
    ]


def _cost(explanation: Explanation) -> Link:
    now, new = explanation.now, explanation.new
    rows = []
    for name, title in TERMS.items():
        value = float(now.terms[name][0])
        if value:
            then = None if new is None else float(new.terms[name][0])
            rows.append(Row(title, value, STALLED, then))
    unavoidable = -now.floor_per_day
    rows.append(
        Row("less: unavoidable", unavoidable, STALLED, None if new is None else unavoidable, "no setting changes it")
    )
    net = float(now.net_per_day[0]), None if new is None else float(new.net_per_day[0])
    rows.append(Row("what settings cost", net[0], STALLED, net[1]))
    rows.append(
        Row(
            "rebalances",
            float(now.rebalances_per_day[0]),
            "a day",
            None if new is None else float(new.rebalances_per_day[0]),
        )
    )
    rows.append(
        Row("detection of a crash", float(now.detection_s[0]), "s", None if new is None else float(new.detection_s[0]))
    )
    sentence = "The first number is of what is set, the second of what the model recommends." if new is not None else ""
    return Link("cost", "what that costs", tuple(rows), (sentence,) if sentence else ())


def _constraint(asked: Question, explanation: Explanation) -> Link:
    upper, mean = float(explanation.now.evictions_upper_per_month[0]), float(explanation.now.evictions_per_month[0])
    new, per_month = explanation.new, asked.objective.max_false_evictions_per_month
    rows = [
        Row("expected", mean, "a month", None if new is None else float(new.evictions_per_month[0])),
        Row("at most", upper, "a month", None if new is None else float(new.evictions_upper_per_month[0]), "at 95 %"),
        Row("allowed", per_month, "a month", None if new is None else per_month, "by the objective"),
    ]
    causes = sorted(explanation.causes.items(), key=lambda cause: -cause[1])
    sentences = []
    if causes:
        name, share = causes[0]
        sentences.append(f"At what is set, {TERMS[name]} contribute most: {number(share)} of {number(upper)} a month.")
    if asked.largest_poll_gap_s is None and explanation.now.poll_evictions_upper_per_month:
        sentences.append("Gaps between polls were not measured, so they speak against no value.")
    return Link("constraint", "how many live members that evicts", tuple(rows), tuple(sentences))


def _choice(case: Case, asked: Question, answer: Answer, explanation: Explanation) -> Link:
    rows = [
        Row("shortest session allowed", explanation.least_session_s, "s", note="with the heartbeat that is set"),
        Row("longest session allowed", explanation.most_session_s, "s", note="by objective, broker and bounds"),
    ]
    for interval in explanation.intervals:
        name = f"heartbeat every {durations.show(interval.beat.heartbeat_interval)}"
        if interval.point is None:
            rows.append(Row(name, "-", "", note="no session keeps the objective"))
        else:
            session = durations.show(interval.point.settings.session_timeout)
            most = f"at most {number(interval.point.evictions_upper)} evictions a month"
            rows.append(Row(name, interval.point.net_per_day, STALLED, note=f"with a session of {session}: {most}"))
    sentences = []
    if explanation.intervals:
        sentences.append(
            "The longest heartbeat that costs hardly more (3 %) than the cheapest is taken, and with it the longest "
            "such session (1 %)."
        )
    if answer.lower is not None and answer.upper is not None:
        sentences.append(
            f"Sessions from {durations.show(answer.lower)} to {durations.show(answer.upper)} cost about the same (5 %)."
        )
    if answer.uncapped is not None:
        sentences.append(f"Without the bounds it would be {_values(answer.uncapped)}.")
    if case.decision is not None and case.decision.target not in (None, answer.target):
        sentences.append(f"The record goes first: its rule gives {_values(case.decision.target or asked.current)}.")
    return Link("choice", "which values cost least", tuple(rows), tuple(sentences))


def _decided(asked: Question, answer: Answer, explanation: Explanation) -> list[Link]:
    if answer.verdict is Verdict.INFEASIBLE or answer.now is None:
        return [Link("guard", "never worse", sentences=(f"{answer.message}.",))]
    if answer.target is None or answer.new is None:
        return [Link("guard", "never worse", sentences=(f"{answer.message}.",))]
    now, new = answer.now.net_per_day, answer.new.net_per_day
    saving = now - new
    days, member_days = asked.rests_on(answer.target)
    rows = [
        Row("it saves", saving, STALLED, note=_asked(answer, _saving_needed(asked, now))),
        Row("watched", days, "d", note=_asked(answer, f"{number(guard.SURE_DAYS)} d to be written")),
        Row("member-days", member_days, "d", note=_asked(answer, f"{number(guard.LEAST_DAYS)} d at least")),
    ]
    sentences = []
    if answer.reason is Reason.DANGER:
        sentences.append("The group's own record shows more evictions than the objective allows: nothing is shortened.")
    if answer.only_recommend:
        sentences.append("There are too few days to have the operator make it.")
    return [Link("guard", "never worse", tuple(rows), tuple(sentences)), _economics(asked, answer, explanation, saving)]


def _asked(answer: Answer, note: str) -> str:
    """Return what is asked of a change; of one that the record demands it is not."""
    return note if answer.reason is Reason.CHEAPER else "not asked: urgent"


def _saving_needed(asked: Question, now: float) -> str:
    measured = asked.largest_poll_gap_s is not None
    share = guard.IMPROVEMENT if measured else guard.UNMEASURED_IMPROVEMENT
    if share * now < guard.LEAST_SAVING:
        return f"a change needs {number(guard.LEAST_SAVING)}, however little is lost"
    why = "" if measured else ", for gaps between polls are not measured"
    return f"a change needs {number(share * now)}, {number(100 * share)} % of the cost{why}"


def _economics(asked: Question, answer: Answer, explanation: Explanation, saving: float) -> Link:
    horizon_d = asked.horizon / _DAY
    rows = [Row("a rollout", explanation.rollout, "partition-s", note="replaces every pod once")]
    rows.append(Row("horizon", horizon_d, "d"))
    target = answer.target or asked.current
    beats = {Setting.HEARTBEAT_INTERVAL, Setting.FETCH_WAIT}
    moved = set(liveness.changed(asked.current, target))
    margin = economics.BEAT_SHARE if moved <= beats else economics.ERROR_SHARE
    needed = _asked(answer, f"{number(margin)} rollouts are needed")
    if all(is_brokers(setting, asked.profile.rebalancing) for setting in moved):
        needed, sentence = "no rollout is needed", "No restart is needed: session and heartbeat are the broker's."
    elif answer.reason is not Reason.CHEAPER:
        sentence = "Whether it pays for a rollout of its own is not asked: it is urgent."
    elif answer.wait_for_restart:
        sentence = "It does not pay for a rollout of its own: set it with the next deploy."
    else:
        sentence = "It pays for a rollout of its own."
    rows.append(Row("saved until then", saving * horizon_d, "partition-s", note=needed))
    return Link("economics", "is it worth the restarts", tuple(rows), (sentence,))


def _values(settings: LivenessSettings) -> str:
    return ", ".join(f"{name} {durations.show(value)}" for name, value in settings.by_setting.items())
