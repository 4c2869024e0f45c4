"""From an outcome to a status, and to the Events that its transitions deserve. Pure.

A status must not move while nothing happens: a statement whose reason stays, and which says the same while the policy
and the values stay, keeps its old words (`standing_words`). What a cycle could not find out keeps what an earlier one
found.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from heartbeat_tuner.api.applied import applied_of, noted_of, values_of
from heartbeat_tuner.api.standing_words import NOTHING_KNOWN, StandingWords, fitting
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import (
    CONSUMER,
    Applied,
    Basis,
    Condition,
    ConditionStatus,
    ConditionType,
    Initial,
    ModelUsed,
    Predicted,
    PredictedFigures,
    Recommendation,
    SettingValues,
    Status,
    Summary,
)
from heartbeat_tuner.decision.gates import taken_back
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import Application, Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Forecast, Prediction, Verdict
from heartbeat_tuner.models.group_model import Unfitted
from heartbeat_tuner.reconcile.outcomes import Blocked, Decided, Outcome
from heartbeat_tuner.reconcile.status import contradicted, initial_values, landing, redaction, static_advice
from heartbeat_tuner.reconcile.status.landing import WrittenChange

_QUIET_REASONS: Final = frozenset(
    {
        Reason.NOTHING_TO_APPLY,
        Reason.RECOMMEND_MODE,
        Reason.AT_NEXT_RESTART,
        Reason.WATCHING,
        Reason.FEASIBLE,
        Reason.HEALTHY,
        Reason.WITHIN_OBJECTIVE,
        Reason.OUTSIDE_WINDOW,
        Reason.FLEET_BUDGET_SPENT,
        Reason.SCALED_TO_ZERO,
    }
)
"""Reasons that are no news by themselves."""

_OF_OUR_ROLLOUT: Final = frozenset(
    {
        Reason.TOO_LITTLE_DATA,
        Reason.NOT_WORTH_RESTART,
        Reason.REBALANCING,
        Reason.ROLLOUT_IN_PROGRESS,
        Reason.ROLLOUT_PAUSED,
        Reason.COOLDOWN,
    }
)
"""Reasons that hold back values which a rollout of ours is bringing already."""

SUSPENDED: Final = "spec.suspend is true: nothing is written"

_NOT_READY: Final = "not known while the policy is not Ready: "

OF_READY: Final = frozenset(
    {
        Reason.WORKLOAD_NOT_FOUND,
        Reason.CONTAINER_NOT_FOUND,
        Reason.GROUP_NOT_FOUND,
        Reason.GROUP_UNREADABLE,
        Reason.GROUP_NOT_OWNED,
        Reason.CLUSTER_NOT_CONFIGURED,
        Reason.CLUSTER_UNREACHABLE,
        Reason.CONFLICT,
        Reason.SETTING_UNREADABLE,
        Reason.INVALID_POLICY,
        Reason.INTERNAL_ERROR,
        Reason.API_SERVER_ERROR,
    }
)
"""Reasons for which a policy is not Ready; another condition is Unknown for one of them only while it is not."""

LEAST_FIGURE: Final = 0.001
"""Evictions a month, or seconds a day, that are as good as none."""

_RECOMMENDED: Final = {
    Verdict.CHANGE: ConditionStatus.TRUE,
    Verdict.HEALTHY: ConditionStatus.FALSE,
    Verdict.INFEASIBLE: ConditionStatus.FALSE,
    Verdict.UNKNOWN: ConditionStatus.UNKNOWN,
}
"""Whether a verdict recommends something."""


@dataclasses.dataclass(frozen=True, slots=True)
class Announcement:
    """One Kubernetes Event to record.

    Attributes:
        type: of the condition that changed.
        before: its status until then; None where there was none.
        status: its status now.
        reason: why.
        message: the sentence.
        warning: whether a person should look.
        count: of policies that it speaks for.
    """

    type: ConditionType
    before: ConditionStatus | None
    status: ConditionStatus
    reason: Reason
    message: str
    warning: bool
    count: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class _Statement:
    """A condition before it is compared with the one that stands."""

    type: ConditionType
    status: ConditionStatus
    finding: Finding


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
    if isinstance(outcome, Blocked):
        status = previous.model_copy(update={"verdict": Verdict.UNKNOWN, "reason": outcome.finding.reason})
        if outcome.finding.reason is Reason.CONFLICT:
            status = status.model_copy(update={"initial": None})  # an older policy's pods
        if outcome.finding.reason is Reason.GROUP_NOT_OWNED:
            previous = redaction.without_group(previous, is_edited=generation != previous.observed_generation)
            status = previous.model_copy(update={"verdict": Verdict.UNKNOWN, "reason": outcome.finding.reason})
        statements = [
            _Statement(ConditionType.READY, ConditionStatus.FALSE, outcome.finding),
            *_withdrawn(previous, outcome.finding),
        ]
    else:
        # What was recommended to another spec, of another library perhaps, is no recommendation to this one.
        is_edited = generation != previous.observed_generation
        status = _found(_without_recommendation(previous) if is_edited else previous, outcome)
        static_ids = static_advice.next_static_ids(
            previous.static_ids, outcome.inputs.policy, outcome.decision.static_ids
        )
        in_pods = initial_values.next_initial(previous.initial, outcome, now=now)
        owned = redaction.noted(previous.group_ownership, outcome.inputs.ownership)
        status = status.model_copy(update={"initial": in_pods, "static_ids": static_ids, "group_ownership": owned})
        statements = list(_statements(outcome, status.initial, had_landed=_had_landed(previous, outcome)))
    if policy is not None:
        if isinstance(outcome, Blocked) and policy.application is not None:
            status = status.model_copy(update={"applied": applied_of(policy.application)})
        noted = policy.taken_back
        status = status.model_copy(update={"taken_back": None if noted is None else noted_of(noted)})
        statements = _with_veto(statements, policy)
    same = generation == previous.observed_generation and _values(status) == _values(previous)
    conditions, words = _merged(previous, statements, words, same=same, generation=generation, now=now)
    if isinstance(outcome, Decided):
        status, words = _in_standing_words(previous, status, outcome.decision, words, same=same)
    return Reported(status.model_copy(update={"conditions": conditions, "observed_generation": generation}), words)


def _with_veto(statements: list[_Statement], policy: Policy) -> list[_Statement]:
    """Return the statements, with what somebody took back in the place of whatever is said of applied values."""
    if policy.forbidden is None or policy.mode is not Mode.APPLY or policy.suspended:
        return statements
    veto = _Statement(ConditionType.APPLIED, ConditionStatus.FALSE, taken_back.finding(policy, policy.forbidden))
    return [*(statement for statement in statements if statement.type is not ConditionType.APPLIED), veto]


def _without_recommendation(status: Status) -> Status:
    return status.model_copy(update={"recommendation": None})


def announcements(previous: Status, current: Status) -> list[Announcement]:
    """Return the Events for what changed between two statuses."""
    before = {condition.type: condition for condition in previous.conditions if not _is_withdrawn(condition)}
    return [
        _announcement(before.get(condition.type), condition)
        for condition in current.conditions
        if not _is_withdrawn(condition) and _is_news(before.get(condition.type), condition)
    ]


def _announcement(before: Condition | None, condition: Condition) -> Announcement:
    return Announcement(
        type=condition.type,
        before=None if before is None else before.status,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        warning=_is_warning(condition),
    )


def document(status: Status) -> dict[str, Any]:
    """Return the status as the API server stores it."""
    return status.model_dump(mode="json", by_alias=True, exclude_none=True)


def _found(previous: Status, outcome: Decided) -> Status:
    """Return the status without conditions: verdict, values, what was written."""
    decision = outcome.decision
    protocol = CONSUMER if outcome.inputs.group.consumer_protocol else "Classic"
    update: dict[str, Any] = {
        "verdict": decision.verdict,
        "reason": decision.finding.reason,
        "group_protocol": protocol,
    }
    if outcome.current is not None:
        update["current"] = values_of(outcome.current)
    if not isinstance(outcome.inputs.record, Unknown):
        update["recommendation"] = (
            None
            if decision.target is None
            else Recommendation(
                target=values_of(decision.target),
                **_band(decision.forecast),
                reasons=[fitting(sentence) for sentence in _reasons(decision)],
            )
        )
    update["model"] = _model(outcome)
    update["predicted"] = _predicted(decision.forecast)
    last = outcome.last_application
    update["applied"] = None if last is None else applied_of(last)
    update["contradicted"] = contradicted.next_contradicted(previous.contradicted, outcome)
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


def rounded(number: float) -> float:
    """Return a figure of a forecast to two significant digits; hardly anything is nothing."""
    return 0.0 if number < LEAST_FIGURE else float(f"{number:.2g}")


def _summary(status: Status) -> Summary | None:
    """Return now and recommended on one line each: `1s → 30s`, or `30s` where nothing should change."""
    if status.current is None:
        return None
    now = status.current.model_dump(exclude_none=True)
    target = _target(status)
    wanted = now if target is None else target.model_dump(exclude_none=True)
    told = {
        name: f"{now[name]} → {wanted[name]}" if wanted.get(name, now[name]) != now[name] else now[name] for name in now
    }
    return Summary(**told, evictions_per_month=_expected(status.predicted))


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


def _statements(outcome: Decided, in_pods: Initial | None, *, had_landed: bool) -> Iterator[_Statement]:
    """Yield what this cycle can say; what it cannot say is left as it stands."""
    yield from _of_evidence(outcome)
    told = None if in_pods is None else initial_values.statement(in_pods, outcome)
    is_known = not isinstance(outcome.inputs.record, Unknown)
    applied = _applied_statement(outcome, had_landed=had_landed)
    if told is not None and is_known:
        applied = _Statement(ConditionType.APPLIED, *told)
    if outcome.inputs.policy.suspended:
        yield _suspended(applied)
    elif is_known or outcome.last_application is not None:
        yield applied  # where values are does not depend on metrics: pods that crash have none


def _of_evidence(outcome: Decided) -> Iterator[_Statement]:
    """Yield what the group's record, or its absence, says."""
    policy, decision = outcome.inputs.policy, outcome.decision
    watching = f"group {policy.group_id} is watched through {policy.workload}, container {policy.workload.container}"
    yield _Statement(ConditionType.READY, ConditionStatus.TRUE, Finding(Reason.WATCHING, watching))
    if isinstance(outcome.inputs.record, Unknown):
        yield _Statement(ConditionType.METRICS_AVAILABLE, ConditionStatus.FALSE, decision.story)
        return
    if outcome.inputs.workload.pods:
        fresh = Finding(Reason.METRICS_FRESH, f"Prometheus has fresh metrics of group {policy.group_id}")
        yield _Statement(ConditionType.METRICS_AVAILABLE, ConditionStatus.TRUE, fresh)
    else:
        yield _Statement(ConditionType.METRICS_AVAILABLE, ConditionStatus.UNKNOWN, decision.finding)
    if decision.verdict is Verdict.INFEASIBLE:
        yield _Statement(ConditionType.FEASIBLE, ConditionStatus.FALSE, decision.story)
    elif decision.verdict in {Verdict.CHANGE, Verdict.HEALTHY}:
        feasible = Finding(Reason.FEASIBLE, "values exist that satisfy objective, bounds, broker and client")
        yield _Statement(ConditionType.FEASIBLE, ConditionStatus.TRUE, feasible)
    yield _objective_statement(outcome)
    story = Finding(decision.finding.reason, join(". ", (decision.story.message, decision.outlook)))
    yield _Statement(ConditionType.RECOMMENDED, _RECOMMENDED[decision.verdict], story)


