"""What `bench.quality` simulates of the operator: hours, looks and figures, on groups that are made by hand."""

import copy
import dataclasses
import functools
from datetime import timedelta

import numpy as np
import pytest

from bench import fleets, promises
from bench.as_shipped import judged_figures, judgement, kept_looks, raw_beats, rows
from bench.as_shipped.drawing import Watch
from bench.as_shipped.held_group import HeldGroup
from bench.as_shipped.hours import Hour
from bench.as_shipped.judgement import Standing, Yardstick
from bench.as_shipped.lives import Life
from bench.as_shipped.running import Plan, Running
from bench.as_shipped.surroundings import START, policy_of
from bench.fleets import Group, Kind
from bench.observed import settings_of
from bench.quality_figures import Outcome
from heartbeat_tuner.decision.optimize.answer_cache import AnswerCache
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.metrics import measured
from heartbeat_tuner.models.failure_profile import FailureProcess, Rebalancing
from heartbeat_tuner.models.group_model import NO_MODEL, Fitted, Unfitted
from heartbeat_tuner.tails.histogram import MIDDLES_S
from heartbeat_tuner.tails.law import Law

pytestmark = pytest.mark.no_cover  # plays a day of a fleet

NEVER = FailureProcess(0.0, Law.constant(1.0))


@functools.cache
def group(kind: Kind) -> Group:
    """The first group of a kind in the hold-out fleet, without crashes and restarts."""
    drawn = next(item for item in fleets.fleet("holdout", 60) if item.kind is kind)
    calm = dataclasses.replace(drawn.usual, crashes=NEVER, restarts=NEVER, node_pauses=NEVER, outages=NEVER)
    return dataclasses.replace(drawn, usual=calm, swing=0.0, burst=None)


def stopping(kind: Kind, pause_s: float, per_day: float = 20.0, handler_s: float = 0.1) -> Group:
    """A group whose members stop for always the same time, and whose handlers are always as quick."""
    base = group(kind)
    usual = dataclasses.replace(
        base.usual,
        pauses=FailureProcess(per_day, Law.constant(pause_s)),
        handlers=Law.lognormal(handler_s, 0.01),
        members=5,
        partitions=10,
    )
    return dataclasses.replace(base, usual=usual, truth=usual)


def held(life: Life) -> HeldGroup:
    """A group in the operator's hands."""
    policy = policy_of(life)
    assert policy is not None
    return HeldGroup(life, policy)


def shown_s(watched: Group, settings: LivenessSettings) -> np.ndarray:
    """The absences that metrics show in a day, in seconds."""
    marks = Watch(Life(watched), np.random.default_rng(1)).draw(0, settings).marks[measured.ABSENCE]
    return np.repeat(MIDDLES_S[marks.buckets], marks.counts)


@pytest.mark.parametrize("is_frozen", [True, False])
@pytest.mark.parametrize("period_s", [3.0, 15.0])
def test_missing_beats_are_measured_by_the_product(*, period_s: float, is_frozen: bool) -> None:
    """Of less than a period nothing shows, of three and more all does, as long as it was within a period and a half."""
    found = raw_beats.measured_absences(period_s, is_frozen=is_frozen)
    assert found.lasted_s.size > 1_200
    shows = np.isfinite(found.shown_s)
    assert not shows[found.lasted_s < period_s].any()
    long = found.lasted_s > 3 * period_s
    assert shows[long].mean() > 0.97
    assert np.abs((found.shown_s - found.lasted_s)[long & shows]).max() < 1.5 * period_s + raw_beats.SCRAPE_S
    assert found.least_s > period_s


def test_short_stops_show_in_no_heartbeat() -> None:
    """Routine pauses of a tenth of a second showed as up to a period: of H 15 s as 15 s, in half of the cases."""
    slow = stopping(Kind.CLEAN, 0.12, handler_s=2.0)
    seldom = dataclasses.replace(settings_of(slow.truth), heartbeat_interval=timedelta(seconds=15))
    assert shown_s(slow, seldom).size == 0


def test_missing_beats_show_an_absence_as_the_product_measures_it() -> None:
    """With H 3 s an absence of 20 s shows as that on average, and as more or less by half a period and a scrape."""
    slow = stopping(Kind.CLEAN, 20.0, handler_s=2.0)
    absences = shown_s(slow, settings_of(slow.truth))
    assert absences.size > 50
    assert absences.mean() == pytest.approx(20.0, abs=1.0)


