"""State in, answer out: groups that rebalance all the time, of which only the record speaks."""

import dataclasses

from heartbeat_tuner.decision.optimize.tuning import goal as answer
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.tails.law import Law
from tests.support.questions import happening, profile, question, said, seconds, target, with_session

STORM = profile(pauses=happening(20_000.0, 45.0, 0.2))
"""Always away: it rebalances all day."""


def test_a_storm_is_outside_the_formulas() -> None:
    """Without a record of its own there is nothing to go by."""
    found = answer(question(STORM, largest_absence_s=35.0))
    assert said(found) == (Verdict.UNKNOWN, Reason.UNSTABLE)
    assert found.target is None
    assert "of the day" in found.message


def test_a_storm_gets_what_its_record_asks_for() -> None:
    """A session of one and a half times the largest absence, and W of at most H."""
    storm = dataclasses.replace(STORM, client="kafkajs", handlers=Law.lognormal(0.3, 0.4))
    asked = with_session(question(storm, evictions=500, largest_absence_s=30.0), 20)
    found = answer(asked)
    assert said(found) == (Verdict.UNKNOWN, Reason.UNSTABLE)
    assert found.target is not None
    assert found.target.fetch_wait == seconds(3)
    assert found.target.session_timeout == seconds(3 + 45)
    assert "by its record, set" in found.message
    assert found.objective_met is None


def test_a_storm_of_quick_beats_gets_the_least_interval() -> None:
    """As the rule for a record has it: below a second, H only costs requests. The policy's bounds hold here, too."""
    storm = dataclasses.replace(STORM, client="kafkajs", handlers=Law.lognormal(0.3, 0.4))
    quick = dataclasses.replace(question(storm).current, heartbeat_interval=seconds(0.333), fetch_wait=seconds(5))
    bounds = {Setting.FETCH_WAIT: Range(max=seconds(0.5))}
    found = target(question(storm, current=quick, evictions=500, largest_absence_s=5.0, bounds=bounds))
    assert (found.heartbeat_interval, found.fetch_wait) == (seconds(1), seconds(0.5))


def test_a_storm_that_needs_more_than_is_allowed() -> None:
    """Both numbers are told here too."""
    asked = question(STORM, evictions=500, objective=Objective(seconds(40), 1.0))
    found = answer(with_session(asked, 41))
    assert said(found) == (Verdict.INFEASIBLE, Reason.INFEASIBLE)
    assert "at most 40s" in found.message


def test_a_storm_whose_record_asks_for_nothing_more() -> None:
    """No member was evicted, so nothing says that a longer session would help."""
    found = answer(with_session(question(STORM), 60))
    assert said(found) == (Verdict.UNKNOWN, Reason.UNSTABLE)
    assert found.target is None


def test_a_storm_that_evicts_gets_a_session_beyond_what_it_hides() -> None:
    """Absences longer than the session show as evictions alone: S grows by half, however short those are that show."""
    within = Objective(seconds(120), 1.0)
    found = answer(with_session(question(STORM, evictions=500, largest_absence_s=5.0, objective=within), 60))
    assert said(found) == (Verdict.UNKNOWN, Reason.UNSTABLE)
    assert found.target is not None
    assert found.target.session_timeout == seconds(90)


def test_a_storm_that_values_would_end_gets_them() -> None:
    """What is set cannot be computed with; what would be safe can."""
    within = Objective(seconds(600), 1.0)
    asked = with_session(question(STORM, evictions=500, largest_absence_s=5.0, objective=within), 60)
    found = answer(asked)
    assert said(found) == (Verdict.UNKNOWN, Reason.UNSTABLE)
    assert found.target is not None
    assert found.new is not None
    assert seconds(90) < found.target.session_timeout <= seconds(600)
    assert found.new.evictions_upper <= 1.0
    assert found.objective_met
    assert "of the day, and false evictions a month" in found.message
    unseen = answer(dataclasses.replace(asked, evictions=0))
    assert (said(unseen), unseen.target) == ((Verdict.UNKNOWN, Reason.UNSTABLE), None)
