"""What a model expects of a group's values, as rows of a table and as plain values."""

from typing import Any

from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.cli.group.group_options import tuned
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import ObjectivePrice, Prediction, Verdict

_MANY = 1000

_IS_MET = {Reason.WITHIN_OBJECTIVE: True, Reason.ABOVE_OBJECTIVE: False}
"""Whether the objective is met, where either is shown."""


def number(value: float) -> str:
    """Return three significant digits; what is hardly anything, as such."""
    if value == 0:
        return "0"
    if abs(value) < 0.01:  # noqa: PLR2004 - a hundredth
        return "under 0.01"
    return f"{value:.0f}" if abs(value) >= _MANY else f"{value:.3g}"


def forecast_rows(case: Case) -> list[tuple[str, str, str, str]]:
    """Return what is expected now and at the values recommended: evictions, detection, standstill, confidence."""
    decision = case.decision
    forecast = None if decision is None else decision.forecast
    if decision is None or forecast is None:
        return []
    now, new, objective = forecast.now, forecast.new, case.stated.objective
    floor = number(now.floor_per_day)
    most, latest = number(objective.max_false_evictions_per_month), durations.show(objective.max_detection_time)
    lines = (
        ("false evictions a month", _evictions, f"allowed: {most}"),
        ("detection of a crash", lambda point: f"{number(point.detection_s)} s", f"allowed: {latest}"),
        ("partition-s a day stalled", lambda point: number(point.net_per_day), f"and {floor} unavoidable"),
    )
    unknown = decision.verdict in {Verdict.UNKNOWN, Verdict.INFEASIBLE}
    rows = []
    for name, say, reason in lines:
        then = "-" if unknown else say(now if new is None else new)
        rows.append((name, say(now), then, reason))
    if forecast.lower is not None and forecast.upper is not None:
        band = f"{durations.show(forecast.lower)} to {durations.show(forecast.upper)}"
        rows.append(("sessions about as good", "-", band, "cost 5 % more at most"))
    rows.append(("confidence", "-", forecast.confidence.value, _data(case)))
    return rows


def forecast_object(case: Case) -> dict[str, Any] | None:
    """Return the same as plain values; None if no model says anything."""
    decision, answer = case.decision, case.found
    forecast = None if decision is None else decision.forecast
    if forecast is None:
        return None
    return {
        "now": _prediction(forecast.now),
        "recommended": None if forecast.new is None else _prediction(forecast.new),
        "sessionTimeoutBandMilliseconds": None
        if forecast.lower is None or forecast.upper is None
        else [durations.to_ms(forecast.lower), durations.to_ms(forecast.upper)],
        "confidence": forecast.confidence.value,
        "objectiveMet": None if decision is None or decision.proof is None else _IS_MET.get(decision.proof.reason),
        "objectivePrice": None if forecast.price is None else _price(forecast.price),
        "waitForRestart": answer is not None and answer.wait_for_restart,
        "onlyRecommend": answer is not None and answer.only_recommend,
    }


def _price(price: ObjectivePrice) -> dict[str, Any]:
    return {
        "costsMore": price.share,
        "onlyIfMembersCrashOften": price.is_of_crashes,
        **{f"{setting.value}Milliseconds": durations.to_ms(value) for setting, value in tuned(price.values).items()},
    }


def _prediction(prediction: Prediction) -> dict[str, float]:
    return {
        "evictionsPerMonth": prediction.evictions_per_month,
        "evictionsPerMonthAtMost": prediction.evictions_upper,
        "detectionSeconds": prediction.detection_s,
        "stalledPartitionSecondsPerDay": prediction.net_per_day,
        "unavoidablePartitionSecondsPerDay": prediction.floor_per_day,
        "rolloutPartitionSeconds": prediction.rollout_cost,
    }


def _evictions(prediction: Prediction) -> str:
    return f"{number(prediction.evictions_per_month)} (at most {number(prediction.evictions_upper)})"


def _data(case: Case) -> str:
    if not isinstance(case.asked, Question):
        return ""
    return f"{number(case.asked.watched_days)} days, {number(case.asked.member_days)} member-days"
