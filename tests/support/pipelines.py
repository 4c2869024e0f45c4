"""Parts of the decision pipeline, each by itself."""

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import pipeline, reviews
from heartbeat_tuner.decision.derived import Derived
from heartbeat_tuner.decision.evictions import contradictions, expected_evictions
from heartbeat_tuner.decision.gates import record_consent
from heartbeat_tuner.decision.gates.write_gates import ProposedChange
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import remedy, static_ids, tuning
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.decision.optimize.remedy import Chosen
from heartbeat_tuner.decision.pipeline import PIPELINE, decide
from heartbeat_tuner.decision.profile import group_facts
from heartbeat_tuner.decision.profile.group_facts import Facts
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding
from heartbeat_tuner.limits.allowed_values import Infeasible


def derived(inputs: DecisionInput) -> Derived:
    """Return what steps derive from an input; nothing is remembered."""
    return Derived(inputs, answer=tuning.answer, expected=tuning.expected, advise=static_ids.static_advice)


def first_hold(inputs: DecisionInput, target: LivenessSettings, saving: Answer | None = None) -> Finding | None:
    """Return what holds `target` back: demanded by the record, unless an answer is given."""
    return pipeline.first_hold(PIPELINE.gates, inputs, ProposedChange(target, saving))[1]


def upheld(inputs: DecisionInput, decision: Decision) -> Decision:
    """Return a decision after the review that lets no unsound values be called healthy."""
    return reviews.healthy_values_hold_at_rest(inputs, decision, derived(inputs))


def refusal(inputs: DecisionInput, target: LivenessSettings) -> str:
    """Return why the group's record does not agree to a target."""
    assert isinstance(inputs.record, Record)
    assert inputs.workload.current is not None
    return record_consent.refusal(
        inputs.record, (inputs.workload.current.settings, target), inputs.client, inputs.period, now=inputs.now
    )


def contradiction(inputs: DecisionInput) -> Finding | None:
    """Return what the group's record proves against the values that are set."""
    assert isinstance(inputs.record, Record)
    assert inputs.workload.current is not None
    return contradictions.find_contradiction(
        inputs.policy, inputs.workload, inputs.group, inputs.cluster.brokers, inputs.record, inputs.workload.current
    )


def choose(inputs: DecisionInput, cause: Reason, client: Client | None = None) -> Chosen | Infeasible:
    """Return the values that the group's record chooses for a cause; of its own library, or of another."""
    assert isinstance(inputs.record, Record)
    assert inputs.workload.current is not None
    current = inputs.workload.current.settings
    return remedy.choose(
        client or inputs.client, inputs.policy, inputs.cluster, inputs.model, inputs.record, current, cause=cause
    )


def outlook(inputs: DecisionInput) -> str:
    """Return what the group's model expects of the values that are set."""
    current = None if inputs.workload.current is None else inputs.workload.current.settings
    return expected_evictions.outlook(inputs.model, inputs.period, current, None)


def facts(inputs: DecisionInput) -> Facts | Unknown:
    """Return what is known of the group without statistics."""
    period = None if inputs.workload.current is None else inputs.period(inputs.workload.current.settings)
    return group_facts.facts(inputs.client, inputs.policy, inputs.workload, inputs.group, period)


def by_answer(inputs: DecisionInput, answer: Answer) -> Decision:
    """Return what is decided by an answer where the model that gives one may be used."""
    return decide(inputs, answer=lambda _asked: answer)
