"""Whether what watches show is up to date, for who is about to look at it."""

import asyncio
import time
from collections.abc import Collection
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes.watching import WatchedObjects
from heartbeat_tuner.adapters.kubernetes.watching_scope import WatchedScope
from heartbeat_tuner.domain.errors import ApiServerError

LOOK_S: Final = 0.02
"""Between two looks whether lists have come."""


class FreshWatches:
    """Waits for watches that are out of touch, and no longer than `patience` for one that is broken.

    Args:
        patience: how long, from the first look at which it was broken.
    """

    def __init__(self, patience: timedelta) -> None:
        self._patience_s = patience.total_seconds()
        self._broken_since_s: dict[int, float] = {}

    async def wait(self, watched: Collection[WatchedObjects[Any]]) -> None:
        """Wait until every watch is in touch, but not for long for those that are broken."""
        while True:
            now_s = time.monotonic()
            out = [part for part in watched if not part.in_touch]
            self._broken_since_s = {
                id(part): self._broken_since_s.get(id(part), now_s) for part in out if part.trouble is not None
            }
            if all(now_s - self._broken_since_s.get(id(part), now_s) >= self._patience_s for part in out):
                return
            await asyncio.sleep(LOOK_S)


def check(scope: WatchedScope[Any], namespace: str) -> None:
    """Check that what is shown of a namespace is up to date.

    Raises:
        ApiServerError: it is not, and why.
    """
    part = scope.part(namespace)
    if part is not None:
        check_parts([part])


def check_parts(watched: Collection[WatchedObjects[Any]]) -> None:
    """Check that what these watches show is up to date.

    Raises:
        ApiServerError: it is not, and why.
    """
    for part in watched:
        if not part.in_touch:
            raise part.trouble or ApiServerError("the API server has not listed everything yet")
