"""Kafka groups as they were last described, of all clusters; which of them are read when, `cluster_looks` says."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection
from datetime import timedelta

from heartbeat_tuner.ports.kafka_clusters import Groups
from heartbeat_tuner.ports.wall_clock import Clock
from heartbeat_tuner.reconcile.gather.cluster_looks import ClusterLooks, Sleep
from heartbeat_tuner.reconcile.group_watch.group_watcher import GroupWatcher


class GroupLooks:
    """The groups of all clusters, for one leadership.

    Args:
        groups: where they are read.
        clock: the time.
        interval: of the cycles.
        sleep: waits.
        monotonic: a clock in seconds that nobody sets.
    """

    def __init__(
        self,
        groups: Groups,
        clock: Clock,
        *,
        interval: timedelta,
        sleep: Sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._groups = groups
        self._clock = clock
        self._interval = interval
        self._sleep = sleep
        self._monotonic = monotonic
        self._clusters: dict[str, ClusterLooks] = {}
        self.watcher = GroupWatcher()
        """Counts what these looks show of members that came back."""
        self._refreshing: dict[str, asyncio.Task[None]] | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read between cycles; who only looks in cycles has no use for it."""
        self._refreshing = {}
        try:
            yield
        finally:
            tasks, self._refreshing = self._refreshing.values(), None
            await _ended(tasks)

    @property
    def clusters(self) -> Collection[str]:
        """The names of the operator's configuration."""
        return self._groups.clusters

    async def want(self, clusters: Collection[str]) -> None:
        """Forget all other clusters."""
        gone = [name for name in self._clusters if name not in clusters]
        tasks = [] if self._refreshing is None else [self._refreshing.pop(name) for name in gone]
        for name in gone:
            del self._clusters[name]
        await _ended(tasks)

    def at(self, cluster: str) -> ClusterLooks:
        """Return the looks at one cluster, which from now on are kept fresh."""
        if cluster not in self._clusters:
            self._clusters[cluster] = ClusterLooks(
                cluster,
                self._groups,
                self._clock,
                interval=self._interval,
                monotonic=self._monotonic,
                answered=self.watcher.answered,
            )
            if self._refreshing is not None:
                work = _kept_fresh(self._clusters[cluster], self._sleep)
                self._refreshing[cluster] = asyncio.create_task(work, name=f"groups-{cluster}")
        return self._clusters[cluster]

    @property
    def oldest_s(self) -> float:
        """The age of the oldest look; 0 if there is none."""
        return max((cluster.oldest_s for cluster in self._clusters.values()), default=0.0)


async def _kept_fresh(looks: ClusterLooks, sleep: Sleep) -> None:
    await asyncio.gather(looks.keep_fresh(sleep), looks.follow_up(sleep))


async def _ended(tasks: Collection[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
