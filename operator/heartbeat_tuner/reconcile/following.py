"""Following a change of ours from look to look: has it landed, did it help or do harm, has it ended? Pure.

`follow` is asked at each look at a whole group. What a new leader must know is in its answer, for the status to note.
`group_history` knows when members were evicted.
"""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.decision.at_broker import last_write
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.policies import Application
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Rollout
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import Effect, EvictionHistory, FollowedChange, Outcome
from heartbeat_tuner.reconcile import group_history
from heartbeat_tuner.reconcile.at_broker import group_following
from heartbeat_tuner.reconcile.group_history import FollowMemory, GroupLook
from heartbeat_tuner.reconcile.series.reading_plan import RECORD_WINDOW
from heartbeat_tuner.reconcile.status import landing
from heartbeat_tuner.reconcile.status.landing import WrittenChange
from heartbeat_tuner.reconcile.stopping import fleet_guard
from heartbeat_tuner.reconcile.stopping.fleet_guard import ChangedGroup
from heartbeat_tuner.verification import rollout_blame
from heartbeat_tuner.verification.change import HORIZON, Change, Watched
from heartbeat_tuner.verification.verify import counted_since, judge

NOT_WATCHED_AFTER: Final = RECORD_WINDOW
"""A change that is found so long after it was written, with nothing noted of it, is not judged any more: its status was
lost, and nobody knows what its first pods did."""

_HOUR_S: Final = 3600.0

Witnesses = Callable[[datetime], Sequence[Sequence[float]]]
"""Evictions of groups that tell that something hit the whole broker, for a change that was written at a time."""


def follow(
    look: GroupLook, memory: FollowMemory, witnesses: Witnesses
) -> tuple[FollowedChange | None, EvictionHistory | None, FollowMemory]:
    """Return how far the last change is, when members were evicted, and what to remember.

    Args:
        look: at the group.
        memory: of the look before.
        witnesses: asked where a verdict is due.
    """
    change = look.change
    if change is not None and not (look.is_at_broker or workload_parts.written(look.policy, change, look.workload)):
        return look.policy.followed, look.policy.history, memory  # it is in none of the workloads that are there
    followed = None if change is None else _landed(look, change)
    if followed is not None and look.is_at_broker and change is not None:
        followed = group_following.landed(look, change, followed)
    memory, stretches = group_history.disturbances(look, followed, memory)
    history = group_history.history_after(look, change, followed, stretches)
    if change is None or followed is None:
        return None, history, memory
    # While a workload is missing, pods that speak against the values may be gone with it: what was found stands then.
    stands = bool(look.workload.absent) and followed.is_harmful
    if stands or _is_over(followed, look.now) or _was_not_watched(followed):
        return followed, history, memory
    ended = _ended(look, change, followed)
    if ended is not None:
        return dataclasses.replace(followed, outcome=Outcome.INCONCLUSIVE, message=ended), history, memory
    memory = _asked(look, change, followed, history, memory, witnesses)
    verification = memory.verification
    if verification is not None and not _still_fails(look, change, followed):
        stands = followed.outcome is verification.outcome and followed.reached is not None
        followed = dataclasses.replace(
            followed,
            outcome=verification.outcome,
            message=verification.message,
            reached=followed.reached if stands else verification.reached,
            effect=_standing_effect(followed.effect, verification.effect),
        )
    return followed, history, memory


def _landed(look: GroupLook, change: Application) -> FollowedChange:
    """Return how far the pods are with a change; what an earlier look saw of another change is no part of it."""
    known, workload, now = look.policy.followed, look.workload, look.now
    if known is not None and known.at == change.at:
        followed = known
    elif now - change.at > NOT_WATCHED_AFTER:
        missed = say("nobody watched what became of the values written at {at:%Y-%m-%dT%H:%M:%SZ}", at=change.at)
        return FollowedChange(change.at, outcome=Outcome.INCONCLUSIVE, message=missed)
    else:
        followed = FollowedChange(change.at)
    if look.is_at_broker:
        return followed
    if _is_seen(look, change):
        is_first = not followed.template
        part = workload_parts.as_written(look.policy, change, workload, is_first=is_first)
        followed = _with_template(followed, part, now)
    if followed.landed is not None or now < change.at or _was_not_watched(followed) or workload.absent:
        return followed
    written = WrittenChange(
        change, look.policy.workload, workload, workload.current, is_new=False, had_landed=False, now=now
    )
    if landing.landing_of(written)[1].reason is not Reason.APPLIED:
        return followed
    return dataclasses.replace(followed, landed=max(change.at, now.replace(microsecond=0)))


def _with_template(followed: FollowedChange, workload: Workload, now: datetime) -> FollowedChange:
    """Return a change with the template that it left, and with when somebody else changed that.

    By the times of managers alone, who changes a label of the workload would seem to change its template.
    """
    if workload.is_our_template:
        return followed if followed.template else dataclasses.replace(followed, template=workload.template)
    if followed.deployed is not None or rollout_blame.is_ours(workload, followed.template):
        return followed
    return dataclasses.replace(followed, deployed=now.replace(microsecond=0))