def test_an_eviction_of_kafkajs_is_a_value_of_what_its_absence_outlasted() -> None:
    """Each one: a session of 30 s, less half a period of 5 s."""
    storm = stopping(Kind.KAFKAJS, 60.0)
    day = Watch(Life(storm), np.random.default_rng(1)).draw(0, settings_of(storm.truth))
    marks = day.marks[measured.EVICTION]
    assert marks.counts.sum() == sum(hour.silent for hour in day.hours) > 50
    assert MIDDLES_S[marks.buckets] == pytest.approx([27.5] * len(marks.buckets), rel=0.05)


def test_short_poll_gaps_show_a_stop_in_full() -> None:
    """Where members usually poll at once, the gap is the witness."""
    quick = stopping(Kind.CLEAN, 20.0)
    absences = shown_s(quick, settings_of(quick.truth))
    assert np.median(absences[absences > 1.0]) == pytest.approx(20.0, rel=0.05)


def test_an_absence_that_ends_in_an_eviction_shows_in_the_record_alone() -> None:
    """Beats do not show it, for its member joined; the record counts it, once for each."""
    slow = stopping(Kind.CLEAN, 60.0, handler_s=2.0)
    day = Watch(Life(slow), np.random.default_rng(1)).draw(0, settings_of(slow.truth))
    assert day.marks[measured.ABSENCE].counts.sum() == 0
    assert sum(len(hour.evicted_at_s) for hour in day.hours) == sum(hour.silent for hour in day.hours) > 50


def test_other_values_from_an_hour_on_leave_the_hours_before_as_they_were() -> None:
    """A write in the afternoon does not undo the morning."""
    slow = stopping(Kind.CLEAN, 60.0, handler_s=2.0)
    day = Watch(Life(slow), np.random.default_rng(1)).draw(0, settings_of(slow.truth))
    morning = day.before(12)
    assert morning.until == 12
    assert all(marks.hours.max(initial=0) < 12 for marks in morning.marks.values())
    counted = {name: marks.counts[marks.hours < 12].sum() for name, marks in day.marks.items()}
    assert counted == {name: marks.counts.sum() for name, marks in morning.marks.items()}


def test_rows_are_of_the_contract_and_count_what_was_watched() -> None:
    """A day of five members is five days of members, however it is divided."""
    slow = stopping(Kind.CLEAN, 20.0, handler_s=2.0)
    watch = Watch(Life(slow), np.random.default_rng(1))
    whole = watch.draw(0, settings_of(slow.truth))
    table = rows.DayRows(START.date())
    table.add("shop", "orders", "java", [whole.before(7), watch.draw(0, settings_of(slow.truth), 7)])
    made = table.table()
    contract.check(made)
    blocks = [row["n"] for row in made.to_pylist() if row["quantity"] == measured.ABSENCE and row["bucket"] == -1]
    assert blocks == [5 * 960]


def test_a_library_that_exports_too_little_is_refused() -> None:
    """Groups of Sarama are decided by their evictions alone, which nobody draws here: they are in no figure."""
    clean = group(Kind.CLEAN)
    sarama = dataclasses.replace(clean, usual=dataclasses.replace(clean.usual, client="sarama"))
    sarama = dataclasses.replace(sarama, truth=dataclasses.replace(clean.truth, client="sarama"))
    running = Running([Life(sarama), Life(clean), Life(group(Kind.LIBRDKAFKA))], Plan(days=1))
    assert [life.group.truth.client for life in running.refused] == ["sarama"]
    assert [group.life.group.kind for group in running.groups] == [Kind.CLEAN, Kind.LIBRDKAFKA]


def test_a_group_that_evicts_is_cured_within_the_hour_and_waits_for_its_cooldown() -> None:
    """The operator's own rules write at once, and then not for a day."""
    storm = held(Life(stopping(Kind.KAFKAJS, 40.0, per_day=200.0)))
    hour = Hour(tuple(float(second) for second in range(60, 3600, 300)), 0, 20.0, None, (), False, 12)
    answers = AnswerCache(10)
    wrote = [storm.look(number, hour, NO_MODEL, lambda _: (), answers) for number in range(3)]
    assert wrote == [True, False, False]
    assert storm.values.session_timeout > settings_of(storm.life.group.truth).session_timeout
    assert storm.decision is not None
    assert storm.policy.history is not None
    assert storm.policy.followed is not None
    assert storm.policy.followed.landed is not None
    assert storm.policy.history.episodes_s


