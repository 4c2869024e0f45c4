"""What was counted for weeks bounds what may be promised, whatever the hour shows."""

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.evictions import eviction_evidence
from heartbeat_tuner.decision.evictions.eviction_evidence import EvictionEvidence
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Application, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Forecast, ObjectivePrice, Prediction, Verdict
from heartbeat_tuner.domain.verifications import EvictingSession, EvictionHistory, FollowedChange
from heartbeat_tuner.models.group_model import Fitted, QuantityModel
from tests.support import fitted, worlds
from tests.support.tuned import known_kafkajs
from tests.support.worlds import NOW

DAY_S = 86_400.0
DAY = timedelta(days=1)
SET = worlds.settings()
COUNTED = fitted.quantity(values=1, largest_s=2.5, median_s=2.5)
PROMISED = Prediction(10.0, 1.0, 0.1, 0.26, 25.0, 5.0)


def history(*days_ago: float, since_days: float = 10.0, hidden: tuple[float, float] | None = None) -> EvictionHistory:
    """Return a history with episodes so many days ago, and a stretch of days ago in which nothing could be learnt."""
    now_s = NOW.timestamp()
    left_out = () if hidden is None else ((now_s - hidden[0] * DAY_S, now_s - hidden[1] * DAY_S),)
    episodes = tuple(sorted(now_s - ago * DAY_S for ago in days_ago))
    return EvictionHistory(NOW - timedelta(days=since_days), SET, episodes, left_out, ("main", "orders"))


def evidence(
    noted: EvictionHistory | None, policy: Policy | None = None, **more: FollowedChange
) -> EvictionEvidence | None:
    """Return what it says now."""
    asked = worlds.policy() if policy is None else policy
    return eviction_evidence.since_the_change(noted, asked, more.get("followed"), SET, NOW)


def test_episodes_count_over_the_days_in_which_they_could() -> None:
    """A stretch in which nothing was learnt is no time without evictions."""
    assert evidence(history(1.0, 2.0, 3.0)) == EvictionEvidence(3, 10.0, 3)
    assert evidence(history(1.0, 2.0, 3.0, hidden=(9.0, 5.0))) == EvictionEvidence(3, 6.0, 3)
    assert evidence(history(1.0, since_days=0.9)) is None
    assert evidence(None) is None
    assert eviction_evidence.since_the_change(history(1.0), worlds.policy(), None, worlds.settings("60s"), NOW) is None


@pytest.mark.parametrize(
    ("of_weeks", "of_hour", "is_of_them"),
    [
        (EvictionEvidence(10, 8.0, 6), 1, True),
        (EvictionEvidence(10, 8.0, 6), 3, True),
        (EvictionEvidence(10, 8.0, 6), 4, False),
        (EvictionEvidence(40, 8.0, 8), 4, True),
        (EvictionEvidence(3, 20.0, 2), 1, True),
        (EvictionEvidence(3, 20.0, 2), 3, False),
        (EvictionEvidence(3, 20.0, 2), 0, True),
    ],
)
def test_a_bad_hour_is_one_of_its_weeks_and_a_storm_is_not(
    of_weeks: EvictionEvidence, of_hour: int, is_of_them: object
) -> None:
    """Two a day have three in an hour now and then; three in three weeks do not."""
    assert of_weeks.explains(EvictionEvidence(of_hour, 1 / 24, 1)) is is_of_them


def test_after_a_change_only_what_came_since_it_landed_counts() -> None:
    """What came before is of the values before, and is asked when these are to be set again."""
    change = Application(SET, worlds.settings("20s"), NOW - timedelta(days=4), "workload-1")
    policy = worlds.policy(application=change)
    seen = history(0.5, 5.0, 6.0, 7.0)
    assert evidence(seen, policy) == EvictionEvidence(1, 4.0, 1)
    landed = FollowedChange(change.at, landed=NOW - timedelta(days=3))
    assert evidence(seen, policy, followed=landed) == EvictionEvidence(1, 3.0, 1)


