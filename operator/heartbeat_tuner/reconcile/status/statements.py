"""What one cycle can say of a policy: a status and a finding for each condition. Pure.

What a cycle could not find out is not said here, so that `reporting` leaves it as it stands.
"""

import dataclasses
from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.api.applied import applied_of
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus, ConditionType, Initial, Status
from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.decision.at_broker import migration_readiness
from heartbeat_tuner.decision.gates import canary_words, taken_back
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import Application, Mode, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Finding, Verdict
from heartbeat_tuner.domain.verifications import CanaryPhase
from heartbeat_tuner.reconcile.at_broker import group_reports
from heartbeat_tuner.reconcile.outcomes import Decided
from heartbeat_tuner.reconcile.status import change_notes, initial_values, landing
from heartbeat_tuner.reconcile.status.landing import WrittenChange

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

_RECOMMENDED: Final = {
    Verdict.CHANGE: ConditionStatus.TRUE,
    Verdict.HEALTHY: ConditionStatus.FALSE,
    Verdict.UNPROVEN: ConditionStatus.FALSE,
    Verdict.INFEASIBLE: ConditionStatus.FALSE,
    Verdict.UNKNOWN: ConditionStatus.UNKNOWN,
}
"""Whether a verdict recommends something."""

_OBJECTIVE_MET: Final = {
    Reason.WITHIN_OBJECTIVE: ConditionStatus.TRUE,
    Reason.LIKELY_WITHIN: ConditionStatus.UNKNOWN,
    Reason.TOO_EARLY: ConditionStatus.UNKNOWN,
    Reason.ABOVE_OBJECTIVE: ConditionStatus.FALSE,
}
"""Of the condition ObjectiveMet, by what is shown of the objective."""


_PROTOCOL_READY: Final = {
    Reason.PROTOCOL_READY: ConditionStatus.TRUE,
    Reason.BROKERS_NOT_READ: ConditionStatus.UNKNOWN,
    Reason.CLIENT_VERSION_UNKNOWN: ConditionStatus.UNKNOWN,
}
"""Of the condition ConsumerProtocolReady; for each other reason it is False."""


@dataclasses.dataclass(frozen=True, slots=True)
class Statement:
    """A condition before it is compared with the one that stands."""

    type: ConditionType
    status: ConditionStatus
    finding: Finding


def with_veto(statements: list[Statement], policy: Policy) -> list[Statement]:
    """Return the statements, with what somebody took back in the place of whatever is said of applied values.

    A person who takes values back has judged them.
    """
    if policy.forbidden is None or policy.mode is not Mode.APPLY or policy.suspended:
        return statements
    kinds = (ConditionType.APPLIED, ConditionType.VERIFIED)
    finding = taken_back.finding(policy, policy.forbidden)
    vetoes = [Statement(kind, ConditionStatus.FALSE, finding) for kind in kinds]
    return [*(statement for statement in statements if statement.type not in kinds), *vetoes]


def statements_of(previous: Status, outcome: Decided, in_pods: Initial | None) -> Iterator[Statement]:
    """Yield what this cycle can say; what it cannot say is left as it stands."""
    yield from _of_evidence(outcome)
    statement = None if in_pods is None else initial_values.statement(in_pods, outcome)
    is_known = not isinstance(outcome.inputs.record, Unknown)
    applied = _applied_statement(outcome, had_landed=_had_landed(previous, outcome))
    if statement is not None and is_known:
        applied = Statement(ConditionType.APPLIED, *statement)
    tried = _tried(outcome)
    if tried is not None:
        applied = Statement(ConditionType.APPLIED, ConditionStatus.FALSE, outcome.failure or tried)
    at_broker = group_reports.applied(outcome)
    if at_broker is not None:
        applied = Statement(ConditionType.APPLIED, *at_broker)
    if outcome.inputs.policy.suspended:
        yield _suspended(applied)
    elif is_known or tried is not None or outcome.last_application is not None or at_broker is not None:
        yield applied  # where values are does not depend on metrics: pods that crash have none
    checked = _verified(outcome, tried)
    if checked is not None:
        yield Statement(ConditionType.VERIFIED, *checked)
    ready = _readiness(outcome)
    if ready is not None:
        status = _PROTOCOL_READY.get(ready.reason, ConditionStatus.FALSE)
        yield Statement(ConditionType.CONSUMER_PROTOCOL_READY, status, ready)


