"""State in, answer out: one scenario for each kind of library and each limit, and what is not known."""

import dataclasses
import math
from typing import Any

import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.decision.optimize.tuning import goal as answer
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Verdict
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Rebalancing
from heartbeat_tuner.tails.law import Law
from tests.support.questions import FROZEN, NEVER, happening, profile, question, said, seconds, target


def test_a_quiet_group_that_crashes_gets_a_short_session_and_a_quick_beat() -> None:
    """In an eager group everybody waits for a dead member's id: the session is what a crash costs."""
    found = answer(question())
    assert said(found) == (Verdict.CHANGE, Reason.CHEAPER)
    assert found.target is not None
    assert found.target.session_timeout <= seconds(12)
    assert found.target.heartbeat_interval == seconds(1)
    assert found.now is not None
    assert found.new is not None
    assert found.new.net_per_day < 0.5 * found.now.net_per_day
    assert found.new.detection_s < 12 < found.now.detection_s
    assert found.objective_met
    assert "sessionTimeout 45s → " in found.message


def test_who_has_the_best_values_keeps_them() -> None:
    """And is told what the best would be."""
    asked = question()
    found = answer(dataclasses.replace(asked, current=target(asked)))
    assert said(found) == (Verdict.HEALTHY, Reason.HEALTHY)
    assert (found.target, found.new) == (None, None)
    assert found.message.startswith("Left as it is")


@pytest.mark.parametrize("library", catalogue.CLIENTS)
def test_every_library_gets_values_that_it_starts_with(library: str) -> None:
    """Its own rules are kept, and only what it has is changed."""
    client = catalogue.client(library)
    consumer = library == "java-kip848"
    history = profile(client=library, rebalancing=Rebalancing.CONSUMER if consumer else Rebalancing.EAGER)
    broker = (45.0, 60.0) if consumer else (6.0, 1_800.0)
    asked = question(history, least_session=seconds(broker[0]), most_session=seconds(broker[1]))
    slow = dataclasses.replace(
        asked,
        current=dataclasses.replace(
            asked.current, session_timeout=seconds(60), heartbeat_interval=seconds(15), rebalance_timeout=seconds(60)
        ),
    )
    found = target(slow)
    assert client.violations(found) == ()
    assert found.session_timeout >= max(3 * found.heartbeat_interval, seconds(broker[0]))
    assert found.heartbeat_interval in ({seconds(5)} if consumer else {seconds(1), seconds(1.5)})
    assert found.rebalance_timeout == seconds(60)


@pytest.mark.parametrize(
    ("client", "protocol", "name"),
    [
        ("java", Rebalancing.EAGER, "the broker's group.min.session.timeout.ms"),
        ("java-kip848", Rebalancing.CONSUMER, "the broker's group.consumer.min.session.timeout.ms"),
    ],
)
def test_a_bound_of_the_broker_is_called_as_it_is_there(client: str, protocol: Rebalancing, name: str) -> None:
    """Each protocol has its own, and who raises the other's changes nothing."""
    short = Objective(seconds(30), 1.0)
    found = answer(question(profile(client=client, rebalancing=protocol), least_session=seconds(45), objective=short))
    assert found.verdict is Verdict.INFEASIBLE
    assert f"at least 45s ({name})" in found.message


def test_a_wait_that_is_longer_than_the_interval_goes_with_it() -> None:
    """Where the beat waits for the fetch; elsewhere W is nobody's business here."""
    assert target(question(profile(client="kafkajs"))).fetch_wait == seconds(1)
    assert target(question(profile(client="franz-go"))).fetch_wait == seconds(5)


def test_a_session_of_sarama_outlasts_two_fetches() -> None:
    """Its beat may wait for the one under way and the one behind it."""
    asked = question(profile(client="sarama"))
    beat = dataclasses.replace(asked.current, heartbeat_interval=seconds(1), fetch_wait=seconds(5))
    floor, _ = tuning._rules(asked).session(beat)
    assert floor.value > seconds(1 + 2 * 5)
    assert floor.name == "longer than 11s between two heartbeats with fetchWait 5s"


def test_an_interval_of_kip_848_is_one_that_the_broker_accepts() -> None:
    """It refuses less than 5 s unless somebody allowed it."""
    history = profile(client="java-kip848", rebalancing=Rebalancing.CONSUMER)
    asked = question(history, least_session=seconds(45), most_session=seconds(60))
    slow = dataclasses.replace(asked, current=dataclasses.replace(asked.current, heartbeat_interval=seconds(15)))
    assert target(slow).heartbeat_interval == seconds(5)
    allowed = dataclasses.replace(slow, broker_interval=Range(min=seconds(2)))
    assert target(allowed).heartbeat_interval == seconds(2)