def _objective_statement(outcome: Decided) -> _Statement:
    """Say whether the evictions expected are within the objective; a group that is left alone may be above it."""
    decision, per_month = outcome.decision, outcome.inputs.policy.objective.max_false_evictions_per_month
    if decision.forecast is None:
        unknown = Finding(Reason.TOO_LITTLE_DATA, decision.outlook)
        return _Statement(ConditionType.OBJECTIVE_MET, ConditionStatus.UNKNOWN, unknown)
    in_force = decision.forecast.now if decision.to_apply is None else decision.forecast.new or decision.forecast.now
    says = say(
        "{evictions:g} evictions of live members a month are expected, at most {evictionsUpper:g} (95 %), where the "
        "objective allows {objective:g}",
        evictions=Reading(rounded(in_force.evictions_per_month)),
        evictionsUpper=Reading(rounded(in_force.evictions_upper)),
        objective=per_month,
    )
    if in_force.evictions_upper <= per_month:
        return _Statement(ConditionType.OBJECTIVE_MET, ConditionStatus.TRUE, Finding(Reason.WITHIN_OBJECTIVE, says))
    return _Statement(ConditionType.OBJECTIVE_MET, ConditionStatus.FALSE, Finding(Reason.ABOVE_OBJECTIVE, says))


def _applied_statement(outcome: Decided, *, had_landed: bool) -> _Statement:
    """Say what stands between the recommendation and the pods, or that nothing does."""
    applied, decision = outcome.last_application, outcome.decision
    blocking = outcome.failure or (None if outcome.application is not None else decision.hold)
    landed = None if applied is None else landing.landing_of(change(outcome, applied, had_landed=had_landed))
    # The rollout that holds back these very values is the one that brings them; and what failed is never hidden.
    is_ours = applied is not None and decision.target == applied.values and outcome.inputs.workload.rolling_out
    if landed is not None and landed[1].reason is Reason.ROLLOUT_FAILED:
        is_ours = True
    if blocking is not None and not (is_ours and blocking.reason in _OF_OUR_ROLLOUT):
        return _Statement(ConditionType.APPLIED, ConditionStatus.FALSE, blocking)
    if landed is None:
        nothing = Finding(Reason.NOTHING_TO_APPLY, "there is nothing to write")
        return _Statement(ConditionType.APPLIED, ConditionStatus.FALSE, nothing)
    return _Statement(ConditionType.APPLIED, *landed)


