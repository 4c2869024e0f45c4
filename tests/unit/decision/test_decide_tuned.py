"""A group whose record asks for nothing, and a model that knows its delays: what is recommended, and what holds it."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.decision import derived
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.answer_cache import AnswerCache
from heartbeat_tuner.decision.optimize.questions import Answer, Question
from heartbeat_tuner.decision.pipeline import decide
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Mode, Objective, StaticMembership
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Strategy
from heartbeat_tuner.domain.verdicts import Confidence, Forecast, Prediction, Verdict, Worth
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.models.group_model import Fitted
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from tests.support import fitted, worlds
from tests.support.tuned import known, known_kafkajs


def test_values_that_are_as_safe_and_cheaper_are_recommended() -> None:
    """A session of 45 s keeps partitions of the dead for 43 s; the delays seen need a third of it."""
    decision = decide(known())
    assert (decision.verdict, decision.finding.reason) == (Verdict.CHANGE, Reason.CHEAPER)
    assert decision.target is not None
    assert decision.forecast is not None
    assert decision.forecast.new is not None
    assert decision.target.session_timeout < timedelta(seconds=30)
    assert decision.forecast.new.net_per_day < 0.95 * decision.forecast.now.net_per_day
    assert decision.forecast.new.evictions_upper <= 1.0
    assert decision.forecast.confidence is Confidence.HIGH
    assert "left as it is" not in decision.story.message


@pytest.mark.parametrize(
    "changes",
    [{}, {"strategy": Strategy.RECREATE, "at_once": True}, {"at_once": True}, {"strategy": Strategy.ON_DELETE}],
    ids=["rolling", "recreate", "all unavailable", "on delete"],
)
def test_what_a_rollout_would_stop_is_told_before(changes: dict[str, Any]) -> None:
    """Beside the recommendation, and counted; a mode that rolls nothing out stops nothing."""

    def changed(inputs: DecisionInput) -> DecisionInput:
        return dataclasses.replace(inputs, workload=dataclasses.replace(inputs.workload, **changes))

    rolled, new_pods = known(horizon=timedelta(hours=1)), known(mode=Mode.INITIAL)
    decision, usual, initial = (decide(inputs) for inputs in (changed(rolled), rolled, changed(new_pods)))
    assert (decision.story != usual.story) is bool(changes)
    assert "rollout stops" not in initial.story.message
    assert decision.forecast is not None
    assert usual.forecast is not None
    assert (decision.forecast.now.rollout_cost > usual.forecast.now.rollout_cost) is bool(changes.get("at_once"))
    assert decision.hold is not None
    assert ("which would stop all pods at once" in decision.hold.message) is bool(changes.get("at_once"))


@pytest.mark.parametrize(
    ("gap_days", "limit", "held"),
    [
        (0.3, timedelta(minutes=30), None),
        (2.0, timedelta(minutes=15), Reason.TOO_LITTLE_DATA),
        (7.0, timedelta(minutes=15), None),
    ],
    ids=["a metric that is new", "under a week", "a week"],
)
def test_a_poll_limit_falls_by_gaps_that_were_seen_for_long(
    gap_days: float, limit: timedelta, held: Reason | None
) -> None:
    """What runs once a night is not in a few hours of gaps, however long absences were watched; and by half at most."""
    patient = worlds.java_settings("45s", "3s", "30m")
    inputs = known(patient, gap_days=gap_days, horizon=timedelta(days=365))
    decision = decide(inputs, answer=_at_once)
    assert decision.verdict is Verdict.CHANGE
    assert decision.target is not None
    assert decision.target.session_timeout < timedelta(seconds=30)
    assert decision.target.max_poll_interval == limit
    assert (None if decision.hold is None else decision.hold.reason) is held


def _at_once(question: Question) -> Answer:
    """Answer as ever, of a change that pays for its restarts."""
    return dataclasses.replace(tuning.answer(question), wait_for_restart=False)


def test_what_was_recommended_is_left_as_it_is() -> None:
    """Question again with the recommended values set, nothing is to do; a session of 45 s gets there in two steps."""
    halfway = decide(known())
    assert halfway.target is not None
    assert halfway.target.session_timeout == timedelta(seconds=23)
    assert "one step at most halves a timeout" in halfway.advice
    target = decide(known(halfway.target)).target
    assert target is not None
    assert target.session_timeout < timedelta(seconds=20)
    decision = decide(known(target))
    assert (decision.verdict, decision.target) == (Verdict.HEALTHY, None)
    assert decision.forecast is not None
    assert decision.advice.startswith("Left as it is")


def test_who_asks_is_told_whether_static_ids_pay() -> None:
    """By the same model, whatever is said of the values."""
    decision = decide(known(static_membership=StaticMembership.AUTO))
    assert decision.static_ids is not None
    assert decision.static_ids.worth is not Worth.UNKNOWN
    assert "stalled partition-seconds a day with them" in decision.static_ids.message
    memory = AnswerCache(4)
    again = decide(known(static_membership=StaticMembership.AUTO), advise=memory.static_advice)
    assert again.static_ids == decision.static_ids


@pytest.mark.parametrize(
    ("situation", "reason"),
    [
        (known(horizon=timedelta(hours=1)), Reason.NOT_WORTH_RESTART),
        (known(days=3.0), Reason.TOO_LITTLE_DATA),
        (known(suspended=True), Reason.SUSPENDED),
    ],
    ids=["it does not pay for its restarts", "a tightening after three days", "suspended"],
)
def test_a_saving_is_held_back(situation: DecisionInput, reason: Reason) -> None:
    """What nothing urgent demands is told, and waits."""
    decision = decide(situation)
    assert decision.verdict is Verdict.CHANGE
    assert decision.hold is not None
    assert decision.hold.reason is reason
    assert decision.to_apply is None


def moving(situation: DecisionInput) -> DecisionInput:
    """Return the same while its partitions are being moved."""
    return dataclasses.replace(situation, group=worlds.group(rebalancing=True))


def test_a_saving_waits_for_a_rebalance_to_end() -> None:
    """It is recommended all the same, from what the group was: advice must not come and go with each rebalance."""
    quiet = known()
    found = _Fixed(decide(quiet).target)
    decision = decide(dataclasses.replace(moving(quiet), settled=quiet.group), answer=found)
    assert decision.target == decide(quiet).target
    assert decision.hold is not None
    assert decision.hold.reason is Reason.REBALANCING


def test_a_group_that_was_never_seen_still_is_not_reckoned_with() -> None:
    """Nobody knows how many partitions it has."""
    decision = decide(moving(known()))
    assert decision.target is None
    assert "no values are compared" in decision.outlook


class _Fixed:
    """Answers that a change of no restriction is due."""

    def __init__(self, target: LivenessSettings | None) -> None:
        self._target = target

    def __call__(self, question: Question) -> Answer:
        found = tuning.answer(question)
        return dataclasses.replace(found, target=self._target, wait_for_restart=False, only_recommend=False)


def test_a_saving_that_pays_is_written() -> None:
    """Nothing holds it."""
    situation = known()
    decision = decide(situation, answer=_Fixed(decide(situation).target))
    assert decision.to_apply == decision.target
    assert decision.to_apply is not None


def test_numbers_that_collide_are_named() -> None:
    """Nothing is moved where nothing is better than what is set."""
    objective = Objective(timedelta(seconds=6), 0.0001)
    decision = decide(known(worlds.java_settings("6s", "1s"), objective=objective))
    assert (decision.verdict, decision.target) == (Verdict.INFEASIBLE, None)
    assert decision.finding.reason is Reason.INFEASIBLE


def test_what_is_better_is_recommended_though_nothing_meets_the_objective() -> None:
    """It lowers nothing, and both sentences are told: what it brings, and which two numbers collide."""
    objective = Objective(timedelta(seconds=6), 0.0001)
    decision = decide(known(worlds.java_settings("6s"), objective=objective))
    assert (decision.verdict, decision.finding.reason) == (Verdict.CHANGE, Reason.CHEAPER)
    assert decision.target == worlds.java_settings("6s", "1s")
    assert "objective.maxDetectionTime allows at most 6s" in decision.advice


@pytest.mark.parametrize(
    ("most_s", "cluster", "limit"),
    [
        (8.0, {}, "longer than 8s between two heartbeats"),
        (8.5, {"brokers": 3}, "longer than 9s between two heartbeats"),
        (8.5, {"min_session_timeout": timedelta(seconds=20)}, "group.min.session.timeout.ms)"),
        (
            8.5,
            {"min_session_timeout": timedelta(seconds=20), "bounds_assumed": True},
            "group.min.session.timeout.ms (assumed))",
        ),
    ],
)
def test_limits_are_those_of_the_cluster(most_s: float, cluster: dict[str, Any], limit: str) -> None:
    """With several brokers KafkaJS beats up to a wait later; bounds that could not be read are Kafka's own."""
    inputs = known_kafkajs(
        worlds.settings("30s", "8s", "8s"),
        bounds=worlds.bounds(fetchWait=("8s", None)),
        objective=Objective(timedelta(seconds=most_s), 3.0),
    )
    beats = worlds.record(beat=worlds.seconds(8))
    decision = decide(dataclasses.replace(inputs, record=beats, cluster=dataclasses.replace(inputs.cluster, **cluster)))
    assert decision.verdict is Verdict.INFEASIBLE
    assert limit in decision.finding.message