def test_what_is_needed_and_what_is_allowed_are_both_told() -> None:
    """And nothing is moved to the least bad."""
    found = answer(question(FROZEN, objective=Objective(seconds(20), 1.0)))
    assert said(found) == (Verdict.INFEASIBLE, Reason.INFEASIBLE)
    assert found.target is None
    assert found.objective_met is False
    assert "needs at least 46s" in found.message
    assert "objective.maxDetectionTime allows at most 20s" in found.message


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ({"bounds": {Setting.SESSION_TIMEOUT: Range(min=seconds(90))}}, ("1m30s (bounds.sessionTimeout.min)", "1m")),
        (
            {"most_session": seconds(5)},
            ("6s (the broker's group.min.session", "ms allows at most 5s"),
        ),
        ({"bounds": {Setting.HEARTBEAT_INTERVAL: Range(min=seconds(30))}}, ("1m30s (3 heartbeat", "at most 1m")),
        (
            {"bounds": {Setting.MAX_POLL_INTERVAL: Range(max=seconds(10))}},
            ("13s (1.3 times the longest poll gap, 10 s)", "bounds.maxPollInterval.max allows at most 10s"),
        ),
    ],
)
def test_limits_that_contradict_each_other_are_both_named(fields: dict[str, Any], numbers: tuple[str, str]) -> None:
    """Whoever wrote them has to say which of them holds."""
    found = answer(question(**fields))
    assert said(found) == (Verdict.INFEASIBLE, Reason.INFEASIBLE)
    assert all(number in found.message for number in numbers), found.message


def test_bounds_of_the_interval_may_contradict_the_brokers() -> None:
    """A KIP-848 group's H is the broker's to allow."""
    history = profile(client="java-kip848", rebalancing=Rebalancing.CONSUMER)
    found = answer(question(history, bounds={Setting.HEARTBEAT_INTERVAL: Range(max=seconds(2))}))
    assert found.verdict is Verdict.INFEASIBLE
    assert "at least 5s (the broker's least heartbeat interval)" in found.message
    assert "bounds.heartbeatInterval.max allows at most 2s" in found.message


def test_what_no_session_can_help_is_told_as_such() -> None:
    """A client with one beat in flight loses its place in each outage, however long its session."""
    history = profile(client="node-rdkafka", outages=happening(1.0, 20.0), delivery=Delivery.ONE_IN_FLIGHT)
    found = answer(question(history))
    assert found.verdict is Verdict.INFEASIBLE
    assert "No values are sure to keep false evictions within 1 a month" in found.message
    assert "at most 240 a month" in found.message


def test_a_longer_interval_is_taken_that_costs_hardly_more() -> None:
    """It saves requests."""
    freezes = profile(pauses=happening(0.1, 8.0), restarts=happening(0.0, 20.0), rebalancing=Rebalancing.COOPERATIVE)
    assert target(question(freezes)).heartbeat_interval == seconds(1.5)


def test_a_session_that_is_near_enough_stays() -> None:
    """Though H changes, S does not by half a second."""
    near = dataclasses.replace(question().current, session_timeout=seconds(7.5))
    found = target(question(current=near))
    assert (found.session_timeout, found.heartbeat_interval) == (seconds(7.5), seconds(1))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"largest_absence_s": None}, "no absence of a member can be measured"),
        ({"watched_days": 0.0}, "not watched yet"),
        ({"member_days": 0.0}, "not watched yet"),
        ({"watched_days": math.nan}, "not watched yet"),
    ],
)
def test_from_the_unknown_nothing_follows(fields: dict[str, Any], why: str) -> None:
    """No value, no figure, no claim that all is well."""
    found = answer(question(evictions=50, **fields))
    assert said(found) == (Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA)
    assert why in found.message
    assert (found.target, found.now, found.objective_met) == (None, None, None)


def test_a_group_without_members_has_no_cost() -> None:
    """Nothing is shared by nobody."""
    assert answer(question(profile(members=0))).verdict is Verdict.UNKNOWN


def test_figures_beyond_reckoning_are_unknown() -> None:
    """Not a number is not a cost."""
    found = answer(question(profile(settle_s=math.nan)))
    assert said(found) == (Verdict.UNKNOWN, Reason.TOO_LITTLE_DATA)


def test_what_the_policy_forbids_is_told_as_uncapped() -> None:
    """So that its owner sees what the bound costs."""
    bounded = answer(question(bounds={Setting.SESSION_TIMEOUT: Range(min=seconds(30))}))
    assert bounded.target is not None
    assert bounded.target.session_timeout >= seconds(30)
    assert bounded.uncapped == target(question())
    assert answer(question(bounds={Setting.SESSION_TIMEOUT: Range(max=seconds(60))})).uncapped is None
    assert answer(question()).uncapped is None


def test_what_no_bounds_can_make_possible_is_not_told_as_uncapped() -> None:
    """Without them it is infeasible as well."""
    asked = question(FROZEN, objective=Objective(seconds(20), 1.0), bounds={Setting.FETCH_WAIT: Range(min=seconds(1))})
    assert answer(asked).uncapped is None


