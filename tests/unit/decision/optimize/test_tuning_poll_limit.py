"""State in, answer out: which poll limit a group gets."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from heartbeat_tuner.decision.optimize.tuning import goal as answer
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Range
from heartbeat_tuner.domain.verdicts import Confidence, Verdict
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.tails.law import TIMES_S, Law
from tests.support.questions import happening, profile, question, seconds, target, with_session


def test_a_poll_limit_covers_the_longest_gap_seen() -> None:
    """Even where it did not evict yet."""
    found = target(question(largest_poll_gap_s=400.0))
    assert found.max_poll_interval is not None
    assert found.max_poll_interval >= seconds(520)


def test_a_poll_limit_keeps_late_polls_within_half_the_objective() -> None:
    """The other half is for silences."""
    slow = happening(1.0, 300.0, 0.6, doubt=2.0)
    found = target(question(profile(slow_handlers=slow), largest_poll_gap_s=1_200.0))
    assert found.max_poll_interval is not None
    late = 30 * 8 * 2 * float(slow.law.sf(found.max_poll_interval.total_seconds())) * slow.per_day
    assert late <= 0.5


@pytest.mark.parametrize(("per_day", "doubt", "stays"), [(1e-3, 2.0, True), (1e-3, 9.0, True), (0.02, 1.2, False)])
def test_a_poll_limit_is_not_raised_for_what_may_be(per_day: float, doubt: float, *, stays: bool) -> None:
    """Only for what is expected: who hangs is missed for as long, and that is no doubt of anybody's."""
    slow = happening(per_day, 300.0, 0.6, doubt=doubt)
    found = target(question(profile(slow_handlers=slow), largest_poll_gap_s=200.0))
    assert found.max_poll_interval is not None
    assert (found.max_poll_interval <= seconds(300)) is stays


def test_a_poll_limit_falls_where_hung_handlers_are_dear() -> None:
    """They are noticed after M, and until then their partitions stand still; but how often they hang is assumed."""
    assert target(question(profile(hangs=happening(0.05, 3_600.0)))).max_poll_interval == seconds(150)
    bounds = {Setting.MAX_POLL_INTERVAL: Range(max=seconds(30))}
    assert target(question(profile(hangs=happening(0.05, 3_600.0)), bounds=bounds)).max_poll_interval == seconds(30)


@pytest.mark.parametrize(("days", "limit_s"), [(1.0, 300), (7.0, 300), (14.0, 150), (28.0, 75), (90.0, 60)])
def test_a_poll_limit_falls_below_the_default_as_the_weeks_add_up(days: float, limit_s: float) -> None:
    """A stalled database, which stops all handlers at once, shows in no quiet fortnight, and would empty the group."""
    found = answer(question(HANGS, watched_days=days))
    assert found.target is not None
    assert found.target.max_poll_interval == seconds(limit_s)


def test_a_longer_poll_limit_than_the_default_falls_to_it_without_weeks() -> None:
    """The default is what most groups live with."""
    patient = dataclasses.replace(question().current, max_poll_interval=seconds(1_800))
    assert target(question(HANGS, current=patient, gaps_watched_days=2.0)).max_poll_interval == seconds(300)


def test_a_poll_limit_that_is_hardly_worth_it_stays() -> None:
    """A hang in a decade is no reason."""
    assert target(question(profile(hangs=happening(1e-6, 3_600.0)))).max_poll_interval == seconds(300)


def test_a_poll_limit_at_its_bound_stays() -> None:
    """Though it is none of the round values that it is compared with."""
    bounds = {Setting.MAX_POLL_INTERVAL: Range(min=seconds(301))}
    asked = question(profile(hangs=happening(1e-6, 3_600.0)), bounds=bounds)
    asked = dataclasses.replace(asked, current=dataclasses.replace(asked.current, max_poll_interval=seconds(301)))
    assert target(asked).max_poll_interval == seconds(301)


def test_a_poll_limit_stays_where_gaps_are_not_measured() -> None:
    """What was not measured says nothing, neither for another limit nor against a session."""
    history = profile(hangs=happening(0.05, 3_600.0), slow_handlers=happening(1.0, 400.0))
    found = answer(with_session(question(history, largest_poll_gap_s=None), 90))
    assert found.target is not None
    assert found.target.max_poll_interval == seconds(300)
    assert found.objective_met


HANGS = profile(hangs=happening(0.05, 3_600.0))
"""Handlers hang so often that the least M is the best."""


@pytest.mark.parametrize("days", [{"gaps_watched_days": 0.9}, {"gaps_member_days": 0.9}])
def test_a_poll_limit_does_not_fall_by_a_few_hours_of_gaps(days: dict[str, Any]) -> None:
    """A nightly batch is not in them; all else is changed as if gaps were not measured."""
    found = target(question(HANGS, **days))
    assert found.max_poll_interval == seconds(300)
    assert found.session_timeout < seconds(45)


def test_a_poll_limit_rises_by_a_few_hours_of_gaps() -> None:
    """One that was seen may come again."""
    found = target(question(largest_poll_gap_s=400.0, gaps_watched_days=0.1))
    assert found.max_poll_interval is not None
    assert seconds(520) <= found.max_poll_interval <= seconds(560)


def test_a_poll_limit_above_the_bounds_stays_where_gaps_were_hardly_seen() -> None:
    """No number collides with another: nothing is known that would let it fall."""
    bounds = {Setting.MAX_POLL_INTERVAL: Range(max=seconds(120))}
    assert target(question(HANGS, bounds=bounds, gaps_watched_days=0.1)).max_poll_interval == seconds(300)
    assert target(question(HANGS, bounds=bounds)).max_poll_interval == seconds(120)


