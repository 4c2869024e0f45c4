"""How a replica without a shard gets one from a replica with several: it waits on a bench that the others can see.

The bench is a lease more. Who leads no shard seeks it and renews it, as electors do; a replica that leads several
shards looks at it, and where somebody is waiting, and alive, it hands one shard over. Without that, a replica that
started first, or was alone for a moment, would do the work of all endlessly.
"""

import asyncio
import contextlib
from collections.abc import Sequence

import structlog

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.leader_lease import Lease, Leases

_log = structlog.get_logger()


class Bench:
    """One replica's view of it.

    Args:
        leases: the bench's lease.
        seat: seeks it.
        shards: the electors of all shards.
        timing: of the election.
    """

    def __init__(self, leases: Leases, seat: Elector, shards: Sequence[Elector], timing: Timing) -> None:
        self._leases = leases
        self._seat = seat
        self._shards = shards
        self._timing = timing
        self._before: Lease | None = None

    async def run(self, stopped: asyncio.Event) -> None:
        """Wait there while nothing is led, and look there while too much is, until `stopped` is set."""
        while not stopped.is_set():
            led = [shard for shard in self._shards if shard.keeps]
            pause_s = self._timing.retry_period.total_seconds()
            if not led:
                await self._wait_for_a_shard(stopped)
            elif len(led) > 1 and await self._somebody_waits():
                _log.info("another replica leads nothing, handing a shard over", led=len(led))
                led[-1].hand_over()
                pause_s = self._timing.lease_duration.total_seconds()  # until it has taken it
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), timeout=pause_s)

    async def _wait_for_a_shard(self, stopped: asyncio.Event) -> None:
        over = asyncio.Event()

        async def watch() -> None:
            while not stopped.is_set() and not any(shard.leads for shard in self._shards):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopped.wait(), timeout=self._timing.retry_period.total_seconds())
            over.set()

        watching = asyncio.create_task(watch())
        try:
            await self._seat.run(over.wait, over)
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _somebody_waits(self) -> bool:
        """Whether who held the bench at the look before has renewed it since: a dead one's lease says nothing."""
        before, self._before = self._before, None
        try:
            async with asyncio.timeout(self._timing.request_timeout.total_seconds()):
                now = await self._leases.read()
        except (TunerError, TimeoutError):
            return False  # the electors report it
        self._before = now
        if before is None or now is None or not now.holder:
            return False
        return now.holder == before.holder and not now.is_same_as(before)
