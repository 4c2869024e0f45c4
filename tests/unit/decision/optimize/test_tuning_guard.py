"""State in, answer out: danger, little data, and changes that are not worth it: never worse."""

import dataclasses
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from heartbeat_tuner.decision.cost import cost_model
from heartbeat_tuner.decision.cost.cost_model import Costs
from heartbeat_tuner.decision.optimize import answer_sentences, guard, improvement, search, tuning
from heartbeat_tuner.decision.optimize.cost_points import Choice, CostPoint, SessionTable
from heartbeat_tuner.decision.optimize.economics import Budget
from heartbeat_tuner.decision.optimize.search import CostCache
from heartbeat_tuner.decision.optimize.tuning import goal as answer
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import facts
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.limits.allowed_values import Infeasible
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import Law
from tests.support.questions import FROZEN, NEVER, happening, profile, question, said, seconds, target, with_session


def test_a_group_in_danger_gets_a_longer_session_though_a_shorter_one_saves_more() -> None:
    """Its own record shows it: then fewer evictions come first, and only upwards."""
    asked = with_session(question(FROZEN), 10)
    calm, evicted = answer(asked), answer(dataclasses.replace(asked, evictions=6))
    assert said(calm) == (Verdict.CHANGE, Reason.CHEAPER), "what is safe costs too much, and a shorter H saves"
    assert calm.target is not None
    assert calm.target.session_timeout <= seconds(11), "a second more costs hardly more"
    assert calm.objective_met is False
    assert said(evicted) == (Verdict.CHANGE, Reason.DANGER)
    assert evicted.target is not None
    assert evicted.new is not None
    assert evicted.now is not None
    assert evicted.target.session_timeout >= seconds(14)
    assert calm.new is not None
    assert calm.new.net_per_day < evicted.new.net_per_day < 0.95 * evicted.now.net_per_day
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


def test_what_cures_nothing_is_no_cure() -> None:
    """With S at its ceiling an H alone saves, and evicts as before: it waits for data and a restart as savings do."""
    slow = dataclasses.replace(question().current, session_timeout=seconds(60), heartbeat_interval=seconds(8))
    asked = question(FROZEN, current=slow, evictions=6)
    found = answer(asked)
    assert found.now is not None
    assert found.new is not None
    assert found.new.evictions_per_month > 0.7 * found.now.evictions_per_month
    assert said(found) == (Verdict.CHANGE, Reason.CHEAPER)
    assert answer(dataclasses.replace(asked, watched_days=0.5)).target is None


@pytest.mark.parametrize(("evictions", "days"), [(2, 14.0), (3, 100.0), (6, 0.0)])
def test_few_evictions_are_no_danger(evictions: int, days: float) -> None:
    """Two may be chance, and three in a quarter are what was asked for."""
    asked = dataclasses.replace(with_session(question(FROZEN), 10), evictions=evictions, evictions_days=days)
    assert answer(asked).reason is not Reason.DANGER


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


def offered(*sessions: tuple[float, float, float, float]) -> SessionTable:
    """Return what may be set: each session with what it costs, and what it evicts on average and at most."""
    at_s, net, expected, upper = (np.array(column) for column in zip(*sessions, strict=True))
    costs = dataclasses.replace(
        of_quiet_group(at_s), evictions_per_month=expected, evictions_upper_per_month=upper, floor_per_day=0.0
    )
    return SessionTable(question().current, costs, net, expected, upper, np.full(at_s.size, fill_value=True))


def spend(now: CostPoint, per_month: float) -> Budget:
    """Return the budget of a group in which nothing of ours is set."""
    return Budget(now, None, per_month, shown=True, counted=True)


def of_quiet_group(sessions_s: Array) -> Costs:
    """Return the costs of a quiet group."""
    return cost_model.costs(profile(), sessions_s=sessions_s, interval_s=3.0, wait_s=0.5, poll_limit_s=300.0)


