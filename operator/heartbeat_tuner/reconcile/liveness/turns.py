"""Work on thousands of policies that leaves others their turn: probes, watches and the lease wait for no cycle."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from heartbeat_tuner.domain.errors import NotLeaderError
from heartbeat_tuner.reconcile.liveness.progress import Moved

LONGEST_S: Final = 0.02
"""After so long without a pause others have a turn. What one policy takes comes on top of it."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Turns:
    """Gives the event loop back now and then: to do so for each policy would cost more than many of them do.

    Those who work beside each other share one, and pause together: each of them has its turn before anybody else's
    comes again.

    Args:
        clock_s: a monotonic clock, in seconds.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._since_s = clock_s()
        self._pause: asyncio.Future[None] | None = None

    async def give(self) -> None:
        """Let others go on if it is time."""
        if self._clock_s() - self._since_s < LONGEST_S:
            return
        if self._pause is None:
            loop = asyncio.get_running_loop()
            self._pause = loop.create_future()
            loop.call_soon(self._end_pause, self._pause)
        await asyncio.shield(self._pause)  # one who is cancelled ends nobody else's

    def _end_pause(self, pause: asyncio.Future[None]) -> None:
        self._pause, self._since_s = None, self._clock_s()
        pause.set_result(None)


async def of_all(
    items: Iterable[_Item], work: Callable[[_Item], Awaitable[_Result]], *, at_once: int, turns: Turns, moved: Moved
) -> list[_Result]:
    """Return what `work` gives for each item, in their order.

    Args:
        items: taken one by one, so that no more is begun than is under way.
        work: what is done with each.
        at_once: how many may be under way.
        turns: of all who work.
        moved: called after each.

    Raises:
        NotLeaderError: the leadership ended meanwhile; nothing is begun after that, and all that was has ended.
    """
    waiting = iter(enumerate(items))
    done: dict[int, _Result] = {}
    lost: list[NotLeaderError] = []

    async def take_turns() -> None:
        for number, item in waiting:
            try:
                done[number] = await work(item)
            except NotLeaderError as error:
                lost.append(error)
            finally:
                moved()
            if lost:
                return
            await turns.give()

    async with asyncio.TaskGroup() as workers:
        for _ in range(at_once):
            workers.create_task(take_turns())
    if lost:
        raise lost[0]
    return [done[number] for number in sorted(done)]