def test_bounds_are_garwoods() -> None:
    """Of 3 in 30 days; of none, three at most, the rule of three."""
    assert EvictionEvidence(3, 30.0, 3).lower_per_month == pytest.approx(0.8177, rel=1e-3)
    assert EvictionEvidence(3, 30.0, 3).upper_per_month == pytest.approx(7.7537, rel=1e-3)
    assert EvictionEvidence(0, 30.0, 0).lower_per_month == 0.0
    assert EvictionEvidence(0, 30.0, 0).upper_per_month == pytest.approx(2.9957, rel=1e-3)


@given(few=st.integers(0, 128), more=st.integers(0, 128), days=st.floats(1.0, 28.0), promised=st.floats(0.0, 500.0))
def test_more_evictions_never_give_a_lower_promise(few: int, more: int, days: float, promised: float) -> None:
    """Nor a promise under what the model has."""
    forecast = Forecast(
        dataclasses.replace(PROMISED, evictions_upper=promised), None, None, None, None, Confidence.HIGH
    )
    less, many = (EvictionEvidence(count, days, count).held_to(forecast).now for count in (few, few + more))
    assert promised <= less.evictions_upper <= many.evictions_upper
    assert forecast.now.evictions_per_month <= less.evictions_per_month


@given(days=st.floats(1.0, 28.0), promised=st.floats(0.001, 500.0))
def test_without_evictions_a_promise_is_as_it_was(days: float, promised: float) -> None:
    """Weeks of quiet do not make a law lighter either."""
    forecast = Forecast(
        dataclasses.replace(PROMISED, evictions_upper=promised), PROMISED, None, None, None, Confidence.LOW
    )
    assert EvictionEvidence(0, days, 0).held_to(forecast) is forecast


def test_a_law_that_is_refuted_promises_nothing_of_other_values() -> None:
    """But what it says to evict as often."""
    counted = EvictionEvidence(21, 7.0, 21)
    worse = dataclasses.replace(PROMISED, evictions_upper=400.0)
    for new, stays in ((PROMISED, None), (worse, worse), (None, None)):
        held = counted.held_to(Forecast(PROMISED, new, None, None, None, Confidence.HIGH))
        assert held.new == stays
        assert held.now.evictions_upper == pytest.approx(counted.upper_per_month)


@given(episodes=st.integers(3, 84))
def test_who_is_evicted_more_often_than_allowed_is_never_healthy(episodes: int) -> None:
    """Three in four weeks are more than one a month; the hour of the record is quiet all the while."""
    apart = 27.9 / episodes
    seen = history(*(apart * number + 0.05 for number in range(episodes)), since_days=28.0)
    decision = decide(dataclasses.replace(worlds.situation(), history=seen))
    assert decision.verdict is not Verdict.HEALTHY
    assert decision.finding.reason in {Reason.DANGER, Reason.INFEASIBLE}
    assert f"{episodes} times live members were evicted within" in decision.finding.message


def test_three_evictions_on_a_single_day_are_no_rate() -> None:
    """A node that stalls for an afternoon, or an incident of the database, asks for no rollout of every group."""
    short = worlds.settings("15s")
    day = dataclasses.replace(history(8.0, 7.9, 7.8, since_days=28.0), values=short)
    quiet, evicted = (dataclasses.replace(known_kafkajs(short), history=each) for each in (None, day))
    assert evidence(history(8.0, 7.9, 7.8, since_days=28.0)) == EvictionEvidence(3, 28.0, 1)
    assert decide(dataclasses.replace(worlds.situation(), history=history(8.0, 7.9, 7.8))).target is None
    assert decide(evicted).finding.reason is decide(quiet).finding.reason
    two = dataclasses.replace(day, episodes_s=(NOW.timestamp() - 20 * DAY_S, *day.episodes_s))
    assert decide(dataclasses.replace(evicted, history=two)).finding.reason is Reason.DANGER


