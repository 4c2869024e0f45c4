"""State in, answer out: a raise of S that turned out to cost far more than may be paid for an objective is undone."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.questions import Answer, Question, before_raise
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Application, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from tests.support import worlds
from tests.support.questions import FROZEN, happening, question, said, seconds

OFTEN_DEAD = dataclasses.replace(FROZEN, crashes=happening(0.3, 20.0))
"""Each of its members crashes twice a week: a long session costs much there."""

RAISED = dataclasses.replace(question().current, session_timeout=seconds(60), heartbeat_interval=seconds(1))
BEFORE = dataclasses.replace(RAISED, session_timeout=seconds(10))


def asked(before: LivenessSettings | None, **fields: object) -> Question:
    """Return the question of a group whose session we raised."""
    return question(OFTEN_DEAD, **{"current": RAISED, "before_raise": before, **fields})


def session(answer: Answer) -> timedelta | None:
    """Return the session that an answer asks for."""
    return None if answer.target is None else answer.target.session_timeout


def test_a_raise_that_costs_far_more_than_its_objective_is_worth_is_undone() -> None:
    """All the way, and not by halves: these values have stood before. What is left alone costs nine times as much."""
    undone, left = tuning.answer(asked(BEFORE)), tuning.answer(asked(None))
    assert said(undone) == (Verdict.CHANGE, Reason.CHEAPER)
    assert session(undone) == seconds(10)
    assert undone.objective_met is False
    assert "sessionTimeout 10s to 1m costs 792% more than what stood before" in undone.message
    assert session(left) == seconds(51), "what is sure to meet the objective, at whatever price"
    assert undone.new is not None
    assert left.new is not None
    assert undone.new.net_per_day < 0.2 * left.new.net_per_day


def test_a_poll_limit_stays_as_it_is() -> None:
    """A raise of M is no part of what a session costs."""
    before = dataclasses.replace(BEFORE, max_poll_interval=seconds(60))
    target = tuning.answer(asked(before)).target
    assert target is not None
    assert target.max_poll_interval == RAISED.max_poll_interval


def test_what_would_have_been_set_instead_takes_its_place() -> None:
    """From what stood before, a shorter H saves, and the session stays."""
    slow = dataclasses.replace(BEFORE, session_timeout=seconds(30), heartbeat_interval=seconds(10))
    target = tuning.answer(asked(slow)).target
    assert target is not None
    assert target.heartbeat_interval < seconds(10)
    assert seconds(30) <= target.session_timeout < seconds(40)


def test_a_raise_that_costs_a_little_more_stays() -> None:
    """Twice of what may be paid lies between writing and undoing, or two models would write back and forth."""
    near = dataclasses.replace(RAISED, session_timeout=seconds(55))
    assert tuning.answer(asked(near)) == tuning.answer(asked(None))


@pytest.mark.parametrize(
    "fields",
    [
        {"evictions": 6},
        {"bounds": {Setting.SESSION_TIMEOUT: Range(min=seconds(20))}},
        {"bounds": {Setting.HEARTBEAT_INTERVAL: Range(min=seconds(2))}},
    ],
    ids=["the record shows danger", "a bound of the session", "a bound of the heartbeat"],
)
def test_a_raise_stays_where_a_record_or_a_bound_wants_it(fields: dict[str, object]) -> None:
    """Bounds are of today, whatever stood there before; and who is evicted with a long session needs it."""
    assert tuning.answer(asked(BEFORE, **fields)) == tuning.answer(asked(None, **fields))


def test_with_less_than_a_week_it_is_only_recommended() -> None:
    """As any shorter session is."""
    answer = tuning.answer(asked(BEFORE, watched_days=3.0))
    assert session(answer) == seconds(10)
    assert answer.only_recommend


def test_a_raise_is_ours_and_of_what_is_set() -> None:
    """What somebody else has set since, a revert, and a change that lowered S are none."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    ours = Application(values=RAISED, previous=BEFORE, at=at, workload_uid="uid", container="app", entries={})
    policy = dataclasses.replace(worlds.java_policy(), application=ours)
    assert before_raise(policy, RAISED) == BEFORE
    assert before_raise(policy, catalogue.client("java").defaults) is None
    assert before_raise(dataclasses.replace(policy, application=None), RAISED) is None
    for other in (
        dataclasses.replace(ours, reverts=at),
        dataclasses.replace(ours, previous=dataclasses.replace(RAISED, session_timeout=seconds(90))),
    ):
        assert before_raise(dataclasses.replace(policy, application=other), RAISED) is None
