"""Which counted evictions does an answer rest on: those of the record, or those of weeks?"""

import math
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.decision.evictions import assessment, eviction_evidence
from heartbeat_tuner.decision.evictions.eviction_evidence import EvictionEvidence
from heartbeat_tuner.decision.optimize import guard
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.verifications import EvictionHistory

_DAY: Final = timedelta(days=1)


def is_of_weeks(
    record: Record, evidence: EvictionEvidence | None, history: EvictionHistory | None, per_month: float, now: datetime
) -> bool:
    """Whether a record is like others of weeks that show danger themselves, and no storm beyond them.

    Args:
        record: of the last hour.
        evidence: what weeks say of the values that are set; None where nothing was counted with them yet.
        history: that the evidence is from.
        per_month: what the objective allows.
        now: the moment of the question.
    """
    if evidence is None or history is None or not evidence.is_dangerous(per_month):
        return False
    return evidence.explains(eviction_evidence.count(history, record.since, now))


def counted(
    record: Record, evidence: EvictionEvidence | None, per_month: float, *, of_weeks: bool
) -> tuple[int, float]:
    """Return how many evictions an answer rests on, and in how many days.

    One in an hour, or on the first day, is none in the next, and no rate of anything: values would follow it up and
    down. Nor is a bad hour where weeks show how often there is one. Of less than a week they count from as many on as
    are acted on. Days are whole ones: a record grows by the minute, and an answer would never be the same.

    Args:
        record: of the last hour.
        evidence: what weeks say of the values that are set; None where nothing was counted with them yet.
        per_month: what the objective allows.
        of_weeks: whether the record is one of those weeks (`is_of_weeks`).
    """
    if not of_weeks and (assessment.silences_are_dangerous(record, per_month) or record.span >= _DAY):
        return record.evictions, max(1.0, math.floor(record.span / _DAY))
    if evidence is None or not evidence.episodes:
        return 0, 1.0
    is_chance = evidence.episodes < assessment.ENOUGH_EVICTIONS or evidence.on_days == 1
    if is_chance and evidence.days < guard.SURE_DAYS:
        return 0, 1.0
    episodes = min(evidence.episodes, assessment.ENOUGH_EVICTIONS - 1) if is_chance else evidence.episodes
    return episodes, max(1.0, math.floor(evidence.days))
