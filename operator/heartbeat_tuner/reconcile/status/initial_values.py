"""What the webhook sets in pods that are created, in mode Initial: kept in the policy's status. Pure.

Nobody rolls the pods out, so for weeks some have the new values and others the old ones, and while that is so nothing
is decided. What was decided stands meanwhile, and after that too, while all pods have it: the workload's own template
does not, and the next pod would fall back. It is withdrawn when pods without it are found to be well.

It is good for a day or two, and the operator moves that end along as long as it knows the group: where metrics, or the
operator itself, have been away for so long, pods start as their template says.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.api.applied import durations_of
from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import ConditionStatus, Initial, SomeValues
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Mode
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import has_settled
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import LEAVES_THE_VALUES, Finding, Verdict
from heartbeat_tuner.reconcile.outcomes import Decided

VALID: Final = timedelta(hours=48)
"""From a move of the end on."""

MOVED_AT: Final = timedelta(hours=24)
"""With so much left the end is moved: one write a day, and no two policies at the same moment."""

_SURE: Final = LEAVES_THE_VALUES | {Verdict.INFEASIBLE}
"""Verdicts that leave pods with the values they have."""


def next_initial(standing: Initial | None, outcome: Decided, *, now: datetime) -> Initial | None:
    """Return what is to be set in pods from now on; None where they are left as their template has them.

    Args:
        standing: what was to be set so far.
        outcome: of this cycle.
        now: to count from.
    """
    decision, inputs = outcome.decision, outcome.inputs
    if inputs.policy.mode is not Mode.INITIAL or inputs.group.consumer_protocol:
        return None
    if isinstance(inputs.record, Unknown):
        return standing
    values = {} if standing is None else durations_of(standing.values)
    current, target = outcome.current, decision.target
    if target is None and decision.verdict in _SURE and current is not None and not has(current, values):
        return None
    if target is not None and current is not None and _may_be_set(outcome):
        moved = {*values, *liveness.changed(current, target)}
        values = {setting: value for setting, value in target.by_setting.items() if setting in moved}
    return _lasting(standing, values, now=now) if values else None


def statement(initial: Initial, outcome: Decided) -> tuple[ConditionStatus, Finding] | None:
    """Return whether the pods have what is set in new ones; None where something else holds it back."""
    values, hold = durations_of(initial.values), outcome.decision.hold
    if hold is not None and not _may_be_set(outcome):
        return None
    text = ", ".join(f"{setting} {durations.show(value)}" for setting, value in values.items())
    workload = outcome.inputs.policy.workload
    inputs = outcome.inputs
    stays = any(has_settled(pod.ready_since, pod.restarts, inputs.now) for pod in inputs.workload.pods)
    if stays and outcome.current is not None and has(outcome.current, values):
        phrase = "the pods of {workload} run with the values that the webhook sets in each: {values}"
        return ConditionStatus.TRUE, Finding(Reason.APPLIED, say(phrase, workload=workload, values=text))
    phrase = "the webhook sets in each pod of {workload} that is created: {values}; {workload} itself is not written"
    return ConditionStatus.FALSE, Finding(Reason.AT_NEXT_RESTART, say(phrase, workload=workload, values=text))


def has(current: LivenessSettings, values: dict[Setting, timedelta]) -> bool:
    """Whether values are among those that are set."""
    return values.items() <= current.by_setting.items()


def _may_be_set(outcome: Decided) -> bool:
    """Whether nothing but the mode keeps the target from being written."""
    hold = outcome.decision.hold
    return hold is not None and hold.reason is Reason.AT_NEXT_RESTART


def _lasting(standing: Initial | None, values: dict[Setting, timedelta], *, now: datetime) -> Initial:
    shown = SomeValues.model_validate({setting.value: durations.show(value) for setting, value in values.items()})
    until = None if standing is None else datetime.fromisoformat(standing.valid_until)
    if standing is not None and until is not None and shown == standing.values and until - now > MOVED_AT:
        return standing
    return Initial(values=shown, valid_until=f"{(now + VALID).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
