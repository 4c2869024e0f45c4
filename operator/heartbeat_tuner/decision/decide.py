"""The order of a decision; each link is a module beside this one.

The record goes first: what it demands (`assessment`) is cured at once (`choice`), whatever a model says. A group whose
record asks for nothing may still have better values: where a fitted model may be used, `tuning` says which, and what
all values are expected to bring. No link invents a value: what could not be measured ends the chain with its reason.
"""

import dataclasses
from collections.abc import Callable

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import (
    assessment,
    choice,
    consent,
    contradictions,
    foresight,
    gates,
    plausibility,
    question,
    rules,
    soundness,
    static_ids,
    tuning,
)
from heartbeat_tuner.decision.question import Asked
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.decision.tuning import Answer
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import CurrentSettings, LivenessSettings
from heartbeat_tuner.domain.policies import Mode, StaticMembership
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Strategy
from heartbeat_tuner.domain.verdicts import Decision, Finding, Forecast, StaticAdvice, Verdict
from heartbeat_tuner.tails.group_model import NO_MODEL, Unfitted

Answerer = Callable[[Asked], Answer | Unfitted]
"""`question.answer`, or one that remembers what it said."""

Forecaster = Callable[[Asked, LivenessSettings | None], Forecast | None]
"""`question.expected`, likewise."""


Adviser = Callable[[Asked], StaticAdvice]
"""`question.static_advice`, likewise."""

_NO_CURE = "Nothing is changed: look for what makes members join and leave"


def decide(
    situation: Situation,
    *,
    answer: Answerer = question.answer,
    expected: Forecaster = question.expected,
    advise: Adviser = question.static_advice,
) -> Decision:
    """Return what should be done for one group, with the reason and its numbers.

    Args:
        situation: what was gathered of it.
        answer: says which values it should have.
        expected: says what values bring that the record demands.
        advise: says whether static ids pay.
    """
    decision = soundness.upheld(situation, _decided(situation, answer, expected))
    return dataclasses.replace(
        decision,
        outlook=f"{foresight.outlook(situation, decision.target)}{decision.outlook}{_disturbance(situation, decision)}",
        static_ids=_advised(situation, advise),
    )


def _disturbance(situation: Situation, decision: Decision) -> str:
    """Return what a rollout of the recommended values would stop, where that is more than one pod after another."""
    workload, reference = situation.workload, situation.policy.workload
    if decision.target is None or situation.policy.mode is Mode.INITIAL:
        return ""
    if workload.strategy is Strategy.ON_DELETE:
        return f". {reference} has the updateStrategy OnDelete: each pod gets the values when somebody deletes it"
    if not workload.at_once:
        return ""
    how = (
        "the strategy Recreate" if workload.strategy is Strategy.RECREATE else "maxUnavailable as large as its replicas"
    )
    return (
        f". {reference} has {how}: a rollout stops all of its pods at once, and the whole group stands still until new "
        f"ones are ready; set RollingUpdate, or rollout.windows for when that does no harm"
    )


def _advised(situation: Situation, advise: Adviser) -> StaticAdvice | None:
    """Return whether static ids pay, for policies that ask; whatever the record says, since a model knows it."""
    policy, current = situation.policy, situation.workload.current
    if policy.static_membership is StaticMembership.DISABLED:
        return None
    client = catalogue.client(policy.library)
    if not client.static_membership.holds:
        return static_ids.advise(client, NO_MODEL)
    if current is None:
        return None
    asked = question.asked(situation, None, current.settings)
    return static_ids.advise(client, asked) if isinstance(asked, Unfitted) else advise(asked)


def _decided(situation: Situation, answer: Answerer, expected: Forecaster) -> Decision:
    record, current = situation.record, situation.workload.current
    if isinstance(record, Unknown):
        return Decision(Verdict.UNKNOWN, Finding(record.reason, record.message))
    if not situation.workload.pods:
        sentence = f"no pod of {situation.policy.workload} runs container {situation.policy.workload.container}"
        return Decision(Verdict.UNKNOWN, Finding(Reason.TOO_LITTLE_DATA, sentence))
    if current is None:
        others = (
            "those that have not got the new ones yet get them when they are replaced"
            if situation.policy.mode is Mode.INITIAL
            else "waiting for the rollout to finish"
        )
        sentence = f"the pods of {situation.policy.workload} run with different values; {others}"
        return Decision(Verdict.UNKNOWN, Finding(Reason.ROLLOUT_IN_PROGRESS, sentence))
    if situation.group.consumer_protocol:
        return Decision(Verdict.UNKNOWN, _consumer_protocol(situation))
    misread = plausibility.unreadable(situation.policy, current, situation.group, None)
    if misread is not None:
        return Decision(Verdict.UNKNOWN, misread)
    return _weighed(situation, record, current, answer, expected)


