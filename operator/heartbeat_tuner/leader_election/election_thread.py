"""A thread for the election, with an event loop of its own: the lease is renewed however busy the operator's loop is.

Only requests are made here. What is done with a leadership runs on the loop that asked for the election. What writes
there asks the elector's fence first: a moment that is read, and no message that might be late.
"""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar

import structlog

ENDS_WITHIN_S: Final = 5.0
"""How long the end of the thread is awaited; a process does not wait for it to end."""

_Opened = TypeVar("_Opened")
_Which = ParamSpec("_Which")

_log = structlog.get_logger()


class Seeker(Protocol[_Which]):
    """Seeks a leadership, or several; which one it has got it says when it leads."""

    def run(self, lead: Callable[_Which, Awaitable[object]], stopped: asyncio.Event) -> Coroutine[Any, Any, None]:
        """Seek until `stopped` is set, as `Elector.run` does."""
        ...


class ElectionThread(Generic[_Opened]):
    """The thread; a context manager that gives what was opened on its loop.

    Args:
        opened: connections of the election's own. They are opened in the thread and closed there at the end.
    """

    def __init__(self, opened: contextlib.AbstractAsyncContextManager[_Opened]) -> None:
        self._opened = opened
        self._told = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)

    async def __aenter__(self) -> _Opened:
        """Start it.

        Raises:
            Exception: of what is opened.
        """
        self._home = asyncio.get_running_loop()
        self._started: asyncio.Future[_Opened] = self._home.create_future()
        self._ended = asyncio.Event()
        self._thread.start()
        return await self._started

    async def __aexit__(self, *_: object) -> None:
        """End it; one that does not end is left behind."""
        with contextlib.suppress(RuntimeError):  # its loop is closed: it has ended
            self._loop.call_soon_threadsafe(self._told.set)
        try:
            await asyncio.wait_for(self._ended.wait(), ENDS_WITHIN_S)
        except TimeoutError:
            _log.warning("the election's thread does not end, it is left behind")

    async def elect(
        self, seeker: Seeker[_Which], lead: Callable[_Which, Awaitable[object]], stopped: asyncio.Event
    ) -> None:
        """Have `seeker` run in the thread until `stopped` is set.

        Args:
            seeker: whose requests are made here.
            lead: as `Elector.run` has it. It runs on the caller's loop.
            stopped: set on the caller's loop to end.

        Raises:
            RuntimeError: the thread has ended before that.
        """
        stop = asyncio.Event()

        def lead_at_home(*args: _Which.args, **kwargs: _Which.kwargs) -> Awaitable[object]:
            return _run_on(self._home, functools.partial(lead, *args, **kwargs))

        work = seeker.run(lead_at_home, stop)
        running: asyncio.Future[Any] = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
        stopping: asyncio.Future[Any] = asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                self._loop.call_soon_threadsafe(stop.set)
            await asyncio.wait([running])
        finally:
            stopping.cancel()
            running.cancel()
        error = None if running.cancelled() else running.exception()
        if running.cancelled() or not isinstance(error, Exception | None):
            raise RuntimeError("the election's thread has ended") from error  # what ends a thread ends no other loop
        if error is not None:
            raise error

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            asyncio.run(self._live())
        except BaseException as raised:  # noqa: BLE001 - whatever ends the thread, who waits for it has to know
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed that left it behind
            self._home.call_soon_threadsafe(self._end, error)

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with self._opened as opened:
            self._home.call_soon_threadsafe(self._started.set_result, opened)
            await self._told.wait()

    def _end(self, error: BaseException | None) -> None:
        self._ended.set()
        if error is None:
            return
        if self._started.done():
            _log.error("the election's thread ended", exc_info=error)
        else:
            self._started.set_exception(error)


async def _run_on(loop: asyncio.AbstractEventLoop, work: Callable[[], Awaitable[object]]) -> None:
    """Run `work` on another thread's loop; it has ended when this returns, also where the caller is cancelled."""
    here = asyncio.get_running_loop()
    ended = asyncio.Event()
    begun: list[asyncio.Task[None]] = []

    async def whole() -> None:
        await work()

    def begin() -> None:
        begun.append(loop.create_task(whole()))
        begun[0].add_done_callback(lambda _: here.call_soon_threadsafe(ended.set))

    def cancel() -> None:
        begun[0].cancel()

    loop.call_soon_threadsafe(begin)
    while not ended.is_set():
        try:
            await ended.wait()
        except asyncio.CancelledError:
            loop.call_soon_threadsafe(cancel)
    begun[0].result()
