"""From what was gathered of a group to the question of which values it should have (`tuning`).

Only where a fitted model may be used: a record of hours shows that values hold or do not, not what rare delays cost.
Nothing in a question moves while nothing happens, so that an answer may be remembered.
"""

import math
from datetime import timedelta

from heartbeat_tuner.decision import estimate
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.decision.tuning import Question
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.metrics.quantities import ABSENCE, POLL_GAP
from heartbeat_tuner.tails.group_model import Unfitted


def of(situation: Situation, record: Record | None, current: LivenessSettings) -> Question | Unfitted:
    """Return the question, or why it cannot be asked.

    Args:
        situation: what was gathered.
        record: of it; None where nobody watched it: nothing then speaks against the values set.
        current: what is set.
    """
    if isinstance(situation.model, Unfitted):
        return situation.model
    model, facts = situation.model.model, estimate.facts(situation)
    if isinstance(facts, Unknown):
        return Unfitted(facts.message)
    profile = estimate.profile(model, facts)
    if isinstance(profile, Unfitted):
        return profile
    absences, gaps = model.quantities[ABSENCE], model.quantities.get(POLL_GAP)
    return Question(
        profile=profile,
        current=current,
        objective=situation.policy.objective,
        bounds=situation.policy.bounds,
        least_session=situation.cluster.min_session_timeout,
        most_session=situation.cluster.max_session_timeout,
        watched_days=absences.group_days,
        member_days=absences.member_days,
        evictions=0 if record is None else record.evictions,
        # Whole days: a record grows by the minute, and an answer would never be the same.
        evictions_days=0.0 if record is None else max(1.0, math.floor(record.span / timedelta(days=1))),
        largest_absence_s=absences.largest_s,
        largest_poll_gap_s=None if gaps is None else gaps.largest_s,
        horizon=situation.policy.horizon,
    )
