"""State in, answer out: one scenario for each reason, each kind of library and each rule of order."""

import dataclasses
import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import choosing, tuning
from heartbeat_tuner.decision.choosing import Choice, Prices
from heartbeat_tuner.decision.tuning import Answer, Question, Verdict, answer
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Objective, Range
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.profile import Delivery, Happening, Rebalancing
from tests.support.questions import happening, profile, question, seconds

FROZEN = profile(pauses=happening(0.1, 15.0, doubt=3.0))
"""Frozen for a quarter of a minute once a fortnight, and it may be three times as often."""

WIDE = Objective(seconds(600), 1.0)

STORM = profile(pauses=happening(20_000.0, 45.0, 0.2))
"""Always away: it rebalances all day."""


def said(of: Answer) -> tuple[Verdict, Reason]:
    """Return the answer at a glance."""
    return of.verdict, of.reason


def target(asked: Question) -> LivenessSettings:
    """Return what should be set."""
    found = answer(asked).target
    assert found is not None
    return found


def with_session(of: Question, session_s: float) -> Question:
    """Return the question of a group that has another session timeout."""
    return dataclasses.replace(of, current=dataclasses.replace(of.current, session_timeout=seconds(session_s)))


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
    assert said(found) == (Verdict.KEEP, Reason.HEALTHY)
    assert (found.target, found.new) == (None, None)
    assert found.message.startswith("Left as it is")


@pytest.mark.parametrize("library", catalogue.CLIENTS)
def test_every_library_gets_values_that_it_starts_with(library: str) -> None:
    """Its own rules are kept, and only what it has is changed."""
    client = catalogue.client(library)
    consumer = library == "java-kip848"
    of = profile(client=library, rebalancing=Rebalancing.CONSUMER if consumer else Rebalancing.EAGER)
    broker = (45.0, 60.0) if consumer else (6.0, 1_800.0)
    asked = question(of, least_session=seconds(broker[0]), most_session=seconds(broker[1]))
    slow = dataclasses.replace(
        asked,
        current=dataclasses.replace(
            asked.current, session_timeout=seconds(60), heartbeat_interval=seconds(15), rebalance_timeout=seconds(60)
        ),
    )
    found = target(slow)
    assert client.violations(found) == ()
    assert found.session_timeout >= max(3 * found.heartbeat_interval, seconds(broker[0]))
    assert found.heartbeat_interval == seconds(5 if consumer else 1)
    assert found.rebalance_timeout == seconds(60)


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
    assert floor.name == "longer than 11s between two heartbeats"


