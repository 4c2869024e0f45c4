"""Would another session and heartbeat interval be better for a calm group of the consumer protocol? Pure.

A fitted model says so as it does of any group; nothing restarts, so nothing has to pay for a rollout. But no metric
shows that such a group's members were *not* fenced: without one, a promise cannot be held to anything, and a change for
the worse would not be noticed. So these values are recommended, and written by people alone.
"""

import dataclasses

from heartbeat_tuner.decision.at_broker import group_values
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Forecast, Verdict


def decided(group: Group, record: Record, answer: Answer, forecast: Forecast | None, refused: str) -> Decision:
    """Return what a model recommends to a group whose record demands nothing, or that nothing is known.

    Args:
        group: as it is described.
        record: of it.
        answer: of the model.
        forecast: of the answer; None where there is none.
        refused: why the group's record speaks against shorter limits; empty where it does not.
    """
    if forecast is not None:
        forecast = dataclasses.replace(forecast, uncapped=None)  # the client's own limits are left alone
    if answer.target is None or refused or answer.verdict is not Verdict.CHANGE:
        phrase = "The model allows shorter limits, and the group's own record does not: {refused}"
        advice = say(phrase, refused=refused) if refused else answer.message
        forecast = None if forecast is None else dataclasses.replace(forecast, new=None)
        return Decision(Verdict.UNKNOWN, group_values.unknown(group, record), advice=advice, forecast=forecast)
    advice = say(
        "{answer}. They are consumer.session.timeout.ms and consumer.heartbeat.interval.ms of group {group} at the "
        "broker, in force without a restart",
        answer=answer.message,
        group=group.group_id,
    )
    return Decision(
        Verdict.CHANGE,
        Finding(answer.reason, group_values.known(group, record)),
        advice=advice,
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
