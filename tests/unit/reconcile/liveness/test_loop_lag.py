"""How late the event loop comes to those who wait."""

import asyncio
import time

from heartbeat_tuner.reconcile.liveness import loop_lag


async def test_a_loop_that_stands_still_lags_by_so_much() -> None:
    """Up to the length of a sleep may be missed; it ends by itself."""
    stopped, lags_s = asyncio.Event(), list[float]()
    watching = asyncio.create_task(loop_lag.watch(stopped, lags_s.append))
    await asyncio.sleep(2.5 * loop_lag.EVERY_S)
    assert lags_s
    before = len(lags_s)
    time.sleep(0.5)  # noqa: ASYNC251 - that is what is measured
    await asyncio.sleep(2.5 * loop_lag.EVERY_S)
    assert max(lags_s[before:]) >= 0.5 - loop_lag.EVERY_S
    stopped.set()
    async with asyncio.timeout(10):
        await watching
    assert min(lags_s) >= 0
