"""When cycles begin: every interval, sooner after an edit; and whether they keep that pace.

Who edits a policy wants to see what comes of it. A cycle looks at all policies, though, so an edit brings the next
cycle forward only so far: no more than half of the time goes to cycles, and each namespace has one early cycle in an
interval, however often it edits.
"""

import math
from collections.abc import Collection
from datetime import timedelta
from typing import Final

import structlog

SETTLING_S: Final = 2.0
"""An edit waits for so long, since another may follow it: `kubectl apply` of a folder takes a second or two."""

_log = structlog.get_logger()


class Pace:
    """The last cycle, measured by the interval; the log is told when that changes, and not with each cycle.

    Args:
        interval: from the start of a cycle to that of the next, where it keeps it.
    """

    def __init__(self, interval: timedelta) -> None:
        self._interval_s = interval.total_seconds()
        self._behind = False
        self._length_s = 0.0
        self._ended_s = -math.inf
        self._edited_s: float | None = None
        self._early: dict[str, float] = {}

    def is_due_early(self, edited: Collection[str], *, now_s: float) -> bool:
        """Whether a cycle should begin before the interval is over; it is then taken to begin.

        Args:
            edited: namespaces in which policies were edited since the last cycle began.
            now_s: a monotonic clock, in seconds.
        """
        self._early = {name: at_s for name, at_s in self._early.items() if now_s - at_s < self._interval_s}
        waiting = [name for name in edited if name not in self._early]
        if not waiting:
            self._edited_s = None
            return False
        if self._edited_s is None:
            self._edited_s = now_s
        if now_s < max(self._edited_s + SETTLING_S, self._ended_s + self._length_s):
            return False
        self._early |= dict.fromkeys(waiting, now_s)
        self._edited_s = None
        return True

    def ended(self, length_s: float, *, now_s: float) -> None:
        """Take note of the end of a cycle, by the same clock."""
        self._length_s, self._ended_s = length_s, now_s

    def overrun_s(self, duration_s: float) -> float:
        """Return by how many seconds a finished cycle took longer than the interval; 0 if it did not."""
        overrun_s = max(0.0, duration_s - self._interval_s)
        behind = overrun_s > 0
        if behind != self._behind:
            self._behind = behind
            times = {"interval_s": self._interval_s, "cycle_s": round(duration_s, 1)}
            if behind:
                _log.warning("a cycle took longer than the interval, policies are looked at less often", **times)
            else:
                _log.info("cycles take no longer than the interval again", **times)
        return overrun_s