@pytest.mark.parametrize(
    ("per_month", "session_s"),
    [(5.2, 40), (4.0, 30), (2.0, 40), (1.0, None), (20.0, None)],
    ids=["a safe one", "the cheapest that may be safe", "a dearer one that may be", "none at a price", "no danger"],
)
def test_in_danger_safety_goes_first_then_what_is_expected_and_nothing_else_has_a_price(
    per_month: float, session_s: float | None
) -> None:
    """What is expected must leave a quarter of the objective; costs decide among equals."""
    now = CostPoint(with_session(question(), 10).current, 100.0, 0.0, 10.0, 20.0, 8.0, 0.0, 1.0, 0.0)
    table = offered((20, 101, 3.2, 6.0), (30, 104, 2.0, 5.5), (40, 108, 1.5, 5.0), (60, 120, 0.1, 0.2))
    chosen = guard.relief([table], spend(now, per_month))
    assert (None if chosen is None else chosen.settings.session_timeout.total_seconds()) == session_s


@pytest.mark.parametrize(
    ("cheapest", "known", "session_s"), [(90.0, {}, 20), (96.0, {}, None), (91.0, {"measured": False}, None)]
)
def test_in_danger_what_misses_the_objective_saves_as_much_as_any_change(
    cheapest: float, known: dict[str, bool], session_s: float | None
) -> None:
    """Who stays above the objective anyway does not pay for it; what costs the same on paper costs more by chance."""
    now = CostPoint(with_session(question(), 10).current, 100.0, 0.0, 10.0, 20.0, 8.0, 0.0, 1.0, 0.0)
    table = offered((20, cheapest, 6.0, 9.0), (30, 99, 4.0, 8.0), (40, 108, 1.5, 5.0))
    chosen = guard.relief([table], spend(now, 1.0), **known)
    assert (None if chosen is None else chosen.settings.session_timeout.total_seconds()) == session_s


@pytest.mark.parametrize(("doubt", "session_s"), [(0.0, 40), (14.0, 30), (60.0, None)])
def test_a_session_is_not_bought_at_a_price_that_only_the_mean_of_crashes_allows(
    doubt: float, session_s: float | None
) -> None:
    """Three members may crash twice as often as the fleet's: what a longer session then costs is a fifth at most."""
    now = CostPoint(with_session(question(), 10).current, 100.0, 0.0, 10.0, 20.0, 8.0, 0.0, 1.0, doubt)
    table = offered((10, 100, 10.0, 20.0), (30, 96, 1.5, 5.5), (40, 95, 0.5, 5.0))
    costs = dataclasses.replace(table.costs, crash_doubt_per_day=doubt * np.array([1.0, 2.0, 3.0]))
    chosen = guard.relief([dataclasses.replace(table, costs=costs)], spend(now, 2.0))
    assert (None if chosen is None else chosen.settings.session_timeout.total_seconds()) == session_s


def test_values_that_are_safe_are_left_though_members_were_evicted() -> None:
    """What a model that knows of the evictions calls safe needs no relief."""
    found = answer(question(current=target(question()), evictions=6))
    assert said(found) == (Verdict.HEALTHY, Reason.HEALTHY)


def test_nothing_is_lowered_while_members_are_evicted() -> None:
    """The model may say what it will."""
    found = answer(question(evictions=6))
    assert found.target is None or found.target.session_timeout >= seconds(45)


def test_a_session_that_may_not_be_lowered_and_not_be_kept() -> None:
    """Who evicts members at 45 s and allows 20 has to choose."""
    found = answer(question(evictions=6, objective=Objective(seconds(20), 1.0)))
    assert found.verdict is Verdict.INFEASIBLE
    assert "45s (what is set, for live members are being evicted)" in found.message


def test_what_only_looks_better_by_a_hair_is_left() -> None:
    """A saving of less than 5 % may be none."""
    asked = question()
    best = target(asked)
    near = with_session(dataclasses.replace(asked, current=best), best.session_timeout.total_seconds() + 1)
    assert said(answer(near)) == (Verdict.HEALTHY, Reason.HEALTHY)


