"""What the rule for a record has a group do where other values are demanded, whatever saves."""

from typing import Final

from heartbeat_tuner.decision.gates import soundness
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import remedy
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.lint.checked_settings import Expectations

TOO_DEAR: Final = (
    "{answer}. What evicts fewer costs over a tenth more than these evictions do: set bounds.sessionTimeout.min where "
    "they are worth that, or objective.maxFalseEvictionsPerMonth to what may happen"
)
"""After the sentence of an answer that knows no cure at a price that may be paid."""


def cured(inputs: DecisionInput, record: Record, current: LivenessSettings, finding: Finding) -> Decision:
    """Return the decision for a finding that asks for other values."""
    client, policy, cluster, model = inputs.client, inputs.policy, inputs.cluster, inputs.model
    chosen = remedy.choose(client, policy, cluster, model, record, current, cause=finding.reason)
    if isinstance(chosen, allowed_values.Infeasible):
        return Decision(Verdict.INFEASIBLE, Finding(Reason.INFEASIBLE, finding.message), advice=chosen.message)
    if allowed_values.within_band(current, chosen.settings):
        already = "The values set already are what this rule gives: look for the cause elsewhere"
        return Decision(Verdict.UNKNOWN, finding, advice=already)
    expectations = Expectations(cluster.brokers, policy.objective.max_detection_time)
    errors = soundness.new_errors(chosen.settings, client, current, expectations)
    if errors:
        advice = say("No values fit within the bounds: {errors}", errors=join("; ", errors))
        return Decision(Verdict.INFEASIBLE, Finding(Reason.INFEASIBLE, finding.message), advice=advice)
    return Decision(Verdict.CHANGE, finding, advice=chosen.message, target=chosen.settings)
