"""The order of a decision: which step speaks, what the trace says of it, and what happens out of order."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.decision import reviews, steps
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.pipeline import PIPELINE, NothingDecidedError, Pipeline, decide
from heartbeat_tuner.decision.step_order import StepOrderError
from heartbeat_tuner.decision.steps import Step
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import Mode
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import TraceStep
from tests.support import worlds
from tests.support.pipelines import derived
from tests.support.tuned import known

BLIND = worlds.situation(seen=Unknown(Reason.METRICS_STALE, "the newest sample is 5 minutes old"))
MIXED = worlds.situation(has=worlds.workload(mixed=True, rolling_out=True))

UNSOUND = worlds.situation(now=worlds.settings("5s", "3s", "5s"), seen=worlds.record(beat=worlds.seconds(3)))

NO_PODS = worlds.workload(running=())


def of_consumer_protocol(inputs: DecisionInput) -> DecisionInput:
    """Return the same group, whose values the broker sets."""
    return dataclasses.replace(inputs, group=dataclasses.replace(inputs.group, consumer_protocol=True))


def spoke(inputs: DecisionInput) -> list[tuple[str, Reason]]:
    """Return the steps and gates of a decision that had something to say."""
    return [(step.name, step.reason) for step in decide(inputs).trace if step.reason is not None]


@pytest.mark.parametrize(
    ("inputs", "steps_that_spoke"),
    [
        (BLIND, [("record_is_unknown", Reason.METRICS_STALE)]),
        (MIXED, [("pods_differ", Reason.ROLLOUT_IN_PROGRESS)]),
        (
            worlds.situation(),
            [("no_values_can_be_compared", Reason.HEALTHY), ("objective_is_shown_to_be_met", Reason.TOO_EARLY)],
        ),
        (
            UNSOUND,
            [("no_values_can_be_compared", Reason.HEALTHY), ("healthy_values_hold_at_rest", Reason.UNSOUND_SETTINGS)],
        ),
        (worlds.storm(), [("record_demands_other_values", Reason.CADENCE_EXCEEDS_SESSION)]),
        (
            worlds.storm(policy=worlds.policy(mode=Mode.RECOMMEND)),
            [
                ("record_demands_other_values", Reason.CADENCE_EXCEEDS_SESSION),
                ("mode_is_recommend", Reason.RECOMMEND_MODE),
            ],
        ),
        (
            known(horizon=timedelta(hours=1)),
            [("other_values_are_better", Reason.CHEAPER), ("rollout_does_not_pay", Reason.NOT_WORTH_RESTART)],
        ),
    ],
    ids=[
        "no metrics",
        "pods differ",
        "unproven",
        "healthy, but not at rest",
        "a storm",
        "a storm, recommended only",
        "a saving that waits",
    ],
)
def test_a_decision_carries_which_step_made_it(
    inputs: DecisionInput, steps_that_spoke: list[tuple[str, Reason]]
) -> None:
    """And which gate holds it back."""
    assert spoke(inputs) == steps_that_spoke
    assert decide(inputs).decided_by == steps_that_spoke[0][0]


def test_a_trace_names_every_step_that_was_asked_in_the_order_of_the_pipeline() -> None:
    """Up to the one that spoke; gates follow only where there is something to write."""
    names = [step.__name__ for step in PIPELINE.steps]
    asked = [step.name for step in decide(MIXED).trace]
    assert asked == names[: names.index("pods_differ") + 1]
    asked = [step.name for step in decide(worlds.storm()).trace]
    decided = names.index("record_demands_other_values") + 1
    assert asked == [*names[:decided], *(gate.__name__ for gate in PIPELINE.gates)]


@pytest.mark.parametrize(
    ("earlier", "later", "inputs"),
    [
        (steps.record_is_unknown, steps.no_pod_runs, dataclasses.replace(BLIND, workload=NO_PODS)),
        (steps.no_pod_runs, steps.pods_differ, worlds.situation(has=worlds.workload(mixed=True, running=()))),
        (
            steps.other_group_values_may_be_better,
            steps.values_are_unreadable,
            of_consumer_protocol(worlds.situation(now=worlds.settings("30s", "3ms"))),
        ),
        (
            steps.values_are_unreadable,
            steps.record_demands_other_values,
            worlds.storm(workload=worlds.workload(worlds.settings("1s", "3ms"))),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_of_two_steps_that_could_decide_the_earlier_does(earlier: Step, later: Step, inputs: DecisionInput) -> None:
    """Users read the reason that stands first: what has no pods has none that differ."""
    assert earlier(inputs, derived(inputs)) is not None
    assert later(inputs, derived(inputs)) is not None
    assert decide(inputs).decided_by == earlier.__name__


def test_the_way_to_a_decision_makes_it_no_other() -> None:
    """A status rests on the decision, and must not move because a step was added."""
    decision = decide(worlds.storm())
    unknown = dataclasses.replace(decision, trace=(TraceStep("another", None),))
    assert unknown == decision
    assert unknown.decided_by == ""


def test_groups_that_are_decided_on_alike_share_their_trace() -> None:
    """Thousands of decisions are kept from cycle to cycle."""
    assert decide(worlds.storm()).trace is decide(worlds.storm()).trace


@pytest.mark.parametrize(
    ("step", "inputs", "missing"),
    [
        (steps.record_says_too_little, BLIND, "the record"),
        (steps.values_are_unreadable, MIXED, "what is set"),
        (steps.group_is_not_well, of_consumer_protocol(MIXED), "what is set"),
        (steps.limits_collide, worlds.situation(), "an answer"),
        (steps.other_values_are_better, known(worlds.java_settings("13s", "1s", "75s")), "values to set"),
    ],
)
def test_a_step_before_the_one_that_it_needs_is_an_error_of_the_program(
    step: Step, inputs: DecisionInput, missing: str
) -> None:
    """It never decides by what is not there."""
    with pytest.raises(StepOrderError, match=missing):
        step(inputs, derived(inputs))


def test_a_pipeline_whose_last_step_is_silent_is_an_error_of_the_program() -> None:
    """No group is left without a decision in silence."""
    short = Pipeline((steps.record_is_unknown,), (), (), (), (), (), (reviews.outlook_is_told,))
    inputs = worlds.situation()
    with pytest.raises(NothingDecidedError, match="shop/orders"):
        short.run(inputs, derived(inputs))
