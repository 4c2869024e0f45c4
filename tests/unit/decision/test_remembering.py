"""Answers are given once for all that they rest on."""

import copy
import dataclasses
from datetime import timedelta

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import question
from heartbeat_tuner.decision.estimate import Facts
from heartbeat_tuner.decision.question import Asked
from heartbeat_tuner.decision.remembering import Remembered
from heartbeat_tuner.decision.rules import Limit
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.metrics.quantities import ABSENCE
from heartbeat_tuner.tails.group_model import Unfitted
from heartbeat_tuner.tails.profile import Rebalancing
from tests.support import fitted
from tests.support.questions import seconds

ASKED = Asked(
    model=fitted.model(client="java"),
    facts=Facts(client="java", rebalancing=Rebalancing.EAGER, members=3, partitions=12, static=False),
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
)
LONGER = dataclasses.replace(ASKED.current, session_timeout=seconds(60))


def test_the_same_gets_the_same_answer() -> None:
    """Also where the model was read anew."""
    memory = Remembered(4)
    first = memory.answer(ASKED)
    assert first == question.answer(ASKED)
    assert memory.answer(ASKED) is first
    again = dataclasses.replace(ASKED, model=copy.deepcopy(ASKED.model))
    assert memory.answer(again) is first
    assert next(iter(memory._answers._by_key.values()))[0] is again.model


def test_whatever_is_asked_otherwise_is_another_question() -> None:
    """Each field of it; a model of which only a number differs has an answer of its own."""
    memory = Remembered(100)
    first = memory.answer(ASKED)
    others = [
        dataclasses.replace(ASKED, facts=dataclasses.replace(ASKED.facts, partitions=13)),
        dataclasses.replace(ASKED, current=LONGER),
        dataclasses.replace(ASKED, objective=Objective(seconds(60), 2.0)),
        dataclasses.replace(ASKED, bounds={Setting.SESSION_TIMEOUT: Range(min=seconds(10))}),
        dataclasses.replace(ASKED, least_session=seconds(7)),
        dataclasses.replace(ASKED, most_session=seconds(1700)),
        dataclasses.replace(ASKED, brokers=3),
        dataclasses.replace(ASKED, bounds_assumed=True),
        dataclasses.replace(ASKED, evictions=1),
        dataclasses.replace(ASKED, evictions_days=2.0),
        dataclasses.replace(ASKED, horizon=timedelta(days=1)),
        dataclasses.replace(ASKED, held=Limit(seconds(2), "a budget")),
        dataclasses.replace(ASKED, model=fitted.model(client="java", group="others")),
        dataclasses.replace(ASKED, model=fitted.model(client="java", quantities={ABSENCE: fitted.quantity(values=9)})),
    ]
    assert len(ASKED.__slots__) == len(others) - 1
    assert all(memory.answer(one) is not first for one in others)


def test_what_cannot_be_answered_is_remembered_too() -> None:
    """Why not, that is."""
    memory, asked = Remembered(4), dataclasses.replace(ASKED, model=fitted.model(client="java", quantities={}))
    found = memory.answer(asked)
    assert isinstance(found, Unfitted)
    assert memory.answer(asked) is found
    assert memory.expected(asked, LONGER) is None


def test_what_values_bring_is_reckoned_once_for_each() -> None:
    """However many evictions are seen meanwhile."""
    memory = Remembered(4)
    first = memory.expected(ASKED, LONGER)
    assert first == question.expected(ASKED, LONGER)
    assert first is not None
    assert memory.expected(dataclasses.replace(ASKED, evictions=9, evictions_days=3.0), LONGER) is first
    assert memory.expected(ASKED, None) != first


def test_advice_on_static_ids_is_reckoned_once() -> None:
    """However many evictions are seen meanwhile."""
    memory = Remembered(4)
    first = memory.static_advice(ASKED)
    assert first == question.static_advice(ASKED)
    assert memory.static_advice(dataclasses.replace(ASKED, evictions=9)) is first
    assert memory.static_advice(dataclasses.replace(ASKED, current=LONGER)) != first


def test_what_was_not_asked_for_longest_is_forgotten_first() -> None:
    """A fleet that shrinks does not fill the memory."""
    memory = Remembered(2)
    one, two, three = (dataclasses.replace(ASKED, evictions=count) for count in range(3))
    first, second = memory.answer(one), memory.answer(two)
    assert memory.answer(one) is first
    memory.answer(three)
    assert memory.answer(one) is first
    assert memory.answer(two) is not second
