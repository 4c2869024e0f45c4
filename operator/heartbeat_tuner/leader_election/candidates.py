"""One replica as a candidate for all shards: an elector for each, and what keeps them apart from other divisions.

Without shards it is one elector on one lease. With shards each has a lease of its own, every replica seeks all of them,
and leads them only under a lease above, which replicas with the same number of shards hold together, under one name. A
replica that divides the fleet differently, as all do while a rollout changes the number, finds it held, and leads
nothing until the last of the others has been silent for as long as the lease lasts: no policy is ever looked after by
its shard of three and by its shard of four.
"""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from heartbeat_tuner.domain.shards import Shard
from heartbeat_tuner.leader_election import claim_turns
from heartbeat_tuner.leader_election.claim_turns import ClaimTurns
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.leader_election.waiting_bench import Bench
from heartbeat_tuner.ports.leader_lease import Leases

Lead = Callable[[int], Awaitable[object]]
"""What to do while a shard is led, by its number."""


class LeaseNames(Protocol):
    """Gives the leases by their names."""

    def __call__(self, suffix: str = "") -> Leases:
        """Return the lease whose name ends like this; without an end, the one that there is without shards, too."""
        ...


class Candidates:
    """The electors of one replica.

    Args:
        leases: gives the leases by name.
        shards: how many there are.
        timing: of every election.
        identity: ours; never used before.
        monotonic: a clock in seconds that nobody sets.

    Attributes:
        electors: one for each shard, in their order; each is the fence before the writes of its shard.
    """

    def __init__(
        self,
        leases: LeaseNames,
        shards: int,
        timing: Timing,
        *,
        identity: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        elector = functools.partial(Elector, timing=timing, monotonic=monotonic)
        self._above: Elector | None = None
        if shards == 1:
            self.electors: Sequence[Elector] = [elector(leases(), identity=identity)]
            return
        about = {"lease": "of all shards"}
        self._above = elector(leases(), identity=f"{shards}-shards", shared=True, about=about)
        led = ClaimTurns(
            lambda: [elector for elector in self.electors if elector.leads], claim_turns.step(timing).total_seconds()
        )
        self.electors = [
            elector(
                leases(f"-shard-{number}"),
                identity=identity,
                above=self._above,
                turns=led,
                about={"shard": str(Shard(number, shards))},
            )
            for number in range(shards)
        ]
        seat = elector(leases("-shard-idle"), identity=identity, about={"lease": "of an idle replica"})
        self._bench = Bench(leases("-shard-idle"), seat, self.electors, timing)

    @property
    def led(self) -> int:
        """How many shards this replica leads at this moment."""
        return sum(1 for elector in self.electors if elector.leads)

    async def run(self, lead: Lead, stopped: asyncio.Event) -> None:
        """Seek all leaderships until `stopped` is set.

        Args:
            lead: as `Elector.run` has it, for each shard.
            stopped: set to end.
        """
        if self._above is None:
            await self.electors[0].run(lambda: lead(0), stopped)
        else:
            await self._above.run(lambda: self._seek(lead, stopped), stopped)

    async def _seek(self, lead: Lead, stopped: asyncio.Event) -> None:
        """Seek the shards, as long as nobody divides the fleet differently; ends when all is given back."""

        async def seek(number: int) -> None:
            await self.electors[number].run(lambda: lead(number), stopped)

        async with asyncio.TaskGroup() as seeking:
            for number in range(len(self.electors)):
                seeking.create_task(seek(number))
            seeking.create_task(self._bench.run(stopped))
