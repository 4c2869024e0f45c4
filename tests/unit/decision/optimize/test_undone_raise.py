"""State in, answer out: a raise of S that turned out to cost far more than may be paid for an objective is undone."""

import dataclasses
import math
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.optimize import improvement, tuning
from heartbeat_tuner.decision.optimize.economics import Budget
from heartbeat_tuner.decision.optimize.questions import Answer, Question, baseline
from heartbeat_tuner.decision.optimize.search import CostCache
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Application, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.models.failure_profile import Rebalancing
from tests.support import worlds
from tests.support.questions import FROZEN, happening, question, said, seconds

OFTEN_DEAD = dataclasses.replace(FROZEN, crashes=happening(0.3, 20.0))
"""Each of its members crashes twice a week: a long session costs much there."""

RAISED = dataclasses.replace(question().current, session_timeout=seconds(60), heartbeat_interval=seconds(1))
BEFORE = dataclasses.replace(RAISED, session_timeout=seconds(10))


def asked(before: LivenessSettings | None, **fields: object) -> Question:
    """Return the question of a group whose session we raised."""
    return question(OFTEN_DEAD, **{"current": RAISED, "baseline": before, **fields})


def session(answer: Answer) -> timedelta | None:
    """Return the session that an answer asks for."""
    return None if answer.target is None else answer.target.session_timeout


def test_a_raise_that_costs_far_more_than_its_objective_is_worth_is_undone() -> None:
    """All the way, and not by halves: these values have stood before. What is left alone costs nine times as much."""
    undone, left = tuning.answer(asked(BEFORE)), tuning.answer(asked(None))
    assert said(undone) == (Verdict.CHANGE, Reason.CHEAPER)
    assert session(undone) == seconds(10)
    assert undone.objective_met is False
    assert "changes since sessionTimeout 10s the group costs 792% more than before them" in undone.message
    assert session(left) == seconds(51), "what is sure to meet the objective, at whatever price"
    assert undone.new is not None
    assert left.new is not None
    assert undone.new.net_per_day < 0.2 * left.new.net_per_day


def test_a_raise_is_only_lowered_where_a_shorter_session_is_likely_to_meet_the_objective_at_its_price() -> None:
    """From 10 s nobody would go there, for members may crash far more often; a raise that is undone would come back."""
    often = happening(0.03, 20.0, doubt=5.0)
    absent = dataclasses.replace(FROZEN, crashes=often, pauses=happening(1.0, 8.0, doubt=2.0))
    long = dataclasses.replace(RAISED, session_timeout=seconds(300))
    lowered = tuning.answer(question(absent, current=long, baseline=BEFORE))
    assert lowered.new is not None
    assert session(lowered) == seconds(32)
    assert lowered.new.evictions_per_month == pytest.approx(0.74, abs=0.02)
    cheaper = dataclasses.replace(BEFORE, session_timeout=seconds(20))
    undone = tuning.answer(question(absent, current=long, baseline=cheaper))
    assert session(undone) == seconds(20), "32 s cost a sixth more than that"


def test_a_raise_stays_where_members_may_crash_so_rarely_that_it_is_worth_its_price() -> None:
    """A crash or two by chance are no reason to evict members again."""
    surely, maybe = (dataclasses.replace(FROZEN, crashes=happening(0.3, 20.0, doubt=doubt)) for doubt in (2.0, 60.0))
    undone, left = (tuning.answer(question(often, current=RAISED, baseline=BEFORE)) for often in (surely, maybe))
    assert session(undone) == seconds(10)
    assert session(left) != seconds(10)
    known = dataclasses.replace(FROZEN, crashes=dataclasses.replace(OFTEN_DEAD.crashes, upper_per_day=None))
    assert session(tuning.answer(question(known, current=RAISED, baseline=BEFORE))) == seconds(10)


def test_at_the_broker_no_raise_is_undone() -> None:
    """What stood before the first of several writes there is not remembered; a fifth is what a saving needs instead."""
    at_broker = dataclasses.replace(OFTEN_DEAD, rebalancing=Rebalancing.CONSUMER)
    undone, left = (tuning.answer(question(at_broker, current=RAISED, baseline=known)) for known in (BEFORE, None))
    assert BEFORE.session_timeout < seconds(48)
    assert (session(undone), session(left)) == (None, seconds(48))


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


