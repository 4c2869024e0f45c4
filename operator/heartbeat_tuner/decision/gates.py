"""May the chosen values be written now?

Gates are named by what holds the write back and asked in order; the first that holds is the reason. What lasts comes
before what passes, what somebody asked for before what is going on. What a record demands (a raise of S, a cut of W)
passes those that stand before tightening and savings alone: a group in a storm is always rebalancing, and has minutes
of data. The last gate, the fleet's budget, looks at all groups together: `reconcile.budget`.
"""

import itertools
from collections.abc import Callable
from typing import Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import consent, taking_back, windows
from heartbeat_tuner.decision.situation import Situation
from heartbeat_tuner.decision.tuning import Answer
from heartbeat_tuner.domain import durations, liveness
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Mode
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding


def first_hold(situation: Situation, target: LivenessSettings, *, of: Answer | None = None) -> Finding | None:
    """Return why `target` must not be written now; None when it may.

    Args:
        situation: of the group.
        target: the values that should be set.
        of: the answer that gave them; None where the group's record demands them.
    """
    holds = itertools.chain(
        (gate(situation, target) for gate in LEAVE),
        () if of is None else (gate(situation, of) for gate in CERTAINTY),
        (gate(situation, target) for gate in WAY),
        () if of is None else (gate(situation, of) for gate in PATIENCE),
        (gate(situation, target) for gate in TURN),
    )
    return next((hold for hold in holds if hold is not None), None)


def policy_is_suspended(situation: Situation, _target: LivenessSettings) -> Finding | None:
    """Hold while spec.suspend is set."""
    if not situation.policy.suspended:
        return None
    return Finding(Reason.SUSPENDED, "spec.suspend is true: nothing is written")


def mode_is_recommend(situation: Situation, _target: LivenessSettings) -> Finding | None:
    """Hold unless the policy asks for changes."""
    if situation.policy.mode is not Mode.RECOMMEND:
        return None
    return Finding(Reason.RECOMMEND_MODE, "spec.mode is Recommend: nothing is written; set it to Apply to have it done")


def values_were_taken_back(situation: Situation, _target: LivenessSettings) -> Finding | None:
    """Hold once somebody took our values back: what is found later must not overrule a person either."""
    noted = situation.policy.forbidden
    return None if noted is None else taking_back.finding(situation.policy, noted)


def mode_is_initial(situation: Situation, _target: LivenessSettings) -> Finding | None:
    """Hold where pods get values when they are created: their workload is never written."""
    if situation.policy.mode is not Mode.INITIAL:
        return None
    return Finding(
        Reason.AT_NEXT_RESTART,
        f"spec.mode is Initial: {situation.policy.workload} is not written; the webhook sets the values in each pod "
        f"that is created from now on",
    )


def rollout_is_paused(situation: Situation, _target: LivenessSettings) -> Finding | None:
    """Hold while changes of the template reach no pod: what is written now would come at a moment nobody chose."""
    if not situation.workload.paused:
        return None
    reference = situation.policy.workload
    return Finding(
        Reason.ROLLOUT_PAUSED,
        f"{reference} is paused (spec.paused): nothing is written until `kubectl rollout resume`",
    )


def rollout_is_in_progress(situation: Situation, _target: LivenessSettings) -> Finding | None:
    """Hold while somebody's rollout is not finished: two at once cannot be told apart."""
    if not situation.workload.rolling_out:
        return None
    return Finding(Reason.ROLLOUT_IN_PROGRESS, f"a rollout of {situation.policy.workload} is not finished")


def field_is_owned_by_another(situation: Situation, target: LivenessSettings) -> Finding | None:
    """Hold when an environment entry that would be written belongs to another manager."""
    workload = situation.workload
    current = workload.current
    if current is None:
        return None
    owned = [setting for setting in workload.to_write(target) if setting in workload.foreign_env]
    if not owned:
        return None
    # What pods have instead of the template's value does not stand in the manifest.
    values = {
        setting: f', value: "{durations.to_ms(current.settings[setting])}"'
        for setting in owned
        if setting not in workload.unlike_template
    }
    lines = ", ".join(
        workload.lines.get(one, f"{{name: {situation.policy.env_names[one]}{values.get(one, '')}}}") for one in owned
    )
    managers = ", ".join(sorted({workload.foreign_env[setting] for setting in owned}))
    return Finding(
        Reason.FIELD_OWNED,
        f"container {situation.policy.workload.container} has env entries of {managers} where the tuner would write; "
        f"nothing is forced. Take out of the manifest's env: {lines}. Values from envFrom may stay: the tuner's "
        f"entries win over them",
    )


