"""Counts the evictions and rebalances of each policy's group, by its successive descriptions.

A description is compared with the pods as Kubernetes shows them some seconds after it: a process that restarted is in
Kafka before it is in Kubernetes. What is counted begins at zero with a leadership, as a counter may; a policy whose
group has no member in its own pods is told nothing. Memory is bounded by members, and by `MOST_WAITING` descriptions of
a group.
"""

import dataclasses
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.clients import java
from heartbeat_tuner.domain import exposed, members_at_pods
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.exposed import Family, MetricPoint
from heartbeat_tuner.domain.kafka_groups import WORKERS, Group, GroupState, UnreadableGroup
from heartbeat_tuner.domain.liveness import CurrentSettings, Setting
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.metrics.group_events import member_changes
from heartbeat_tuner.metrics.group_events.group_event import Certainty, GroupView, Rejoin, Timeouts
from heartbeat_tuner.metrics.group_events.member_changes import LONGEST_GAP, WatchedGroup
from heartbeat_tuner.reconcile.gather.looks import Look
from heartbeat_tuner.reconcile.liveness.turns import Turns

SETTLING: Final = timedelta(seconds=5)
"""So old a description is when it is compared: by then Kubernetes shows which processes had restarted."""

MOST_WAITING: Final = 180
"""Descriptions of a group that wait for that: those of some minutes, each with two follow-ups."""

MOST_PODS: Final = 100
"""Pods of a policy that have series of their own."""

_Place = tuple[str, str]
"""Cluster and group."""


@dataclasses.dataclass(slots=True)
class _GroupCounts:
    """What was counted of one policy's group.

    Attributes:
        place: the group that was watched: a policy may be edited to name another.
        watched: what is remembered between descriptions.
        last: the last description that was compared.
        rejoins: by pod and certainty.
        rebalances: how many.
        rebalance_s: how long they took at least, in seconds.
    """

    place: _Place
    watched: WatchedGroup = dataclasses.field(default_factory=WatchedGroup)
    last: GroupView | None = None
    rejoins: Counter[tuple[str, Certainty]] = dataclasses.field(default_factory=Counter)
    rebalances: int = 0
    rebalance_s: float = 0.0

    def take(self, view: GroupView, timeouts: Timeouts) -> None:
        """Count what one more description shows."""
        self.watched, events = member_changes.observe(self.watched, view, timeouts=timeouts)
        self.last = view
        names = {pod.name for pod in view.pods}
        for gone in [key for key in self.rejoins if key[0] not in names]:
            del self.rejoins[gone]  # it has no series any more, and pods come and go as long as a leadership lasts
        for event in events:
            if isinstance(event, Rejoin):
                self.rejoins[event.pod, event.certainty] += 1
            else:
                self.rebalances += 1
                self.rebalance_s += event.at_least.total_seconds()


class GroupWatcher:
    """What is counted during one leadership."""

    def __init__(self) -> None:
        self._waiting: dict[_Place, deque[Look | None]] = {}
        self._counts: dict[ObjectKey, _GroupCounts] = {}
        self._now: datetime | None = None

    def answered(self, cluster: str, group_id: str, look: Look | None) -> None:
        """Take what was said of a group that was asked for; None where nothing was."""
        self._waiting.setdefault((cluster, group_id), deque(maxlen=MOST_WAITING)).append(look)

    async def catch_up(
        self,
        policies: Sequence[Policy],
        workloads: Mapping[ObjectKey, object],
        *,
        is_proven: Callable[[Policy], bool],
        now: datetime,
        turns: Turns,
    ) -> None:
        """Compare the descriptions that are old enough with the pods as they are known now; forget other policies.

        Args:
            policies: all of them.
            workloads: of each policy; one that could not be read lets its group's descriptions pass uncounted.
            is_proven: whether a policy's group has members in its own workload's pods.
            now: the time.
            turns: given to others between two policies.
        """
        self._now = now
        due = {place: self._due(waiting, now) for place, waiting in self._waiting.items()}
        self._counts = {policy.key: self._counts_of(policy) for policy in policies if is_proven(policy)}
        for policy in policies:
            counts, workload = self._counts.get(policy.key), workloads.get(policy.key)
            if counts is not None and isinstance(workload, Workload):
                for view in _views(counts, due.get((policy.cluster, policy.group_id), ()), workload):
                    counts.take(view, _timeouts(workload.current, view.group))
            await turns.give()
        wanted = {(policy.cluster, policy.group_id) for policy in policies}
        self._waiting = {place: waiting for place, waiting in self._waiting.items() if place in wanted}

    def points(self, policy: ObjectKey) -> tuple[MetricPoint, ...]:
        """Return what is known of a policy's group now; of one that is not described any more only since when."""
        counts = self._counts.get(policy)
        if counts is None or counts.last is None or self._now is None:
            return ()
        view, group = counts.last, counts.last.group
        look = _point(exposed.GROUP_LOOK, view.at.timestamp(), group.group_id)
        if self._now - view.at > LONGEST_GAP:
            return (look,)
        rebalances = () if group.consumer_protocol else _rebalances(counts, group.group_id)
        evictions = _evictions(counts, view) if member_changes.is_watched(group) else ()
        return (look, *_members(view), *rebalances, *evictions)

    def _counts_of(self, policy: Policy) -> _GroupCounts:
        place, counts = (policy.cluster, policy.group_id), self._counts.get(policy.key)
        return counts if counts is not None and counts.place == place else _GroupCounts(place)

    @staticmethod
    def _due(waiting: deque[Look | None], now: datetime) -> list[Look | None]:
        """Take the descriptions that have settled; one that failed goes with the next that did not."""
        due: list[Look | None] = []
        while any(look is not None and look.at <= now - SETTLING for look in waiting):
            due.append(waiting.popleft())
        return due