def test_a_group_without_partitions_is_not_reckoned_with() -> None:
    """Nobody knows what its standstill would cost; its record still speaks."""
    decision = decide(known(partitions=0))
    assert (decision.verdict, decision.forecast) == (Verdict.UNPROVEN, None)


def test_a_cure_by_the_record_is_forecast_too() -> None:
    """Members are being evicted, so the record's rule raises S; the model says what that brings."""
    situation = dataclasses.replace(known(worlds.java_settings("10s")), record=worlds.record(evictions=5))
    decision = decide(situation)
    assert decision.finding.reason is Reason.DANGER
    assert decision.target is not None
    assert decision.target[Setting.SESSION_TIMEOUT] > timedelta(seconds=10)
    assert decision.forecast is not None
    assert decision.forecast.new is not None
    assert decision.forecast.new.evictions_per_month < decision.forecast.now.evictions_per_month


@pytest.mark.parametrize("evictions", [1, 2])
@pytest.mark.parametrize("most_s", [60, 120])
def test_an_eviction_of_the_last_hour_changes_no_answer(evictions: int, most_s: int) -> None:
    """It is none in the next: values that followed it would rise and fall."""
    objective = Objective(timedelta(seconds=most_s), 1.0)
    quiet = known_kafkajs(objective=objective)
    target = decide(quiet).target
    assert target is not None
    for inputs in (quiet, known_kafkajs(target, objective=objective)):
        calm = decide(inputs)
        once = decide(dataclasses.replace(inputs, record=worlds.record(evictions=evictions)))
        assert (once.verdict, once.target, once.forecast) == (calm.verdict, calm.target, calm.forecast)