def setting_is_assumed(situation: Situation, target: LivenessSettings) -> Finding | None:
    """Hold while a value is not seen that a change rests on: it would change, or a shorter session must hold it.

    Who raises an assumed value may lower the real one; and a session that holds an assumed beat may not hold the real
    one: the library then refuses to start, or members are removed between their beats.
    """
    current = situation.workload.current
    if current is None:
        return None
    moved, held = liveness.changed(current.settings, target), _held_by_session(situation, current.settings, target)
    assumed = [one for one in target.by_setting if one in current.assumed and (one in moved or one in held)]
    if not assumed:
        return None
    values = ", ".join(f"{setting} ({durations.show(current.settings[setting])})" for setting in assumed)
    why = "" if any(one in moved for one in assumed) else ", and a shorter session would rest on it"
    return Finding(
        Reason.SETTING_ASSUMED,
        f"neither the pods' env nor a ConfigMap shows {values}, the library's default is assumed{why}; declare what is "
        f"set in spec.client.current, or name the right variables in spec.client.env",
    )


def _held_by_session(situation: Situation, now: LivenessSettings, target: LivenessSettings) -> tuple[Setting, ...]:
    """Return the settings that say how often beats come, where the session that must hold them would be shorter."""
    if target.session_timeout >= now.session_timeout:
        return ()
    waits = catalogue.client(situation.policy.library).beat_waits_for_fetch
    return (Setting.HEARTBEAT_INTERVAL, Setting.FETCH_WAIT) if waits else (Setting.HEARTBEAT_INTERVAL,)


def change_is_cooling_down(situation: Situation, _target: LivenessSettings) -> Finding | None:
    """Hold until the cooldown after the last change is over."""
    application = situation.policy.application
    if application is None or situation.now - application.at >= situation.policy.cooldown:
        return None
    until = application.at + situation.policy.cooldown
    return Finding(
        Reason.COOLDOWN,
        f"the last change was at {application.at:%Y-%m-%dT%H:%M:%SZ}; rollout.cooldown "
        f"({durations.show(situation.policy.cooldown)}) allows the next at {until:%Y-%m-%dT%H:%M:%SZ}",
    )


def every_window_is_closed(situation: Situation, _target: LivenessSettings) -> Finding | None:
    """Hold until one of the policy's windows opens; what nobody has watching must not begin, a cure neither."""
    shut = situation.policy.windows
    if not shut or any(windows.is_open(one, situation.now) for one in shut):
        return None
    opening, window = windows.next_opening(shut, situation.now)
    return Finding(
        Reason.OUTSIDE_WINDOW,
        f"none of rollout.windows is open; the next opens at {opening.isoformat()} ({window.zone}) for "
        f"{durations.show(window.duration)}",
    )


def data_are_too_few(situation: Situation, of: Answer) -> Finding | None:
    """Hold a tightening back that less than a week asks for, or that the group's own record does not back yet.

    The busiest day may not have been seen; and a model alone shortens nothing.
    """
    if not of.only_recommend:
        return consent.hold(situation, of)
    sentence = "a shorter session or poll limit is written from 7 days of history on: until then it is recommended"
    return Finding(Reason.TOO_LITTLE_DATA, sentence)


def group_is_rebalancing(situation: Situation, _of: Answer) -> Finding | None:
    """Hold while partitions are being moved: a saving can wait for that."""
    if not situation.group.rebalancing:
        return None
    sentence = f"group {situation.policy.group_id} is rebalancing ({situation.group.state.value}); a saving can wait"
    return Finding(Reason.REBALANCING, sentence)


def restart_comes_anyway(situation: Situation, of: Answer) -> Finding | None:
    """Hold what does not earn back a rollout of its own before pods are replaced anyway."""
    if not of.wait_for_restart:
        return None
    at_once = ", which would stop all pods at once" if situation.workload.at_once else ""
    return Finding(
        Reason.NOT_WORTH_RESTART,
        f"what it saves until pods are replaced anyway, or within rollout.horizon "
        f"({durations.show(situation.policy.horizon)}), does not pay for a rollout of its own{at_once}; set the values "
        f"with the next deploy",
    )


LEAVE: Final[tuple[Callable[[Situation, LivenessSettings], Finding | None], ...]] = (
    policy_is_suspended,
    # Before the mode: who only reads what is recommended has to know that it rests on an assumption.
    setting_is_assumed,
    mode_is_recommend,
)
"""May anything be written at all?"""

CERTAINTY: Final[tuple[Callable[[Situation, Answer], Finding | None], ...]] = (data_are_too_few,)
"""Is enough known for it to be more than shown?"""

WAY: Final[tuple[Callable[[Situation, LivenessSettings], Finding | None], ...]] = (
    mode_is_initial,
    values_were_taken_back,
)
"""Is it the workload that is written? What follows is about rollouts."""

PATIENCE: Final[tuple[Callable[[Situation, Answer], Finding | None], ...]] = (
    restart_comes_anyway,
    group_is_rebalancing,
)
"""They hold back only what nothing urgent demands."""

TURN: Final[tuple[Callable[[Situation, LivenessSettings], Finding | None], ...]] = (
    rollout_is_paused,
    rollout_is_in_progress,
    field_is_owned_by_another,
    change_is_cooling_down,
    every_window_is_closed,
)
"""Is now the time?"""