def _standing_effect(standing: Effect | None, effect: Effect | None) -> Effect | None:
    """Return what was counted, as it was when something was last: an episode, or a day that passed."""
    if standing is None or effect is None:
        return effect
    is_same = standing.after.episodes == effect.after.episodes
    return standing if is_same and int(standing.after.days) == int(effect.after.days) else effect


def _is_seen(look: GroupLook, change: Application) -> bool:
    """Whether the workload is at least as new as the change: a view may lag behind a write."""
    reference, workload = workload_parts.written_to(look.policy, change, look.workload)
    note = workload.applications.get(reference.container)
    return look.is_taken_back or (note is not None and note.at >= change.at)


def _was_not_watched(followed: FollowedChange) -> bool:
    """Whether a change was found that others had made long before."""
    return followed.landed is None and followed.outcome is Outcome.INCONCLUSIVE


def _still_fails(look: GroupLook, change: Application, followed: FollowedChange) -> bool:
    """Whether pods go on to fail as they did, however long ago values landed: a revert may have been held since."""
    if followed.outcome is not Outcome.ROLLOUT_FAILED:
        return False
    return _rollout(look, change, followed).crashing(look.now) is not None


def _rollout(look: GroupLook, change: Application, followed: FollowedChange) -> Rollout:
    """Return the rollout as far as the values may be to blame: of several workloads one that fails, if any does."""
    policy, now = look.policy, look.now
    if look.is_at_broker:
        return rollout_blame.calm(look.workload.rollout, now)  # nothing was rolled out
    whole = workload_parts.as_written(policy, change, look.workload, is_first=False)
    # Of a workload that is missing the template is not known: then it counts whether the others' is ours.
    stands = whole.is_our_template if look.workload.absent else whole.template == followed.template
    rollouts = [
        rollout_blame.blamed(part, ref.container, part.template if stands else "", written.at, now)
        for ref, written, part in workload_parts.written(policy, change, look.workload)
    ]
    return next(
        (rollout for rollout in rollouts if rollout.failing or rollout.exceeded or rollout.aborted), rollouts[-1]
    )


def _is_over(followed: FollowedChange, now: datetime) -> bool:
    """Whether nothing is found out any more: the record of the time before is let go of then."""
    if followed.landed is None or now <= followed.landed + HORIZON:
        return False
    return followed.outcome is not Outcome.VERIFYING


def _ended(look: GroupLook, change: Application, followed: FollowedChange) -> Sentence | None:
    """Return why there is nothing to judge any more; None while there is."""
    if change.reverts is not None:
        return say("the values before the change at {at:%Y-%m-%dT%H:%M:%SZ} were written again", at=change.reverts)
    if look.is_taken_back:
        return say("somebody took the values back")
    if look.is_at_broker and followed.deployed is not None:
        return group_following.OTHER_PODS
    current = look.current
    may_come = not look.is_at_broker or look.now - change.at <= last_write.SHOWN_WITHIN
    if (followed.landed is None and may_come) or current is None or current.settings == change.values:
        return None  # while pods differ it is not known
    return say("other values were set before anything had shown")


def _asked(
    look: GroupLook,
    change: Application,
    followed: FollowedChange,
    history: EvictionHistory | None,
    memory: FollowMemory,
    witnesses: Witnesses,
) -> FollowMemory:
    """Return what to remember, with a verdict: a new one once an hour, and where what it rests on is another."""
    now, rollout, begun = look.now, _rollout(look, change, followed), change.begun or change.at
    if memory.outage_until is not None and now < memory.outage_until:
        rollout = rollout_blame.calm(rollout, now)
    contradiction = _contradiction(look)
    is_failing = rollout.crashing(now) is not None or rollout.is_overdue(change.at, now)
    hour = int((now - change.at).total_seconds() // _HOUR_S)
    asked = (followed.at, followed.landed, history, contradiction, is_failing, memory.disturbed_s, hour)
    if asked == memory.asked and not is_failing:
        return dataclasses.replace(memory, changed=fleet_guard.counted_until(memory.changed, change.at, now))
    seen = Watched(
        since=now if history is None else max(history.since, change.at - group_history.LONGEST_BEFORE),
        evictions_s=() if history is None else history.episodes_s,
        left_out=group_history.left_out_now(history, memory, now),
        others_s=witnesses(begun),
    )
    change_seen = Change(begun, followed.landed, rollout, contradiction, change.promise)
    counted = counted_since(change_seen, seen, now)
    changed = memory.changed
    if counted is not None:
        group = (look.policy.cluster, look.policy.group_id)
        changed = ChangedGroup(look.policy.key, group, change.at, counted)
    return dataclasses.replace(memory, asked=asked, verification=judge(change_seen, counted, now=now), changed=changed)


def _contradiction(look: GroupLook) -> Finding | None:
    """Return what an earlier record proved against the values being in force, while that stands."""
    noted = look.policy.contradicted
    here = (look.policy.generation, look.workload.template)
    if noted is None or (noted.generation, noted.template) != here:
        return None
    return Finding(noted.reason, noted.message)
