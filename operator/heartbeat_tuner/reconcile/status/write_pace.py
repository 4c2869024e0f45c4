"""How fast statuses and Events are written: as fast as the API server takes them well, and no faster.

`AT_ONCE` is what it answers almost as fast as it can; more only makes each of them wait. `PER_S` bounds what a cycle in
which all of 10,000 policies change asks of it: 25 s, where it needs 17 to 19 for them on two shared cores. What changes
in an ordinary cycle is not slowed at all. Shards share the pace: each has its part.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

AT_ONCE: Final = 20
"""Writes under way."""

PER_S: Final = 400.0

BURST: Final = 100
"""So many are written without a pause after a while with none."""


class WritePace:
    """Says when the next write may be sent.

    Args:
        per_s: writes a second.
        clock_s: a monotonic clock, in seconds.
        sleep: waits for so many seconds.
    """

    def __init__(
        self,
        per_s: float = PER_S,
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._per_s = per_s
        self._clock_s = clock_s
        self._sleep = sleep
        self._next_s = clock_s() - BURST / per_s

    async def turn(self) -> None:
        """Wait until one more write may be sent."""
        now_s = self._clock_s()
        mine_s = max(self._next_s, now_s - BURST / self._per_s)
        self._next_s = mine_s + 1 / self._per_s
        if mine_s > now_s:
            await self._sleep(mine_s - now_s)