def test_evictions_that_are_acted_on_count() -> None:
    """From three on, above the objective; and each of those that a longer record has."""
    inputs = known_kafkajs()
    assert inputs.workload.current is not None
    for evictions, span, counted in (
        (2, timedelta(hours=23), 0),
        (3, timedelta(hours=1), 3),
        (1, timedelta(days=14), 1),
    ):
        seen = worlds.record(evictions=evictions, span=span)
        asked = derived.question_of(inputs, seen, inputs.workload.current.settings)
        assert isinstance(asked, Question)
        assert asked.evictions == counted


def test_an_answer_is_found_once_while_nothing_changes() -> None:
    """A minute later the record is longer, and the question still the same."""
    memory, answers = AnswerCache(10), []

    def counted(question: Question) -> Answer:
        answers.append(memory.answer(question))
        return answers[-1]

    first = decide(known(), answer=counted)
    first_record = known().record
    assert isinstance(first_record, Record)
    longer = dataclasses.replace(first_record, since=first_record.since - timedelta(minutes=1))
    later = dataclasses.replace(known(), record=longer)
    assert decide(later, answer=counted) == first
    assert answers[1] is answers[0]


def test_what_a_cure_brings_is_reckoned_once_while_its_storm_goes_on() -> None:
    """Each minute has more evictions, and the values are the same."""
    memory, forecasts = AnswerCache(10), []

    def counted(question: Question, target: LivenessSettings | None) -> Forecast | None:
        forecasts.append(memory.expected(question, target))
        return forecasts[-1]

    for evictions in (50, 51):
        inputs = dataclasses.replace(known(worlds.java_settings("10s")), record=worlds.record(evictions=evictions))
        assert decide(inputs, expected=counted) == decide(inputs)
    assert forecasts[0] is not None
    assert forecasts[1] is forecasts[0]


