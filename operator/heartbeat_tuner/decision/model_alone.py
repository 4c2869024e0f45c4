"""What is decided where there is a model and no record: nothing then speaks against the values set. Pure."""

from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.models.group_model import Unfitted


def decided(answer: Answer | Unfitted) -> Decision:
    """Return what a model says, or why none does.

    Args:
        answer: of the model.
    """
    if isinstance(answer, Unfitted):
        return Decision(Verdict.UNKNOWN, Finding(Reason.TOO_LITTLE_DATA, answer.message))
    advice = ""
    if answer.reason is Reason.UNSTABLE:  # only a record shows what would cure it
        advice = "`heartbeat-tuner check` says which values cannot hold; a record (--prometheus), what would cure it"
    return Decision(
        answer.verdict,
        Finding(answer.reason, answer.message),
        advice=advice,
        target=answer.target if answer.verdict is Verdict.CHANGE else None,
        forecast=tuning.forecast(answer),
    )
