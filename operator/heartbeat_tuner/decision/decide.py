"""The order of a decision; each link is a module beside this one.

The record decides whether anything is done: a group whose record asks for nothing is left alone. A fitted model is
quoted then, and where a cure is demanded it may ask for more of it. No link invents a value: what could not be measured
ends the chain with its reason.
"""

import dataclasses
from typing import Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision import assessment, choice, foresight, gates, limits
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict

_LEFT_ALONE: Final = {Reason.HEALTHY: Verdict.HEALTHY, Reason.TOO_LITTLE_DATA: Verdict.UNKNOWN}
"""Findings that ask for nothing."""


def decide(situation: Situation) -> Decision:
    """Return what should be done for one group, with the reason and its numbers."""
    decision = _decided(situation)
    return dataclasses.replace(decision, outlook=foresight.outlook(situation, decision.target))


def _decided(situation: Situation) -> Decision:
    record, current = situation.record, situation.workload.current
    if isinstance(record, Unknown):
        return Decision(Verdict.UNKNOWN, Finding(record.reason, record.message))
    if not situation.workload.pods:
        sentence = f"no pod of {situation.policy.workload} runs container {situation.policy.workload.container}"
        return Decision(Verdict.UNKNOWN, Finding(Reason.TOO_LITTLE_DATA, sentence))
    if current is None:
        sentence = (
            f"the pods of {situation.policy.workload} run with different values; waiting for the rollout to finish"
        )
        return Decision(Verdict.UNKNOWN, Finding(Reason.ROLLOUT_IN_PROGRESS, sentence))
    if situation.group.consumer_protocol:
        return Decision(Verdict.UNKNOWN, _consumer_protocol(situation))
    client = catalogue.client(situation.policy.library)
    finding = assessment.assess(situation, record, current.settings, client)
    if finding.reason in _LEFT_ALONE:
        return Decision(_LEFT_ALONE[finding.reason], finding)
    return _cured(situation, record, current.settings, client, finding)


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
    if isinstance(chosen, limits.Infeasible):
        return Decision(Verdict.INFEASIBLE, Finding(Reason.INFEASIBLE, finding.message), advice=chosen.message)
    if choice.within_band(current, chosen.settings):
        already = "The values set already are what this rule gives: look for the cause elsewhere"
        return Decision(Verdict.UNKNOWN, finding, advice=already)
    return Decision(
        Verdict.CHANGE,
        finding,
        advice=chosen.message,
        target=chosen.settings,
        hold=gates.first_hold(situation, chosen.settings),
    )