def test_a_group_whose_values_are_the_brokers_is_written_there_and_nothing_restarts() -> None:
    """Its record begins with the write, its pods go on; and the next look follows the change as one that landed."""
    base = stopping(Kind.CLEAN, 60.0, per_day=200.0)
    truth = dataclasses.replace(base.truth, client="java-kip848", rebalancing=Rebalancing.CONSUMER)
    storm = held(Life(dataclasses.replace(base, truth=truth, usual=truth)))
    storm.policy = dataclasses.replace(storm.policy, objective=Objective(timedelta(minutes=5), 1.0))
    hour = Hour(tuple(float(second) for second in range(60, 3600, 300)), 0, 20.0, 0.5, (), False, 12)
    answers = AnswerCache(10)
    assert storm.look(0, hour, NO_MODEL, lambda _: (), answers)
    raised = storm.values
    assert raised.session_timeout > settings_of(truth).session_timeout
    assert raised.max_poll_interval == settings_of(truth).max_poll_interval
    assert storm.policy.group_write is not None
    assert storm.policy.application is None
    calm = Hour((), 0, 60.0, 0.5, (), False, 0)
    assert not storm.look(1, calm, NO_MODEL, lambda _: (), answers)
    assert storm.last_record is not None
    assert (storm.last_record.span, storm.last_record.evictions) == (timedelta(hours=1), 0)
    assert storm.last_inputs is not None
    assert not storm.last_inputs.workload.rolling_out
    assert storm.policy.followed is not None
    assert storm.policy.followed.landed is not None
    assert (storm.values, storm.changes, storm.flips) == (raised, [raised], 0)


def test_metrics_from_before_the_operator_make_models_for_its_first_hour() -> None:
    """Two days of history, and decisions of the first day have forecasts; without it none has."""
    lives = [
        Life(item) for item in fleets.fleet("holdout", 12) if item.truth.client == "java" and item.kind is Kind.CLEAN
    ]
    assert lives
    forecasts = []
    for history in (2, 0):
        running = Running(lives, Plan(days=1, history=history))
        running.run(lambda _: None)
        forecasts.append([note.decision.forecast is not None for group in running.groups for note in group.notes])
    assert any(forecasts[0])
    assert not any(forecasts[1])


def test_a_look_that_is_skipped_would_have_said_the_same() -> None:
    """With looks at all hours and with looks left out, decisions and changes are the same."""
    lives = [Life(item) for item in fleets.fleet("holdout", 12) if item.kind is not Kind.LIBRDKAFKA]
    lazy, eager = (Running(lives, Plan(days=3)) for _ in range(2))
    eager.groups = [_Eager(group.life, group.policy) for group in eager.groups]
    for running in (lazy, eager):
        running.run(lambda _: None)
    skipped = 0
    for item, other in zip(lazy.groups, eager.groups, strict=True):
        assert [(note.hour, note.decision) for note in item.notes] == [
            (note.hour, note.decision) for note in other.notes
        ]
        assert (item.values, item.changes, item.policy) == (other.values, other.changes, other.policy)
        assert isinstance(other, _Eager)
        skipped += other.same
    assert skipped > 12


class _Eager(HeldGroup):
    """A group that is looked at each hour; it counts where a look would have been left out."""

    same = 0

    def _would_decide_the_same(self, seen: Hour, model: Fitted | Unfitted) -> bool:
        self.same += super()._would_decide_the_same(seen, model)
        return False


def test_the_record_begins_with_the_newest_pod() -> None:
    """A pod that started ten minutes ago leaves a record of ten minutes."""
    calm = held(Life(stopping(Kind.CLEAN, 1.0)))
    hour = Hour((), 0, 1.0, 0.5, ((2, 3000.0),), False, 0)
    calm.look(0, hour, NO_MODEL, lambda _: (), AnswerCache(10))
    record = calm.last_record
    assert record is not None
    assert record.span == timedelta(seconds=600)


def test_a_change_of_regime_and_a_sunday_are_judged_by_what_is_then() -> None:
    """The truth of a day is that of its regime; that of Sundays belongs to all days."""
    before, after = stopping(Kind.CLEAN, 1.0, 10.0), stopping(Kind.CLEAN, 1.0, 80.0)
    turned = Life(before, later=after, turns_on=10)
    assert [turned.truth(day).pauses.per_day for day in (9, 10)] == [10.0, 80.0]
    weekly = Life(before, sunday=after)
    assert [weekly.on(day) is after for day in (5, 6, 7)] == [False, True, False]
    assert weekly.truth(6).pauses.per_day == pytest.approx((6 * 10 + 80) / 7)


def outcome(cost: float, evictions: float = 0.5, session_s: float = 45.0) -> Outcome:
    """Settings that cost so much."""
    values = LivenessSettings(timedelta(seconds=session_s), timedelta(seconds=3), timedelta(milliseconds=500))
    return Outcome(values, cost, cost + 1.0, evictions)


