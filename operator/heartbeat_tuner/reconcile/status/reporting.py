"""From an outcome to a status: what a cycle says (`statements`), merged with the status that stands. Pure.

A status must not move while nothing happens: a statement whose reason stays, and which says the same while the policy
and the values stay, keeps its old words (`standing_words`). What a cycle could not find out keeps what an earlier cycle
found.
"""

import dataclasses
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from heartbeat_tuner.api.applied import applied_of, noted_of, values_of
from heartbeat_tuner.api.standing_words import NOTHING_KNOWN, StandingWords, fitting
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.changes_v1alpha1 import Applied, SettingValues
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import (
    AT_BROKER,
    Basis,
    Condition,
    ConditionStatus,
    ConditionType,
    ModelUsed,
    Predicted,
    PredictedFigures,
    Recommendation,
    Status,
    Summary,
)
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Forecast, Prediction, Verdict, rounded
from heartbeat_tuner.models.group_model import Unfitted
from heartbeat_tuner.reconcile.at_broker import group_reports
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, Outcome
from heartbeat_tuner.reconcile.status import (
    change_notes,
    initial_values,
    redaction,
    statements,
    static_advice,
    transitions,
)
from heartbeat_tuner.reconcile.status.statements import Statement


@dataclasses.dataclass(frozen=True, slots=True)
class Reported:
    """A status, and what its sentences say."""

    status: Status
    words: StandingWords


def status_after(
    previous: Status,
    outcome: Outcome,
    *,
    generation: int,
    now: datetime,
    policy: Policy | None = None,
    words: StandingWords = NOTHING_KNOWN,
) -> Reported:
    """Return the status that should stand after `outcome`; equal to `previous` when nothing happened.

    Args:
        previous: that stands.
        outcome: of this cycle.
        generation: of the policy's spec.
        now: the time.
        policy: as it was seen in this cycle; None where it could not be read.
        words: what the sentences of `previous` say.
    """
    is_edited = generation != previous.observed_generation
    if isinstance(outcome, Blocked):
        if outcome.finding.reason is Reason.GROUP_NOT_OWNED:
            previous = redaction.without_group(previous, is_edited=is_edited)
        status = previous.model_copy(update={"verdict": Verdict.UNKNOWN, "reason": outcome.finding.reason})
        if outcome.finding.reason is Reason.CONFLICT:
            status = status.model_copy(update={"initial": None})  # an older policy's pods
        not_ready = Statement(ConditionType.READY, ConditionStatus.FALSE, outcome.finding)
        stated = [not_ready, *statements.withdrawn(previous, outcome.finding)]
    else:
        # What was recommended to another spec, of another library perhaps, is no recommendation to this one.
        status = _found(previous.model_copy(update={"recommendation": None}) if is_edited else previous, outcome)
        static_ids = static_advice.next_static_ids(
            previous.static_ids, outcome.inputs.policy, outcome.decision.static_ids
        )
        in_pods = initial_values.next_initial(previous.initial, outcome, now=now)
        owned = redaction.noted(previous.group_ownership, outcome.inputs.ownership)
        status = status.model_copy(update={"initial": in_pods, "static_ids": static_ids, "group_ownership": owned})
        stated = list(statements.statements_of(previous, outcome, status.initial))
    if policy is not None:
        if isinstance(outcome, Blocked):
            status = status.model_copy(update=change_notes.of_unseen(policy))
        noted = policy.taken_back
        status = status.model_copy(update={"taken_back": None if noted is None else noted_of(noted)})
        stated = statements.with_veto(stated, policy)
    same = generation == previous.observed_generation and _values(status) == _values(previous)
    conditions, words = _merged(previous, stated, words, same=same, over=_over(status), generation=generation, now=now)
    if isinstance(outcome, Decided):
        status, words = _in_standing_words(previous, status, outcome.decision, words, same=same)
    return Reported(status.model_copy(update={"conditions": conditions, "observed_generation": generation}), words)


def document(status: Status) -> dict[str, Any]:
    """Return the status as the API server stores it."""
    return fields.stored(status)


def _found(previous: Status, outcome: Decided) -> Status:
    """Return the status without conditions: verdict, values, what was written."""
    decision, update = outcome.decision, dict[str, Any]()
    group = outcome.inputs.group
    update["group_protocol"] = AT_BROKER[group.kind] if group.consumer_protocol else "Classic"
    update |= {"verdict": decision.verdict, "reason": decision.finding.reason}
    if outcome.current is not None:
        update["current"] = values_of(outcome.current)
    if not isinstance(outcome.inputs.record, Unknown):
        update["recommendation"] = (
            None
            if decision.target is None
            else Recommendation(
                target=values_of(decision.target),
                **_band(decision.forecast),
            )
        )
    update["model"] = _model(outcome)
    update["predicted"] = _predicted(decision.forecast)
    last = outcome.last_application
    update["applied"] = None if last is None else applied_of(last)
    update["group_config"] = group_reports.noted(outcome)
    update["contradicted"] = change_notes.next_contradicted(previous.contradicted, outcome)
    update |= change_notes.followed_fields(outcome)
    status = previous.model_copy(update=update)
    return status.model_copy(update={"summary": _summary(status)})