def test_an_interval_of_kip_848_is_one_that_the_broker_accepts() -> None:
    """It refuses less than 5 s unless somebody allowed it."""
    of = profile(client="java-kip848", rebalancing=Rebalancing.CONSUMER)
    asked = question(of, least_session=seconds(45), most_session=seconds(60))
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
        ({"most_session": seconds(5)}, ("6s (the broker's least", "the broker's greatest session timeout allows")),
        ({"bounds": {Setting.HEARTBEAT_INTERVAL: Range(min=seconds(30))}}, ("1m30s (3 heartbeat", "at most 1m")),
        (
            {"bounds": {Setting.MAX_POLL_INTERVAL: Range(max=seconds(10))}},
            ("13s (1.3 times the longest poll gap)", "bounds.maxPollInterval.max allows at most 10s"),
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
    of = profile(client="java-kip848", rebalancing=Rebalancing.CONSUMER)
    found = answer(question(of, bounds={Setting.HEARTBEAT_INTERVAL: Range(max=seconds(2))}))
    assert found.verdict is Verdict.INFEASIBLE
    assert "at least 5s (the broker's least heartbeat interval)" in found.message
    assert "bounds.heartbeatInterval.max allows at most 2s" in found.message


def test_what_no_session_can_help_is_told_as_such() -> None:
    """A client with one beat in flight loses its place in each outage, however long its session."""
    of = profile(client="node-rdkafka", outages=happening(1.0, 20.0), delivery=Delivery.ONE_IN_FLIGHT)
    found = answer(question(of))
    assert found.verdict is Verdict.INFEASIBLE
    assert "No values keep false evictions within 1 a month" in found.message
    assert "240 a month" in found.message


def test_a_group_in_danger_gets_a_longer_session_though_it_costs_a_little() -> None:
    """Its own record shows it: then safety comes first, and only upwards."""
    asked = with_session(question(FROZEN), 10)
    calm, evicted = answer(asked), answer(dataclasses.replace(asked, evictions=6))
    assert calm.verdict is Verdict.KEEP
    assert calm.objective_met is False
    assert "where the objective allows 1" in calm.message
    assert said(evicted) == (Verdict.CHANGE, Reason.DANGER)
    assert evicted.target is not None
    assert evicted.new is not None
    assert evicted.now is not None
    assert evicted.target.session_timeout > seconds(30)
    assert evicted.now.net_per_day < evicted.new.net_per_day <= 1.1 * evicted.now.net_per_day
    assert evicted.new.evictions_per_month < 0.7 * evicted.now.evictions_per_month
    assert not evicted.wait_for_restart
    assert evicted.lower is not None
    assert evicted.lower <= evicted.target.session_timeout


def test_danger_does_not_wait_for_data() -> None:
    """Its evictions are data enough."""
    asked = dataclasses.replace(with_session(question(FROZEN), 10), evictions=6, watched_days=0.5)
    found = answer(asked)
    assert said(found) == (Verdict.CHANGE, Reason.DANGER)
    assert not found.only_recommend


@pytest.mark.parametrize(("evictions", "days"), [(2, 14.0), (3, 100.0), (6, 0.0)])
def test_few_evictions_are_no_danger(evictions: int, days: float) -> None:
    """Two may be chance, and three in a quarter are what was asked for."""
    asked = dataclasses.replace(with_session(question(FROZEN), 10), evictions=evictions, evictions_days=days)
    assert answer(asked).verdict is Verdict.KEEP


def test_in_danger_the_cheapest_values_that_are_safe_are_taken() -> None:
    """Not longer ones than the objective asks for."""
    quick = dataclasses.replace(question().current, session_timeout=seconds(38), heartbeat_interval=seconds(1))
    rarely_dead = dataclasses.replace(FROZEN, crashes=happening(0.005, 20.0))
    asked = question(rarely_dead, current=quick, evictions=6, objective=Objective(seconds(120), 1.0))
    found = answer(asked)
    assert said(found) == (Verdict.CHANGE, Reason.DANGER)
    assert found.target is not None
    assert found.new is not None
    assert found.objective_met
    assert seconds(44) <= found.target.session_timeout <= seconds(48)


def test_values_that_are_safe_are_left_though_members_were_evicted() -> None:
    """What a model that knows of the evictions calls safe needs no relief."""
    found = answer(question(current=target(question()), evictions=6))
    assert said(found) == (Verdict.KEEP, Reason.HEALTHY)


def test_nothing_is_lowered_while_members_are_evicted() -> None:
    """The model may say what it will."""
    found = answer(question(evictions=6))
    assert found.target is None or found.target.session_timeout >= seconds(45)


def test_a_session_that_may_not_be_lowered_and_not_be_kept() -> None:
    """Who evicts members at 45 s and allows 20 has to choose."""
    found = answer(question(evictions=6, objective=Objective(seconds(20), 1.0)))
    assert found.verdict is Verdict.INFEASIBLE
    assert "45s (what is set, for live members are being evicted)" in found.message


def test_a_longer_interval_is_taken_that_costs_hardly_more() -> None:
    """It saves requests."""
    freezes = profile(pauses=happening(0.1, 8.0), restarts=happening(0.0, 20.0), rebalancing=Rebalancing.COOPERATIVE)
    assert target(question(freezes)).heartbeat_interval == seconds(1.5)


def test_a_session_that_is_near_enough_stays() -> None:
    """Though H changes, S does not by half a second."""
    near = dataclasses.replace(question().current, session_timeout=seconds(7.5))
    found = target(question(current=near))
    assert (found.session_timeout, found.heartbeat_interval) == (seconds(7.5), seconds(1))


def test_what_only_looks_better_by_a_hair_is_left() -> None:
    """A saving of less than 5 % may be none."""
    asked = question()
    best = target(asked)
    near = with_session(dataclasses.replace(asked, current=best), best.session_timeout.total_seconds() + 1)
    assert said(answer(near)) == (Verdict.KEEP, Reason.HEALTHY)


def test_what_costs_next_to_nothing_is_left() -> None:
    """Half of it saved is nothing saved."""
    never = happening(0.0, 1.0)
    of = profile(pauses=never, crashes=happening(5e-6, 20.0), restarts=never, slow_handlers=never)
    found = answer(question(of))
    assert said(found) == (Verdict.KEEP, Reason.HEALTHY)
    assert found.now is not None
    assert found.now.net_per_day > 0.01


def test_a_cost_that_is_below_nothing_by_rounding_is_one() -> None:
    """The rules hold for it as well."""
    never = happening(0.0, 1.0)
    of = profile(
        client="aiokafka",
        pauses=never,
        crashes=never,
        restarts=never,
        outages=happening(0.3, 0.25, 0.3),
        handlers=Law.lognormal(7.0, 0.5),
        slow_handlers=None,
    )
    asked = with_session(question(of, objective=Objective(seconds(60), 0.0), largest_poll_gap_s=5.0), 2)
    rules = tuning._rules(asked)
    found = choosing.choose(Prices(of, rules), rules, 0.0)
    assert isinstance(found, Choice)
    assert found.point.settings.session_timeout >= seconds(6)


def test_with_less_than_a_day_nothing_is_changed() -> None:
    """The one hour that was seen may be the best of the week."""
    for asked in (question(watched_days=0.9), question(member_days=0.9)):
        found = answer(asked)
        assert said(found) == (Verdict.KEEP, Reason.TOO_LITTLE_DATA)
        assert found.target is None
        assert "0.9" in found.message


@pytest.mark.parametrize(("days", "only"), [(6.9, True), (7.0, False)])
def test_with_less_than_a_week_a_shorter_session_is_only_recommended(days: float, *, only: bool) -> None:
    """The busiest day of the week may be missing."""
    found = answer(question(watched_days=days))
    assert said(found) == (Verdict.CHANGE, Reason.CHEAPER)
    assert found.only_recommend is only


def test_a_longer_session_needs_no_week() -> None:
    """It cannot evict more."""
    found = answer(dataclasses.replace(with_session(question(FROZEN), 45), watched_days=3.0))
    assert found.target is not None
    assert found.target.session_timeout > seconds(45)
    assert not found.only_recommend


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


def test_a_storm_is_outside_the_formulas() -> None:
    """Without a record of its own there is nothing to go by."""
    found = answer(question(STORM, largest_absence_s=35.0))
    assert said(found) == (Verdict.UNSTABLE, Reason.UNSTABLE)
    assert found.target is None
    assert "of the day" in found.message


def test_a_storm_gets_what_its_record_asks_for() -> None:
    """A session of one and a half times the largest absence, and W of at most H."""
    storm = dataclasses.replace(STORM, client="kafkajs", handlers=Law.lognormal(0.3, 0.4))
    asked = with_session(question(storm, evictions=500, largest_absence_s=30.0), 20)
    found = answer(asked)
    assert said(found) == (Verdict.UNSTABLE, Reason.UNSTABLE)
    assert found.target is not None
    assert found.target.fetch_wait == seconds(3)
    assert found.target.session_timeout == seconds(3 + 45)
    assert "by its record, set" in found.message
    assert found.objective_met is None


def test_a_storm_that_needs_more_than_is_allowed() -> None:
    """Both numbers are told here too."""
    asked = question(STORM, evictions=500, objective=Objective(seconds(40), 1.0))
    found = answer(with_session(asked, 41))
    assert said(found) == (Verdict.INFEASIBLE, Reason.INFEASIBLE)
    assert "at most 40s" in found.message


def test_a_storm_whose_record_asks_for_nothing_more() -> None:
    """No member was evicted, so nothing says that a longer session would help."""
    found = answer(with_session(question(STORM), 60))
    assert said(found) == (Verdict.UNSTABLE, Reason.UNSTABLE)
    assert found.target is None


def test_a_storm_that_evicts_gets_a_session_beyond_what_it_hides() -> None:
    """Absences longer than the session show as evictions alone: S grows by half, however short those are that show."""
    found = answer(with_session(question(STORM, evictions=500, largest_absence_s=5.0, objective=WIDE), 60))
    assert found.verdict is Verdict.UNSTABLE
    assert found.target is not None
    assert found.target.session_timeout == seconds(90)


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


def test_a_poll_limit_covers_the_longest_gap_seen() -> None:
    """Even where it did not evict yet."""
    found = target(question(largest_poll_gap_s=400.0))
    assert found.max_poll_interval is not None
    assert found.max_poll_interval >= seconds(520)


def test_a_poll_limit_keeps_late_polls_within_half_the_objective() -> None:
    """The other half is for silences."""
    slow = happening(1.0, 300.0, 0.6, doubt=2.0)
    found = target(question(profile(slow_handlers=slow), largest_poll_gap_s=200.0))
    assert found.max_poll_interval is not None
    late = 30 * 8 * 2 * float(slow.law.exceedance(found.max_poll_interval.total_seconds())) * slow.per_day
    assert late <= 0.5


def test_a_poll_limit_falls_where_hung_handlers_are_dear() -> None:
    """They are noticed after M, and until then their partitions stand still; but how often they hang is assumed."""
    assert target(question(profile(hangs=happening(0.05, 3_600.0)))).max_poll_interval == seconds(60)
    bounds = {Setting.MAX_POLL_INTERVAL: Range(max=seconds(30))}
    assert target(question(profile(hangs=happening(0.05, 3_600.0)), bounds=bounds)).max_poll_interval == seconds(30)


def test_a_poll_limit_that_is_hardly_worth_it_stays() -> None:
    """A hang in a decade is no reason."""
    assert target(question(profile(hangs=happening(1e-6, 3_600.0)))).max_poll_interval == seconds(300)


def test_a_poll_limit_stays_where_gaps_are_not_measured() -> None:
    """What was not measured says nothing, neither for another limit nor against a session."""
    of = profile(hangs=happening(0.05, 3_600.0), slow_handlers=happening(1.0, 400.0))
    found = answer(question(of, largest_poll_gap_s=None))
    assert found.target is not None
    assert found.target.max_poll_interval == seconds(300)
    assert found.objective_met


def test_a_poll_limit_of_confluents_javascript_counts_double() -> None:
    """The library waits twice as long as is set."""
    of = profile(client="confluent-kafka-javascript")
    found = target(question(of, largest_poll_gap_s=800.0))
    assert found.max_poll_interval is not None
    assert seconds(520) <= found.max_poll_interval < seconds(700)


def test_a_poll_limit_of_librdkafka_covers_the_session() -> None:
    """It refuses to start otherwise."""
    of = profile(client="confluent-kafka-python", hangs=happening(0.05, 3_600.0))
    found = target(question(of))
    assert found.max_poll_interval is not None
    assert found.max_poll_interval >= seconds(60)


def test_a_session_of_librdkafka_stays_below_a_bounded_poll_limit() -> None:
    """Where the policy holds M down, S follows."""
    of = profile(client="confluent-kafka-python", pauses=happening(0.1, 15.0))
    asked = question(of, bounds={Setting.MAX_POLL_INTERVAL: Range(max=seconds(20))})
    found = answer(asked)
    assert found.verdict is Verdict.INFEASIBLE
    assert "maxPollInterval, which must cover it allows at most 20s" in found.message


def test_a_poll_limit_that_leaves_too_little_for_silences_goes() -> None:
    """Within half the objective, and yet too much together with what no session can bear."""
    of = profile(
        pauses=happening(0.1, 19.7, doubt=2.0),
        slow_handlers=happening(1.0, 60.0, 0.5556),
        settle_s=200.0,
        restarts=happening(0.01, 20.0),
    )
    found = answer(question(of))
    assert found.target is not None
    assert found.target.max_poll_interval is not None
    assert found.target.max_poll_interval > seconds(300)


def test_no_poll_limit_within_half_the_objective() -> None:
    """Then the one that evicts least is taken, and the whole objective judges it."""
    upper = np.where(TIMES_S < 1_000, 0.02, 0.01)
    slow = dataclasses.replace(happening(1e-6, 300.0, 0.6), upper_per_day=upper)
    found = answer(question(profile(slow_handlers=slow)))
    assert found.verdict is Verdict.INFEASIBLE
    assert "2.4 a month" in found.message


def test_handlers_that_are_known_need_no_bound() -> None:
    """A law that tells it all is its own bound."""
    found = target(question(profile(slow_handlers=None, handlers=Law.lognormal(0.3, 0.4))))
    assert found.max_poll_interval == seconds(300)


def test_late_polls_without_a_bound_are_what_is_expected() -> None:
    """A happening may be known exactly."""
    slow = Happening(1.0, Law.lognormal(300.0, 0.6))
    found = target(question(profile(slow_handlers=slow), largest_poll_gap_s=200.0))
    assert found.max_poll_interval is not None
    assert found.max_poll_interval > seconds(1_000)


def test_a_change_that_pays_for_itself_is_made_at_once() -> None:
    """And one that does not waits for the next deploy, which brings it for nothing."""
    rare = profile(restarts=happening(0.01, 20.0, 0.3))
    often = profile(restarts=happening(4.0, 20.0, 0.3), crashes=happening(0.001, 20.0))
    assert not answer(question(rare)).wait_for_restart
    assert answer(question(often)).wait_for_restart
    assert answer(question(rare, horizon=timedelta(seconds=1))).wait_for_restart


def test_what_the_broker_sets_needs_no_restart() -> None:
    """S and H of a KIP-848 group."""
    of = profile(client="java-kip848", rebalancing=Rebalancing.CONSUMER, restarts=happening(4.0, 20.0))
    asked = question(of, least_session=seconds(45), most_session=seconds(60))
    slow = dataclasses.replace(asked, current=dataclasses.replace(asked.current, heartbeat_interval=seconds(15)))
    found = answer(slow)
    assert found.verdict is Verdict.CHANGE
    assert not found.wait_for_restart


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
    "of",
    [
        profile(members=10**9, partitions=10**9),
        profile(pauses=happening(0.0, 1.0), restarts=happening(0.0, 1.0), crashes=happening(0.0, 1.0)),
        profile(handlers=Law.constant(0.0), slow_handlers=None),
        profile(pauses=Happening(1e9, Law.lognormal(1e5, 3.0))),
        profile(partitions=0),
        profile(members=1, partitions=1),
    ],
)
def test_the_absurd_gets_a_reason(of: object) -> None:
    """And no traceback."""
    found = answer(dataclasses.replace(question(), profile=of))  # type: ignore[arg-type]
    assert found.message


def test_what_is_expected_of_others_values_is_what_an_answer_expects() -> None:
    """Whoever chose them."""
    found = answer(question())
    told = tuning.expected(question(), found.target)
    assert told is not None
    assert (told.now, told.new) == (found.now, found.new)
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
