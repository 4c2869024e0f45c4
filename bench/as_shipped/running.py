"""A fleet in the operator's hands, hour by hour: what metrics showed is fitted each night, and groups are looked at.

Each night the production fit makes models of the last 14 days, which is what `heartbeat-tuner fit` reads by default.
Each hour every group is looked at and decided on. What the engine answered before it does not answer again, as in
`reconcile.deciding`. After a write the rest of the day is drawn again, under the new values.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from bench.as_shipped import rows
from bench.as_shipped.drawing import Watch
from bench.as_shipped.held_group import HeldGroup
from bench.as_shipped.hours import Stretch
from bench.as_shipped.lives import Life
from bench.as_shipped.surroundings import START, policy_of
from bench.fleets import AT_BROKER, HOURS, Kind
from heartbeat_tuner.decision.optimize.answer_cache import AnswerCache
from heartbeat_tuner.decision.profile import usable_model
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.metrics.conventions import known_conventions as conventions
from heartbeat_tuner.models import group_model
from heartbeat_tuner.models.group_model import Fitted, GroupModel
from heartbeat_tuner.reconcile.deciding import CACHED_ANSWERS
from heartbeat_tuner.reconcile.witness_pool import WitnessPool

FIT_DAYS: Final = 14


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is simulated.

    Attributes:
        days: in the operator's hands.
        history: days of metrics before that.
        seed: of the random generator.
    """

    days: int = 30
    history: int = 0
    seed: int = 1


class Running:
    """A fleet over days.

    Args:
        lives: of all groups; those whose library exports too little are left out.
        plan: what is simulated.
    """

    def __init__(self, lives: Sequence[Life], plan: Plan) -> None:
        self._plan = plan
        policies = [(life, policy_of(life)) for life in lives]
        self.refused = [life for life, policy in policies if policy is None]
        self.groups = [HeldGroup(life, policy) for life, policy in policies if policy is not None]
        # Groups that the fleets got later come last: the draws of all others are as they were.
        drawn = sorted(self.groups, key=_came)
        self._watches = {
            held.life.name: Watch(held.life, np.random.default_rng([plan.seed, number]))
            for number, held in enumerate(drawn)
        }
        self._answers = AnswerCache(CACHED_ANSWERS)
        self._days: list[pa.Table] = []
        self._models: dict[str, Fitted] = {}

    def run(self, on_day: Callable[[int], object]) -> None:
        """Let all days pass; call `on_day` after each with how many are over."""
        for day in range(-self._plan.history, self._plan.days):
            self._day(day)
            if day >= 0:
                on_day(day + 1)

    def _day(self, day: int) -> None:
        there = [held for held in self.groups if held.life.is_there(day)]
        drawn = {held.life.name: [self._watches[held.life.name].draw(day, held.values)] for held in there}
        if day >= 0:
            for hour in range(HOURS):
                self._hour(day, hour, there, drawn)
        table = rows.DayRows((START + timedelta(days=day)).date())
        for held in there:
            library = conventions.measured_as(held.policy.library)
            table.add(held.life.namespace, held.life.name, library, drawn[held.life.name])
        self._days = [*self._days, table.table()][-FIT_DAYS:]
        self._fit(day)

    def _hour(self, day: int, hour: int, there: Sequence[HeldGroup], drawn: Mapping[str, list[Stretch]]) -> None:
        pool = WitnessPool([held.policy for held in there])
        for held in there:
            stretch = drawn[held.life.name][-1]
            now = START + timedelta(hours=day * HOURS + hour + 1)
            model = self._models.get(held.life.name)
            usable = usable_model.chosen([] if model is None else [model], held.policy, now=now)
            witnesses = functools.partial(pool.chosen, held.policy)
            seen = stretch.hours[hour - stretch.first]
            if held.look(day * HOURS + hour, seen, usable, witnesses, self._answers) and hour + 1 < HOURS:
                rest = self._watches[held.life.name].draw(day, held.values, hour + 1)
                drawn[held.life.name][-1:] = [stretch.before(hour + 1), rest]

    def _fit(self, day: int) -> None:
        table = rows.joined(self._days)
        on = (START + timedelta(days=day)).date()
        fitted = model_estimate.models(table, on=on, fitted_at=START + timedelta(days=day + 1), job="bench")
        before = self._models
        self._models = {
            model.group: Fitted(model.group, group_model.keeping(model, _model(before.get(model.group))))
            for model in fitted
        }


def _came(held: HeldGroup) -> int:
    if held.life.group.truth.client in AT_BROKER:
        return 2
    return int(held.life.group.kind is Kind.LIBRDKAFKA)


def _model(fitted: Fitted | None) -> GroupModel | None:
    return None if fitted is None else fitted.model