def _model(outcome: Decided) -> ModelUsed:
    """Return which model was asked; nothing of it moves before the model does."""
    fitted, message = outcome.inputs.model, fitting(outcome.decision.outlook)
    if isinstance(fitted, Unfitted):
        return ModelUsed(source=Basis.OWN, message=message)
    return ModelUsed(
        source=Basis.MODEL,
        name=fitted.name,
        days=fitted.model.days,
        until=fitted.model.until.isoformat(),
        message=message,
    )


def _band(forecast: Forecast | None) -> dict[str, Any]:
    """Return the sessions around the target that are about as good, and the values without bounds."""
    if forecast is None:
        return {}
    return {
        "lower": None if forecast.lower is None else durations.show(forecast.lower),
        "upper": None if forecast.upper is None else durations.show(forecast.upper),
        "uncapped": None if forecast.uncapped is None else values_of(forecast.uncapped),
    }


def _predicted(forecast: Forecast | None) -> Predicted | None:
    """Return the forecast in figures that stay while nothing happens: two significant digits."""
    if forecast is None:
        return None
    return Predicted(
        current=_figures(forecast.now),
        recommended=None if forecast.new is None else _figures(forecast.new),
        confidence=forecast.confidence,
    )


def _figures(prediction: Prediction) -> PredictedFigures:
    return PredictedFigures(
        evictions_per_month=rounded(prediction.evictions_per_month),
        evictions_per_month_upper=rounded(prediction.evictions_upper),
        stalled_partition_seconds_per_day=rounded(prediction.net_per_day),
        detection_seconds=rounded(prediction.detection_s),
    )


def _summary(status: Status) -> Summary | None:
    """Return now and recommended on one line each: `1s → 30s`, or `30s` where nothing should change."""
    if status.current is None:
        return None
    now = status.current.model_dump(exclude_none=True)
    target = _target(status)
    wanted = now if target is None else target.model_dump(exclude_none=True)
    lines = {
        name: f"{now[name]} → {wanted[name]}" if wanted.get(name, now[name]) != now[name] else now[name] for name in now
    }
    return Summary(**lines, evictions_per_month=_expected(status.predicted))


def _expected(predicted: Predicted | None) -> str | None:
    if predicted is None:
        return None
    now = f"{predicted.current.evictions_per_month:g}"
    if predicted.recommended is None:
        return now
    return f"{now} → {predicted.recommended.evictions_per_month:g}"


def _values(status: Status) -> tuple[SettingValues | None, SettingValues | None, Applied | None, ModelUsed | None]:
    """Return the values that a status shows: while they stay, so do its words."""
    return status.current, _target(status), status.applied, status.model


def _target(status: Status) -> SettingValues | None:
    return None if status.recommendation is None else status.recommendation.target


def _merged(
    previous: Status,
    statements: list[Statement],
    words: StandingWords,
    *,
    same: bool,
    over: Collection[ConditionType],
    generation: int,
    now: datetime,
) -> tuple[list[Condition], StandingWords]:
    """Return the conditions that should stand, in their fixed order, and what their sentences say.

    One of which nothing was known because the policy was not Ready goes when it is Ready and nothing is known yet: its
    cause is gone; so do those that are about nothing any more (`over`).
    """
    standing = {condition.type: condition for condition in previous.conditions if condition.type not in over}
    for statement in statements:
        old, finding = standing.get(statement.type), statement.finding
        same_status = old is not None and old.status is statement.status
        text, words = words.told(
            statement.type,
            None if old is None else old.message,
            finding.message,
            may_stand=same and same_status and old is not None and old.reason is finding.reason,
        )
        standing[statement.type] = Condition(
            type=statement.type,
            status=statement.status,
            reason=finding.reason,
            message=text,
            last_transition_time=old.last_transition_time if old is not None and same_status else _timestamp(now),
            observed_generation=generation,
        )
    stated = {statement.type for statement in statements}
    lasting = [
        standing[kind]
        for kind in ConditionType
        if kind in stated or (kind in standing and not transitions.is_withdrawn(standing[kind]))
    ]
    return lasting, words


def _over(status: Status) -> Collection[ConditionType]:
    """Return the conditions that are about nothing: a change of ours or a canary that is not there, a move made."""
    over, is_at_broker = set[ConditionType](), status.group_protocol in AT_BROKER.values()
    if status.applied is None and status.canary is None and not (is_at_broker and status.group_config):
        over.add(ConditionType.VERIFIED)
    if is_at_broker:
        over.add(ConditionType.CONSUMER_PROTOCOL_READY)
    return over


def _in_standing_words(
    previous: Status, status: Status, decision: Decision, words: StandingWords, *, same: bool
) -> tuple[Status, StandingWords]:
    """Return the status with what is said beside its conditions in the words that stand."""
    advice, ids = decision.static_ids, status.static_ids
    if advice is not None and ids is not None and ids.message == fitting(advice.message):
        old = None if previous.static_ids is None else previous.static_ids.message
        text, words = words.told("static ids", old, advice.message, may_stand=same)
        status = status.model_copy(update={"static_ids": ids.model_copy(update={"message": text})})
    return status, words


def _timestamp(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def differs(previous: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    """Whether a stored status document must be replaced."""
    return dict(previous) != dict(current)