def test_what_costs_next_to_nothing_is_left() -> None:
    """Half of it saved is nothing saved."""
    never = happening(0.0, 1.0)
    history = profile(pauses=never, crashes=happening(5e-6, 20.0), restarts=never, slow_handlers=never)
    found = answer(question(history))
    assert said(found) == (Verdict.HEALTHY, Reason.HEALTHY)
    assert found.now is not None
    assert found.now.net_per_day > 0.01


def test_a_cost_that_is_below_nothing_by_rounding_is_one() -> None:
    """The rules hold for it as well."""
    never = happening(0.0, 1.0)
    history = profile(
        client="aiokafka",
        pauses=never,
        crashes=never,
        restarts=never,
        outages=happening(0.3, 0.25, 0.3),
        handlers=Law.lognormal(7.0, 0.5),
        slow_handlers=None,
    )
    asked = with_session(question(history, objective=Objective(seconds(60), 0.0), largest_poll_gap_s=5.0), 2)
    rules = tuning._rules(asked)
    found = search.choose(CostCache(history, rules), rules, 0.0)
    assert isinstance(found, Choice)
    assert found.point.settings.session_timeout >= seconds(6)


def test_with_less_than_a_day_nothing_is_changed() -> None:
    """The one hour that was seen may be the best of the week."""
    for asked in (question(watched_days=0.9), question(member_days=0.9)):
        found = answer(asked)
        assert said(found) == (Verdict.HEALTHY, Reason.TOO_LITTLE_DATA)
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
    found = answer(dataclasses.replace(with_session(question(FROZEN), 10), evictions=6, watched_days=3.0))
    assert found.target is not None
    assert found.target.session_timeout > seconds(10)
    assert not found.only_recommend


def test_a_change_that_pays_for_itself_is_made_at_once() -> None:
    """And one that does not is left to those who deploy."""
    rare = profile(restarts=happening(0.01, 20.0, 0.3))
    assert not answer(question(rare)).wait_for_restart
    assert answer(question(rare, horizon=timedelta(seconds=1))).wait_for_restart


def test_a_rollout_that_stops_all_pods_has_to_pay_for_all_of_them() -> None:
    """What earns back a rollout of one pod after another need not earn back one of the whole group."""
    waits = {
        at_once: [
            answer(
                question(profile(restarts=happening(0.01, 20.0, 0.3), at_once=at_once), horizon=timedelta(hours=hours))
            ).wait_for_restart
            for hours in range(1, 336, 12)
        ]
        for at_once in (False, True)
    }
    assert sum(waits[True]) > sum(waits[False])
    assert all(together or not singly for singly, together in zip(waits[False], waits[True], strict=True))


def test_what_the_broker_sets_needs_no_restart() -> None:
    """S and H of a KIP-848 group."""
    history = profile(client="java-kip848", rebalancing=Rebalancing.CONSUMER, restarts=happening(4.0, 20.0))
    asked = question(history, least_session=seconds(45), most_session=seconds(60))
    slow = dataclasses.replace(asked, current=dataclasses.replace(asked.current, heartbeat_interval=seconds(15)))
    found = answer(slow)
    assert found.verdict is Verdict.CHANGE
    assert not found.wait_for_restart


UNSURE = profile(pauses=happening(2.0, 6.0, 0.5, doubt=400.0))
"""Freezes that nobody can bound: at S = 45 s they are expected to be harmless."""


def test_values_that_cost_less_and_evict_less_take_the_place_of_others() -> None:
    """Though neither is surely safe: a shorter interval is all that is to be had, and it is had."""
    asked = with_session(question(UNSURE), 45)
    found = answer(asked)
    assert said(found) == (Verdict.CHANGE, Reason.CHEAPER)
    assert found.now is not None
    assert found.new is not None
    assert found.target is not None
    assert found.target.session_timeout >= seconds(45)
    assert found.target.heartbeat_interval < asked.current.heartbeat_interval
    assert found.new.evictions_per_month <= found.now.evictions_per_month
    assert 1.0 < found.new.evictions_upper <= found.now.evictions_upper
    assert found.objective_met is False