def test_a_model_that_says_nothing_of_absences_compares_no_values() -> None:
    """Nobody knows then what a session must bear."""
    gaps = fitted.fitted(client="java", quantities={POLL_GAP: fitted.quantity(largest_s=4.0)})
    decision = decide(dataclasses.replace(known(), model=gaps))
    assert (decision.verdict, decision.forecast) == (Verdict.UNPROVEN, None)
    assert "says nothing of absences" in decision.outlook


def with_absences(inputs: DecisionInput, **changes: Any) -> DecisionInput:
    """Return the same group of which a model saw other absences."""
    assert isinstance(inputs.model, Fitted)
    model = inputs.model.model
    quantities = {**model.quantities, ABSENCE: dataclasses.replace(model.quantities[ABSENCE], **changes)}
    return dataclasses.replace(inputs, model=Fitted("orders", dataclasses.replace(model, quantities=quantities)))


NOTHING_TO_FIT = Rejected(RejectionReason.NO_VALUES, "0 values")


def test_a_group_that_was_watched_and_never_absent_is_measured() -> None:
    """Nothing seen in 42 member-days is a 0 with its exposure, not a metric that is missing."""
    decision = decide(with_absences(known(), values=0, largest_s=None, tail=NOTHING_TO_FIT))
    assert decision.verdict is not Verdict.UNKNOWN
    assert decision.forecast is not None
    assert 0.0 < decision.forecast.now.evictions_per_month < decision.forecast.now.evictions_upper


@pytest.mark.parametrize(
    "changes",
    [{"member_days": 0.0}, {"values": 12, "largest_s": None}],
    ids=["nobody was watched", "absences of which nobody knows how long they were"],
)
def test_a_quiet_group_is_no_group_whose_absences_do_not_show(changes: dict[str, Any]) -> None:
    """Without exposure, or with values of no length, nothing may be derived."""
    decision = decide(with_absences(known(), **{"tail": NOTHING_TO_FIT, **changes}))
    assert decision.target is None
    assert decision.verdict is not Verdict.CHANGE
    assert decision.forecast is None


@pytest.mark.parametrize(
    ("expected", "upper", "verdict", "reason"),
    [
        (0.5, 1.0, Verdict.HEALTHY, Reason.HEALTHY),
        (1.0, 5.0, Verdict.UNPROVEN, Reason.LIKELY_WITHIN),
        (1.1, 5.0, Verdict.UNPROVEN, Reason.ABOVE_OBJECTIVE),
    ],
)
def test_only_who_surely_meets_the_objective_is_called_healthy(
    expected: float, upper: float, verdict: Verdict, reason: Reason
) -> None:
    """A quiet record is no word that all is well, where weeks of history say that it may not be."""
    now = Prediction(10.0, 1.0, expected, upper, 25.0, 5.0)
    stays = Answer(Verdict.HEALTHY, Reason.HEALTHY, "Left as it is", now=now, confidence=Confidence.HIGH)
    decision = decide(known(), answer=lambda _: stays)
    assert (decision.verdict, decision.finding.reason, decision.target) == (verdict, reason, None)
    assert (f"{expected:g} evictions of live members" in decision.finding.message) is (verdict is Verdict.UNPROVEN)