@pytest.mark.parametrize(
    ("days", "only", "sure", "limit_s"),
    [
        ({"gaps_watched_days": 6.9}, True, Confidence.LOW, 300),
        ({"gaps_watched_days": 7.0}, False, Confidence.MEDIUM, 300),
        ({"gaps_member_days": 7.0}, False, Confidence.MEDIUM, 150),
        ({}, False, Confidence.HIGH, 150),
    ],
)
def test_a_lower_poll_limit_rests_on_the_days_of_its_gaps(
    days: dict[str, Any], *, only: bool, sure: Confidence, limit_s: float
) -> None:
    """Under a week of them it is recommended only; a change that leaves M alone does not ask for them."""
    patient = dataclasses.replace(question().current, max_poll_interval=seconds(600))
    found = answer(question(HANGS, current=patient, **days))
    assert found.target is not None
    assert found.target.max_poll_interval == seconds(limit_s)
    assert (found.only_recommend, found.confidence) == (only, sure)
    stored = answer(question(**days))
    assert stored.target is not None
    assert stored.target.max_poll_interval == seconds(300)
    assert (stored.only_recommend, stored.confidence) == (False, Confidence.HIGH)


def test_a_poll_limit_of_confluents_javascript_counts_double() -> None:
    """The library waits twice as long as is set."""
    history = profile(client="confluent-kafka-javascript")
    found = target(question(history, largest_poll_gap_s=800.0))
    assert found.max_poll_interval is not None
    assert seconds(520) <= found.max_poll_interval < seconds(700)


def test_a_poll_limit_of_librdkafka_covers_the_session() -> None:
    """It refuses to start otherwise."""
    history = profile(client="confluent-kafka-python", hangs=happening(0.05, 3_600.0))
    found = target(question(history))
    assert found.max_poll_interval is not None
    assert found.max_poll_interval >= seconds(60)


def test_a_session_of_librdkafka_stays_below_a_bounded_poll_limit() -> None:
    """Where the policy holds M down, S follows."""
    history = profile(client="confluent-kafka-python", pauses=happening(0.1, 15.0))
    asked = question(history, bounds={Setting.MAX_POLL_INTERVAL: Range(max=seconds(20))})
    found = answer(asked)
    assert found.verdict is Verdict.INFEASIBLE
    assert "maxPollInterval, which must cover it, allows at most 20s" in found.message


def test_a_poll_limit_that_leaves_too_little_for_silences_goes() -> None:
    """Within half the objective, and yet too much together with what no session can bear."""
    history = profile(
        pauses=happening(0.1, 19.7, doubt=2.0),
        slow_handlers=happening(1.0, 60.0, 0.5556),
        settle_s=200.0,
        restarts=happening(0.01, 20.0),
    )
    found = answer(question(history, largest_poll_gap_s=230.0))
    assert found.target is not None
    assert found.target.max_poll_interval is not None
    assert found.target.max_poll_interval > seconds(300)


def test_no_poll_limit_within_half_the_objective() -> None:
    """Then the one that evicts least is taken, and the whole objective judges it."""
    upper = np.where(TIMES_S < 1_000, 0.02, 0.01)
    slow = dataclasses.replace(happening(1e-6, 300.0, 0.6), upper_per_day=upper)
    found = answer(question(profile(slow_handlers=slow), largest_poll_gap_s=700.0))
    assert found.target is not None
    assert found.target.max_poll_interval is not None
    assert found.target.max_poll_interval >= seconds(1_000)
    assert found.objective_met is False
    assert "at most 2.4 a month must be computed with, however long the session timeout is" in found.message
    assert "let handlers come back to poll well within maxPollInterval" in found.message


def test_handlers_that_are_known_need_no_bound() -> None:
    """A law that tells it all is its own bound."""
    found = target(question(profile(slow_handlers=None, handlers=Law.lognormal(0.3, 0.4))))
    assert found.max_poll_interval == seconds(300)


def test_late_polls_without_a_bound_are_what_is_expected() -> None:
    """A happening may be known exactly."""
    slow = FailureProcess(1.0, Law.lognormal(300.0, 0.6))
    found = target(question(profile(slow_handlers=slow), largest_poll_gap_s=1_200.0))
    assert found.max_poll_interval is not None
    assert found.max_poll_interval > seconds(1_000)


def test_a_group_in_danger_of_late_polls_gets_its_poll_limit_though_no_session_is_safe() -> None:
    """What the one setting can cure does not wait for what the other cannot."""
    frozen = profile(pauses=happening(0.01, 50.0, 0.5, doubt=50.0), slow_handlers=happening(2.0, 300.0, 0.3))
    asked = question(frozen, evictions=30, largest_poll_gap_s=500.0)
    found = answer(with_session(asked, 45))
    assert found.target is not None
    assert found.target.max_poll_interval is not None
    assert found.target.max_poll_interval >= seconds(650)
    assert found.now is not None
    assert found.new is not None
    assert found.new.evictions_per_month < 0.7 * found.now.evictions_per_month
    assert found.objective_met is False


def test_a_group_in_danger_gets_its_session_though_no_poll_limit_fits() -> None:
    """The other way round: M stays as it is, since what is allowed and what polls need collide."""
    frozen = profile(pauses=happening(0.2, 12.0, 0.3))
    bounds = {Setting.MAX_POLL_INTERVAL: Range(max=seconds(300))}
    asked = with_session(question(frozen, evictions=8, largest_poll_gap_s=400.0, bounds=bounds), 12)
    found = answer(asked)
    assert found.target is not None
    assert found.target.session_timeout > seconds(12)
    assert found.target.max_poll_interval == seconds(300)
