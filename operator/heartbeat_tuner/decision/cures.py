"""What the rule for a record has a group do where other values are demanded, whatever saves."""

from typing import Final

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision.gates import soundness
from heartbeat_tuner.decision.optimize import remedy
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.limits import allowed_values, smallest_changes
from heartbeat_tuner.lint.checked_settings import Expectations

DISAGREES: Final = "Left as it is: the model allows shorter limits, and the group's own record does not: {refused}"

NO_CURE: Final = "Nothing is changed: look for what makes members join and leave"


def checked_against(brokers: int, objective: Objective) -> Expectations:
    """Return what values of a group are checked against."""
    return Expectations(brokers, objective.max_detection_time)


def cured(
    chosen: remedy.Chosen | allowed_values.Infeasible,
    current: LivenessSettings,
    finding: Finding,
    client: Client,
    expectations: Expectations,
) -> Decision:
    """Return the decision for a finding that asks for other values.

    Args:
        chosen: by the rule.
        current: what is set.
        finding: what asks.
        client: the group's library.
        expectations: what values are checked against.
    """
    if isinstance(chosen, allowed_values.Infeasible):
        return Decision(Verdict.INFEASIBLE, Finding(Reason.INFEASIBLE, finding.message), advice=chosen.message)
    if smallest_changes.within_band(current, chosen.settings):
        already = "The values set already are what this rule gives: look for the cause elsewhere"
        return Decision(Verdict.UNKNOWN, finding, advice=already)
    errors = soundness.new_errors(chosen.settings, client, current, expectations)
    if errors:
        advice = say("No values fit within the bounds: {errors}", errors=join("; ", errors))
        return Decision(Verdict.INFEASIBLE, Finding(Reason.INFEASIBLE, finding.message), advice=advice)
    return Decision(Verdict.CHANGE, finding, advice=chosen.message, target=chosen.settings)
