"""Following a change of ours from look to look: has it landed, did it help, and when were members evicted? Pure.

`follow` is asked at each look at a whole group. What a new leader must know is in its answer, for the status to note;
what only spares work, or is over within the hour, is in `FollowMemory`.

Evictions are gathered from records of an hour into a history, since a verdict needs weeks. The history belongs to the
values that were set: it begins again when somebody else sets others, and at a change of ours it goes on, for what came
before is what the change is compared with.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.domain.evidence import Record, Unknown, Workload
from heartbeat_tuner.domain.policies import Application, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.rollouts import Rollout
from heartbeat_tuner.domain.sentences import Sentence, say
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import Effect, EvictionHistory, FollowedChange, Outcome
from heartbeat_tuner.reconcile.series.reading_plan import RECORD_WINDOW
from heartbeat_tuner.reconcile.status import landing
from heartbeat_tuner.reconcile.status.landing import WrittenChange
from heartbeat_tuner.reconcile.stopping import fleet_guard
from heartbeat_tuner.reconcile.stopping.fleet_guard import ChangedGroup
from heartbeat_tuner.verification import eviction_history, rollout_blame
from heartbeat_tuner.verification.change import HORIZON, Change, Verification, Watched
from heartbeat_tuner.verification.episodes import Stretch
from heartbeat_tuner.verification.verify import counted_since, judge

RECORD_BEFORE: Final = timedelta(days=14)
"""How much of the time before a change it is compared with."""

TRIMMED_EVERY: Final = timedelta(days=7)
"""A history that is longer than is needed is trimmed so often: each time is a status to write."""

SCALE_SETTLES: Final = timedelta(minutes=10)
"""After a step of scale, somebody's rollout, or an outage of the brokers nothing is learnt for so long: members join
and leave for it, and pods that crashed by it are restarted in the end."""

NOT_WATCHED_AFTER: Final = RECORD_WINDOW
"""A change that is found so long after it was written, with nothing noted of it, is not judged any more: its status was
lost, and nobody knows what its first pods did."""

NOTED_AHEAD: Final = timedelta(minutes=2)
"""While something disturbs, the history says so for a while ahead, and that is moved when so little of it is left."""

_HOUR_S: Final = 3600.0

Witnesses = Callable[[datetime], Sequence[Sequence[float]]]
"""Evictions of groups that tell that something hit the whole broker, for a change that was written at a time."""


@dataclasses.dataclass(frozen=True, slots=True)
class FollowMemory:
    """What is remembered between two looks, during one leadership.

    Attributes:
        disturbed_s: since when nothing can be learnt, in Unix seconds; None while something can.
        settles: until when that goes on at least.
        noted_until: until when the history says so.
        outage_until: until when pods may crash for an outage of the brokers; None while there was none.
        replicas: that the workload had; None before the first look.
        unknown_since: since when the record is unknown; None while it is known.
        asked: what the last verdict rests on.
        verification: that verdict.
        changed: what was counted of the newest change that has landed, also after it was taken back.
    """

    disturbed_s: float | None = None
    settles: datetime | None = None
    noted_until: datetime | None = None
    outage_until: datetime | None = None
    replicas: int | None = None
    unknown_since: datetime | None = None
    asked: tuple[Any, ...] = ()
    verification: Verification | None = None
    changed: ChangedGroup | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupLook:
    """One look at a group.

    Attributes:
        policy: with what its status and the workload note.
        workload: as it was looked up.
        record: what happened to the group lately.
        now: the time.
    """

    policy: Policy
    workload: Workload
    record: Record | Unknown
    now: datetime

    @property
    def change(self) -> Application | None:
        """The last change."""
        return self.policy.application

    @property
    def is_taken_back(self) -> bool:
        """Whether somebody took it back."""
        noted, change = self.policy.taken_back, self.change
        return noted is not None and change is not None and noted.application.at == change.at


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
    followed = None if change is None else _landed(look, change)
    memory, stretches = _disturbances(look, followed, memory)
    history = _history(look, change, followed, stretches)
    if change is None or followed is None:
        return None, history, memory
    if _is_over(followed, look.now) or _was_not_watched(followed):
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


def unseen(memory: FollowMemory, now: datetime, *, is_outage: bool) -> FollowMemory:
    """Return what to remember of a look at which nothing could be seen of a group.

    Args:
        memory: of the look before.
        now: the time.
        is_outage: whether the brokers did not answer: what members and pods do then, and shortly after, is not the
            values'.
    """
    memory = dataclasses.replace(memory, unknown_since=memory.unknown_since or now)
    if not is_outage:
        return memory
    since_s = now.timestamp() if memory.disturbed_s is None else memory.disturbed_s
    until = now + SCALE_SETTLES
    return dataclasses.replace(memory, disturbed_s=since_s, settles=until, outage_until=until)


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
    if followed.deployed is None and not workload.is_our_template and _is_seen(look, change):
        followed = dataclasses.replace(followed, deployed=now.replace(microsecond=0))
    if followed.landed is not None or now < change.at or _was_not_watched(followed):
        return followed
    current = None if workload.current is None else workload.current.settings
    written = WrittenChange(change, look.policy.workload, workload, current, is_new=False, had_landed=False, now=now)
    if landing.landing_of(written)[1].reason is not Reason.APPLIED:
        return followed
    return dataclasses.replace(followed, landed=max(change.at, now.replace(microsecond=0)))


def _standing_effect(standing: Effect | None, effect: Effect | None) -> Effect | None:
    """Return what was counted, as it was when something was last: an episode, or a day that passed."""
    if standing is None or effect is None:
        return effect
    is_same = standing.after.episodes == effect.after.episodes
    return standing if is_same and int(standing.after.days) == int(effect.after.days) else effect


def _is_seen(look: GroupLook, change: Application) -> bool:
    """Whether the workload is at least as new as the change: a view may lag behind a write."""
    note = look.workload.applications.get(look.policy.workload.container)
    return look.is_taken_back or (note is not None and note.at >= change.at)


def _was_not_watched(followed: FollowedChange) -> bool:
    """Whether a change was found that others had made long before."""
    return followed.landed is None and followed.outcome is Outcome.INCONCLUSIVE


def _still_fails(look: GroupLook, change: Application, followed: FollowedChange) -> bool:
    """Whether pods go on to fail as they did, however long ago values landed: a revert may have been held since."""
    if followed.outcome is not Outcome.ROLLOUT_FAILED:
        return False
    return _rollout(look, change).crashing(look.now) is not None


def _rollout(look: GroupLook, change: Application) -> Rollout:
    """Return the rollout as far as the values may be to blame."""
    return rollout_blame.blamed(look.workload, look.policy.workload.container, change.at, look.now)


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
    current = look.workload.current
    if followed.landed is None or current is None or current.settings == change.values:
        return None  # while pods differ it is not known
    return say("other values were set before anything had shown")


def _disturbances(
    look: GroupLook, followed: FollowedChange | None, memory: FollowMemory
) -> tuple[FollowMemory, tuple[Stretch, ...]]:
    """Return what to remember of what disturbs, and the stretches in which nothing was learnt that end now.

    The rollout of a change itself is none of them: what begins in it belongs to it.
    """
    now, replicas = look.now, look.workload.rollout.wanted
    is_scaled = memory.replicas is not None and memory.replicas != replicas
    is_ours = look.workload.our_rollout and followed is not None and followed.landed is None
    is_disturbed = is_scaled or (look.workload.rolling_out and not is_ours)
    settles = now + SCALE_SETTLES if is_disturbed else memory.settles
    stretches = list[Stretch]()
    since_s, noted_until = memory.disturbed_s, memory.noted_until
    if settles is not None and now >= settles:
        if since_s is not None:
            stretches.append((since_s, now.timestamp()))
        settles = since_s = noted_until = None
    elif settles is not None:
        since_s = now.timestamp() if since_s is None else since_s
        if noted_until is None or (noted_until < settles and noted_until - now < NOTED_AHEAD):
            noted_until = settles  # ahead of it: a new leader knows nothing of what began before it
            stretches.append((since_s, noted_until.timestamp()))
    unknown_since = memory.unknown_since
    if isinstance(look.record, Unknown):
        unknown_since = unknown_since or now
    elif unknown_since is not None:
        # What the record still reaches back to was missed by nobody.
        if now - unknown_since > RECORD_WINDOW:
            stretches.append((unknown_since.timestamp(), (now - RECORD_WINDOW).timestamp()))
        unknown_since = None
    memory = dataclasses.replace(
        memory,
        disturbed_s=since_s,
        settles=settles,
        noted_until=noted_until,
        replicas=replicas,
        unknown_since=unknown_since,
    )
    return memory, tuple(stretches)


def _history(
    look: GroupLook,
    change: Application | None,
    followed: FollowedChange | None,
    stretches: Sequence[Stretch],
) -> EvictionHistory | None:
    """Return when members were evicted with these values, and those before our last change."""
    history, current, now = look.policy.history, look.workload.current, look.now.replace(microsecond=0)
    if current is not None and isinstance(look.record, Record):
        is_ours = change is not None and change.reverts is None and current.settings == change.values
        group = look.policy.cluster, look.policy.group_id
        goes_on = history is not None and (is_ours or history.values == current.settings)
        if history is None or history.group != group or not goes_on:
            # The record is of these very pods: no container of them is older than it.
            since = look.record.since.replace(microsecond=0) + timedelta(seconds=1)
            history = eviction_history.begun(current.settings, min(since, now), group)
        elif history.values != current.settings:
            history = dataclasses.replace(history, values=current.settings)
    if history is None:
        return None
    before = look.policy.followed
    if change is not None and before is not None and before.at != change.at:
        # Between the landing of the change before and this write one set of values was in force.
        history = eviction_history.trimmed(history, before.landed or change.at)
    is_open = followed is not None and followed.landed is not None and now <= followed.landed + HORIZON
    if not is_open and history.since < now - RECORD_BEFORE - HORIZON - TRIMMED_EVERY:
        history = eviction_history.trimmed(history, now - RECORD_BEFORE - HORIZON)
    for since_s, until_s in stretches:
        history = eviction_history.left_out(history, math.floor(since_s), math.floor(until_s))
    if isinstance(look.record, Record):
        now_s = now.timestamp()
        seen_s = [math.floor(evicted_s) for evicted_s in look.record.evicted_at_s if evicted_s <= now_s]
        history = eviction_history.with_evictions(history, seen_s)
    return history


def _asked(
    look: GroupLook,
    change: Application,
    followed: FollowedChange,
    history: EvictionHistory | None,
    memory: FollowMemory,
    witnesses: Witnesses,
) -> FollowMemory:
    """Return what to remember, with a verdict: a new one once an hour, and where what it rests on is another."""
    now, rollout = look.now, _rollout(look, change)
    if memory.outage_until is not None and now < memory.outage_until:
        rollout = rollout_blame.calm(rollout, now)
    contradiction = _contradiction(look)
    is_failing = rollout.crashing(now) is not None or rollout.is_overdue(change.at, now)
    hour = int((now - change.at).total_seconds() // _HOUR_S)
    asked = (followed.at, followed.landed, history, contradiction, is_failing, memory.disturbed_s, hour)
    if asked == memory.asked and not is_failing:
        return dataclasses.replace(memory, changed=fleet_guard.counted_until(memory.changed, change.at, now))
    seen = Watched(
        since=now if history is None else history.since,
        evictions_s=() if history is None else history.episodes_s,
        left_out=_left_out(history, memory, now),
        others_s=witnesses(change.at),
    )
    change_seen = Change(change.at, followed.landed, rollout, contradiction, change.promise)
    counted = counted_since(change_seen, seen, now)
    changed = memory.changed
    if counted is not None:
        group = (look.policy.cluster, look.policy.group_id)
        changed = ChangedGroup(look.policy.key, group, change.at, counted)
    return dataclasses.replace(memory, asked=asked, verification=judge(change_seen, counted, now=now), changed=changed)


def _left_out(history: EvictionHistory | None, memory: FollowMemory, now: datetime) -> tuple[Stretch, ...]:
    """Return where nothing can be learnt, with what goes on now."""
    noted = () if history is None else history.left_out
    if memory.disturbed_s is None:
        return noted
    return (*noted, (memory.disturbed_s, now.timestamp() + 1.0))


def _contradiction(look: GroupLook) -> Finding | None:
    """Return what an earlier record proved against the values being in force, while that stands."""
    noted = look.policy.contradicted
    here = (look.policy.generation, look.workload.template)
    if noted is None or (noted.generation, noted.template) != here:
        return None
    return Finding(noted.reason, noted.message)