def change(outcome: Decided, applied: Application, *, had_landed: bool) -> WrittenChange:
    """Return a change of ours with what this cycle saw of it."""
    inputs = outcome.inputs
    return WrittenChange(
        application=applied,
        reference=inputs.policy.workload,
        workload=inputs.workload,
        current=outcome.current,
        is_new=outcome.application is not None,
        had_landed=had_landed,
        now=inputs.now,
    )


def _had_landed(previous: Status, outcome: Decided) -> bool:
    """Whether the status says already that the values of the last change have reached the pods."""
    last = outcome.last_application
    if last is None or previous.applied != applied_of(last):
        return False
    said = (condition for condition in previous.conditions if condition.type is ConditionType.APPLIED)
    return any(condition.status is ConditionStatus.TRUE and condition.reason is Reason.APPLIED for condition in said)


def _suspended(statement: _Statement) -> _Statement:
    """Say first that the policy is suspended, and then what would be said else."""
    finding = statement.finding
    otherwise = say("; else {reason}: {message}", reason=finding.reason, message=finding.message)
    text = SUSPENDED if finding.reason is Reason.SUSPENDED else join("", (SUSPENDED, otherwise))
    return _Statement(ConditionType.APPLIED, ConditionStatus.FALSE, Finding(Reason.SUSPENDED, text))


