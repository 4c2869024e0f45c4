"""Whose turn it is to take a shard that is free: of several replicas those that lead fewer go first.

No replica knows the others. One that leads shards already leaves a free lease alone for a while, the longer the more it
leads; who leads none takes it meanwhile. Where nobody does, it is taken all the same: no shard stays without a leader.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from heartbeat_tuner.leader_election.leadership import Timing

LOOKS: Final = 3
"""Two looks apart, two replicas may see that a lease has run out; the third is for the requests."""


def step(timing: Timing) -> timedelta:
    """Return for how long a free lease is left to others, for each shard that is led."""
    return LOOKS * timing.retry_period


class ClaimTurns:
    """The turns of one replica's electors.

    Attributes:
        next: held while one of them looks for a lease to take, so that the next one knows what this one got.
    """

    def __init__(self, led: Callable[[], Iterable[object]], step_s: float) -> None:
        """Begin with what is led now.

        Args:
            led: gives the shards that are led.
            step_s: for how many seconds a free lease is left to others, for each of these.
        """
        self.next = asyncio.Lock()
        self._led = led
        self._step_s = step_s

    def hold_back_s(self) -> float:
        """Return for how many seconds a lease has to be free before this replica takes it."""
        return self._step_s * sum(1 for _ in self._led())
