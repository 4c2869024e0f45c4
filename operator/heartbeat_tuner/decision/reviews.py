"""What a decision is told with, or looked at again for, whichever step made it. `pipeline` has the order.

A review returns the decision as it is, or with what it has to add; all have one signature.
"""

import dataclasses
from collections.abc import Callable

from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.decision.at_broker import record_locks
from heartbeat_tuner.decision.derived import Derived, question_of
from heartbeat_tuner.decision.evictions import expected_evictions, objective_proof
from heartbeat_tuner.decision.evictions.objective_proof import CountedEvictions
from heartbeat_tuner.decision.gates import soundness
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import static_ids
from heartbeat_tuner.domain.evidence import Unknown, Unwatched
from heartbeat_tuner.domain.policies import Mode, StaticMembership
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Strategy
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Confidence, Decision, Finding, Verdict
from heartbeat_tuner.lint.checked_settings import Expectations
from heartbeat_tuner.models.group_model import NO_MODEL, Unfitted

Review = Callable[[DecisionInput, Decision, Derived], Decision]


def healthy_values_hold_at_rest(inputs: DecisionInput, decision: Decision, _derived: Derived) -> Decision:
    """Call no values healthy that `check` calls an error."""
    current = inputs.workload.current
    if current is None:
        return decision
    protocol = Protocol.CONSUMER if inputs.group.consumer_protocol else Protocol.CLASSIC
    expectations = Expectations(inputs.cluster.brokers, inputs.policy.objective.max_detection_time)
    return soundness.upheld(decision, inputs.client, current.settings, protocol, expectations)


def promises_are_held_to_what_was_counted(_inputs: DecisionInput, decision: Decision, derived: Derived) -> Decision:
    """Promise no fewer evictions than were counted since the last change, whichever step decided."""
    if derived.evidence is None or decision.forecast is None:
        return decision
    return dataclasses.replace(decision, forecast=derived.evidence.held_to(decision.forecast))


def objective_is_shown_to_be_met(inputs: DecisionInput, decision: Decision, _derived: Derived) -> Decision:
    """Say whether it is shown that the objective is met, and call no group healthy of which it is not.

    It comes after the promise was held to what was counted: a quiet hour, and a law that is refuted, show nothing.
    """
    forecast = decision.forecast
    if decision.verdict is Verdict.UNKNOWN and forecast is None:
        return decision
    is_written = decision.to_apply is not None or decision.to_alter is not None
    new = forecast.new if forecast is not None and is_written else None
    in_force = new or (None if forecast is None else forecast.now)
    confidence = Confidence.LOW if forecast is None else forecast.confidence
    # Of the consumer protocol only groups whose fencings all show are called healthy by the steps.
    all_show = not inputs.group.consumer_protocol or decision.verdict is Verdict.HEALTHY
    counted = _counted_so_far(inputs) if new is None and all_show else None
    proof = objective_proof.finding(in_force, confidence, counted, inputs.per_month)
    if decision.verdict is not Verdict.HEALTHY or proof.reason is Reason.WITHIN_OBJECTIVE:
        return dataclasses.replace(decision, proof=proof)
    is_too_costly = proof.reason is Reason.ABOVE_OBJECTIVE and forecast is not None and forecast.price is not None
    reason = Reason.OBJECTIVE_TOO_COSTLY if is_too_costly else proof.reason
    sentence = say("{proof}; {shown}", proof=proof.message, shown=decision.finding.message)
    return dataclasses.replace(decision, verdict=Verdict.UNPROVEN, finding=Finding(reason, sentence), proof=proof)


def outlook_is_told(inputs: DecisionInput, decision: Decision, derived: Derived) -> Decision:
    """Add what a model expects, and what a rollout of the recommended values would stop."""
    current = None if inputs.workload.current is None else inputs.workload.current.settings
    expected = (
        ""
        if derived.unexplained is not None
        else expected_evictions.outlook(inputs.model, inputs.period, current, decision.target, derived.evidence)
    )
    outlook = join("", (expected, decision.outlook))
    advice = join(". ", (decision.advice, _disturbance(inputs, decision)))
    return dataclasses.replace(decision, outlook=outlook, advice=advice)


def outlasted_locks_are_told(inputs: DecisionInput, decision: Decision, _derived: Derived) -> Decision:
    """Say where members of a share group handle records for longer than they are locked, whichever step decided."""
    record = inputs.record
    if isinstance(record, Unknown):
        return decision
    return record_locks.with_locks(inputs.group, record, inputs.client, decision)


def static_ids_are_weighed(inputs: DecisionInput, decision: Decision, derived: Derived) -> Decision:
    """Add whether static ids pay, for policies that ask; whatever the record says, since a model knows it."""
    current = inputs.workload.current
    if inputs.policy.static_membership is StaticMembership.DISABLED:
        return decision
    if inputs.group.kind == Protocol.SHARE and inputs.client.static_membership.holds:
        return decision  # a share group has no static members, whatever the library does elsewhere
    if not inputs.client.static_membership.holds:
        return dataclasses.replace(decision, static_ids=static_ids.advise(inputs.client, NO_MODEL))
    if current is None:
        return decision
    asked = question_of(inputs, None, current.settings)
    advice = static_ids.advise(inputs.client, asked) if isinstance(asked, Unfitted) else derived.advise(asked)
    return dataclasses.replace(decision, static_ids=advice)


def _counted_so_far(inputs: DecisionInput) -> CountedEvictions | None:
    """Return what was counted with the values that are set, in however short a time; None where nothing can be."""
    record, current = inputs.record, inputs.workload.current
    if isinstance(record, Unknown | Unwatched):
        return None
    settings = None if current is None else current.settings
    return objective_proof.counted_so_far(inputs.history, inputs.policy, inputs.followed, settings, record)


def _disturbance(inputs: DecisionInput, decision: Decision) -> str:
    """Return what a rollout of the recommended values would stop, where that is more than one pod after another."""
    workload, reference = inputs.workload, inputs.policy.workload
    if decision.target is None or decision.at_broker or inputs.policy.mode is Mode.INITIAL:
        return ""
    if workload.strategy is Strategy.ON_DELETE:
        return f"{reference} has the updateStrategy OnDelete: each pod gets the values when somebody deletes it"
    if not workload.at_once:
        return ""
    how = (
        "the strategy Recreate" if workload.strategy is Strategy.RECREATE else "maxUnavailable as large as its replicas"
    )
    return (
        f"{reference} has {how}: a rollout stops all of its pods at once, and the whole group stands still until new "
        f"ones are ready; set RollingUpdate, or rollout.windows for when that does no harm"
    )
