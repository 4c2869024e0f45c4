"""From one description of a group to the next: what happened to the members in between.

The coordinator gives a member its id, and takes it away when the member is silent for its session, leaves, or is
replaced. An id belongs to one life of a pod's process, by the address that the member connects from. A process that
restarted, and a pod that is new or gone, is no eviction: its ids are not compared. So rollouts and scale steps show
none. What stays is a living process with an id that is gone and another that is new: at most one eviction is counted
for each id, so several of one member between two descriptions count as one.

In groups of the consumer protocol (KIP-848) and in share groups (KIP-932) the client makes its id, and keeps it when it
is fenced: there a new id is another consumer of the same process. But a member that is fenced is missing from the
descriptions until it has joined again. So a living process whose id is gone and comes back was evicted, or left because
it did not poll. Groups of Kafka Streams' protocol (KIP-1071) are not looked at: their own metrics show each fencing.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.clients.client import Protocol
from heartbeat_tuner.domain import members_at_pods
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import Group, Member
from heartbeat_tuner.metrics.group_events import process_ids
from heartbeat_tuner.metrics.group_events.group_event import (
    Doubt,
    GroupEvent,
    GroupView,
    Rejoin,
    SeenRebalance,
    Timeouts,
)
from heartbeat_tuner.metrics.group_events.process_ids import ProcessIds

LONGEST_GAP: Final = timedelta(minutes=3)
"""Between two descriptions: after a longer one, a new id says too little of what happened."""

DISTURBED_FOR: Final = timedelta(seconds=90)
"""So long after a description failed, or the coordinator moved, members may still be joining again."""

MASS_REJOIN_AGAIN: Final = timedelta(minutes=10)
"""A broker restarts once: all members with new ids a second time within this are a storm."""

KEEPS_ID: Final = frozenset({Protocol.CONSUMER, Protocol.SHARE})
"""Kinds of groups (`Group.kind`) whose members have the same id again when they are back."""

ProcessLife = tuple[str, int]
"""One life of a pod's process: pod uid and restart count."""


@dataclasses.dataclass(frozen=True, slots=True)
class WatchedGroup:
    """What is remembered of one group between two descriptions.

    Attributes:
        at: of the last description; None before the first.
        lives: the ids of each living process.
        bygone: ids of processes that are gone, as long as the coordinator shows them.
        ids: of all members in the last description.
        coordinator: the broker that gave it.
        disturbed_until: until when members may still join again for what happened to the coordinator.
        mass_rejoin: when all members had new ids at once, or all that keep theirs were missing; None if that was not
            seen.
        quiet: the last description that shows no rebalance; None if there was none.
        moving: the first and the last description of the rebalance under way; None outside a rebalance.
    """

    at: datetime | None = None
    lives: Mapping[ProcessLife, ProcessIds] = dataclasses.field(default_factory=dict)
    bygone: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    coordinator: int = -1
    disturbed_until: datetime | None = None
    mass_rejoin: datetime | None = None
    quiet: datetime | None = None
    moving: tuple[datetime, datetime] | None = None


def is_watched(group: Group) -> bool:
    """Whether descriptions of a group show its evictions."""
    return not group.consumer_protocol or group.kind in KEEPS_ID


def observe(
    before: WatchedGroup, view: GroupView, *, timeouts: Timeouts
) -> tuple[WatchedGroup, tuple[GroupEvent, ...]]:
    """Return what is remembered after one more description, and what it shows.

    A description that is not newer than the last is left out.

    Args:
        before: what was remembered.
        view: the description.
        timeouts: of the members.
    """
    group = view.group
    if (before.at is not None and view.at <= before.at) or not is_watched(group):
        return before, ()
    shown_lives = {(pod.uid, pod.restarts): pod for pod in view.pods if pod.started <= view.at}
    bygone = _bygone(before, shown_lives, group)
    disturbed_until = _disturbed_until(before, view)
    is_disturbed = disturbed_until is not None and view.at <= disturbed_until
    missing_doubts = frozenset({Doubt.COORDINATOR} if is_disturbed else ())
    lives, changes = _in_lives(before, view, shown_lives, bygone, timeouts, missing_doubts)
    if group.consumer_protocol:
        is_mass = _is_everybody_gone(before, group, lives)
        if is_mass and not _was_mass_lately(before, view.at):
            lives = {life: ids.with_doubt(Doubt.MASS_REJOIN) for life, ids in lives.items()}
    else:
        is_mass = _is_mass_rejoin(before, group, changes)
    doubts = frozenset(_doubts_of_all(before, view.at, disturbed_until, is_mass=is_mass))
    is_moving = group.rebalancing or (before.at is not None and _ids(group) != before.ids)
    quiet, moving, rebalances = _rebalance(before, view.at, is_moving=is_moving)
    after = WatchedGroup(
        at=view.at,
        lives=lives,
        bygone=bygone,
        ids=_ids(group),
        coordinator=before.coordinator if group.coordinator < 0 else group.coordinator,
        disturbed_until=disturbed_until,
        mass_rejoin=view.at if is_mass else before.mass_rejoin,
        quiet=quiet,
        moving=moving,
    )
    return after, (*(dataclasses.replace(rejoin, doubts=rejoin.doubts | doubts) for rejoin in changes), *rebalances)


