"""A pass every interval, until told to stop; the heart that the probes listen to."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any, Final

import structlog

from heartbeat_tuner.domain.errors import NotLeaderError
from heartbeat_tuner.reconcile.cycle import CycleReport

ASK_EVERY_S: Final = 0.1
"""Between two questions whether somebody has edited a policy."""

_log = structlog.get_logger()


async def _nothing_to_look_at() -> None:
    """Look at nothing before the next cycle."""


async def run_until(
    stopped: asyncio.Event,
    run_cycle: Callable[[], Awaitable[CycleReport]],
    *,
    interval: timedelta,
    finished: Callable[[CycleReport, float], None],
    failed: Callable[[], None],
    look_early: Callable[[], Awaitable[None]] = _nothing_to_look_at,
) -> None:
    """Run a cycle every `interval` until `stopped` is set, and between two of them what is due early, never at once.

    A cycle that fails unexpectedly is logged with its traceback and the loop goes on: the next one starts from what is
    there. It does not count as finished, so a loop that only fails soon fails the probe. After any failure nothing is
    looked at early, since that rests on what a whole cycle saw. A lost leadership ends the loop.

    Args:
        stopped: set to end the loop; a cycle under way is finished first.
        run_cycle: one pass.
        interval: from start to start; early looks move no cycle, but for the one that ends after it was due.
        finished: called after each good pass with its report and its length in seconds.
        failed: called after each pass, or early look, that failed unexpectedly.
        look_early: called again and again between passes; looks at what is due early, if anything is.
    """

    async def run() -> None:
        began = time.monotonic()
        report = await run_cycle()
        finished(report, time.monotonic() - began)

    try:
        while not stopped.is_set():
            due_s = time.monotonic() + interval.total_seconds()
            well = await _is_well(run, failed)
            await _pause(stopped, due_s)
            while not stopped.is_set() and time.monotonic() < due_s:
                well = well and await _is_well(look_early, failed)
                await _pause(stopped, due_s)
    except NotLeaderError as error:
        _log.info("cycle ended early, nothing more is written", reason=str(error))


async def _is_well(work: Callable[[], Awaitable[None]], failed: Callable[[], None]) -> bool:
    """Do some work; return whether it did not fail.

    Raises:
        NotLeaderError: the leadership ended.
    """
    try:
        await work()
    except NotLeaderError:
        raise
    except Exception:  # noqa: BLE001 - an unforeseen error may cost a pass, never the operator
        _log.exception("cycle failed")
        failed()
        return False
    return True


async def _pause(stopped: asyncio.Event, due_s: float) -> None:
    """Wait for a moment, until something is due at the latest, and no longer once `stopped` is set."""
    with contextlib.suppress(TimeoutError):
        left_s = min(ASK_EVERY_S, due_s - time.monotonic())
        await asyncio.wait_for(stopped.wait(), timeout=max(left_s, 0.0))


async def finish_or_give_up(work: Coroutine[Any, Any, None], stopped: asyncio.Event, *, patience_s: float) -> None:
    """Await `work`; once `stopped` is set, only for `patience_s` seconds more.

    Work that is given up, or whose caller is cancelled, is cancelled and has ended when this returns.
    """
    working = asyncio.create_task(work)
    stopping = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([working], timeout=patience_s)
    finally:
        stopping.cancel()
        working.cancel()
        await asyncio.wait([working, stopping])
    if not working.cancelled():
        working.result()