def _readiness(outcome: Decided) -> Finding | None:
    """Return whether the group may move to the consumer protocol; None where it has, or nobody knows what is set."""
    inputs = outcome.inputs
    group = inputs.settled if inputs.group.rebalancing and inputs.settled is not None else inputs.group
    versions = () if isinstance(inputs.record, Unknown) else inputs.record.client_versions
    return migration_readiness.readiness(
        inputs.policy, inputs.workload, group, inputs.cluster, inputs.client, versions=versions
    )


def _verified(outcome: Decided, tried: Finding | None) -> tuple[ConditionStatus, Finding] | None:
    """Return what the condition Verified says: of a canary, where one runs or the last one failed; else of a change."""
    canary = outcome.inputs.policy.canary
    if tried is not None and tried.reason is Reason.CANARY_RUNNING:
        return ConditionStatus.UNKNOWN, Finding(Reason.VERIFYING, tried.message)
    if canary is not None and canary.left_alone and canary.outcome is not None and tried is not None:
        return ConditionStatus.FALSE, Finding(Reason(canary.outcome.value), tried.message)
    failed = canary is not None and canary.phase is CanaryPhase.OVER and canary.outcome is not None
    if canary is None or not failed or outcome.application is not None or outcome.canary is not None:
        return change_notes.verified(outcome)
    phrase = "{outcome}: {why}; no pod has the values any more"
    word = "" if canary.outcome is None else canary.outcome.value
    return ConditionStatus.FALSE, Finding(Reason.REVERTED, say(phrase, outcome=word, why=canary.message))


def _tried(outcome: Decided) -> Finding | None:
    """Return how far a canary is; None where there is none, the template was written, or another may begin."""
    inputs = outcome.inputs
    canary = outcome.canary or inputs.policy.canary
    if canary is None or outcome.application is not None:
        return None
    if canary.phase is CanaryPhase.OVER and (canary.again is None or inputs.now >= canary.again):
        return None
    hold = outcome.decision.hold
    finding = canary_words.finding(inputs.policy, canary, inputs.workload, inputs.now)
    if not canary.is_trying or hold is None or hold.reason is Reason.CANARY_RUNNING:
        return finding
    return Finding(
        finding.reason, say("{finding}. What is next waits: {hold}", finding=finding.message, hold=hold.message)
    )


def _of_evidence(outcome: Decided) -> Iterator[Statement]:
    """Yield what the group's record, or its absence, says."""
    policy, decision = outcome.inputs.policy, outcome.decision
    through = ", ".join(f"{ref}, container {ref.container}" for ref in workload_parts.references(policy))
    watching = f"group {policy.group_id} is watched through {through}"
    missing = workload_parts.missing(outcome.inputs.workload)
    if missing is not None:
        yield Statement(ConditionType.READY, ConditionStatus.FALSE, missing)
    else:
        yield Statement(ConditionType.READY, ConditionStatus.TRUE, Finding(Reason.WATCHING, watching))
    if isinstance(outcome.inputs.record, Unknown):
        yield Statement(ConditionType.METRICS_AVAILABLE, ConditionStatus.FALSE, decision.story)
        return
    if outcome.inputs.workload.pods:
        fresh = Finding(Reason.METRICS_FRESH, f"Prometheus has fresh metrics of group {policy.group_id}")
        yield Statement(ConditionType.METRICS_AVAILABLE, ConditionStatus.TRUE, fresh)
    else:
        yield Statement(ConditionType.METRICS_AVAILABLE, ConditionStatus.UNKNOWN, decision.finding)
    is_too_costly = decision.finding.reason is Reason.OBJECTIVE_TOO_COSTLY  # there are values; Recommended has a price
    if decision.verdict is Verdict.INFEASIBLE:
        yield Statement(ConditionType.FEASIBLE, ConditionStatus.FALSE, decision.story)
    elif decision.verdict in {Verdict.CHANGE, Verdict.HEALTHY} or is_too_costly:
        feasible = Finding(Reason.FEASIBLE, "values exist that satisfy objective, bounds, broker and client")
        yield Statement(ConditionType.FEASIBLE, ConditionStatus.TRUE, feasible)
    elif decision.verdict is Verdict.UNPROVEN and decision.proof is not None:
        unknown = "not known; the condition ObjectiveMet says why"
        yield Statement(ConditionType.FEASIBLE, ConditionStatus.UNKNOWN, Finding(decision.proof.reason, unknown))
    yield _objective_statement(outcome)
    # What a model expects, or why none does, stands in `status.model`: nothing is said twice.
    yield Statement(ConditionType.RECOMMENDED, _RECOMMENDED[decision.verdict], decision.story)


