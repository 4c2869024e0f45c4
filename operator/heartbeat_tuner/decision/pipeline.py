"""The order of a decision, in one place; each step is a function of `steps`, each gate one of `write_gates`.

The steps are asked in turn, and the first that has something to say decides. What can be said without a model goes
first: the record's demands are cured at once, whatever a model says. A group whose record asks for nothing may still
have better values. No step invents a value: what could not be measured ends the chain with its reason.

Where the decision has a target, the gates are asked in turn, and the first that speaks holds the write back. The
reviews then look at the whole decision, each of them always.

Where would a new step go? Write it beside its like in `steps`, and put its name here where it belongs.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Final

from heartbeat_tuner.decision import reviews, steps
from heartbeat_tuner.decision.derived import Derived
from heartbeat_tuner.decision.gates import write_gates
from heartbeat_tuner.decision.gates.write_gates import Gate, ProposedChange
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import static_ids, tuning
from heartbeat_tuner.decision.optimize.questions import Answer, Question
from heartbeat_tuner.decision.reviews import Review
from heartbeat_tuner.decision.steps import Step
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision, Finding, Forecast, StaticAdvice, Trace, TraceStep

_PATHS: Final = 4_096
"""Traces that are kept: thousands of groups come to their decisions by a few dozen of ways."""

_Names = tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Pipeline:
    """A way from an input to a decision.

    Attributes:
        steps: asked in turn; the first that speaks decides. The last one always speaks.
        gates: asked in turn where there is something to write; the first that speaks holds it back.
        gates_of_reverts: likewise, where the target is what stood before a change of ours: what would hold a cure does
            not hold that.
        gates_of_next: likewise, where a change that has begun is written to one more workload: what it was decided for
            is not asked again.
        gates_at_broker: those that are asked where the target is set at the broker: nothing is rolled out.
        gates_of_reverts_at_broker: likewise, where the target is what stood there before.
        reviews: each of them looks at the decision, and returns it as it is or with what it has to add.
    """

    steps: tuple[Step, ...]
    gates: tuple[Gate, ...]
    gates_of_reverts: tuple[Gate, ...]
    gates_of_next: tuple[Gate, ...]
    gates_at_broker: tuple[Gate, ...]
    gates_of_reverts_at_broker: tuple[Gate, ...]
    reviews: tuple[Review, ...]

    def run(self, inputs: DecisionInput, derived: Derived) -> Decision:
        """Return the decision, with its trace."""
        number, decision = self._decided(inputs, derived)
        trace = _trace(_names(self.steps[: number + 1]), decision.finding.reason)
        if decision.target is not None:
            gates = self._gates(decision)
            saving = None if decision.has_begun else derived.saving(decision.target)
            weeks_alone = not decision.has_begun and derived.is_shown_by_weeks
            unseen = decision.effect_is_unseen
            change = ProposedChange(decision.target, saving, shown_by_weeks=weeks_alone, effect_is_unseen=unseen)
            asked, hold = first_hold(gates, inputs, change)
            trace = _joined(trace, _trace(_names(gates[:asked]), None if hold is None else hold.reason))
            decision = dataclasses.replace(decision, hold=hold)  # before the reviews: they ask what is written
        for review in self.reviews:
            before, decision = decision, review(inputs, decision, derived)
            if decision.finding is not before.finding:
                trace = _joined(trace, _trace((review.__name__,), decision.finding.reason))
        return dataclasses.replace(decision, trace=trace)

    def _gates(self, decision: Decision) -> tuple[Gate, ...]:
        if decision.at_broker:
            return self.gates_of_reverts_at_broker if decision.reverts else self.gates_at_broker
        if decision.reverts:
            return self.gates_of_reverts
        return self.gates_of_next if decision.goes_on else self.gates

    def _decided(self, inputs: DecisionInput, derived: Derived) -> tuple[int, Decision]:
        """Return which step decided, and what."""
        for number, step in enumerate(self.steps):
            decision = step(inputs, derived)
            if decision is not None:
                return number, decision
        raise NothingDecidedError(f"no step of {len(self.steps)} decided on {inputs.policy.key}")


def first_hold(gates: tuple[Gate, ...], inputs: DecisionInput, change: ProposedChange) -> tuple[int, Finding | None]:
    """Return how many gates were asked, and why a change must not be written now; None when it may."""
    for number, gate in enumerate(gates, 1):
        finding = gate(inputs, change)
        if finding is not None:
            return number, finding
    return len(gates), None


class NothingDecidedError(Exception):
    """A pipeline whose last step may say nothing: an error of this program."""


PIPELINE: Final = Pipeline(
    steps=(
        # Is there anything to decide on?
        steps.nobody_watches_the_group,
        # Did what we wrote last do harm? Pods that crash have no record.
        steps.last_change_did_harm,
        steps.revert_goes_on,
        steps.person_takes_group_values_back,
        steps.record_is_unknown,
        steps.workload_is_unseen,
        steps.no_pod_runs,
        steps.change_goes_on,
        steps.workloads_differ,
        steps.pods_differ,
        # Is it a group whose values are the broker's?
        steps.shorter_group_values_do_harm,
        steps.group_values_are_not_in_force,
        steps.group_is_not_well,
        steps.group_fencings_are_known,
        steps.other_group_values_may_be_better,
        steps.values_are_unreadable,
        # Are the values in force?
        steps.record_contradicts_the_values,
        steps.record_contradicted_them_before,
        # What does the record demand?
        steps.record_says_too_little,
        steps.no_value_is_a_cure,
        steps.record_demands_other_values,
        steps.history_demands_other_values,
        # What would be better?
        steps.no_values_can_be_compared,
        steps.limits_collide,
        steps.values_are_good_enough,
        steps.record_refuses_shorter_limits,
        steps.other_values_are_better,
    ),
    # What lasts comes before what passes, what somebody asked for before what is going on.
    gates=(
        # May anything be written at all?
        write_gates.policy_is_suspended,
        # Before the mode: who only reads what is recommended has to know that it rests on an assumption, or failed; and
        # the webhook gives to pods what the mode alone holds back.
        write_gates.setting_is_assumed,
        write_gates.values_failed_before,
        write_gates.mode_is_recommend,
        # Is enough known for it to be more than shown?
        write_gates.data_are_too_few,
        # Is it the workload that is written? What follows is about rollouts.
        write_gates.mode_is_initial,
        write_gates.values_were_taken_back,
        # Can what nothing urgent demands wait?
        write_gates.rollout_does_not_pay,
        write_gates.group_is_rebalancing,
        write_gates.last_change_is_being_verified,
        # Is now the time?
        write_gates.rollout_is_paused,
        write_gates.rollout_is_in_progress,
        write_gates.field_is_owned_by_another,
        write_gates.change_is_cooling_down,
        write_gates.every_window_is_closed,
        # The last one: what a canary has next begins only where nothing else holds.
        write_gates.canary_is_running,
    ),
    # Not the cooldown, nor what else a cure waits for: to go back is the end of what had begun in time.
    gates_of_reverts=(
        write_gates.policy_is_suspended,
        write_gates.values_were_taken_back,
        write_gates.revert_is_paused,
        write_gates.rollout_is_anothers,
        write_gates.entries_are_owned_by_another,
        write_gates.every_window_is_closed_to_reverts,
    ),
    # Not the cooldown, nor whether it pays: that was asked before the first workload was written.
    gates_of_next=(
        write_gates.policy_is_suspended,
        write_gates.mode_is_recommend,
        write_gates.values_were_taken_back,
        write_gates.rollout_is_paused,
        write_gates.rollout_is_in_progress,
        write_gates.field_is_owned_by_another,
        write_gates.every_window_is_closed,
    ),
    # Nothing restarts: what is about pods' templates is not asked.
    gates_at_broker=(
        write_gates.policy_is_suspended,
        write_gates.mode_is_recommend,
        write_gates.group_may_not_be_written,
        write_gates.fencings_are_not_shown,
        write_gates.data_are_too_few,
        write_gates.values_were_taken_back,
        write_gates.group_is_rebalancing,
        write_gates.last_change_is_being_verified,
        write_gates.rollout_is_in_progress,
        write_gates.change_is_cooling_down,
        write_gates.every_window_is_closed,
    ),
    # Not the mode, cooldown or windows: to go back is what somebody asked for just now.
    gates_of_reverts_at_broker=(
        write_gates.policy_is_suspended,
        write_gates.group_may_not_go_back,
    ),
    reviews=(
        reviews.healthy_values_hold_at_rest,
        reviews.promises_are_held_to_what_was_counted,
        reviews.objective_is_shown_to_be_met,
        reviews.outlook_is_told,
        reviews.outlasted_locks_are_told,
        reviews.static_ids_are_weighed,
    ),
)


def decide(
    inputs: DecisionInput,
    *,
    answer: Callable[[Question], Answer] = tuning.answer,
    expected: Callable[[Question, LivenessSettings | None], Forecast | None] = tuning.expected,
    advise: Callable[[Question], StaticAdvice] = static_ids.static_advice,
) -> Decision:
    """Return what should be done for one group, with the reason and its numbers.

    Args:
        inputs: what is known of it.
        answer: says which values it should have; `answer_cache` has one that does not answer the same twice.
        expected: says what values bring that the record demands; `answer_cache` has such a one, too.
        advise: says whether static ids pay; `answer_cache` has such a one, too.
    """
    return PIPELINE.run(inputs, Derived(inputs, answer=answer, expected=expected, advise=advise))


@functools.lru_cache(maxsize=_PATHS)
def _names(functions: tuple[Callable[..., object], ...]) -> _Names:
    return tuple(function.__name__ for function in functions)


@functools.lru_cache(maxsize=_PATHS)
def _trace(names: _Names, reason: Reason | None) -> Trace:
    """Return the trace of functions of which the last one gave a reason."""
    return tuple(TraceStep(name, reason if place == len(names) else None) for place, name in enumerate(names, 1))


@functools.lru_cache(maxsize=_PATHS)
def _joined(trace: Trace, more: Trace) -> Trace:
    return (*trace, *more)
