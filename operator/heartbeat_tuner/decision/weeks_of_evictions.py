"""What do weeks of a group's evictions demand, where no hour shows danger? Pure."""

import dataclasses

from heartbeat_tuner.decision.evictions.eviction_evidence import EvictionEvidence
from heartbeat_tuner.decision.optimize import answer_sentences, tuning
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.limits.allowed_values import Limit


def priced(evidence: EvictionEvidence, answer: Answer, per_month: float, held: Limit | None) -> Decision | None:
    """Return what a model says to weeks that show danger, with its prices; None where it answers something else.

    Args:
        evidence: of these weeks.
        answer: of a model that they do not refute.
        per_month: false evictions that the objective allows.
        held: the least H that the budget of the cluster's heartbeats leaves.
    """
    counted = evidence.shown(per_month)
    answers = (Reason.DANGER, Reason.INFEASIBLE)  # to a danger; where the answer is another, the rule has to cure it
    advice, forecast = answer_sentences.advice(answer.message, held), tuning.forecast(answer)
    is_cheaper = answer.reason is Reason.CHEAPER and answer.objective_met is False  # a cure would be too dear
    if answer.reason in answers or is_cheaper:
        finding = Finding(answer.reason, counted)
        return Decision(answer.verdict, finding, advice=advice, target=answer.target, forecast=forecast)
    if answer.target is None and answer.objective_met is False:
        # The rule knows no prices: it would have the group stand still for longer than its evictions make it.
        reason = Reason.ABOVE_OBJECTIVE if answer.price is None else Reason.OBJECTIVE_TOO_COSTLY
        return Decision(Verdict.UNPROVEN, Finding(reason, counted), advice=advice, forecast=forecast)
    return None


def demanded(evidence: EvictionEvidence, record: Record, per_month: float) -> tuple[Record, Finding]:
    """Return what the rule for a record is asked with: evictions of these weeks and not of the hour, and the danger.

    Args:
        evidence: of weeks that show danger.
        record: of the last hour.
        per_month: false evictions that the objective allows.
    """
    record = dataclasses.replace(record, evictions=max(record.evictions, evidence.episodes))
    return record, Finding(Reason.DANGER, evidence.shown(per_month))
