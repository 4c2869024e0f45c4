"""From what was gathered of a group to the question of which values it should have (`tuning`).

Only where a fitted model may be used: a record of hours shows that values hold or do not, not what rare delays cost.
Nothing in a question moves while nothing happens, so that an answer may be remembered. What a model comes to takes a
millisecond to work out, and is worked out only for who does not remember the answer.
"""

import dataclasses
import math
from collections.abc import Hashable, Mapping
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import assessment, estimate, static_ids, tuning
from heartbeat_tuner.decision.estimate import Facts
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.rules import Limit
from heartbeat_tuner.decision.tuning import Answer, Question
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.domain.verdicts import Forecast, StaticAdvice
from heartbeat_tuner.metrics.quantities import ABSENCE, POLL_GAP
from heartbeat_tuner.tails.group_model import GroupModel, Unfitted

_DAY: Final = timedelta(days=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A question whose model is not worked out yet: all that it rests on, and nothing else.

    Attributes:
        model: what the group's history says.
        facts: the group as it is now.

    The others are as in `Question`.
    """

    model: GroupModel
    facts: Facts
    current: LivenessSettings
    objective: Objective
    bounds: Mapping[Setting, Range]
    least_session: timedelta
    most_session: timedelta
    evictions: int
    evictions_days: float
    horizon: timedelta
    held: Limit | None
    brokers: int
    bounds_assumed: bool

    @property
    def key(self) -> Hashable:
        """All of it but what the model says, of which only whose it is."""
        whose = (self.model.namespace, self.model.group, self.model.cluster)
        rest = {field: getattr(self, field) for field in self.__slots__ if field not in {"model", "bounds"}}
        return (whose, frozenset(self.bounds.items()), *rest.values())

    def without_record(self) -> "Asked":
        """Return the same of a group that nobody watched."""
        return dataclasses.replace(self, evictions=0, evictions_days=0.0)

    def worked_out(self) -> Question | Unfitted:
        """Return the question, or why the model does not do for one."""
        profile = estimate.profile(self.model, self.facts)
        if isinstance(profile, Unfitted):
            return profile
        absences, gaps = self.model.quantities[ABSENCE], self.model.quantities.get(POLL_GAP)
        return Question(
            profile=profile,
            current=self.current,
            objective=self.objective,
            bounds=self.bounds,
            least_session=self.least_session,
            most_session=self.most_session,
            watched_days=absences.group_days,
            member_days=absences.member_days,
            evictions=self.evictions,
            evictions_days=self.evictions_days,
            largest_absence_s=absences.largest_s,
            largest_poll_gap_s=None if gaps is None else gaps.largest_s,
            horizon=self.horizon,
            held=self.held,
            brokers=self.brokers,
            bounds_assumed=self.bounds_assumed,
            gaps_watched_days=0.0 if gaps is None else gaps.group_days,
            gaps_member_days=0.0 if gaps is None else gaps.member_days,
        )


def asked(inputs: DecisionInput, record: Record | None, current: LivenessSettings) -> Asked | Unfitted:
    """Return what is asked, or why it cannot be.

    Args:
        inputs: what was gathered.
        record: of it; None where nobody watched it: nothing then speaks against the values set.
        current: what is set.
    """
    if isinstance(inputs.model, Unfitted):
        return inputs.model
    workload = inputs.workload
    # While partitions are being moved none can be counted, and what was recommended must not come and go with that.
    group = inputs.settled if inputs.settled is not None and inputs.group.rebalancing else inputs.group
    period = None if workload.current is None else inputs.period(workload.current.settings)
    facts = estimate.facts(inputs.policy, workload, group, period)
    if isinstance(facts, Unknown):
        return Unfitted(facts.message)
    return Asked(
        model=inputs.model.model,
        facts=facts,
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
    )


def _telling_evictions(record: Record, per_month: float) -> int:
    """Return how many evictions of a record an answer rests on.

    One in an hour is none in the next, and no rate of anything: values would follow it up and down. Of less than a day
    they count from as many on as are acted on.
    """
    enough = record.span >= _DAY or assessment.silences_are_dangerous(record, per_month)
    return record.evictions if enough else 0


def of(inputs: DecisionInput, record: Record | None, current: LivenessSettings) -> Question | Unfitted:
    """Return the question, or why it cannot be asked; as `asked`."""
    found = asked(inputs, record, current)
    return found if isinstance(found, Unfitted) else found.worked_out()


def answer(of: Asked) -> Answer | Unfitted:
    """Return what to do for one group, or why nobody can say."""
    question = of.worked_out()
    return question if isinstance(question, Unfitted) else tuning.answer(question)


def expected(of: Asked, target: LivenessSettings | None) -> Forecast | None:
    """Return what the values set, and others, bring to a group, whoever chose them; None where nothing is known."""
    question = of.worked_out()
    return None if isinstance(question, Unfitted) else tuning.expected(question, target)


def static_advice(of: Asked) -> StaticAdvice:
    """Return whether a group's members should have static ids."""
    return static_ids.advise(catalogue.client(of.facts.client), of.worked_out())


def slope(of: Asked, target: LivenessSettings) -> float:
    """Return what each second between heartbeats costs a group with `target`, in stalled partition-seconds a day.

    From what is set to `target`, everything else as there; 0 where nothing is known.
    """
    question = of.worked_out()
    if isinstance(question, Unfitted):
        return 0.0
    allowed, prices = tuning.reckoned(question)
    now = of.current
    rarer = dataclasses.replace(target, heartbeat_interval=now.heartbeat_interval, fetch_wait=now.fetch_wait)
    apart_s = (allowed.period(rarer).usual - allowed.period(target).usual).total_seconds()
    if not apart_s > 0:
        return 0.0
    with np.errstate(all="ignore"):
        found = (prices.at(rarer).net_per_day - prices.at(target).net_per_day) / apart_s
    return found if math.isfinite(found) else 0.0
