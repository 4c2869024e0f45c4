"""Nobody is called healthy of whom it is not shown: by a model of a week or more, or by the count of evictions."""

import dataclasses
import math
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.decision.evictions import objective_proof
from heartbeat_tuner.decision.evictions.eviction_evidence import EvictionEvidence
from heartbeat_tuner.decision.evictions.objective_proof import CountedEvictions
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Application, Mode, Objective
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Confidence, Prediction, Verdict
from heartbeat_tuner.domain.verifications import EvictionHistory
from tests.support import worlds
from tests.support.tuned import known_kafkajs
from tests.support.worlds import NOW

SET = worlds.settings()
DAY = timedelta(days=1)


def counted(episodes: int, days: float) -> CountedEvictions:
    """Return so many evictions in so many days."""
    return CountedEvictions(NOW - days * DAY, EvictionEvidence(episodes, days, min(episodes, 2)))


def expected(mean: float, upper: float) -> Prediction:
    """Return what a model expects of evictions."""
    return Prediction(10.0, 1.0, mean, upper, 25.0, 5.0)


def history(since: datetime, *ago_days: float, hidden_days: float = 0.0) -> EvictionHistory:
    """Return a history with evictions so many days ago, and as many days in which nothing could be learnt."""
    hidden = ((since.timestamp(), (since + hidden_days * DAY).timestamp()),) if hidden_days else ()
    times_s = tuple(sorted((NOW - ago * DAY).timestamp() for ago in ago_days))
    return EvictionHistory(since, SET, times_s, hidden, ("main", "orders"))


def seen(
    noted: EvictionHistory | None, record: Record | None = None, current: LivenessSettings | None = SET
) -> CountedEvictions | None:
    """Return what was counted so far."""
    record = worlds.record() if record is None else record
    return objective_proof.counted_so_far(noted, worlds.policy(), None, current, record)


@pytest.mark.parametrize(
    ("model", "count", "reason"),
    [
        (None, counted(0, 0.25), Reason.TOO_EARLY),
        (None, counted(0, 89.0), Reason.TOO_EARLY),
        (None, counted(0, 90.0), Reason.WITHIN_OBJECTIVE),
        (None, counted(1, 90.0), Reason.TOO_EARLY),
        (None, counted(2, 1.0), Reason.TOO_EARLY),  # a chance or two contradict nothing
        (None, counted(3, 20.0), Reason.ABOVE_OBJECTIVE),
        (None, None, Reason.TOO_EARLY),
        (expected(0.2, 0.9), counted(0, 0.25), Reason.WITHIN_OBJECTIVE),
        (expected(0.2, 0.9), None, Reason.WITHIN_OBJECTIVE),
        (expected(0.2, 0.9), counted(3, 20.0), Reason.ABOVE_OBJECTIVE),
        (expected(1.0, 2.9), counted(0, 28.0), Reason.LIKELY_WITHIN),
        (expected(1.0, 2.9), counted(0, 90.0), Reason.WITHIN_OBJECTIVE),
        (expected(1.1, 2.9), counted(0, 90.0), Reason.ABOVE_OBJECTIVE),
    ],
)
def test_what_is_shown_is_said(model: Prediction | None, count: CountedEvictions | None, reason: Reason) -> None:
    """Of an objective of one a month."""
    assert objective_proof.finding(model, Confidence.HIGH, count, 1.0).reason is reason


def test_a_model_of_less_than_a_week_vouches_for_nothing() -> None:
    """Of models of a day 2 in 23 groups missed what they were said to keep; its bound is told all the same."""
    found = objective_proof.finding(expected(0.2, 0.9), Confidence.LOW, None, 1.0)
    assert found.reason is Reason.LIKELY_WITHIN
    assert found.message.endswith("likely within it, and not shown by less than a week of history")


def test_a_sentence_says_what_would_show_it_and_stands_still() -> None:
    """A day later, with nothing seen, it is the same to the letter: no status is written."""
    early = objective_proof.finding(None, Confidence.LOW, counted(0, 0.25), 1.0)
    later = CountedEvictions(NOW - 0.25 * DAY, EvictionEvidence(0, 1.25, 0))
    assert early == objective_proof.finding(None, Confidence.LOW, later, 1.0)
    assert early.message == (
        "too early to tell whether evictions are within the objective: no live member has been evicted since "
        "2026-03-02 06:00 UTC, and at most 1 a month is shown by 90 days without one, or by a fitted model"
    )
    once = objective_proof.finding(None, Confidence.LOW, counted(1, 0.25), 0.0).message
    assert "live members have been evicted once since" in once
    assert "no count can show that none ever comes" in once
    shown = objective_proof.finding(None, Confidence.LOW, counted(0, 90.0), 1.0).message
    assert shown.endswith(": at most 1 a month (95 %), where the objective allows 1")
    nobody_counts = objective_proof.finding(None, Confidence.LOW, None, 1.0).message
    assert nobody_counts.endswith("only a fitted model shows it")


