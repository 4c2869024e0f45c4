"""From what was gathered of a group to the question of which values it should have (`tuning`).

Only where a fitted model may be used: a record of hours shows that values hold or do not, not what rare delays cost.
What a model comes to takes a millisecond to work out, and is worked out only for who does not remember the answer.
"""

import dataclasses
import math
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.evictions import assessment
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import static_ids, tuning
from heartbeat_tuner.decision.optimize.questions import ModelHistory, Question
from heartbeat_tuner.decision.profile import group_facts
from heartbeat_tuner.decision.profile.group_facts import Facts
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.verdicts import StaticAdvice
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.models.group_model import Unfitted

_DAY: Final = timedelta(days=1)


def asked(inputs: DecisionInput, record: Record | None, current: LivenessSettings) -> Question | Unfitted:
    """Return the question, or why it cannot be asked.

    Args:
        inputs: what was gathered.
        record: of it; None where nobody watched it: nothing then speaks against the values set.
        current: what is set.
    """
    if isinstance(inputs.model, Unfitted):
        return inputs.model
    facts = _facts(inputs)
    if isinstance(facts, Unknown):
        return Unfitted(facts.message)
    model = inputs.model.model
    unfit = group_facts.unfit(model)
    if unfit is not None:
        return unfit
    absences, gaps = model.quantities[ABSENCE], model.quantities.get(POLL_GAP)
    return Question(
        history=ModelHistory(model, facts),
        current=current,
        objective=inputs.policy.objective,
        bounds=inputs.policy.bounds,
        least_session=inputs.cluster.min_session_timeout,
        most_session=inputs.cluster.max_session_timeout,
        evictions=0 if record is None else _telling_evictions(record, inputs.per_month),
        # Whole days: a record grows by the minute, and an answer would never be the same.
        evictions_days=0.0 if record is None else max(1.0, math.floor(record.span / _DAY)),
        horizon=inputs.policy.horizon,
        held=inputs.held,
        brokers=inputs.cluster.brokers,
        bounds_assumed=inputs.cluster.bounds_assumed,
        watched_days=absences.group_days,
        member_days=absences.member_days,
        largest_absence_s=absences.largest_s,
        largest_poll_gap_s=None if gaps is None else gaps.largest_s,
        gaps_watched_days=0.0 if gaps is None else gaps.group_days,
        gaps_member_days=0.0 if gaps is None else gaps.member_days,
    )


def _facts(inputs: DecisionInput) -> Facts | Unknown:
    """Return what is known of the group without statistics, or why that is too little."""
    workload = inputs.workload
    # While partitions are being moved none can be counted, and what was recommended must not come and go with that.
    group = inputs.settled if inputs.settled is not None and inputs.group.rebalancing else inputs.group
    period = None if workload.current is None else inputs.period(workload.current.settings)
    return group_facts.facts(inputs.policy, workload, group, period)


def _telling_evictions(record: Record, per_month: float) -> int:
    """Return how many evictions of a record an answer rests on.

    One in an hour is none in the next, and no rate of anything: values would follow it up and down. Of less than a day
    they count from as many on as are acted on.
    """
    enough = record.span >= _DAY or assessment.silences_are_dangerous(record, per_month)
    return record.evictions if enough else 0


def static_advice(question: Question) -> StaticAdvice:
    """Return whether a group's members should have static ids."""
    return static_ids.advise(catalogue.client(question.profile.client), question)


def slope(question: Question, target: LivenessSettings) -> float:
    """Return what each second between heartbeats costs a group with `target`, in stalled partition-seconds a day.

    From what is set to `target`, everything else as there; 0 where nothing is known.
    """
    allowed, cost_cache = tuning.rules_and_costs(question)
    now = question.current
    rarer = dataclasses.replace(target, heartbeat_interval=now.heartbeat_interval, fetch_wait=now.fetch_wait)
    apart_s = (allowed.period(rarer).usual - allowed.period(target).usual).total_seconds()
    if not apart_s > 0:
        return 0.0
    with np.errstate(all="ignore"):
        per_second = (cost_cache.at(rarer).net_per_day - cost_cache.at(target).net_per_day) / apart_s
    return per_second if math.isfinite(per_second) else 0.0