def _in_lives(
    before: WatchedGroup,
    view: GroupView,
    living: Mapping[ProcessLife, Pod],
    bygone: frozenset[str],
    timeouts: Timeouts,
    missing_doubts: frozenset[Doubt],
) -> tuple[dict[ProcessLife, ProcessIds], list[Rejoin]]:
    """Return the ids of the living processes after a description, and the members that came back."""
    tenants = Counter(address for pod in view.pods for address in members_at_pods.addresses_of(pod))
    members: dict[members_at_pods.Address | None, list[Member]] = {}
    for member in view.group.members:
        members.setdefault(members_at_pods.address(member.host), []).append(member)
    everybody = {member.member_id: member for member in view.group.members}
    lives: dict[ProcessLife, ProcessIds] = {}
    changes: list[Rejoin] = []
    for life, pod in living.items():
        known, addresses = before.lives.get(life), members_at_pods.addresses_of(pod)
        if pod.on_host_network or any(tenants[address] > 1 for address in addresses):
            lives[life] = known or ProcessIds()  # whose a member at a shared address is cannot be known
            continue
        at_pod = (member for address in addresses for member in members.get(address, ()))
        shown = {member.member_id: member for member in at_pod if member.member_id not in bygone}
        if known is not None and view.group.consumer_protocol:
            # A member whose address changed, or that of its pod, is in its group all the same.
            shown |= {name: everybody[name] for name in known.shown if name in everybody}
        since = {name: _earliest(before, name, pod) for name in shown}
        if known is None:
            lives[life] = ProcessIds(since)
            continue
        lives[life], doubts_of_each = process_ids.compared(
            known,
            shown,
            since,
            view.at,
            timeouts,
            missing_doubts=missing_doubts,
            keeps_ids=view.group.consumer_protocol,
        )
        changes += [Rejoin(view.at, pod.name, doubts) for doubts in doubts_of_each]
    return lives, changes


def _earliest(before: WatchedGroup, member_id: str, pod: Pod) -> datetime:
    """Return since when a member may have had an id that its process shows for the first time."""
    if before.at is None or member_id in before.ids:
        return pod.started
    return max(before.at, pod.started)


def _bygone(before: WatchedGroup, lives: Mapping[ProcessLife, Pod], group: Group) -> frozenset[str]:
    """Return the ids that the coordinator still shows though their processes are gone."""
    dead = {name for life, known in before.lives.items() if life not in lives for name in known.shown}
    return (before.bygone | dead) & _ids(group)


def _doubts_of_all(
    before: WatchedGroup, at: datetime, disturbed_until: datetime | None, *, is_mass: bool
) -> Iterator[Doubt]:
    """Yield why no member that this description shows back was surely evicted."""
    if before.at is not None and at - before.at > LONGEST_GAP:
        yield Doubt.GAP
    if disturbed_until is not None and at <= disturbed_until:
        yield Doubt.COORDINATOR
    if is_mass and not _was_mass_lately(before, at):
        yield Doubt.MASS_REJOIN


def _disturbed_until(before: WatchedGroup, view: GroupView) -> datetime | None:
    moved = min(view.group.coordinator, before.coordinator) >= 0 and view.group.coordinator != before.coordinator
    return view.at + DISTURBED_FOR if view.disturbed or moved else before.disturbed_until


def _was_mass_lately(before: WatchedGroup, at: datetime) -> bool:
    return before.mass_rejoin is not None and at - before.mass_rejoin <= MASS_REJOIN_AGAIN


def _is_everybody_gone(before: WatchedGroup, group: Group, lives: Mapping[ProcessLife, ProcessIds]) -> bool:
    """Whether the last of two or more members that keep their ids is missing, too."""
    return bool(before.ids) and not group.members and sum(len(ids.away) for ids in lives.values()) > 1


def _is_mass_rejoin(before: WatchedGroup, group: Group, changes: Sequence[Rejoin]) -> bool:
    """Whether none of two or more members kept its id."""
    return len(changes) > 1 and len(before.ids) > 1 and before.ids.isdisjoint(_ids(group))


def _rebalance(
    before: WatchedGroup, at: datetime, *, is_moving: bool
) -> tuple[datetime | None, tuple[datetime, datetime] | None, tuple[SeenRebalance, ...]]:
    """Return the last quiet description, the rebalance under way, and the one that ended."""
    if is_moving:
        first = at if before.moving is None else before.moving[0]
        return before.quiet, (first, at), ()
    if before.moving is None:
        return at, None, ()
    first, last = before.moving
    at_most = None if before.quiet is None else at - before.quiet
    return at, None, (SeenRebalance(at, last - first, at_most),)


def _ids(group: Group) -> frozenset[str]:
    return frozenset(member.member_id for member in group.members)