@pytest.mark.parametrize(
    ("met", "price", "reason"),
    [
        (False, True, Reason.OBJECTIVE_TOO_COSTLY),
        (False, False, Reason.ABOVE_OBJECTIVE),
        (True, False, Reason.DANGER),
    ],
)
def test_a_cure_that_costs_more_than_the_evictions_is_none(reason: Reason, *, met: bool, price: bool) -> None:
    """The rule for a record knows no prices. Where a law thinks all is well it knows none either."""
    short = worlds.settings("30s")
    dear = Answer(
        Verdict.HEALTHY,
        Reason.HEALTHY,
        "Left as it is: 9200 stalled partition-seconds a day",
        now=dataclasses.replace(PROMISED, evictions_upper=77.0),
        objective_met=met,
        price=ObjectivePrice(worlds.settings("2m"), 1.2, is_of_crashes=False, follows_our_changes=False)
        if price
        else None,
    )
    decision = decide(few(short, 3, 10.0), answer=lambda _: dear)
    assert (decision.finding.reason, decision.target is None) == (reason, not met)
    assert (decision.verdict is Verdict.UNPROVEN) is not met
    assert decision.proof is not None
    assert decision.proof.reason is Reason.ABOVE_OBJECTIVE
    assert ("Left as it is" in decision.advice) is not met
    if not met:
        assert decision.forecast is not None
        assert decision.forecast.price == dear.price


def test_what_is_cheaper_is_taken_where_a_cure_is_too_dear() -> None:
    """A shorter H saves, and evicts a little less; the rule for a record would have taken S to any price instead."""
    short = worlds.settings("30s")
    cheaper = Answer(
        Verdict.CHANGE,
        Reason.CHEAPER,
        "Set heartbeatInterval 3s → 1s",
        target=dataclasses.replace(short, heartbeat_interval=timedelta(seconds=1)),
        now=dataclasses.replace(PROMISED, evictions_upper=77.0),
        new=dataclasses.replace(PROMISED, evictions_upper=70.0),
        objective_met=False,
    )
    decision = decide(few(short, 3, 10.0), answer=lambda _: cheaper)
    assert decision.finding.reason is Reason.CHEAPER
    assert "3 times live members were evicted" in decision.finding.message
    assert decision.target == cheaper.target


def test_two_evictions_in_four_weeks_are_no_danger() -> None:
    """Values must not follow what may be chance."""
    decision = decide(dataclasses.replace(worlds.situation(), history=history(3.0, 9.0, since_days=28.0)))
    assert (decision.verdict, decision.finding.reason) == (Verdict.UNPROVEN, Reason.TOO_EARLY)


def test_months_without_an_eviction_do_not_thin_out_those_that_come_now() -> None:
    """A group that begins to evict every other day is in danger within the week, however quiet it was before."""
    quiet = history(1.0, 3.0, 5.0, since_days=95.0)
    assert evidence(quiet) == EvictionEvidence(3, 42.0, 3)
    assert decide(dataclasses.replace(worlds.situation(), history=quiet)).finding.reason is Reason.DANGER


def few(short: LivenessSettings, episodes: int, days: float) -> DecisionInput:
    """Return a healthy group that was evicted a few times within some days, with the objective's one a month."""
    seen = history(*(days * number / (episodes + 1) for number in range(1, episodes + 1)), since_days=days)
    return dataclasses.replace(known_kafkajs(short), history=dataclasses.replace(seen, values=short))


@pytest.mark.parametrize(("episodes", "days"), [(1, 1.0), (2, 1.0), (2, 6.9)])
def test_one_eviction_in_a_day_is_not_thirty_a_month(episodes: int, days: float) -> None:
    """S would rise for it fourfold, by a rollout, and fall again."""
    short = worlds.settings("15s")
    quiet, evicted = decide(known_kafkajs(short)), decide(few(short, episodes, days))
    assert (evicted.target, evicted.hold) == (quiet.target, quiet.hold)