def _objective_statement(outcome: Decided) -> Statement:
    """Say whether it is shown that evictions are within the objective; a group that is left alone may be above it."""
    decision = outcome.decision
    if decision.proof is None:
        unknown = Finding(Reason.TOO_LITTLE_DATA, "no forecast of evictions; status.model.message says why")
        return Statement(ConditionType.OBJECTIVE_MET, ConditionStatus.UNKNOWN, unknown)
    return Statement(ConditionType.OBJECTIVE_MET, _OBJECTIVE_MET[decision.proof.reason], decision.proof)


def _applied_statement(outcome: Decided, *, had_landed: bool) -> Statement:
    """Say what stands between the recommendation and the pods, or that nothing does."""
    applied, decision = outcome.last_application, outcome.decision
    blocking = outcome.failure or (None if outcome.application is not None else decision.hold)
    landed = None if applied is None else landing.landing_of(change(outcome, applied, had_landed=had_landed))
    # The rollout that holds back these very values is the one that brings them; and what failed is never hidden.
    is_ours = applied is not None and decision.target == applied.values and outcome.inputs.workload.rolling_out
    if landed is not None and landed[1].reason is Reason.ROLLOUT_FAILED:
        is_ours = True
    if blocking is not None and not (is_ours and blocking.reason in _OF_OUR_ROLLOUT):
        return Statement(ConditionType.APPLIED, ConditionStatus.FALSE, blocking)
    if landed is None:
        nothing = Finding(Reason.NOTHING_TO_APPLY, "there is no recommended change to write")
        return Statement(ConditionType.APPLIED, ConditionStatus.FALSE, nothing)
    return Statement(ConditionType.APPLIED, *landed)


def change(outcome: Decided, applied: Application, *, had_landed: bool) -> WrittenChange:
    """Return a change of ours with what this cycle saw of it."""
    inputs = outcome.inputs
    return WrittenChange(
        application=applied,
        reference=inputs.policy.workload,
        workload=inputs.workload,
        current=inputs.workload.current,
        is_new=outcome.application is not None,
        had_landed=had_landed,
        now=inputs.now,
    )


def _had_landed(previous: Status, outcome: Decided) -> bool:
    """Whether the status says already that the values of the last change have reached the pods."""
    last = outcome.last_application
    if last is None or previous.applied != applied_of(last):
        return False
    conditions = (condition for condition in previous.conditions if condition.type is ConditionType.APPLIED)
    return any(
        condition.status is ConditionStatus.TRUE and condition.reason is Reason.APPLIED for condition in conditions
    )


def _suspended(statement: Statement) -> Statement:
    """Say first that the policy is suspended, and then what would be said else."""
    finding = statement.finding
    otherwise = say("; else {reason}: {message}", reason=finding.reason, message=finding.message)
    text = SUSPENDED if finding.reason is Reason.SUSPENDED else join("", (SUSPENDED, otherwise))
    return Statement(ConditionType.APPLIED, ConditionStatus.FALSE, Finding(Reason.SUSPENDED, text))


def withdrawn(previous: Status, why: Finding) -> Iterator[Statement]:
    """Yield for each condition that stands, but Ready, that nobody knows it now."""
    for condition in previous.conditions:
        if condition.type is not ConditionType.READY:
            finding = Finding(why.reason, join("", (_NOT_READY, why.message)))
            yield Statement(condition.type, ConditionStatus.UNKNOWN, finding)