def _timeouts(current: CurrentSettings | None, group: Group) -> Timeouts:
    """Return what the members run with; a session that nothing names would call evictions doubtful by a guess."""
    poll_limit = None if current is None else current.settings.max_poll_interval
    if group.kind == WORKERS:  # they leave where their herder does not poll for as long as a rebalance waits for them
        poll_limit = java.CONNECT.defaults.rebalance_timeout
    if group.consumer_protocol:
        return Timeouts(None if group.config is None else group.config.session_timeout, poll_limit)
    if current is None or Setting.SESSION_TIMEOUT in current.assumed:
        return Timeouts(None, poll_limit)
    return Timeouts(current.settings.session_timeout, poll_limit)


def _views(counts: _GroupCounts, looks: Sequence[Look | None], workload: Workload) -> Iterator[GroupView]:
    """Yield descriptions with what is known beside them; a classic group that is not there has no members.

    A group whose members keep their ids stays when all of them are fenced. If it is not there any more, that is no
    word on its members.
    """
    _, group_id = counts.place
    disturbed, stays = False, counts.last is not None and counts.last.group.consumer_protocol
    for look in looks:
        if look is None or isinstance(look.group, UnreadableGroup) or (look.group is None and stays):
            disturbed = True
            continue
        group = look.group or Group(group_id, GroupState.EMPTY, ())
        stays = group.consumer_protocol
        yield GroupView(look.at, group, workload.pods, disturbed)
        disturbed = False


def _members(view: GroupView) -> Iterator[MetricPoint]:
    where = members_at_pods.compare(view.group.members, view.pods)
    for name, members in (("inside", where.inside), ("unclear", where.unclear), ("outside", where.outside)):
        yield _point(exposed.GROUP_MEMBERS, float(len(members)), view.group.group_id, name)


def _rebalances(counts: _GroupCounts, group_id: str) -> Iterator[MetricPoint]:
    yield _point(exposed.GROUP_REBALANCES, float(counts.rebalances), group_id)
    yield _point(exposed.GROUP_REBALANCE_TIME, counts.rebalance_s, group_id)


def _evictions(counts: _GroupCounts, view: GroupView) -> Iterator[MetricPoint]:
    for pod in view.pods[:MOST_PODS]:
        for certainty in _shown(view.group):
            count = counts.rejoins[pod.name, certainty]
            yield _point(exposed.GROUP_EVICTIONS, float(count), view.group.group_id, pod.name, certainty.value)


def _shown(group: Group) -> Sequence[Certainty]:
    """Return what evictions of a group may be called: who keeps its id, and is back unseen, shows nothing at all."""
    return [certainty for certainty in Certainty if certainty is not Certainty.UNSEEN or not group.consumer_protocol]


def _point(family: Family, number: float, *labels: str) -> MetricPoint:
    return MetricPoint(family, labels, number)
