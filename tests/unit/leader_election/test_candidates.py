"""Replicas as candidates for all shards, on leases in memory, and on the loop's own clock.

The clock goes on as the replicas wait, and stands still while they compute: no busy machine takes a leadership away.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from heartbeat_tuner.domain.errors import NotLeaderError
from heartbeat_tuner.leader_election.candidates import Candidates
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.leader_lease import Claim
from tests.support.electors import FakeLeases, until

pytestmark = pytest.mark.usefixtures("loop_clock")

SHARDS = 3
TIMING = Timing(timedelta(seconds=8), timedelta(seconds=6), timedelta(milliseconds=50))


class Cluster:
    """The leases by the end of their names; and whatever is led twice at a time is an error.

    Args:
        latency_s: how long each of their requests takes.

    Attributes:
        led: by the number of a shard, who leads it.
    """

    def __init__(self, latency_s: float = 0.0) -> None:
        self.leases = defaultdict[str, FakeLeases](lambda: FakeLeases(latency_s))
        self.led: dict[int, str] = {}

    def __call__(self, suffix: str = "") -> FakeLeases:
        """Return a lease."""
        return self.leases[suffix]

    def leaders(self) -> list[str]:
        """Return who leads, in order; one that leads two shards is in it twice."""
        return sorted(self.led.values())


class Replica:
    """One replica; a context manager that ends it as SIGTERM does."""

    def __init__(self, cluster: Cluster, name: str, shards: int = SHARDS) -> None:
        self.cluster = cluster
        self.name = name
        self.stopped = asyncio.Event()
        self.candidates = Candidates(cluster, shards, TIMING, identity=name, monotonic=asyncio.get_running_loop().time)
        self.begun = 0

    async def lead(self, shard: int) -> None:
        """Lead until stopped or cancelled; the fence of this shard is open, and nobody else leads it."""
        assert self.candidates.electors[shard].remaining_s() > 0
        assert shard not in self.cluster.led
        self.cluster.led[shard] = self.name
        self.begun += 1
        try:
            await self.stopped.wait()
        finally:
            del self.cluster.led[shard]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Replica"]:
        """Be a candidate."""
        task = asyncio.create_task(self.candidates.run(self.lead, self.stopped))
        try:
            yield self
        finally:
            self.stopped.set()
            async with asyncio.timeout(20):
                await task


async def test_one_replica_alone_leads_all_shards_and_gives_them_back() -> None:
    """And the lease above them runs out by itself, since others may act under it."""
    cluster = Cluster()
    async with Replica(cluster, "a").running() as alone:
        await until(lambda: cluster.leaders() == ["a"] * SHARDS)
        assert alone.candidates.led == SHARDS
    holders = {name: lease.claims[-1].holder for name, lease in cluster.leases.items()}
    assert holders == {"": "3-shards", "-shard-0": "", "-shard-1": "", "-shard-2": "", "-shard-idle": ""}


@pytest.mark.parametrize("latency_s", [0.0, 0.03])
async def test_three_replicas_lead_one_shard_each_and_a_fourth_takes_over_at_once(latency_s: float) -> None:
    """What one gives back goes to who leads nothing; the others' shards are led on as if nothing had been.

    Where the API server takes its time, one may lead two shards at first.
    """
    cluster = Cluster(latency_s)
    async with (
        Replica(cluster, "a").running() as first,
        Replica(cluster, "b").running() as second,
        Replica(cluster, "c").running() as third,
    ):
        await until(lambda: cluster.leaders() == ["a", "b", "c"])
        begun = (second.begun, third.begun)
        async with Replica(cluster, "d").running():
            await until(lambda: cluster("-shard-idle").lease is not None and _holder(cluster("-shard-idle")) == "d")
            first.stopped.set()
            await until(lambda: cluster.leaders() == ["b", "c", "d"])
            assert (second.begun, third.begun) == begun


async def test_who_leads_several_hands_over_to_who_leads_nothing() -> None:
    """Until each has one: the first to start would do everything for ever."""
    cluster = Cluster()
    async with Replica(cluster, "a").running():
        await until(lambda: cluster.leaders() == ["a"] * SHARDS)
        async with Replica(cluster, "b").running():
            await until(lambda: cluster.leaders() == ["a", "a", "b"])
            async with Replica(cluster, "c").running():
                await until(lambda: cluster.leaders() == ["a", "b", "c"])


async def test_a_dead_replica_on_the_bench_gets_nothing() -> None:
    """Its lease says that it waits, and is not renewed."""
    cluster = Cluster()
    cluster("-shard-idle").overwrite(Claim("dead", timedelta(hours=1), 0))
    async with Replica(cluster, "a").running() as alone:
        await until(lambda: cluster.leaders() == ["a"] * SHARDS)
        await asyncio.sleep(10 * TIMING.retry_period.total_seconds())
        assert (cluster.leaders(), alone.begun) == (["a"] * SHARDS, SHARDS)


async def test_who_divides_the_fleet_differently_waits_for_the_last_of_the_others() -> None:
    """Three shards and two, or one: no policy is ever looked after by both divisions."""
    cluster = Cluster()
    async with Replica(cluster, "a").running() as old:
        await until(lambda: cluster.leaders() == ["a"] * SHARDS)
        other = Replica(cluster, "two", shards=2)
        async with other.running():
            await asyncio.sleep(1.5 * TIMING.lease_duration.total_seconds())
            assert cluster.leaders() == ["a"] * SHARDS
            assert (other.candidates.led, other.begun) == (0, 0)
            old.stopped.set()
            await until(lambda: cluster.leaders() == ["two", "two"])
    async with Replica(cluster, "whole", shards=1).running():
        await until(lambda: cluster.leaders() == ["whole"])


async def test_a_shard_s_fence_closes_with_the_lease_above() -> None:
    """Taken over by another division, nobody writes under the old one; what was led has ended."""
    cluster = Cluster()
    async with Replica(cluster, "a").running() as replica:
        await until(lambda: cluster.leaders() == ["a"] * SHARDS)
        cluster("").overwrite(Claim("2-shards", timedelta(hours=1), 7))
        await until(lambda: not cluster.led)
        for elector in replica.candidates.electors:
            with pytest.raises(NotLeaderError):
                elector.remaining_s()
        assert replica.candidates.led == 0
        assert replica.candidates.electors[0].in_touch
        cluster("").overwrite(Claim("", timedelta(seconds=1), 7))
        await until(lambda: cluster.leaders() == ["a"] * SHARDS)


async def test_who_leads_one_shard_has_no_fence_open_for_another() -> None:
    """Each shard has its own."""
    cluster = Cluster()
    for number in (1, 2):
        cluster(f"-shard-{number}").overwrite(Claim("another", timedelta(hours=1), 0))
    async with Replica(cluster, "a").running() as replica:
        await until(lambda: cluster.leaders() == ["a"])
        first, second, _ = replica.candidates.electors
        assert first.remaining_s() > 0
        with pytest.raises(NotLeaderError):
            second.remaining_s()


def _holder(leases: FakeLeases) -> str:
    return "" if leases.lease is None else leases.lease.holder