def _weighed(
    situation: Situation, record: Record, current: CurrentSettings, answer: Answerer, expected: Forecaster
) -> Decision:
    """Return the decision for a group whose record and values are known."""
    client = catalogue.client(situation.policy.library)
    doubt = contradictions.found(situation, record, current, client) or contradictions.remembered(situation)
    if doubt is not None:
        return contradictions.decision(doubt)
    return _demanded(situation, record, current.settings, client, answer, expected)


def _demanded(
    situation: Situation,
    record: Record,
    current: LivenessSettings,
    client: Client,
    answer: Answerer,
    expected: Forecaster,
) -> Decision:
    """Return the decision for a group whose values may be in force, as far as the record shows."""
    finding = assessment.assess(situation, record, current, client)
    asked = question.asked(situation, record, current)
    if finding.reason is Reason.TOO_LITTLE_DATA:
        return Decision(Verdict.UNKNOWN, finding)
    if not assessment.may_be_cured(finding, record):
        return Decision(Verdict.UNKNOWN, finding, advice=_NO_CURE)
    if finding.reason is not Reason.HEALTHY:
        cured = _cured(situation, record, current, client, finding)
        return (
            cured if isinstance(asked, Unfitted) else dataclasses.replace(cured, forecast=expected(asked, cured.target))
        )
    found = asked if isinstance(asked, Unfitted) else answer(asked)
    if isinstance(found, Unfitted):
        why = "" if found is situation.model else f"; no values are compared: {found.message}"
        alone = dataclasses.replace(finding, message=f"{finding.message}; left as it is")
        return Decision(Verdict.HEALTHY, alone, outlook=why)
    return _tuned(situation, record, finding, found)


def _tuned(situation: Situation, record: Record, finding: Finding, found: Answer) -> Decision:
    """Return the decision for a group whose record asks for nothing."""
    forecast, told = tuning.forecast(found), found.message
    if situation.held is not None:
        told += (
            f"; heartbeatInterval is not set below {durations.show(situation.held.value)}: {situation.held.name}, and "
            f"other groups gain more by it"
        )
    if found.verdict is tuning.Verdict.INFEASIBLE:
        return Decision(Verdict.INFEASIBLE, Finding(found.reason, told), forecast=forecast)
    if found.target is None:
        return Decision(Verdict.HEALTHY, finding, advice=told, forecast=forecast)
    refused = consent.refusal(situation, record, found.target)
    if refused:
        told = f"Left as it is: the model allows shorter limits, and the group's own record does not: {refused}"
        kept = None if forecast is None else dataclasses.replace(forecast, new=None)
        return Decision(Verdict.HEALTHY, finding, advice=told, forecast=kept)
    return Decision(
        Verdict.CHANGE,
        Finding(found.reason, finding.message),
        advice=told,
        target=found.target,
        hold=gates.first_hold(situation, found.target, of=found),
        forecast=forecast,
    )


def _consumer_protocol(situation: Situation) -> Finding:
    """Say whose S and H are in a group of the consumer protocol (KIP-848): not the client's."""
    config = situation.group.config
    prescribed = (
        "could not be read"
        if config is None
        else f"are a session of {durations.show(config.session_timeout)} and a heartbeat every "
        f"{durations.show(config.heartbeat_interval)}"
    )
    return Finding(
        Reason.CONSUMER_PROTOCOL,
        f"group {situation.policy.group_id} speaks the consumer protocol (KIP-848): its values are set at the broker "
        f"(consumer.session.timeout.ms and consumer.heartbeat.interval.ms of the group) and {prescribed}; this version "
        f"shows them and changes nothing",
    )


def _cured(
    situation: Situation, record: Record, current: LivenessSettings, client: Client, finding: Finding
) -> Decision:
    """Return the decision for a finding that asks for other values."""
    chosen = choice.choose(situation, record, current, client, cause=finding.reason)
    if isinstance(chosen, rules.Infeasible):
        return Decision(Verdict.INFEASIBLE, Finding(Reason.INFEASIBLE, finding.message), advice=chosen.message)
    if rules.within_band(current, chosen.settings):
        already = "The values set already are what this rule gives: look for the cause elsewhere"
        return Decision(Verdict.UNKNOWN, finding, advice=already)
    return Decision(
        Verdict.CHANGE,
        finding,
        advice=chosen.message,
        target=chosen.settings,
        hold=gates.first_hold(situation, chosen.settings),
    )