def test_a_baseline_is_what_stood_before_the_first_of_our_changes() -> None:
    """What somebody else has set since has none; where an older version noted none, it is of our last change."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    ours = Application(values=RAISED, previous=BEFORE, at=at, workload_uid="uid", container="app", entries={})
    policy = dataclasses.replace(worlds.java_policy(), application=ours)
    assert baseline(policy, RAISED) == BEFORE
    assert baseline(policy, catalogue.client("java").defaults) is None
    assert baseline(dataclasses.replace(policy, application=None), RAISED) is None
    first = dataclasses.replace(BEFORE, session_timeout=seconds(90))
    for revert in (None, at):
        noted = dataclasses.replace(ours, baseline=first, reverts=revert)
        assert baseline(dataclasses.replace(policy, application=noted), RAISED) == first
    reverted = dataclasses.replace(policy, application=dataclasses.replace(ours, reverts=at))
    assert baseline(reverted, RAISED) is None, "what was taken back is no measure"


def test_a_session_that_we_lowered_is_not_undone() -> None:
    """Though it costs a quarter more than what stood before: it is raised like any other."""
    absent = dataclasses.replace(OFTEN_DEAD, crashes=happening(0.001, 20.0), pauses=happening(1.0, 15.0))
    lowered = dataclasses.replace(question(absent), current=BEFORE)
    before = dataclasses.replace(BEFORE, session_timeout=seconds(45))
    assert tuning.answer(dataclasses.replace(lowered, baseline=before)) == tuning.answer(lowered)


def test_a_saving_of_ours_pays_for_the_objective() -> None:
    """Sessions that are sure to meet it cost more than what we set, and far less than what stood before us."""
    quick = dataclasses.replace(RAISED, session_timeout=seconds(10))
    slow = dataclasses.replace(RAISED, session_timeout=seconds(300))
    evicted = dataclasses.replace(asked(None, evictions=6), current=quick)
    assert session(tuning.answer(evicted)) is None
    paid = tuning.answer(dataclasses.replace(evicted, baseline=slow))
    assert paid.reason is Reason.DANGER
    assert paid.objective_met
    assert session(paid) == seconds(46)


@pytest.mark.parametrize(
    ("evictions", "hours", "waits"), [(2, 6, False), (2, 1, True), (0, 1, False)], ids=["paid", "not paid", "no chance"]
)
def test_what_we_saved_pays_for_the_rollout_that_two_evictions_alone_do_not_ask_for(
    evictions: int, hours: int, *, waits: bool
) -> None:
    """Two may be chance. Who is expected to miss the objective, and has saved more than it costs, need not wait."""
    quick, slow = (dataclasses.replace(RAISED, session_timeout=seconds(session_s)) for session_s in (20, 300))
    horizon = timedelta(hours=hours)
    found = tuning.goal(question(FROZEN, current=quick, baseline=slow, evictions=evictions, horizon=horizon))
    assert session(found) == seconds(39)
    assert found.wait_for_restart is waits


@pytest.mark.parametrize("endless", [{"net_per_day": math.inf}, {"crash_doubt_per_day": math.inf}])
def test_what_stood_before_is_no_measure_where_its_cost_is_not_known(endless: dict[str, Any]) -> None:
    """A cost without end would allow any price."""
    evicted = asked(BEFORE, evictions=6)
    rules, cost_cache = tuning.rules_and_costs(evicted)
    now, before = cost_cache.at(evicted.current), cost_cache.at(BEFORE)
    for cost, expected in ((before, before), (dataclasses.replace(before, **endless), None)):
        costs = cast("CostCache", SimpleNamespace(at={BEFORE: cost}.__getitem__))
        assert improvement.budget_of(evicted, costs, rules, now) == Budget(now, expected, 1.0, shown=True, counted=True)


def test_a_raise_that_a_lower_poll_limit_paid_for_is_not_undone_for_its_price() -> None:
    """Else both are written in turn: a raise where evictions are counted, and back once none are."""
    hangs = dataclasses.replace(OFTEN_DEAD, hangs=happening(0.5, 100_000.0))
    dear = dataclasses.replace(BEFORE, session_timeout=seconds(10), max_poll_interval=timedelta(minutes=30))
    lowered = dataclasses.replace(dear, max_poll_interval=timedelta(minutes=5))
    evicted = dataclasses.replace(question(hangs), current=lowered, baseline=dear, evictions=6)
    raised = tuning.answer(evicted).target
    assert raised is not None
    assert raised.session_timeout > seconds(10)
    calm = tuning.answer(dataclasses.replace(evicted, current=raised, evictions=0))
    assert calm.target is None or calm.target.session_timeout > seconds(10)


def test_it_is_sure_by_the_poll_limit_of_then_as_well() -> None:
    """Where a lower M paid for the raise, few crashes make it cheap: today's M alone is no measure of that."""
    often = happening(0.3, 20.0, doubt=2.0)
    hangs = dataclasses.replace(OFTEN_DEAD, crashes=often, hangs=happening(0.01, 100_000.0))
    dear = dataclasses.replace(BEFORE, max_poll_interval=timedelta(minutes=30))
    raised = dataclasses.replace(dear, session_timeout=seconds(45), max_poll_interval=timedelta(minutes=5))
    assert tuning.answer(question(hangs, current=raised, baseline=dear)).target is None