@given(per_month=st.floats(0.01, 1000.0))
def test_so_many_days_without_an_eviction_are_enough_and_no_fewer(per_month: float) -> None:
    """Garwood's bound of none in that time is the objective."""
    days = objective_proof.days_without(per_month)
    assert EvictionEvidence(0, days, 0).upper_per_month == pytest.approx(per_month)
    assert math.isinf(objective_proof.days_without(0.0))


def test_of_groups_that_miss_their_objective_few_are_called_healthy_by_the_count() -> None:
    """Whoever evicts more than once a month has no 90 quiet days in 19 of 20 cases."""
    rng = np.random.default_rng(7)
    episodes = rng.poisson(1.01 * 90.0 / 30.0, 2_000)
    vouched = [objective_proof.finding(None, Confidence.LOW, counted(int(n), 90.0), 1.0).reason for n in episodes]
    assert np.mean([reason is Reason.WITHIN_OBJECTIVE for reason in vouched]) < 0.06


def test_the_whole_time_with_the_values_set_counts_not_the_hour() -> None:
    """The record counts only where there is no history of these values; who left for not polling is in it alone."""
    long = history(NOW - 10 * DAY, 1.0, 3.0, hidden_days=2.0)
    assert seen(long) == CountedEvictions(long.since, EvictionEvidence(2, 8.0, 2))
    left = seen(long, dataclasses.replace(worlds.record(), poll_gap_evictions=2))
    assert left is not None
    assert left.counted.episodes == 4
    assert seen(None) == CountedEvictions(NOW - DAY / 24, EvictionEvidence(0, 1 / 24, 1), is_of_record=True)
    of_other_values = dataclasses.replace(long, values=worlds.settings("60s"))
    assert seen(of_other_values) == seen(None)


def test_where_nothing_can_be_counted_nothing_was() -> None:
    """Pods that differ, pods that nobody sees, and a record of no length."""
    assert seen(None, current=None) is None
    assert seen(None, dataclasses.replace(worlds.record(), unobserved_pods=("orders-1",))) is None
    assert seen(None, dataclasses.replace(worlds.record(), since=NOW)) is None
    assert seen(history(NOW - 2 * DAY, hidden_days=2.0)) is None


def with_history(noted: EvictionHistory, inputs: DecisionInput | None = None, per_month: float = 1.0) -> DecisionInput:
    """Return a quiet hour with a history and an objective."""
    inputs = worlds.situation() if inputs is None else inputs
    policy = dataclasses.replace(inputs.policy, objective=Objective(timedelta(seconds=60), per_month))
    return dataclasses.replace(inputs, policy=policy, history=noted)


@pytest.mark.parametrize(
    ("noted", "per_month", "verdict", "reason"),
    [
        (history(NOW - 6 * DAY), 1.0, Verdict.UNPROVEN, Reason.TOO_EARLY),
        (history(NOW - 95 * DAY), 1.0, Verdict.HEALTHY, Reason.HEALTHY),
        (history(NOW - 6 * DAY), 15.0, Verdict.HEALTHY, Reason.HEALTHY),
        (history(NOW - 0.9 * DAY, 0.2, 0.4, 0.6), 1.0, Verdict.UNPROVEN, Reason.ABOVE_OBJECTIVE),
    ],
)
def test_a_quiet_hour_alone_makes_nobody_healthy(
    noted: EvictionHistory, per_month: float, verdict: Verdict, reason: Reason
) -> None:
    """KafkaJS groups that evict every other day have quiet hours; three a day show on the first day."""
    decision = decide(with_history(noted, per_month=per_month))
    assert (decision.verdict, decision.finding.reason) == (verdict, reason)


def test_a_change_of_ours_begins_the_count_anew() -> None:
    """Ninety quiet days with a longer session say nothing of the one that was set yesterday."""
    inputs = with_history(history(NOW - 95 * DAY))
    written = Application(SET, worlds.settings("60s"), NOW - DAY, "workload-1")
    policy = dataclasses.replace(inputs.policy, application=written)
    assert decide(inputs).verdict is Verdict.HEALTHY
    assert decide(dataclasses.replace(inputs, policy=policy)).verdict is Verdict.UNPROVEN


@pytest.mark.parametrize(
    ("session", "mode", "hold", "reason"),
    [
        ("6s", Mode.APPLY, None, Reason.WITHIN_OBJECTIVE),
        ("6s", Mode.RECOMMEND, Reason.RECOMMEND_MODE, Reason.ABOVE_OBJECTIVE),
        ("10s", Mode.APPLY, Reason.NOT_WORTH_RESTART, Reason.LIKELY_WITHIN),
        ("15s", Mode.APPLY, Reason.NOT_WORTH_RESTART, Reason.WITHIN_OBJECTIVE),
    ],
)
def test_a_held_target_promises_nothing(session: str, mode: Mode, hold: Reason | None, reason: Reason) -> None:
    """Values that are only recommended evict nobody less: those in force are judged until others are written."""
    decision = decide(known_kafkajs(worlds.settings(session), mode=mode))
    assert decision.proof is not None
    assert decision.forecast is not None
    assert decision.forecast.new is not None
    assert decision.forecast.new.evictions_upper <= 1.0  # the recommended values would meet it
    assert (None if decision.hold is None else decision.hold.reason) == hold
    assert decision.proof.reason is reason
