"""The groups of one Kafka cluster as they were last described: a few are read at a time, so that a cycle waits for few.

A broker describes about a thousand groups a second. Of a fleet that is larger, a cycle reads only `IN_A_CYCLE` groups
itself: those that were never read, then those whose pods are others than in the cycle before, then those that were
asked for longest ago. All others are read in lots between cycles, spread evenly over the interval, so that brokers see
a trickle and each group is read about once in an interval. A fleet that is no larger than that is read by the cycle
alone. So is every group at the first look of a leadership, when nothing is known yet.

The group watcher is shown every answer. Of a small fleet it wants more of them, so the time between two cycles is used
for that: up to one every `LOOK_EVERY_S` of each group, and in all, with those of the cycles, as many as cost brokers
and the operator little: `LOOKS_A_MINUTE`, or `ALONE_A_MINUTE` where each group takes requests of its own. A few groups
in which a member is gone are described once more, half a second later (`group_watch.follow_ups`).

What a look says is true of its moment: `Look.at` goes with it. One that is older than `USABLE_INTERVALS` (and than
`FRESH_S`, where intervals are short) is of no use: the group is `unread`. So is one that a cycle asked for in vain
because it reads all groups, or its pods have changed. A cluster that is down costs the other clusters no lot, since
each has a task and (in the adapter) a thread of its own; the next cycle finds out whether it is back.
"""

import itertools
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import Final

import structlog

from heartbeat_tuner.domain.errors import ClusterUnreachableError
from heartbeat_tuner.domain.kafka_groups import UnreadableGroup
from heartbeat_tuner.domain.sentences import say
from heartbeat_tuner.ports.kafka_clusters import Groups
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile.gather import unread
from heartbeat_tuner.reconcile.gather.looks import ClusterLook, Look
from heartbeat_tuner.reconcile.group_watch import follow_ups
from heartbeat_tuner.reconcile.group_watch.follow_ups import FollowUps

IN_A_CYCLE: Final = 1_000
"""Groups of one cluster that a cycle reads itself: about a second at a healthy broker."""

IN_A_CYCLE_WITHIN: Final = timedelta(seconds=3)
"""For these, where there are more: the others wait for nobody who is slow."""

LOT_EVERY_S: Final = 1.0
"""From lot to lot between cycles."""

LARGEST_LOT: Final = 500
"""The cluster's one thread is busy for half a second with so many, and a cycle that begins then waits for it."""

LOT_WITHIN: Final = timedelta(seconds=1)
"""For the answers to one lot."""

LOOK_EVERY_S: Final = 5.0
"""Between two descriptions of a group for the group watcher, where the fleet is small enough."""

LOOKS_A_MINUTE: Final = 4_000
"""At one cluster for that, those of the cycles counted, where many groups are in one request (docs/benchmarks.md)."""

ALONE_A_MINUTE: Final = 1_000
"""The same where each description costs brokers up to four requests."""

USABLE_INTERVALS: Final = 1.5
"""A look that is older says nothing: each group is read once in an interval, and lots may be late."""

FRESH_S: Final = 10.0
"""A look that a write rests on is no older than this; one that a cycle rests on may always be as old."""

Answered = Callable[[str, str, Look | None], None]
"""Takes a cluster, a group, and what was said of it; None where nothing was."""

Sleep = Callable[[float], Awaitable[None]]
"""Waits for so many seconds."""

_log = structlog.get_logger()


