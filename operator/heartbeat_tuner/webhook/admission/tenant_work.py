"""Work whose length a tenant decides: beside the event loop, one piece at a time, and each namespace in its turn.

The rules of slots look through all pods and Leases of a policy, and anybody who may create those may create thousands.
What is small is done at once. What is large is done in a thread, so that the reviews of all others are answered
meanwhile; a namespace with many large places waits for itself and delays another by one piece of work at most.
"""

import asyncio
import collections
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

SMALL: Final = 500
"""So many pods and Leases are looked through in a few milliseconds."""

Result = TypeVar("Result")


class TenantWork:
    """One thread for what is large, shared fairly by the namespaces."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="aside")
        self._is_taken = False
        self._waiting: dict[str, collections.deque[asyncio.Future[None]]] = {}

    async def run(self, namespace: str, size: int, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, or raise what it raises.

        Args:
            namespace: whose work it is.
            size: how many objects it looks through.
            work: pure, since it may run in another thread.
        """
        if size <= SMALL:
            return work()
        await self._turn(namespace)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._hand_over()

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, namespace: str) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, collections.deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._hand_over()  # it was this one's turn already
            raise

    def _hand_over(self) -> None:
        """Let the next one begin: the oldest piece of the namespace whose turn was the longest ago."""
        while self._waiting:
            namespace = next(iter(self._waiting))
            queue = self._waiting.pop(namespace)
            turn = queue.popleft()
            if queue:
                self._waiting[namespace] = queue  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False