@pytest.mark.parametrize(
    ("days", "member_days", "level"),
    [
        (14.0, 30.0, Confidence.HIGH),
        (14.0, 29.0, Confidence.MEDIUM),
        (13.0, 500.0, Confidence.MEDIUM),
        (6.9, 500.0, Confidence.LOW),
        (30.0, 6.9, Confidence.LOW),
    ],
)
def test_confidence_is_of_amount_and_span(days: float, member_days: float, level: Confidence) -> None:
    """A hundred members for a day have seen one day."""
    assert answer(question(watched_days=days, member_days=member_days)).confidence is level


@pytest.mark.parametrize(
    "history",
    [
        profile(members=10**9, partitions=10**9),
        profile(pauses=happening(0.0, 1.0), restarts=happening(0.0, 1.0), crashes=happening(0.0, 1.0)),
        profile(handlers=Law.constant(0.0), slow_handlers=None),
        profile(pauses=FailureProcess(1e9, Law.lognormal(1e5, 3.0))),
        profile(partitions=0),
        profile(members=1, partitions=1),
    ],
)
def test_the_absurd_gets_a_reason(history: object) -> None:
    """And no traceback."""
    found = answer(dataclasses.replace(question(), history=history))  # type: ignore[arg-type]
    assert found.message


def test_what_is_expected_of_others_values_is_what_an_answer_expects() -> None:
    """Whoever chose them."""
    found = answer(question())
    report = tuning.expected(question(), found.target)
    assert report is not None
    assert (report.now, report.new) == (found.now, found.new)
    alone = tuning.expected(question(), None)
    assert alone is not None
    assert alone.new is None


@pytest.mark.parametrize(
    "asked",
    [question(largest_absence_s=None), question(profile(pauses=happening(1e308, 1e3, doubt=1e3)))],
    ids=["not measured", "beyond all that can be reckoned"],
)
def test_of_what_is_not_known_nothing_is_expected(asked: Question) -> None:
    """No figure is better than a wrong one."""
    assert tuning.expected(asked, None) is None
    assert tuning.forecast(answer(asked)) is None


@pytest.mark.parametrize(("largest_s", "least_s"), [(28.7, 30), (37.0, 39), (60.0, 45)])
def test_a_session_is_not_lowered_below_the_longest_absence_seen(largest_s: float, least_s: float) -> None:
    """The pool may call it rare; one in two weeks is more than one a month. What is set may stay, however short."""
    found = answer(question(largest_absence_s=largest_s))
    assert found.target is not None
    assert found.target.session_timeout == seconds(least_s)


def test_a_session_is_lowered_below_what_was_seen_where_the_objective_allows_it() -> None:
    """Three such a month are allowed, and one was seen in two weeks."""
    found = answer(question(largest_absence_s=37.0, objective=Objective(seconds(60), 3.0)))
    assert found.target is not None
    assert found.target.session_timeout < seconds(37)
    assert "the longest absence seen, 37 s, would end a session of" in found.message
    assert "of all of its library (pool)" in found.message
    assert "pool" not in answer(question(objective=Objective(seconds(60), 3.0))).message


def test_the_longest_absence_seen_and_a_ceiling_below_it_are_both_told() -> None:
    """The objective asks for less than the group's own history allows."""
    found = answer(question(largest_absence_s=37.0, objective=Objective(seconds(20), 1.0)))
    assert found.verdict is Verdict.INFEASIBLE
    assert "at least 39s (the longest absence seen, 37 s, and a heartbeat)" in found.message
    assert "objective.maxDetectionTime allows at most 20s" in found.message


def test_of_sessions_that_cost_the_same_none_above_a_minute_is_taken() -> None:
    """Where S costs nothing the longest evicts less; but a session of minutes only hides the dead."""
    history = profile(crashes=happening(0.0, 20.0), pauses=happening(0.05, 6.0), restarts=happening(0.25, 20.0, 0.3))
    found = target(question(history, objective=Objective(seconds(1_800), 1.0)))
    assert seconds(45) <= found.session_timeout <= seconds(60)


def test_a_wait_that_was_shortened_makes_no_other_interval_better() -> None:
    """An H of 2 s and a W of 1.5 s were compared only once W was set: each H is now compared with every W up to it."""
    history = profile(
        client="sarama",
        members=40,
        partitions=40,
        pauses=NEVER,
        crashes=happening(0.03, 0.155, 0.1, doubt=2.0),
        restarts=happening(0.1, 2.81, 0.8, doubt=2.0),
        handlers=Law.lognormal(0.098, 0.5),
        slow_handlers=NEVER,
        settle_s=0.37,
    )
    before = dataclasses.replace(
        question(history).current, session_timeout=seconds(36), heartbeat_interval=seconds(13), fetch_wait=seconds(9)
    )
    asked = question(history, current=before, objective=Objective(seconds(60), 20.0))
    assert answer(dataclasses.replace(asked, current=target(asked))).target is None
