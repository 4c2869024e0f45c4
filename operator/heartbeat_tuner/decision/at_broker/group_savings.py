"""Would another session and heartbeat interval be better for a calm group of the consumer protocol? Pure.

A fitted model says so as it does of any group; nothing restarts, so nothing has to pay for a rollout. Where the record
proves that nobody was fenced, such a group is decided on as any other, and the values are set at the broker: a change
for the worse is noticed there. Where fencings may be hidden, the values are only recommended.
"""

import dataclasses

from heartbeat_tuner.decision.at_broker import group_values
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Sentence, join, say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Forecast, Verdict


def at_broker(group: Group, record: Record, decision: Decision) -> Decision:
    """Return what was decided on a group whose fencings are known, as a change of its configuration at the broker.

    Args:
        group: as it is described.
        record: of it.
        decision: as on any other group.
    """
    finding = Finding(
        decision.finding.reason, join(". ", (decision.finding.message, group_values.known(group, record)))
    )
    decision = dataclasses.replace(decision, finding=finding, forecast=_of_group(decision.forecast))
    if decision.target is None or decision.at_broker:
        return decision
    return dataclasses.replace(decision, advice=join(". ", (decision.advice, _where(group))), at_broker=True)


def decided(group: Group, record: Record, answer: Answer, forecast: Forecast | None, refused: str) -> Decision:
    """Return what a model recommends to a group whose fencings are not known, or that nothing is known.

    Args:
        group: as it is described.
        record: of it.
        answer: of the model.
        forecast: of the answer; None where there is none.
        refused: why the group's record speaks against shorter limits; empty where it does not.
    """
    forecast = _of_group(forecast)
    if answer.target is None or refused or answer.verdict is not Verdict.CHANGE:
        phrase = "The model allows shorter limits, and the group's own record does not: {refused}"
        advice = say(phrase, refused=refused) if refused else answer.message
        forecast = None if forecast is None else dataclasses.replace(forecast, new=None)
        return Decision(Verdict.UNKNOWN, group_values.unknown(group, record), advice=advice, forecast=forecast)
    return Decision(
        Verdict.CHANGE,
        Finding(answer.reason, group_values.known(group, record)),
        advice=join(". ", (answer.message, _where(group))),
        target=answer.target,
        forecast=forecast,
        at_broker=True,
        effect_is_unseen=True,
    )


def not_verifiable(group: Group) -> Finding:
    """Say why values that nothing demands are not written."""
    return Finding(
        Reason.CONSUMER_PROTOCOL,
        say(
            "whether members of group {group} are fenced is not known, so nobody would notice what a change does: it "
            "is recommended, and not written; set the values yourself, with kafka-configs --alter --entity-type groups",
            group=group.group_id,
        ),
    )


def _where(group: Group) -> Sentence:
    return say(
        "They are {kind}.session.timeout.ms and {kind}.heartbeat.interval.ms of group {group} at the broker, in "
        "force without a restart",
        kind=group.kind,
        group=group.group_id,
    )


def _of_group(forecast: Forecast | None) -> Forecast | None:
    """Return a forecast without the values beyond the policy's bounds: the client's own limits are left alone."""
    return None if forecast is None else dataclasses.replace(forecast, uncapped=None)
