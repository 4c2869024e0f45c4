"""Places at which something changed: watches note them, and who looks after slots waits for them."""

import asyncio
import contextlib

from heartbeat_tuner.api.slot_names import SlotPlace


class Touched:
    """Places at which something changed."""

    def __init__(self) -> None:
        self._places: set[SlotPlace] = set()
        self._news = asyncio.Event()

    def note(self, place: SlotPlace) -> None:
        """Note that something changed at a place."""
        self._places.add(place)
        self._news.set()

    def take(self) -> set[SlotPlace]:
        """Return what was noted, and forget it."""
        places, self._places = self._places, set()
        self._news.clear()
        return places

    async def wait(self, longest_s: float) -> None:
        """Wait until something is noted, or for a while."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), longest_s)
