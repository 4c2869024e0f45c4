"""When a group's members were evicted, gathered from look to look, since a verdict needs weeks of it. Pure.

A look has a record of an hour at most. The history belongs to the values that were set: it begins again when somebody
else sets others, and at a change of ours it goes on, for what came before is what the change is compared with. What
disturbs a group is left out of it: steps of scale, somebody's rollout, outages, and time in which nobody looked.

A status notes the history, for a new leader; what is over within the hour is in `FollowMemory`.
"""

import dataclasses
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from heartbeat_tuner.decision.evictions import refuted_sessions
from heartbeat_tuner.domain.evidence import Record, Unknown, Workload
from heartbeat_tuner.domain.liveness import CurrentSettings
from heartbeat_tuner.domain.policies import Application, Policy
from heartbeat_tuner.domain.verifications import MOST_LEFT_OUT, EvictingSession, EvictionHistory, FollowedChange
from heartbeat_tuner.reconcile.series.reading_plan import RECORD_WINDOW
from heartbeat_tuner.reconcile.stopping.fleet_guard import ChangedGroup
from heartbeat_tuner.verification import eviction_history
from heartbeat_tuner.verification.change import HORIZON, Verification
from heartbeat_tuner.verification.episodes import Stretch

RECORD_BEFORE: Final = timedelta(days=14)
"""How much of the time before a change it is compared with."""

TRIMMED_EVERY: Final = timedelta(days=7)
"""A history that is longer than is needed is trimmed so often: each time is a status to write."""

LONGEST_BEFORE: Final = RECORD_BEFORE + HORIZON + TRIMMED_EVERY
"""Of a history that reaches back further so much is compared with a change."""

QUIET_KEPT: Final = timedelta(days=91)
"""A history without an episode in it is longer: 90 such days show that an objective of one a month is met."""

_ROOM: Final = MOST_LEFT_OUT // 2
"""A history with more stretches that were left out is not longer: the nearest of them become one where none fits."""

SCALE_SETTLES: Final = timedelta(minutes=10)
"""After a step of scale, somebody's rollout, or an outage of the brokers nothing is learnt for so long: members join
and leave for it, and pods that crashed by it are restarted in the end."""

NOTED_AHEAD: Final = timedelta(minutes=2)
"""While something disturbs, the history says so for a while ahead, and that is moved when so little of it is left."""

HIDDEN_AHEAD: Final = timedelta(days=1)
"""While evictions may be hidden, the history says so for a day ahead: each time is a status to write."""


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
        written_at_broker: our last write into the group's configuration, as a change; None where there is none.
    """

    policy: Policy
    workload: Workload
    record: Record | Unknown
    now: datetime
    written_at_broker: Application | None = None

    @property
    def current(self) -> CurrentSettings | None:
        """What is set; None while the pods differ, or the broker does not say its part."""
        current = self.workload.current
        return None if current is None or current.is_unread else current

    @property
    def change(self) -> Application | None:
        """The last change."""
        return self.written_at_broker if self.is_at_broker else self.policy.application

    @property
    def is_at_broker(self) -> bool:
        """Whether the last change is of the group's configuration at the broker, which may not be readable now."""
        ours, application = self.policy.group_write, self.policy.application
        return ours is not None and (application is None or ours.at > application.at)

    @property
    def is_taken_back(self) -> bool:
        """Whether somebody took it back."""
        noted, change = self.policy.taken_back, self.change
        return noted is not None and change is not None and noted.application.at == change.at


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


def disturbances(
    look: GroupLook, followed: FollowedChange | None, memory: FollowMemory
) -> tuple[FollowMemory, tuple[Stretch, ...]]:
    """Return what to remember of what disturbs, and the stretches in which nothing was learnt that end now.

    The rollout of a change itself is none of them: what begins in it belongs to it.
    """
    now, replicas = look.now, look.workload.rollout.wanted
    is_scaled = memory.replicas is not None and memory.replicas != replicas
    is_ours = look.workload.our_rollout and followed is not None and followed.landed is None
    # While a canary runs, the record is of the other pods alone.
    canary = look.policy.canary
    has_canary = canary is not None and (canary.is_trying or canary.is_taking_back)
    is_disturbed = is_scaled or (look.workload.rolling_out and not is_ours) or has_canary
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