def _withdrawn(previous: Status, why: Finding) -> Iterator[_Statement]:
    """Yield for each condition that stands, but Ready, that nobody knows it now."""
    for condition in previous.conditions:
        if condition.type is not ConditionType.READY:
            finding = Finding(why.reason, join("", (_NOT_READY, why.message)))
            yield _Statement(condition.type, ConditionStatus.UNKNOWN, finding)


def _merged(
    previous: Status, statements: list[_Statement], words: StandingWords, *, same: bool, generation: int, now: datetime
) -> tuple[list[Condition], StandingWords]:
    """Return the conditions that should stand, in their fixed order, and what their sentences say.

    One of which nothing was known because the policy was not Ready goes when it is Ready and nothing is known yet: its
    cause is gone.
    """
    standing = {condition.type: condition for condition in previous.conditions}
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
        if kind in stated or (kind in standing and not _is_withdrawn(standing[kind]))
    ]
    return lasting, words


def _in_standing_words(
    previous: Status, status: Status, decision: Decision, words: StandingWords, *, same: bool
) -> tuple[Status, StandingWords]:
    """Return the status with what is said beside its conditions in the words that stand."""
    before, recommendation = previous.recommendation, status.recommendation
    if recommendation is not None and decision.target is not None:
        told, reasons = _reasons(decision), list[str]()
        # A status that another version wrote may have more of them, or fewer.
        standing = [None] * len(told) if before is None or len(before.reasons) != len(told) else before.reasons
        for number, (old, sentence) in enumerate(zip(standing, told, strict=True)):
            text, words = words.told(f"reason {number}", old, sentence, may_stand=same)
            reasons.append(text)
        recommendation = recommendation.model_copy(update={"reasons": reasons})
        status = status.model_copy(update={"recommendation": recommendation})
    advice, ids = decision.static_ids, status.static_ids
    if advice is not None and ids is not None and ids.message == fitting(advice.message):
        old = None if previous.static_ids is None else previous.static_ids.message
        text, words = words.told("static ids", old, advice.message, may_stand=same)
        status = status.model_copy(update={"static_ids": ids.model_copy(update={"message": text})})
    return status, words


def _reasons(decision: Decision) -> tuple[str, str, str]:
    """Return why something is recommended: what was found, what to do, and what to expect."""
    return decision.finding.message, decision.advice, decision.outlook


def _is_news(before: Condition | None, after: Condition) -> bool:
    """Whether a change deserves an Event: a new status or reason, but no plain good news on first sight."""
    if before is not None and (before.status, before.reason) == (after.status, after.reason):
        return False
    if before is None and after.type is not ConditionType.APPLIED and not _is_warning(after):
        return False
    return after.reason not in _QUIET_REASONS or (before is not None and before.reason not in _QUIET_REASONS)


def _is_withdrawn(condition: Condition) -> bool:
    """Whether nobody knows it because the policy is not Ready: that is told once, of Ready."""
    return condition.status is ConditionStatus.UNKNOWN and condition.reason in OF_READY


def _is_warning(condition: Condition) -> bool:
    """Whether a person should look: something is wrong, or should be changed."""
    if condition.type is ConditionType.RECOMMENDED:
        return condition.status is ConditionStatus.TRUE
    calm = _QUIET_REASONS | {Reason.ROLLING_OUT}
    return condition.status is ConditionStatus.FALSE and condition.reason not in calm


def _timestamp(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def differs(previous: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    """Whether a stored status document must be replaced."""
    return dict(previous) != dict(current)
