"""How long the event loop keeps others waiting: a sleeper that looks how late it is woken."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

EVERY_S: Final = 0.05
"""Of a delay so much may be missed: what begins and ends within one sleep delays nobody here."""


async def watch(stopped: asyncio.Event, lagged: Callable[[float], None]) -> None:
    """Sleep again and again until `stopped` is set.

    Args:
        stopped: set to end.
        lagged: called after each sleep with how many seconds too late it ended.
    """
    while not stopped.is_set():
        due_s = time.monotonic() + EVERY_S
        await asyncio.sleep(EVERY_S)
        lagged(max(0.0, time.monotonic() - due_s))
