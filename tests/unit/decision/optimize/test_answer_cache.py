"""Answers are given once for all that they rest on."""

import copy
import dataclasses
from datetime import timedelta
from typing import Any

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.optimize import static_ids, tuning
from heartbeat_tuner.decision.optimize.answer_cache import AnswerCache
from heartbeat_tuner.decision.optimize.questions import ModelHistory, Question
from heartbeat_tuner.decision.profile.group_facts import Facts
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.limits.allowed_values import Limit
from heartbeat_tuner.metrics.measured import ABSENCE
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.models.group_model import GroupModel
from tests.support import fitted
from tests.support.questions import seconds

FACTS = Facts(client="java", rebalancing=Rebalancing.EAGER, members=3, partitions=12, static=False)


def history(model: GroupModel, **changes: Any) -> ModelHistory:
    """Return what happens to three members, but for what is said otherwise, by a model."""
    return ModelHistory(model, dataclasses.replace(FACTS, **changes))


MODEL = fitted.model(client="java")
ASKED = Question(
    history=history(MODEL),
    current=catalogue.client("java").defaults,
    objective=Objective(seconds(60), 1.0),
    bounds={},
    least_session=seconds(6),
    most_session=seconds(1800),
    evictions=0,
    evictions_days=1.0,
    horizon=timedelta(days=14),
    held=None,
    brokers=1,
    bounds_assumed=False,
    fixed=frozenset(),
    watched_days=14.0,
    member_days=42.0,
    largest_absence_s=MODEL.quantities[ABSENCE].largest_s,
    largest_poll_gap_s=None,
)
LONGER = dataclasses.replace(ASKED.current, session_timeout=seconds(60))


def test_the_same_gets_the_same_answer() -> None:
    """Also where the model was read again."""
    memory = AnswerCache(4)
    first = memory.answer(ASKED)
    assert first == tuning.answer(ASKED)
    assert memory.answer(ASKED) is first
    again = dataclasses.replace(ASKED, history=history(copy.deepcopy(MODEL)))
    assert memory.answer(again) is first
    assert isinstance(again.history, ModelHistory)
    assert next(iter(memory._answers._by_key.values()))[0] is again.history.model


def test_whatever_is_asked_otherwise_is_another_question() -> None:
    """Each field of it; a model of which only a number differs has an answer of its own."""
    memory = AnswerCache(100)
    first = memory.answer(ASKED)
    others = [
        dataclasses.replace(ASKED, history=history(MODEL, partitions=13)),
        dataclasses.replace(ASKED, current=LONGER),
        dataclasses.replace(ASKED, objective=Objective(seconds(60), 2.0)),
        dataclasses.replace(ASKED, bounds={Setting.SESSION_TIMEOUT: Range(min=seconds(10))}),
        dataclasses.replace(ASKED, least_session=seconds(7)),
        dataclasses.replace(ASKED, most_session=seconds(1700)),
        dataclasses.replace(ASKED, brokers=3),
        dataclasses.replace(ASKED, bounds_assumed=True),
        dataclasses.replace(ASKED, fixed=frozenset({Setting.MAX_POLL_INTERVAL})),
        dataclasses.replace(ASKED, broker_interval=Range(seconds(1), seconds(2))),
        dataclasses.replace(ASKED, evictions=1),
        dataclasses.replace(ASKED, evictions_days=2.0),
        dataclasses.replace(ASKED, horizon=timedelta(days=1)),
        dataclasses.replace(ASKED, held=Limit(seconds(2), "a budget")),
        dataclasses.replace(ASKED, baseline=LONGER),
        dataclasses.replace(ASKED, history=history(fitted.model(client="java", group="others"))),
        dataclasses.replace(
            ASKED, history=history(fitted.model(client="java", quantities={ABSENCE: fitted.quantity(values=9)}))
        ),
    ]
    assert isinstance(ASKED.key, tuple)
    assert len(ASKED.key) == len(others) - 1  # another model of the same group is compared
    assert all(memory.answer(other) is not first for other in others)


def test_a_profile_is_worked_out_when_somebody_needs_it_and_once() -> None:
    """It takes a millisecond, and most answers are remembered; what changes a question leaves its history."""
    asked = dataclasses.replace(ASKED, history=history(MODEL))
    assert isinstance(asked.history, ModelHistory)
    assert "profile" not in vars(asked.history)
    profile = asked.profile
    assert dataclasses.replace(asked, evictions=9).profile is profile


def test_what_somebody_knows_without_a_model_is_not_remembered() -> None:
    """There is nothing to find it by."""
    memory, known = AnswerCache(4), dataclasses.replace(ASKED, history=ASKED.profile)
    assert known.key is None
    first = memory.answer(known)
    assert first == tuning.answer(known)
    assert memory.answer(known) is not first


def test_what_values_bring_is_reckoned_once_for_each() -> None:
    """However many evictions are seen meanwhile."""
    memory = AnswerCache(4)
    first = memory.expected(ASKED, LONGER)
    assert first == tuning.expected(ASKED, LONGER)
    assert first is not None
    assert memory.expected(dataclasses.replace(ASKED, evictions=9, evictions_days=3.0), LONGER) is first
    assert memory.expected(ASKED, None) != first


def test_advice_on_static_ids_is_reckoned_once() -> None:
    """However many evictions are seen meanwhile."""
    memory = AnswerCache(4)
    first = memory.static_advice(ASKED)
    assert first == static_ids.static_advice(ASKED)
    assert memory.static_advice(dataclasses.replace(ASKED, evictions=9)) is first
    assert memory.static_advice(dataclasses.replace(ASKED, current=LONGER)) != first


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    """A fleet that shrinks does not fill the memory."""
    memory = AnswerCache(2)
    oldest, middle, newest = (dataclasses.replace(ASKED, evictions=count) for count in range(3))
    first, second = memory.answer(oldest), memory.answer(middle)
    assert memory.answer(oldest) is first
    memory.answer(newest)
    assert memory.answer(oldest) is first
    assert memory.answer(middle) is not second
