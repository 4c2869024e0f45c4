"""May the chosen values be written now?

Gates are named by what holds the write back, and all have one signature; `pipeline` has their order. Some hold back
only savings and shorter limits. A change that the record demands (a longer S, a shorter W) passes these: a group in a
storm is always rebalancing, and has minutes of data. The last gate, the fleet's budget, looks at all groups together:
`reconcile.budget`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.decision.at_broker import group_savings, write_holds
from heartbeat_tuner.decision.gates import (
    assumed_values,
    canary_words,
    failed_values,
    field_ownership,
    paused_rollouts,
    record_consent,
    revert_ownership,
    rollout_windows,
    taken_back,
)
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.decision.optimize import guard
from heartbeat_tuner.decision.optimize.questions import Answer
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Mode, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import Outcome

_FRESH: Final = timedelta(days=1)
"""A change that landed so long ago is watched by who opened the window for it."""


@dataclasses.dataclass(frozen=True, slots=True)
class ProposedChange:
    """What would be written.

    Attributes:
        target: the values.
        saving: the answer that they come from; None where the group's record demands them.
        shown_by_weeks: whether only evictions of weeks demand them, and no hour does.
        effect_is_unseen: whether no metric would show what they do.
    """

    target: LivenessSettings
    saving: Answer | None = None
    shown_by_weeks: bool = False
    effect_is_unseen: bool = False


Gate = Callable[[DecisionInput, ProposedChange], Finding | None]


def policy_is_suspended(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold while spec.suspend is set."""
    if not inputs.policy.suspended:
        return None
    return Finding(Reason.SUSPENDED, "spec.suspend is true: nothing is written")


