"""What is going to happen, in the order of time."""

import heapq
import itertools
from collections.abc import Callable

Action = Callable[[], None]


class Events:
    """A queue of actions and the time of the one that runs; seconds from the start."""

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Action]] = []
        self._order = itertools.count()  # of two at the same time the one that was asked for first

    def at(self, time_s: float, action: Action) -> None:
        """Run something at a time, or now if that is over."""
        heapq.heappush(self._queue, (max(time_s, self.now), next(self._order), action))

    def after(self, delay_s: float, action: Action) -> None:
        """Run something after a while."""
        self.at(self.now + delay_s, action)

    def run_until(self, end_s: float) -> None:
        """Run everything before a time, and stop there."""
        while self._queue and self._queue[0][0] < end_s:
            self.now, _, action = heapq.heappop(self._queue)
            action()
        self.now = end_s