def history_after(
    look: GroupLook,
    change: Application | None,
    followed: FollowedChange | None,
    stretches: Sequence[Stretch],
) -> EvictionHistory | None:
    """Return when members were evicted with these values, and those before our last change."""
    current, now = look.current, look.now.replace(microsecond=0)
    history = _of_last_values(look.policy, change)
    if current is not None and isinstance(look.record, Record):
        is_ours = change is not None and change.reverts is None and current.settings == change.values
        group = look.policy.cluster, look.policy.group_id
        goes_on = history is not None and (is_ours or history.values == current.settings)
        evicting = _evicting(history, look, followed, group)
        if history is None or history.group != group or not goes_on:
            # The record is of these very pods: no container of them is older than it.
            since = look.record.since.replace(microsecond=0) + timedelta(seconds=1)
            history = eviction_history.begun(current.settings, min(since, now), group)
        elif history.values != current.settings:
            history = dataclasses.replace(history, values=current.settings)
        if history.evicting != evicting:
            history = dataclasses.replace(history, evicting=evicting)
    if history is None:
        return None
    is_open = followed is not None and followed.landed is not None and now <= followed.landed + HORIZON
    if not is_open:
        history = _trimmed(history, now)
    for since_s, until_s in stretches:
        history = eviction_history.left_out(history, math.floor(since_s), math.floor(until_s))
    if isinstance(look.record, Record):
        now_s = now.timestamp()
        seen_s = [math.floor(evicted_s) for evicted_s in look.record.evicted_at_s if evicted_s <= now_s]
        history = _hidden(eviction_history.with_evictions(history, seen_s), look.record, now)
    return history


def _hidden(history: EvictionHistory, record: Record, now: datetime) -> EvictionHistory:
    """Return a history that says until when evictions may be missing in it."""
    is_noted = history.hidden_until is not None and history.hidden_until > now
    if record.hidden is None or not record.hidden.lasts or is_noted:
        return history
    return dataclasses.replace(history, hidden_until=now + HIDDEN_AHEAD)


def _trimmed(history: EvictionHistory, now: datetime) -> EvictionHistory:
    """Return no more of a history than is needed; without an episode before that, as much as shows that it is quiet."""
    begins = now - RECORD_BEFORE - HORIZON
    is_quiet = not history.episodes_s or history.episodes_s[0] >= begins.timestamp()
    if is_quiet and len(history.left_out) <= _ROOM:
        begins = now - QUIET_KEPT
    return history if history.since >= begins - TRIMMED_EVERY else eviction_history.trimmed(history, begins)


def _of_last_values(policy: Policy, change: Application | None) -> EvictionHistory | None:
    """Return the history from when the values before the last change landed: from then on only these were in force."""
    history, before = policy.history, policy.followed
    is_on = change is not None and change.reverts is None and change.begun is not None  # to one more workload
    if history is None or change is None or before is None or before.at == change.at or is_on:
        return history
    return eviction_history.trimmed(history, before.landed or change.at)


def _evicting(
    history: EvictionHistory | None, look: GroupLook, followed: FollowedChange | None, group: tuple[str, str]
) -> tuple[EvictingSession, ...]:
    """Return the sessions that evicted; with the one of the values that were set, where others are now."""
    current = look.current
    if history is None or history.group != group:
        return ()
    if current is None or history.values == current.settings:
        return history.evicting
    return refuted_sessions.after_other_values(history, look.policy, followed, current.settings, look.now)


def left_out_now(history: EvictionHistory | None, memory: FollowMemory, now: datetime) -> tuple[Stretch, ...]:
    """Return where nothing can be learnt, with what goes on now."""
    noted = () if history is None else history.left_out
    if memory.disturbed_s is None:
        return noted
    return (*noted, (memory.disturbed_s, now.timestamp() + 1.0))
