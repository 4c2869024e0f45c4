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


def derived(of: DecisionInput) -> Derived:
    """Return what steps derive from an input; nothing is remembered."""
    return Derived(of, answer=tuning.answer, expected=tuning.expected, advise=static_ids.static_advice)


def first_hold(of: DecisionInput, target: LivenessSettings, saving: Answer | None = None) -> Finding | None:
    """Return what holds `target` back: demanded by the record, unless an answer is given."""
    return pipeline.first_hold(PIPELINE.gates, of, ProposedChange(target, saving))[1]


def upheld(of: DecisionInput, decision: Decision) -> Decision:
    """Return a decision after the review that lets no unsound values be called healthy."""
    return reviews.healthy_values_hold_at_rest(of, decision, derived(of))


def refusal(of: DecisionInput, target: LivenessSettings) -> str:
    """Return why the group's record does not agree to a target."""
    assert isinstance(of.record, Record)
    assert of.workload.current is not None
    return record_consent.refusal(of.record, (of.workload.current.settings, target), of.client, of.period, now=of.now)


def contradiction(of: DecisionInput) -> Finding | None:
    """Return what the group's record proves against the values that are set."""
    assert isinstance(of.record, Record)
    assert of.workload.current is not None
    return contradictions.find_contradiction(
        of.policy, of.workload, of.group, of.cluster.brokers, of.record, of.workload.current
    )


def choose(of: DecisionInput, cause: Reason, client: Client | None = None) -> Chosen | Infeasible:
    """Return the values that the group's record chooses for a cause; of its own library, or of another."""
    assert isinstance(of.record, Record)
    assert of.workload.current is not None
    current = of.workload.current.settings
    return remedy.choose(client or of.client, of.policy, of.cluster, of.model, of.record, current, cause=cause)


def outlook(of: DecisionInput) -> str:
    """Return what the group's model expects of the values that are set."""
    current = None if of.workload.current is None else of.workload.current.settings
    return expected_evictions.outlook(of.model, of.period, current, None)


def facts(of: DecisionInput) -> Facts | Unknown:
    """Return what is known of the group without statistics."""
    period = None if of.workload.current is None else of.period(of.workload.current.settings)
    return group_facts.facts(of.policy, of.workload, of.group, period)


def by_answer(of: DecisionInput, answer: Answer) -> Decision:
    """Return what is decided by an answer where the model that gives one may be used."""
    return decide(of, answer=lambda _asked: answer)
