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

LOOK_EVERY_S: Final = 0.5
"""Between two looks whether a cycle is due early."""

_log = structlog.get_logger()


async def run_until(
    stopped: asyncio.Event,
    run_cycle: Callable[[], Awaitable[CycleReport]],
    *,
    interval: timedelta,
    finished: Callable[[CycleReport, float], None],
    failed: Callable[[], None],
    is_due_early: Callable[[], bool] = lambda: False,
) -> None:
    """Run a cycle every `interval`, or sooner, until `stopped` is set.

    A cycle that fails unexpectedly is logged with its traceback and the loop goes on: the next one starts from what is
    there. It does not count as finished, so a loop that only fails soon fails the probe. A lost
    leadership ends the loop.

    Args:
        stopped: set to end the loop; a cycle under way is finished first.
        run_cycle: one pass.
        interval: from start to start.
        finished: called after each good pass with its report and its length in seconds.
        failed: called after each pass that failed unexpectedly.
        is_due_early: asked between passes whether the next one should begin now.
    """
    while not stopped.is_set():
        began = time.monotonic()
        try:
            finished(await run_cycle(), time.monotonic() - began)
        except NotLeaderError as error:
            _log.info("cycle ended early, nothing more is written", reason=str(error))
            return
        except Exception:  # noqa: BLE001 - an unforeseen error may cost a pass, never the operator
            _log.exception("cycle failed")
            failed()
        due_s = began + interval.total_seconds()
        await _pause(stopped, due_s)
        while not stopped.is_set() and time.monotonic() < due_s and not is_due_early():
            await _pause(stopped, due_s)


async def _pause(stopped: asyncio.Event, due_s: float) -> None:
    """Wait for a moment, until something is due at the latest, and no longer once `stopped` is set."""
    with contextlib.suppress(TimeoutError):
        left_s = min(LOOK_EVERY_S, due_s - time.monotonic())
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