def test_before_a_week_what_is_not_safe_stays() -> None:
    """Whoever was not seen on each weekday may be worse than expected."""
    found = answer(dataclasses.replace(with_session(question(UNSURE), 45), watched_days=6.0))
    assert said(found) == (Verdict.HEALTHY, Reason.HEALTHY)


def test_what_is_expected_to_miss_the_objective_stays_where_other_values_meet_it() -> None:
    """They cost more; and others that only cost less would be told of as if they were safe."""
    often = profile(pauses=happening(2.0, 12.0, 0.6, doubt=10.0))
    found = answer(with_session(question(often, objective=Objective(seconds(300), 1.0)), 45))
    assert found.now is not None
    assert found.now.evictions_per_month > 1.0
    assert said(found) == (Verdict.HEALTHY, Reason.HEALTHY)
    assert found.objective_met is False


LATE = happening(3.0, 60.0, 0.75)
"""Handlers that are late now and then, with a poll limit of five minutes."""


@pytest.mark.parametrize("expected_per_day", [0.5, 2.0], ids=["expected to do", "hopeless"])
def test_a_session_that_cannot_be_had_says_nothing_against_a_longer_poll_limit(expected_per_day: float) -> None:
    """M alone saves most of what late polls cost, and nothing gets shorter."""
    history = profile(pauses=happening(expected_per_day, 20.0, doubt=30.0), slow_handlers=LATE)
    asked = question(history, largest_poll_gap_s=450.0)
    found = answer(asked)
    assert said(found) == (Verdict.CHANGE, Reason.CHEAPER)
    assert found.target is not None
    assert found.now is not None
    assert found.new is not None
    assert found.target.max_poll_interval is not None
    assert found.target.max_poll_interval > seconds(300)
    assert found.target.session_timeout >= asked.current.session_timeout
    assert found.new.net_per_day < found.now.net_per_day
    assert found.new.evictions_per_month < found.now.evictions_per_month
    assert found.objective_met is False
    assert "objective.maxDetectionTime allows at most 1m" in found.message


def test_an_interval_alone_is_taken_where_no_session_can_be_had() -> None:
    """It makes every rebalance shorter, whatever S is."""
    history = profile(pauses=happening(2.0, 6.0, 0.5, doubt=4_000.0), restarts=happening(2.0, 20.0, 0.3))
    asked = question(history)
    found = answer(asked)
    assert found.target == dataclasses.replace(asked.current, heartbeat_interval=seconds(1))
    assert found.objective_met is False


def test_what_is_expected_to_do_is_not_infeasible() -> None:
    """Nobody can be sure of it; that is no word on what is possible, and the record may yet prove it."""
    history = profile(pauses=happening(0.02, 15.0, doubt=200.0), restarts=NEVER, crashes=happening(0.001, 20.0))
    found = answer(question(history))
    assert said(found) == (Verdict.HEALTHY, Reason.HEALTHY)
    assert found.target is None
    assert found.objective_met is False
    assert found.message.startswith("Left as it is")
    assert "objective.maxDetectionTime allows at most 1m" in found.message


def test_a_record_that_shows_more_than_the_objective_is_not_called_likely_to_meet_it() -> None:
    """What is expected was wrong then."""
    history = profile(pauses=happening(0.02, 15.0, doubt=200.0), restarts=NEVER, crashes=happening(0.001, 20.0))
    found = answer(with_session(question(history, evictions=40), 60))
    assert found.verdict is Verdict.INFEASIBLE