@pytest.mark.parametrize(
    ("episodes", "held"), [(1, Reason.NOT_WORTH_RESTART), (2, Reason.NOT_WORTH_RESTART), (3, None)]
)
def test_one_eviction_in_a_week_misses_no_objective_for_sure(episodes: int, held: Reason | None) -> None:
    """A longer S then has to pay for its rollout, as any saving has; from three on it has not."""
    decision = decide(few(worlds.settings("15s"), episodes, 28.0))
    assert decision.target is not None
    assert decision.target.session_timeout > timedelta(seconds=20)
    assert (None if decision.hold is None else decision.hold.reason) is held


def remembering(long: LivenessSettings, noted: EvictingSession, **quantities: QuantityModel) -> DecisionInput:
    """Return a healthy group whose model asks for half of its session, with one that evicted earlier noted."""
    inputs = known_kafkajs(long)
    seen = EvictionHistory(NOW - 10 * DAY, long, (), (), ("main", "orders"), (noted,))
    assert isinstance(inputs.model, Fitted)
    model = dataclasses.replace(inputs.model.model, quantities={**inputs.model.model.quantities, **quantities})
    return dataclasses.replace(inputs, history=seen, model=Fitted("orders", model))


def test_two_evictions_before_a_change_still_refute_what_a_law_promises_again() -> None:
    """S rose for them from 30 s; a law that does not know of them asks for half of it, or less than it was."""
    long, short = worlds.settings("45s"), worlds.settings("30s")
    decision = decide(remembering(long, EvictingSession(short.session_timeout, 2, 8.0, 2, NOW - 5 * DAY, "")))
    assert (decision.verdict, decision.target) == (Verdict.HEALTHY, None)
    assert "before the last change" in decision.advice


@pytest.mark.parametrize("ago", [2, 400])
def test_a_session_that_evicted_stays_refused_however_long_ago_that_was(ago: int) -> None:
    """Else S rises and halves again every month or so, by two rollouts, for a law that never learns."""
    noted = EvictingSession(timedelta(seconds=30), 3, 8.0, 3, NOW - ago * DAY, "")
    decision = decide(remembering(worlds.settings("45s"), noted))
    assert (decision.verdict, decision.target) == (Verdict.HEALTHY, None)
    assert "members were evicted 3 times within 8 days" in decision.advice


def test_a_session_that_evicted_is_tried_again_when_the_policy_asks_for_something_else() -> None:
    """Then a person wants it, or has changed what made members stand still."""
    noted = EvictingSession(timedelta(seconds=30), 3, 8.0, 3, NOW - 5 * DAY, "another")
    assert decide(remembering(worlds.settings("45s"), noted)).target is not None


def test_a_longer_session_than_the_one_that_evicted_may_be_tried() -> None:
    """Half of 45 s is more than 20 s."""
    noted = EvictingSession(timedelta(seconds=20), 3, 8.0, 3, NOW - 5 * DAY, "")
    assert decide(remembering(worlds.settings("45s"), noted)).target is not None


@pytest.mark.parametrize(
    ("days_ago", "episodes", "verdict"), [(5, 1, Verdict.CHANGE), (5, 9, Verdict.HEALTHY), (50, 3, Verdict.HEALTHY)]
)
def test_a_law_that_counts_these_evictions_is_asked_again(days_ago: int, episodes: int, verdict: Verdict) -> None:
    """Those of days that it does not rest on it does not count, and what they refute it may not promise."""
    noted = EvictingSession(timedelta(seconds=30), episodes, 28.0, episodes, NOW - days_ago * DAY, "")
    inputs = remembering(worlds.settings("45s"), noted, eviction=COUNTED)
    assert decide(inputs).verdict is verdict