def standing(
    default: float, in_force: float, oracle: float, evictions: float = 0.5, bound: float | None = 0.6
) -> Standing:
    """A Java group whose session was shortened, by what it costs."""
    values = outcome(in_force, evictions, 20.0)
    return Standing(
        name="orders",
        client="java",
        kind="clean",
        values=values.settings,
        outcome=values,
        yardstick=Yardstick(outcome(default), outcome(oracle), True, outcome(oracle), True),
        objective=1.0,
        verdict=Verdict.HEALTHY,
        reason="Healthy",
        hold="",
        bound=bound,
        changes=1,
        reverts=0,
        flips=0,
        evicted=0,
        target=None,
        target_outcome=values,
        is_called_well=bound is None or bound <= 1.0,
    )


def test_a_word_is_broken_by_more_evictions_than_it_allows_or_than_the_objective_does() -> None:
    """A bound that holds is no false word, even where it lies above the objective and nobody called it well."""
    kept_word = standing(100, 50, 40)
    above_bound = standing(100, 50, 40, evictions=0.9)
    called_well = standing(100, 50, 40, evictions=2.0, bound=None)
    warned = dataclasses.replace(standing(100, 50, 40, evictions=4.0, bound=5.0), verdict=Verdict.CHANGE)
    assert [item.is_vouched_falsely for item in (kept_word, above_bound, called_well, warned)] == [
        False,
        True,
        True,
        False,
    ]
    made = judged_figures.figures([kept_word, above_bound, called_well, warned])
    assert made["vouched_falsely"] == pytest.approx(0.5)
    java = made["calibration"]["java"]
    assert (java["with_bound"], java["below"], java["median_excess"]) == (3, pytest.approx(2 / 3), 1.5)
    assert java["called_well"] == sum(item.is_called_well for item in (kept_word, above_bound, called_well, warned))
    table = judged_figures.calibration_table({"14d": made, "30d": {"groups": 0}})
    assert "| java | 14d | 3 | 0.67 |" in table
    assert "30d" not in table


def test_what_was_known_of_a_group_is_decided_on_again() -> None:
    """Whatever was said before; a quiet hour without a model vouches for nothing."""
    calm = held(Life(stopping(Kind.CLEAN, 1.0)))
    calm.look(0, Hour((), 0, 1.0, 0.5, (), False, 0), NO_MODEL, lambda _: (), AnswerCache(10))
    against = standing(100, 50, 40).yardstick
    before = judgement.standing(calm, 1, against)
    assert before is not None
    assert calm.last_inputs is not None
    healthy = dataclasses.replace(before, verdict=Verdict.HEALTHY, is_called_well=True)
    look = kept_looks.KeptLook(calm.last_inputs, calm.life.truth(0), healthy)
    ((now, words),) = promises.again(copy.deepcopy([look]))
    assert (now.verdict, now.is_called_well, now.values) == (Verdict.UNPROVEN, False, before.values)
    assert words.startswith("too early to tell")
    report = promises.report(1, [now, healthy])
    assert "Unproven: TooEarly: 1" in report
    assert "vouched 1," in report


def test_few_large_groups_do_not_hide_the_many() -> None:
    """Without the largest one nothing is left of the captured share."""
    many = [standing(100, 100, 50) for _ in range(19)]
    made = judged_figures.figures([*many, standing(100_000, 1_000, 900)])
    assert made["captured_share"] > 0.95
    assert made["captured_share_without_top5"] == 0.0


def test_infeasible_is_false_where_values_exist_that_meet_the_whole_objective() -> None:
    """One of two was told that nothing helps, and something would."""
    hopeless = dataclasses.replace(standing(100, 100, 50), verdict=Verdict.INFEASIBLE)
    cannot = dataclasses.replace(hopeless, yardstick=dataclasses.replace(hopeless.yardstick, is_attainable=False))
    made = judged_figures.figures([hopeless, cannot, standing(100, 50, 50)])
    assert made["false_infeasible"] == 0.5
    assert made["infeasible_share"] == pytest.approx(2 / 3)


def test_a_day_in_the_operators_hands_ends_with_a_standing_for_each_group() -> None:
    """The whole way, with real parts: hours, rows, fit, decision, judgement."""
    lives = [Life(item) for item in fleets.fleet("holdout", 8) if item.kind is not Kind.LIBRDKAFKA]
    running = Running(lives, Plan(days=2))
    days: list[int] = []
    running.run(days.append)
    assert days == [1, 2]
    for item in running.groups:
        against = judgement.yardstick((item.life.truth(0), item.policy.objective))
        made = judgement.standing(item, 2, against)
        assert made is not None
        assert made.outcome.net_per_day > 0