def test_slow_handlers_of_kafkajs_are_told_what_the_detection_time_costs() -> None:
    """The limit, what it costs beside the session that is needed, and what handlers could do."""
    slow = happening(20.0, 12.0, 0.8, doubt=2.0)
    found = answer(question(profile(client="kafkajs", pauses=NEVER, slow_handlers=slow)))
    assert said(found) == (Verdict.CHANGE, Reason.CHEAPER)
    assert found.target is not None
    assert found.target.session_timeout == seconds(60)
    assert found.objective_met is False
    assert "needs at least 3m55s to be sure" in found.message
    assert "objective.maxDetectionTime allows at most 1m" in found.message
    assert "110 (at most 220) false evictions with 1m, and 0.49 (at most 0.97) with 3m55s" in found.message
    assert "call heartbeat(), within 59s" in found.message


def test_a_group_in_danger_does_not_pay_for_what_no_session_makes_sure() -> None:
    """Where none is safe, the cheapest that is likely to be within the objective, not the longest that may be paid."""
    doubtful = profile(pauses=happening(0.5, 12.0, 0.5, doubt=300.0), crashes=happening(0.05, 60.0, 0.5))
    asked = with_session(question(doubtful, evictions=20), 20)
    found = answer(asked)
    assert found.target is not None
    assert found.new is not None
    assert found.new.evictions_upper > 1.0
    assert found.new.evictions_per_month <= 0.75
    shorter = with_session(asked, found.target.session_timeout.total_seconds() - 2)
    closer = tuning.rules_and_costs(shorter)[1].at(
        dataclasses.replace(found.target, session_timeout=shorter.current.session_timeout)
    )
    assert closer.evictions_per_month > 0.75 or closer.net_per_day > found.new.net_per_day


def static(downtime_s: float, **changes: Any) -> Profile:
    """Return a group of static members that are back after about so long; few of them crash."""
    parts = {"restarts": happening(0.5, downtime_s, 0.1), "crashes": happening(0.02, 60.0, 0.5), "surge": False}
    return profile(static=True, **(parts | changes))


def test_a_session_of_static_members_does_not_rest_on_their_downtime_alone() -> None:
    """One just above what a scrape or two showed would evict each member that takes as long as usual."""
    assert answer(with_session(question(static(8.0)), 45)).target is None
    assert target(with_session(question(static(22.0)), 45)).session_timeout < seconds(45)


def test_static_members_keep_no_session_that_the_objective_forbids() -> None:
    """What a person has set is a candidate like any other."""
    for downtime_s in (8.0, 22.0, 40.0):
        found = answer(with_session(question(static(downtime_s)), 90))
        assert found.target is None or found.target.session_timeout <= seconds(60)


def test_danger_of_static_members_is_cured_all_the_same() -> None:
    """Their own record shows it: there the price may rise."""
    crashes = happening(0.1, 600.0, 0.5)
    frozen = static(8.0, pauses=happening(0.02, 20.0, 0.3, doubt=3.0), crashes=crashes)
    found = answer(with_session(question(frozen, evictions=8), 15))
    assert said(found) == (Verdict.CHANGE, Reason.DANGER)
    assert found.target is not None
    assert found.now is not None
    assert found.new is not None
    assert found.target.session_timeout > seconds(15)
    assert found.new.net_per_day <= 1.1 * found.now.net_per_day