class ClusterLooks:
    """The groups of one cluster.

    Args:
        name: of the cluster.
        groups: where they are read.
        clock: the time.
        interval: of the cycles.
        monotonic: a clock in seconds that nobody sets.
        answered: gets the answer for each group that was asked for.
    """

    def __init__(
        self,
        name: str,
        groups: Groups,
        clock: Clock,
        *,
        interval: timedelta,
        monotonic: Callable[[], float],
        answered: Answered,
    ) -> None:
        self._name = name
        self._answered = answered
        self._due = 0.0
        self._looks_a_minute = ALONE_A_MINUTE
        self._groups = groups
        self._clock = clock
        self._interval_s = interval.total_seconds()
        self._monotonic = monotonic
        self._looks: dict[str, Look] = {}
        self._follow_ups = FollowUps(monotonic)
        self._never: dict[str, None] = {}  # asked for
        self._in_turn: dict[str, None] = {}  # who was asked for longest ago is first
        self._known = False
        self._rests = True
        self._outage = ""

    async def look(self, group_ids: Collection[str], *, first: Collection[str] = ()) -> ClusterLook:
        """Return what is known of these groups after reading a part of them; all others are forgotten.

        Args:
            group_ids: those that policies name.
            first: those of them that are read before others that have been read before. If that fails, what was said
                of them before is of no use.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        self._want(group_ids)
        everyone = not self._known or len(group_ids) <= IN_A_CYCLE
        asked = self._next(len(group_ids) if everyone else IN_A_CYCLE, first)
        try:
            # One after the other, so that an outage is always told in the words of the same request.
            late = await self._read(asked, within=None if everyone else IN_A_CYCLE_WITHIN)
            cluster = await self._groups.cluster(self._name)
        except ClusterUnreachableError as error:
            self._rests, self._outage = True, str(error)
            raise
        self._known, self._rests, self._outage = True, False, ""
        self._looks_a_minute = LOOKS_A_MINUTE if cluster.describes_batches else ALONE_A_MINUTE
        if late:
            _log.warning(
                "groups not read in time, the next cycle begins with them",
                cluster=self._name,
                groups=len(late),
                asked=len(asked),
                first=next(iter(late)),
            )
        if not everyone:
            # Others are not asked for at all: who was, and was late, is no worse off by it.
            late = {group_id: late[group_id] for group_id in first if group_id in late}
        return ClusterLook(cluster, {group_id: late.get(group_id) or self._usable(group_id) for group_id in group_ids})

    async def look_early(self, group_ids: Collection[str], *, first: Collection[str]) -> ClusterLook:
        """Return what is known of these groups between two cycles; none is forgotten.

        Args:
            group_ids: those that policies name.
            first: of these, who is read although something was said of them; others are only if nothing usable was.

        Raises:
            ClusterUnreachableError: the cluster did not answer, or had not in the last cycle: the next one tries again.
        """
        if self._outage:
            raise ClusterUnreachableError(self._outage)
        asked = [name for name in group_ids if name in first or unread.is_unread(self._usable(name).group)]
        late = await self._read(asked, within=IN_A_CYCLE_WITHIN)
        cluster = await self._groups.cluster(self._name)
        return ClusterLook(cluster, {name: late.get(name) or self._usable(name) for name in group_ids})

    async def look_now(self, group_ids: Collection[str]) -> Mapping[str, Look]:
        """Return what is said of these groups at this moment.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        late = await self._read(group_ids, within=None)
        return {group_id: late.get(group_id) or self._usable(group_id) for group_id in group_ids}

    async def look_lately(self, group_id: str) -> Look:
        """Return what was said of a group in the last `FRESH_S` seconds, or is now.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        known = self._looks.get(group_id)
        if known is not None and self._monotonic() - known.asked_s <= FRESH_S:
            return known
        return (await self.look_now([group_id]))[group_id]

    async def keep_fresh(self, sleep: Sleep) -> None:
        """Read lot after lot until cancelled."""
        while True:
            began_s = self._monotonic()
            await self._read_between(self._lot())
            took_s = self._monotonic() - began_s
            await sleep(max(LOT_EVERY_S - took_s, took_s))  # a slow broker has a rest after each lot

    async def follow_up(self, sleep: Sleep) -> None:
        """Read groups once more in which a member is gone, until cancelled."""
        while True:
            asked = await self._follow_ups.due(sleep)
            known = [] if self._rests else [group_id for group_id in asked.group_ids if group_id in self._in_turn]
            await self._read_between(known, again=asked.again)

    @property
    def oldest_s(self) -> float:
        """The age of the oldest look; 0 if there is none."""
        now_s = self._monotonic()
        return max((now_s - look.asked_s for look in self._looks.values()), default=0.0)

    def _want(self, group_ids: Collection[str]) -> None:
        """Forget all other groups, and take note of new ones."""
        wanted = frozenset(group_ids)
        for gone in [group_id for group_id in (*self._never, *self._in_turn) if group_id not in wanted]:
            self._never.pop(gone, None)
            self._in_turn.pop(gone, None)
            self._looks.pop(gone, None)
        self._never |= dict.fromkeys(group_id for group_id in group_ids if group_id not in self._in_turn)

    def _next(self, count: int, first: Iterable[str] = ()) -> list[str]:
        """Return whose turn it is."""
        return list(itertools.islice(dict.fromkeys(itertools.chain(self._never, first, self._in_turn)), count))

    def _lot(self) -> list[str]:
        """Return who is read next between cycles: as many as it takes for one reading of all in an interval."""
        size = len(self._never) + len(self._in_turn)
        if self._rests:
            return []
        if size <= IN_A_CYCLE:
            return self._watched_lot(size)
        (oldest,) = self._next(1)
        if unread.is_unread(self._usable(oldest).group):
            return self._next(LARGEST_LOT)
        share = (size - IN_A_CYCLE) * LOT_EVERY_S / self._interval_s
        return self._next(min(LARGEST_LOT, math.ceil(share)))

    def _watched_lot(self, size: int) -> list[str]:
        """Return who of a small fleet is read between cycles: it costs the brokers no more than a large one does."""
        per_s = min(size / LOOK_EVERY_S, self._looks_a_minute / 60 - size / self._interval_s)
        self._due = min(self._due + max(0.0, per_s) * LOT_EVERY_S, float(size))
        count = int(self._due)
        self._due -= count
        return self._next(count)

    async def _read_between(self, group_ids: Collection[str], *, again: int = 0) -> None:
        """Read groups between two cycles; the few of a follow-up may have a coordinator that is slow alone."""
        try:
            await self._read(group_ids, within=LOT_WITHIN, again=again)
        except ClusterUnreachableError:
            self._rests |= not again  # the next cycle reports it, and finds out when it is over
        except Exception:  # noqa: BLE001 - one lot's surprise is not the others' loss
            _log.exception("groups not read between cycles, the next cycle tries again", cluster=self._name)
            self._rests = True

    async def _read(self, group_ids: Collection[str], *, within: timedelta | None, again: int = 0) -> dict[str, Look]:
        """Read groups, as a follow-up or not; return those that were not read in time, whose turn is next."""
        if not group_ids:
            return {}
        asked_s = self._monotonic()
        for group_id in group_ids:
            self._never.pop(group_id, None)
            self._in_turn.pop(group_id, None)
        self._in_turn |= dict.fromkeys(group_ids)
        try:
            described = await self._groups.describe(self._name, tuple(group_ids), within=within)
        except ClusterUnreachableError:
            for group_id in group_ids:
                self._answered(self._name, group_id, None)
            raise
        at = self._clock.now()
        late: dict[str, Look] = {}
        gone: list[str] = []
        for group_id in group_ids:
            group = described[group_id]
            if group_id not in self._in_turn:
                continue  # its policy was deleted meanwhile
            if unread.is_unread(group):
                late[group_id] = Look(group, at, asked_s)
                continue
            known = self._looks.get(group_id)
            if known is not None and known.group == group:
                group = known.group  # one object is enough for all that remember it
            self._looks[group_id] = look = Look(group, at, asked_s)
            self._answered(self._name, group_id, look)
            if follow_ups.is_wanted(known, look):
                gone.append(group_id)
        self._follow_ups.want(gone, again=again, looks_a_minute=self._looks_a_minute)
        self._in_turn = dict.fromkeys(late) | self._in_turn
        return late

    def _usable(self, group_id: str) -> Look:
        """Return what is known of a group, if it is not too old."""
        known = self._looks.get(group_id)
        # Shorter than a request takes it would make the cycle throw away what it has just read.
        oldest_s = self._monotonic() - max(USABLE_INTERVALS * self._interval_s, FRESH_S)
        return known if known is not None and known.asked_s >= oldest_s else self._unread(group_id)

    def _unread(self, group_id: str) -> Look:
        phrase = "Kafka cluster {cluster} does not describe group {group}: {why}"
        words = say(phrase, cluster=self._name, group=group_id, why="not read in time, the next cycle begins with it")
        group = UnreadableGroup(words, tells_of_group=False, unread=True)
        return Look(group, self._clock.now(), self._monotonic())
