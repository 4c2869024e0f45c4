"""The steps of a decision: each looks at an input, and decides or has nothing to say. `pipeline` has their order.

All have one signature. What several need is worked out in `derived`, once, by `assessment` (the record) and `tuning`.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Final

from heartbeat_tuner.decision import between_workloads, cures, harmful_changes, model_alone, weeks_of_evictions
from heartbeat_tuner.decision.at_broker import (
    client_poll_limit,
    group_cadence,
    group_reverts,
    group_savings,
    group_values,
)
from heartbeat_tuner.decision.derived import Derived
from heartbeat_tuner.decision.evictions import assessment, contradictions
from heartbeat_tuner.decision.gates import group_ownership, write_gates
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import answer_sentences, remedy, tuning
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.decision.step_order import needed
from heartbeat_tuner.domain.evidence import Record, Unknown, Unwatched
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Decision, Finding, Verdict
from heartbeat_tuner.limits import plausibility
from heartbeat_tuner.models.group_model import Unfitted

Step = Callable[[DecisionInput, Derived], Decision | None]


def nobody_watches_the_group(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Decide by the model alone where nobody asked for metrics: nothing then speaks against the values set."""
    if not isinstance(inputs.record, Unwatched):
        return None
    return model_alone.decided(derived.answer)


def last_change_did_harm(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Go back to the values before our last change if it did harm, or its pods fail; once, and not after a person did.

    It comes before the record: pods that crash have none. What stood before is written entry by entry, so it is not
    asked whether these values are good.
    """
    policy, followed = inputs.policy, inputs.followed
    back = group_reverts.for_harm(policy, inputs.group, inputs.workload, followed)
    return back or harmful_changes.taken_back(policy, inputs.workload, followed)


def revert_goes_on(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Take a change back from the next of several workloads that it was written to."""
    return between_workloads.taken_back_next(inputs.policy, inputs.workload, inputs.followed, inputs.now)


def person_takes_group_values_back(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Give a group back what it had at the broker before our last write, as a person asks, whatever metrics say."""
    return group_reverts.asked(inputs.policy, inputs.group, inputs.workload)


def record_is_unknown(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Decide nothing where metrics are missing, or show nothing of a group of this kind."""
    record, unshown = inputs.record, group_values.unshown(inputs.group, inputs.client)
    if unshown is not None:
        return Decision(Verdict.UNKNOWN, unshown)
    return Decision(Verdict.UNKNOWN, Finding(record.reason, record.message)) if isinstance(record, Unknown) else None


def workload_is_unseen(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Decide nothing where one of several workloads has no metrics."""
    return between_workloads.unseen(inputs.workload, derived.record)


def no_pod_runs(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Decide nothing where no pod runs, or none is ready that could show whose group it is."""
    policy, workload = inputs.policy, inputs.workload
    if workload.pods and (inputs.ownership or inputs.group != group_ownership.by_note(policy, workload)):
        return None
    return Decision(Verdict.UNKNOWN, between_workloads.lacks_pods(policy, workload))


def change_goes_on(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Write a change to the next of several workloads, once the pods of those before it stayed ready."""
    return between_workloads.written_next(inputs.policy, inputs.workload, inputs.followed, inputs.now)


def workloads_differ(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Decide nothing where several workloads have different values and no change of ours is between them."""
    return between_workloads.differing(inputs.policy, inputs.workload)


def pods_differ(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Decide nothing in the middle of a rollout: there are no values to start from."""
    differ = inputs.workload.current is None
    return Decision(Verdict.UNKNOWN, between_workloads.pods_differ(inputs.policy)) if differ else None


def shorter_group_values_do_harm(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Take shorter limits of a group back at the broker where its members are fenced with them, or may be unseen."""
    return group_reverts.for_fencings(inputs.policy, inputs.group, inputs.workload, derived.record)


def group_values_are_not_in_force(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Decide nothing from what a broker describes and members do not do."""
    policy, brokers, client = inputs.policy, inputs.cluster.brokers, inputs.client
    return group_cadence.contradicted(policy, inputs.workload, inputs.group, brokers, derived.record, client)


def group_is_not_well(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Cure a group of the consumer protocol (KIP-848): S and H are the broker's, and M is its clients'."""
    if not inputs.group.consumer_protocol:
        return None
    seen = (derived.record, derived.current.settings, derived.shown)
    known = (inputs.group, inputs.policy, inputs.client, inputs.cluster, inputs.model)
    of_silences, of_polls = group_values.decided(*known, *seen), client_poll_limit.decided(*known, *seen)
    return client_poll_limit.first(of_silences, of_polls, may_write=not write_gates.broker_refuses(inputs))


def group_fencings_are_known(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Decide on a group of the consumer protocol as on any other where its record shows each of its fencings."""
    group, record = inputs.group, derived.record
    if not group_values.may_be_calm(group) or record.hidden is not None:
        return None
    if derived.shown.reason is not Reason.HEALTHY:
        return None
    asked = [functools.partial(_of_calm_group, inputs, each) for each in (derived, derived.of_client, derived.of_both)]
    if derived.is_endangered:
        asked[0] = asked[2] = functools.partial(_of_weeks_at_broker, inputs, derived)
    may_write = not write_gates.broker_refuses(inputs)
    decision = client_poll_limit.chosen(group, derived.current.settings, *asked, may_write=may_write)
    if not client_poll_limit.is_of_pods(derived.current.settings, decision):
        return group_savings.at_broker(group, record, decision)
    return dataclasses.replace(decision, forecast=derived.forecast(decision.target))


def _of_weeks_at_broker(inputs: DecisionInput, derived: Derived) -> Decision:
    """Cure what weeks of evictions show by S and H at the broker: as a model says, or else by the rule."""
    known = (inputs.group, inputs.policy, inputs.client, inputs.cluster, inputs.model)

    def by_rule(record: Record, finding: Finding) -> Decision:
        return needed(group_values.decided(*known, record, derived.current.settings, finding), "danger in a record")

    return _of_weeks(inputs, derived, by_rule)


def _of_calm_group(inputs: DecisionInput, derived: Derived) -> Decision:
    return next(filter(None, (step(inputs, derived) for step in _OF_CALM_GROUPS)))


def other_group_values_may_be_better(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Recommend to a group of the consumer protocol what a model finds; it is left alone where none does."""
    group = inputs.group
    if not group.consumer_protocol:
        return None
    answer, record = derived.answer, derived.record
    if isinstance(answer, Unfitted) or group.config is None or derived.shown.reason is not Reason.HEALTHY:
        return Decision(Verdict.UNKNOWN, group_values.unknown(group, record))
    change = (derived.current.settings, answer.target or derived.current.settings)
    refused = derived.refusal(answer, change)
    return group_savings.decided(group, record, answer, tuning.forecast(answer), refused)


def values_are_unreadable(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Decide nothing where a value cannot be what is set: it was read in another unit."""
    misread = plausibility.unreadable(inputs.policy, derived.current, inputs.group, None)
    return None if misread is None else Decision(Verdict.UNKNOWN, misread)


def record_contradicts_the_values(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Decide nothing from values that are not in force."""
    group, workload, brokers = inputs.group, inputs.workload, inputs.cluster.brokers
    doubt = contradictions.find_contradiction(inputs.policy, workload, group, brokers, derived.record, derived.current)
    return None if doubt is None else contradictions.decision(doubt)


def record_contradicted_them_before(inputs: DecisionInput, _derived: Derived) -> Decision | None:
    """Decide nothing while an earlier record's proof stands."""
    doubt = contradictions.noted_finding(inputs.policy, inputs.workload.template)
    return None if doubt is None else contradictions.decision(doubt)


def record_says_too_little(_inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Decide nothing by a record that shows neither health nor danger, unless weeks of evictions show it."""
    is_silent = derived.shown.reason is Reason.TOO_LITTLE_DATA and not derived.is_shown_by_weeks
    return Decision(Verdict.UNKNOWN, derived.shown) if is_silent else None


def no_value_is_a_cure(_inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Leave the values where others would not help."""
    if assessment.may_be_cured(derived.shown, derived.record):
        return None
    return Decision(Verdict.UNKNOWN, derived.shown, advice=cures.NO_CURE)


def record_demands_other_values(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Cure what the record shows, whatever a model says, but an hour like others of weeks whose price a model knows."""
    if derived.shown.reason in {Reason.HEALTHY, Reason.TOO_LITTLE_DATA} or derived.is_priced:
        return None
    decision = _cured(inputs, derived, derived.record, derived.shown)
    return dataclasses.replace(decision, forecast=derived.forecast(decision.target))


def history_demands_other_values(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Cure what weeks of evictions show, though no hour does: as a model says, or else by the rule.

    Who is evicted three times a day is never well, whatever a model promises, and whether there is one.
    """
    return _of_weeks(inputs, derived, functools.partial(_cured, inputs, derived)) if derived.is_endangered else None


def _of_weeks(inputs: DecisionInput, derived: Derived, by_rule: Callable[[Record, Finding], Decision]) -> Decision:
    evidence, answer = needed(derived.evidence, "weeks of evictions"), derived.answer
    if isinstance(answer, Answer) and derived.is_founded(answer):
        priced = weeks_of_evictions.priced(evidence, answer, inputs.per_month, inputs.held)
        if priced is not None:
            return priced
    decision = by_rule(*weeks_of_evictions.demanded(evidence, derived.record, inputs.per_month))
    return dataclasses.replace(decision, forecast=derived.forecast(decision.target))


def no_values_can_be_compared(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Leave a healthy group alone of which no model may be asked."""
    answer = derived.answer
    if not isinstance(answer, Unfitted):
        return None
    if derived.unexplained is not None:
        return Decision(Verdict.UNKNOWN, Finding(Reason.TOO_LITTLE_DATA, derived.unexplained))
    why = "" if answer is inputs.model else say("; no values are compared: {why}", why=answer.message)
    alone = say("{shown}; left as it is", shown=derived.shown.message)
    return Decision(Verdict.HEALTHY, Finding(derived.shown.reason, alone), outlook=why)


def limits_collide(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Say which two limits collide where no values satisfy all."""
    answer = _answer(derived)
    if answer.verdict is not Verdict.INFEASIBLE:
        return None
    finding = Finding(answer.reason, answer_sentences.advice(answer.message, inputs.held))
    return Decision(Verdict.INFEASIBLE, finding, forecast=tuning.forecast(answer))


def values_are_good_enough(inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Leave values that no others beat by enough."""
    answer = _answer(derived)
    if answer.target is not None:
        return None
    advice = answer_sentences.advice(answer.message, inputs.held)
    return Decision(Verdict.HEALTHY, derived.shown, advice=advice, forecast=tuning.forecast(answer))


def record_refuses_shorter_limits(_inputs: DecisionInput, derived: Derived) -> Decision | None:
    """Leave the values where a model asks for shorter limits, and the group's own record does not agree."""
    answer, current = _answer(derived), derived.current.settings
    refused = derived.refusal(answer, (current, needed(answer.target, "values to set")))
    if not refused:
        return None
    forecast = tuning.forecast(answer)
    return Decision(
        Verdict.HEALTHY,
        derived.shown,
        advice=say(cures.DISAGREES, refused=refused),
        forecast=None if forecast is None else dataclasses.replace(forecast, new=None),
    )


def other_values_are_better(inputs: DecisionInput, derived: Derived) -> Decision:
    """Recommend what the model finds: what is left of all groups."""
    answer = _answer(derived)
    return Decision(
        Verdict.CHANGE,
        Finding(answer.reason, derived.shown.message),
        advice=answer_sentences.advice(answer.message, inputs.held),
        target=needed(answer.target, "values to set"),
        forecast=tuning.forecast(answer),
    )


def _answer(derived: Derived) -> Answer:
    """Return the answer.

    Raises:
        StepOrderError: there is none; `no_values_can_be_compared` comes first.
    """
    return needed(None if isinstance(derived.answer, Unfitted) else derived.answer, "an answer")


def _cured(inputs: DecisionInput, derived: Derived, record: Record, finding: Finding) -> Decision:
    """Return what the rule for a record says to a finding."""
    client, policy, cluster, current = inputs.client, inputs.policy, inputs.cluster, derived.current.settings
    chosen = remedy.choose(client, policy, cluster, inputs.model, record, current, cause=finding.reason)
    return cures.cured(chosen, current, finding, client, cures.checked_against(cluster.brokers, policy.objective))


_OF_CALM_GROUPS: Final[tuple[Step, ...]] = (
    *(no_values_can_be_compared, limits_collide, values_are_good_enough, record_refuses_shorter_limits),
    other_values_are_better,
)
