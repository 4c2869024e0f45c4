"""Lists all policies now and then, and repairs what the watch missed.

A watch may fall silent without an error (a connection that swallows bytes) or lose a deletion while it is interrupted.
A list heals both: the next regular one, or the one soon after the watch has begun again. A watch that stays behind what
a list showed fails the probe.
"""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

import structlog

from heartbeat_tuner.api import parsing
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.ports.stored_policies import ListPage, Policies
from heartbeat_tuner.reconcile.policy_store import PolicyStore

EVERY: Final = timedelta(minutes=5)
RETRY: Final = timedelta(seconds=2)
SETTLE: Final = timedelta(seconds=5)
"""After the watch has begun again: a flapping API server is not listed each time, nor while kopf lists it."""

MOST_NAMED: Final = 20
"""Policies that one line of the log names."""

_log = structlog.get_logger()


@dataclasses.dataclass(frozen=True, slots=True)
class Mended:
    """What a list corrected."""

    missed: tuple[ObjectKey, ...]
    gone: tuple[ObjectKey, ...]


class Mending:
    """A list that is taken in: what it lacks and was there before it is gone, what it shows newer was missed.

    A page is put into the store as it comes, so that no list is ever held. A list that breaks off has taken nothing
    away: what is gone is known at its end.

    Args:
        store: what is repaired. One list at a time: else an older one might bring back what a newer one took away.
    """

    def __init__(self, store: PolicyStore) -> None:
        self._store = store
        self._listed: dict[ObjectKey, int] = {}
        self._missed: list[ObjectKey] = []
        self._version: int | None = None

    def take(self, page: ListPage) -> None:
        """Take in a page; its moment may lie before what the watch has shown."""
        self._version = page.version if self._version is None else min(self._version, page.version)
        for body in page.bodies:
            key = parsing.key_of(body)
            self._listed[key] = int(body["metadata"]["resourceVersion"])
            if self._store.is_news(body):
                self._missed.append(key)
            self._store.put(body)

    def finish(self, *, at_s: float) -> Mended:
        """Return what a whole list corrected.

        Args:
            at_s: now, by a monotonic clock.
        """
        gone = [] if self._version is None else self._store.close(self._listed, self._version, at_s=at_s)
        return Mended(tuple(self._missed), tuple(gone))


class Relisting:
    """Lists, and the store that they repair.

    Args:
        policies: lists them.
        store: what the watch feeds.
        every: from the end of one list to the next.
        retry: the same after a list that failed.
        settle: from the watch's return after an interruption to the list that finds what it missed.
        monotonic: a clock in seconds that nobody sets.
    """

    def __init__(
        self,
        policies: Policies,
        store: PolicyStore,
        *,
        every: timedelta = EVERY,
        retry: timedelta = RETRY,
        settle: timedelta = SETTLE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policies = policies
        self._store = store
        self._every = every
        self._retry = retry
        self._settle = settle
        self._monotonic = monotonic
        self._at_a_time = asyncio.Lock()

    async def refresh(self) -> None:
        """List until it succeeds: the store is then no older than the call."""
        while True:
            if await self._mended():
                return
            await asyncio.sleep(self._retry.total_seconds())

    async def run_until(self, stopped: asyncio.Event) -> None:
        """List at once, every so often, and after each interruption of the watch, until `stopped` is set."""
        while not stopped.is_set():
            pause = self._every if await self._mended() else self._retry
            await self._until_due(stopped, pause)

    async def _until_due(self, stopped: asyncio.Event, pause: timedelta) -> None:
        interrupted = self._store.interrupted
        waits = [asyncio.create_task(event.wait()) for event in (stopped, interrupted)]
        try:
            await asyncio.wait(waits, timeout=pause.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in waits:
                waiting.cancel()
            await asyncio.wait(waits)
        if interrupted.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), timeout=self._settle.total_seconds())
            interrupted.clear()

    async def _mended(self) -> bool:
        try:
            mended = await self._listed()
        except TunerError as error:
            _log.warning("policies not listed, trying again", error=str(error))
            return False
        except Exception:  # noqa: BLE001 - a surprise may cost a list, never the operator
            _log.exception("policies not listed, trying again")
            return False
        if mended.missed or mended.gone:
            _log.info("list ahead of watch", missed=_named(mended.missed), gone=_named(mended.gone))
        return True

    async def _listed(self) -> Mended:
        """Take in a list.

        Raises:
            ApiServerError: the API server did not answer.
        """
        async with self._at_a_time:
            mending = Mending(self._store)
            async with contextlib.aclosing(self._policies.list_all()) as pages:
                async for page in pages:
                    mending.take(page)
            return mending.finish(at_s=self._monotonic())


def _named(keys: Sequence[ObjectKey]) -> dict[str, object]:
    """Return how many there are, and the first of them."""
    return {"count": len(keys), "first": [*map(str, keys[:MOST_NAMED])]}