def mode_is_recommend(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold unless the policy asks for changes."""
    if inputs.policy.mode is not Mode.RECOMMEND:
        return None
    return Finding(Reason.RECOMMEND_MODE, "spec.mode is Recommend: nothing is written; set it to Apply to have it done")


def values_were_taken_back(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold once somebody took our values back: what is found later must not overrule a person either."""
    noted = inputs.policy.forbidden
    return None if noted is None else taken_back.finding(inputs.policy, noted)


def values_failed_before(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold what was taken back under this spec, or goes further the same way, until a model has learnt from it."""
    prediction = None if change.saving is None else change.saving.new
    expected = None if prediction is None else prediction.evictions_upper / durations.MONTH_DAYS
    current = None if inputs.workload.current is None else inputs.workload.current.settings
    return failed_values.failed_before(inputs.policy, current, change.target, expected)


def mode_is_initial(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold where pods get values when they are created: their workload is never written."""
    if inputs.policy.mode is not Mode.INITIAL:
        return None
    if inputs.group.consumer_protocol:
        phrase = (
            "spec.mode is Initial: the webhook sets nothing in pods of group {group}, whose session is set at the "
            "broker; use mode Apply"
        )
        return Finding(Reason.RECOMMEND_MODE, say(phrase, group=inputs.policy.group_id))
    return Finding(
        Reason.AT_NEXT_RESTART,
        say(
            "spec.mode is Initial: {workload} is not written; the webhook sets the values in each pod that is created "
            "from now on",
            workload=inputs.policy.workload,
        ),
    )


def rollout_is_paused(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold while changes of the template reach no pod, or not all: the rest would get them at a moment nobody chose."""
    workloads = workload_parts.each(inputs.policy, inputs.workload)
    return paused_rollouts.paused(workloads) or paused_rollouts.partitioned(workloads)


def revert_is_paused(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold a revert likewise, whatever the other workloads of the policy do."""
    return paused_rollouts.paused(_alone(inputs))


def rollout_is_in_progress(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold while somebody's rollout is not finished: two at once cannot be told apart."""
    return _rolling(workload_parts.each(inputs.policy, inputs.workload))


def _rolling(workloads: Mapping[WorkloadRef, Workload]) -> Finding | None:
    rolling = next((reference for reference, workload in workloads.items() if workload.rolling_out), None)
    if rolling is None:
        return None
    unfinished = say("a rollout of {workload} is not finished", workload=rolling)
    return Finding(Reason.ROLLOUT_IN_PROGRESS, unfinished)


def field_is_owned_by_another(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold when an environment entry that would be written belongs to another manager."""
    for reference, workload in workload_parts.each(inputs.policy, inputs.workload).items():
        finding = field_ownership.finding(inputs.policy, reference, workload, change.target)
        if finding is not None:
            return finding
    return None


def setting_is_assumed(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold while a value is not seen that a change rests on: it would change, or a shorter session must hold it.

    Who raises an assumed value may lower the real one; and a session that holds an assumed beat may not hold the real
    one: the library then refuses to start, or members are removed between their beats.
    """
    return assumed_values.finding(inputs.client, inputs.workload.current, change.target)


def group_may_not_be_written(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold what is set at the broker unless all of the group is the policy's, and the operator may write it."""
    return _of_broker(inputs)


def _of_broker(inputs: DecisionInput) -> Finding | None:
    policy, others = inputs.policy, (inputs.peers, inputs.strangers)
    return write_holds.finding(policy, inputs.workload, inputs.group, inputs.cluster, others, inputs.seen_at)


def broker_refuses(inputs: DecisionInput) -> bool:
    """Whether what is set at the broker is held for long: not by a member that is about to go, or a write just made."""
    hold = _of_broker(inputs)
    if hold is None or hold.reason is Reason.ROLLING_OUT:
        return False
    return hold.reason is not Reason.GROUP_NOT_OWNED or bool(inputs.peers)


def fencings_are_not_shown(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold what nothing demands at the broker: nobody would see there what it does to the group."""
    return group_savings.not_verifiable(inputs.group) if change.effect_is_unseen else None


def group_may_not_go_back(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold what stood before at the broker likewise, and where somebody set another value since."""
    policy, others = inputs.policy, (inputs.peers, inputs.strangers)
    return write_holds.of_revert(policy, inputs.workload, inputs.group, inputs.cluster, others, inputs.seen_at)


def change_is_cooling_down(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold until the cooldown after the last change is over."""
    last = inputs.policy.changed_at
    if last is None or inputs.now - last >= inputs.policy.cooldown:
        return None
    until = last + inputs.policy.cooldown
    return Finding(
        Reason.COOLDOWN,
        say(
            "the last change was at {last:%Y-%m-%dT%H:%M:%SZ}; rollout.cooldown ({cooldown}) allows the next at "
            "{next:%Y-%m-%dT%H:%M:%SZ}",
            last=last,
            cooldown=inputs.policy.cooldown,
            next=until,
        ),
    )


def every_window_is_closed(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold until one of the policy's windows opens; what nobody has watching must not begin, a cure neither."""
    windows = inputs.policy.windows
    if not windows or any(rollout_windows.is_open(window, inputs.now) for window in windows):
        return None
    opening, window = rollout_windows.next_opening(windows, inputs.now)
    return Finding(
        Reason.OUTSIDE_WINDOW,
        say(
            "none of rollout.windows is open; the next opens at {opening} ({zone}) for {duration}",
            opening=opening.isoformat(),
            zone=window.zone,
            duration=window.duration,
        ),
    )


def data_are_too_few(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold back what less than a week asks for, or a tightening that the group's own record does not back yet.

    The busiest day may not have been seen; and a model alone shortens nothing.
    """
    current = inputs.workload.current
    if change.saving is None or current is None:
        return None
    if not change.saving.only_recommend:
        return record_consent.hold(inputs.record, current.settings, change.target)
    days = guard.SURE_DAYS
    sentence = say(
        "what no danger demands is written from {days:g} days of history on: until then it is recommended", days=days
    )
    return Finding(Reason.TOO_LITTLE_DATA, sentence)


def last_change_is_being_verified(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold a saving until it is known what the change before it did; so, too, what only weeks demand.

    Members that are evicted more often since the last change may be so by that change. It has to be taken back then,
    and another one on top of it would hide that.
    """
    if change.saving is not None:
        return failed_values.being_verified(inputs.followed, inputs.now)
    return failed_values.not_judged_yet(inputs.followed, inputs.now) if change.shown_by_weeks else None


def group_is_rebalancing(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold while partitions are being moved: a saving can wait for that."""
    if change.saving is None or not inputs.group.rebalancing:
        return None
    moving = "group {group} is rebalancing ({state}); a saving can wait"
    state = inputs.group.state.value
    return Finding(Reason.REBALANCING, say(moving, group=inputs.policy.group_id, state=state))


def rollout_does_not_pay(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold what does not earn back a rollout of its own within the horizon."""
    if change.saving is None or not change.saving.wait_for_restart:
        return None
    at_once = ", which would stop all pods at once" if inputs.workload.at_once else ""
    return Finding(
        Reason.NOT_WORTH_RESTART,
        say(
            "what it saves within rollout.horizon ({horizon}) does not pay for a rollout of its own{atOnce}; set the "
            "values with the next deploy{initial}",
            horizon=inputs.policy.horizon,
            atOnce=at_once,
            initial="" if inputs.group.consumer_protocol else ", or use mode Initial, which sets them in new pods",
        ),
    )


def canary_is_running(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold a saving while a part of the pods tries values; a cure does not wait for that."""
    return None if change.saving is None else canary_words.hold(inputs.policy, inputs.workload, inputs.now)


def every_window_is_closed_to_reverts(inputs: DecisionInput, change: ProposedChange) -> Finding | None:
    """Hold what statistics took days to show until a window opens; the end of what has just begun waits for none."""
    followed = inputs.followed
    if followed is None or followed.outcome is Outcome.ROLLOUT_FAILED:
        return None
    is_fresh = followed.landed is None or inputs.now - followed.landed < _FRESH
    return None if is_fresh else every_window_is_closed(inputs, change)


def rollout_is_anothers(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold while a rollout is not finished that somebody else began after ours: it may be the cure."""
    alone = _alone(inputs)
    return None if alone[inputs.policy.workload].our_rollout else _rolling(alone)


def _alone(inputs: DecisionInput) -> Mapping[WorkloadRef, Workload]:
    return {inputs.policy.workload: workload_parts.written_next(inputs.policy, inputs.workload)}


def entries_are_owned_by_another(inputs: DecisionInput, _change: ProposedChange) -> Finding | None:
    """Hold a revert where the entries that it would take back are another manager's by now."""
    last = workload_parts.last_of(inputs.policy)
    return (
        None if last is None else revert_ownership.finding(inputs.policy, _alone(inputs)[inputs.policy.workload], last)
    )