@pytest.mark.parametrize(("doubt", "verdict"), [(1.5, Verdict.INFEASIBLE), (8.0, Verdict.HEALTHY)])
def test_a_mean_above_the_objective_is_no_proof_where_little_is_known(doubt: float, verdict: Verdict) -> None:
    """One evicted node made a mean of 1.1 a month, and the group was told that its objective cannot be met."""
    frozen = profile(pauses=happening(0.02, 15.0, 0.3, doubt=doubt))
    current = dataclasses.replace(question().current, session_timeout=seconds(15), heartbeat_interval=seconds(1))
    found = answer(question(frozen, current=current, objective=Objective(seconds(15), 1.0)))
    assert found.now is not None
    assert 1.0 < found.now.evictions_per_month < 4.0
    assert found.verdict is verdict


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize(
    ("evictions", "net", "doubt", "share", "is_of_crashes"),
    [
        (1.5, 111.0, 0.0, 0.11, False),
        (1.5, 110.0, 0.0, None, False),
        (0.9, 111.0, 0.0, None, False),
        (1.5, 105.0, 20.0, 0.25, True),
    ],
    ids=["dear", "for a tenth", "expected to meet it", "dear if members crash often"],
)
def test_the_price_of_an_objective_is_told_where_it_is_expected_missed_and_not_paid_for(
    evictions: float, net: float, doubt: float, share: float | None, *, is_of_crashes: bool, shown: bool
) -> None:
    """A person then has to say which of the two is worth more."""
    asked = with_session(question(), 45)
    longer = dataclasses.replace(asked.current, session_timeout=seconds(60))
    now = CostPoint(asked.current, 100.0, 0.0, evictions, 3.0, 43.0, 0.0, 1.0, 0.0)
    best = CostPoint(longer, net, 0.0, 0.1, 0.3, 58.0, 0.0, 1.0, doubt)
    cost_cache = cast("CostCache", SimpleNamespace(at=lambda _: now))
    price = improvement.objective_price(cost_cache, spend(now, 1.0), Choice(best, seconds(45), seconds(60)))
    sentence = answer_sentences.left(now, best, 1.0, price, shown=shown)
    assert ("more than what is set" in sentence) is (share is not None)
    assert ("own record does not show" in sentence) is not shown
    if share is None:
        assert price is None
        return
    assert price is not None
    assert (price.values, price.is_of_crashes) == (longer, is_of_crashes)
    assert price.share == pytest.approx(share)
    assert facts(sentence)["costsMore"] == pytest.approx(share)
    assert facts(sentence)["longerSession"] == "1m"
    assert ("if members crash as often as they may" in sentence) is is_of_crashes
    assert "before the operator's changes" not in sentence


@pytest.mark.parametrize(("net", "doubt", "is_of_crashes"), [(105.0, 0.0, False), (95.0, 30.0, True)])
def test_a_price_says_what_it_is_measured_by(net: float, doubt: float, *, is_of_crashes: bool) -> None:
    """What stood before our changes costs less than what is set: a tenth more than that is paid already."""
    asked = with_session(question(), 45)
    now = CostPoint(asked.current, 100.0, 0.0, 1.5, 3.0, 43.0, 0.0, 1.0, 0.0)
    longer = dataclasses.replace(asked.current, session_timeout=seconds(60))
    best = CostPoint(longer, net, 0.0, 0.1, 0.3, 58.0, 0.0, 1.0, doubt)
    cost_cache = cast("CostCache", SimpleNamespace(at=lambda _: now))
    budget = Budget(now, dataclasses.replace(now, net_per_day=90.0), 1.0, shown=True, counted=True)
    price = improvement.objective_price(cost_cache, budget, Choice(best, seconds(45), seconds(60)))
    assert price is not None
    assert price.is_of_crashes is is_of_crashes
    sentence = answer_sentences.left(now, best, 1.0, price, shown=True)
    measure = "at most 10% more than the values before the operator's changes are paid for it"
    assert (measure in sentence) is not is_of_crashes


def test_where_no_values_are_sure_to_meet_an_objective_there_is_no_price() -> None:
    """Nor where what is set costs nothing that a share could be of."""
    now = CostPoint(question().current, 100.0, 0.0, 1.5, 3.0, 43.0, 0.0, 1.0, 0.0)
    free = dataclasses.replace(now, net_per_day=0.0)
    cost_cache = cast("CostCache", SimpleNamespace(at=lambda _: now))
    assert improvement.objective_price(cost_cache, spend(now, 1.0), Infeasible("none")) is None
    assert improvement.objective_price(cost_cache, spend(free, 1.0), Choice(now, seconds(45), seconds(60))) is None
