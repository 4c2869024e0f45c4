"""Answers that were given already.

Most groups are asked about every minute, and hardly any has changed. An answer holds while the same is asked of the
same model; models are read again every few minutes, so it does not matter whether one is the same object or says the
same. What a model comes to is not kept: that of 10,000 groups would fill a gigabyte. Each caller keeps a cache of
its own; this module keeps nothing.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from heartbeat_tuner.decision.optimize import heartbeat_budget, static_ids, tuning
from heartbeat_tuner.decision.optimize.questions import Answer, ModelHistory, Question
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.verdicts import Forecast, StaticAdvice
from heartbeat_tuner.models.failure_profile import Profile
from heartbeat_tuner.models.group_model import GroupModel

T = TypeVar("T")


class AnswerCache:
    """Answers by what they rest on: who asks the same again gets the same at once."""

    def __init__(self, most: int) -> None:
        """Begin with none.

        Args:
            most: how many answers are kept, and as many of all else; the longest unasked goes first.
        """
        self._answers = _Cache[Answer](most)
        self._forecasts = _Cache[Forecast | None](most)
        self._slopes = _Cache[float](most)
        self._advice = _Cache[StaticAdvice](most)

    def answer(self, asked: Question) -> Answer:
        """Return what `tuning.answer` returns."""
        return self._answers.found(asked.key, asked.history, lambda: tuning.answer(asked))

    def expected(self, asked: Question, target: LivenessSettings | None) -> Forecast | None:
        """Return what `tuning.expected` returns: what values bring does not depend on the record of a storm."""
        calm = asked.without_record()
        return self._forecasts.found((calm.key, target), calm.history, lambda: tuning.expected(calm, target))

    def static_advice(self, asked: Question) -> StaticAdvice:
        """Return what `static_ids.static_advice` returns."""
        calm = asked.without_record()
        return self._advice.found(calm.key, calm.history, lambda: static_ids.static_advice(calm))

    def slope(self, asked: Question, target: LivenessSettings) -> float:
        """Return what `heartbeat_budget.slope` returns."""
        return self._slopes.found((asked.key, target), asked.history, lambda: heartbeat_budget.slope(asked, target))


class _Cache(Generic[T]):
    """What was worked out of models, as long as each says the same."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_key: OrderedDict[Hashable, tuple[GroupModel, T]] = OrderedDict()

    def found(self, key: Hashable, history: ModelHistory | Profile, work_out: Callable[[], T]) -> T:
        """Return what is kept for a key and a model, or else work it out; without a model always that."""
        if isinstance(history, Profile):
            return work_out()
        held, model = self._by_key.get(key), history.model
        if held is None or (held[0] is not model and held[0] != model):
            held = (model, work_out())
        # With the newest object of several that say the same, so that the older ones can go.
        self._by_key[key] = (model, held[1])
        self._by_key.move_to_end(key)
        if len(self._by_key) > self._most:
            self._by_key.popitem(last=False)
        return held[1]
