"""Groups that are kept fresh between cycles, in a time that passes at once."""

import asyncio
import heapq
import itertools
from collections.abc import Mapping, Sequence
from datetime import timedelta

from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.reconcile.gather.group_looks import GroupLooks
from tests.support import worlds
from tests.support.fakes import FakeClock, FakeGroups

INTERVAL_S = 60.0
LATE = UnreadableGroup("not read in time", tells_of_group=False, unread=True)


class Time:
    """Passes while everybody sleeps, and not otherwise."""

    def __init__(self, clock: FakeClock) -> None:
        self.now_s = 0.0
        self._clock = clock
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._numbers = itertools.count()

    async def sleep(self, seconds: float) -> None:
        """Wait until so much time has passed."""
        woken = asyncio.Event()
        heapq.heappush(self._sleepers, (self.now_s + seconds, next(self._numbers), woken))
        await woken.wait()

    async def run(self, seconds: float) -> None:
        """Let time pass."""
        until_s = self.now_s + seconds
        while True:
            for _ in range(10):
                await asyncio.sleep(0)  # until all who do anything sleep
            due_s = min(until_s, self._sleepers[0][0] if self._sleepers else until_s)
            self._clock.advance(timedelta(seconds=due_s - self.now_s))
            self.now_s = due_s
            if not self._sleepers or self._sleepers[0][0] > until_s:
                return
            heapq.heappop(self._sleepers)[2].set()


class Brokers(FakeGroups):
    """Clusters that know every group, and note when they were asked; `each_s` is what a group takes."""

    def __init__(self, time: Time, *clusters: str) -> None:
        super().__init__({name: {} for name in clusters})
        self.time = time
        self.each_s = 0.0
        self.late: set[str] = set()
        self.asked_s: list[float] = []

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups, each of which has its members."""
        self.asked_s.append(self.time.now_s)
        if self.each_s:
            await self.time.sleep(self.each_s * len(group_ids))
        await super().describe(cluster, group_ids, within=within)
        return {item: LATE if item in self.late else self._known(cluster, item) for item in group_ids}

    def _known(self, cluster: str, group_id: str) -> Group | UnreadableGroup:
        return self.groups[cluster].get(group_id) or Group(group_id, worlds.group().state, ())


class Bench:
    """A view of two clusters."""

    def __init__(self, interval_s: float = INTERVAL_S) -> None:
        self.clock = FakeClock()
        self.time = Time(self.clock)
        self.brokers = Brokers(self.time, "main", "other")
        self.looks = GroupLooks(
            self.brokers,
            self.clock,
            interval=timedelta(seconds=interval_s),
            sleep=self.time.sleep,
            monotonic=lambda: self.time.now_s,
        )

    async def look(self, group_ids: Sequence[str], cluster: str = "main", first: Sequence[str] = ()) -> set[str]:
        """Look as a cycle does; return who is unread."""
        found = await self.looks.at(cluster).look(group_ids, first=first)
        assert set(found.groups) == set(group_ids)
        return {name for name, look in found.groups.items() if isinstance(look.group, UnreadableGroup)}

    def forget_requests(self) -> None:
        """Count again."""
        self.brokers.requests.clear()
        self.brokers.times.clear()
        self.brokers.asked_s.clear()

    def read(self, cluster: str = "main") -> list[str]:
        """Return who was asked for since then."""
        return [item for name, ids in self.brokers.requests if name == cluster for item in ids]
