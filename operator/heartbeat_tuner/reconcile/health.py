"""What the probes answer: whether this replica does its part, leader or not."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from heartbeat_tuner.reconcile.elector import Elector
from heartbeat_tuner.reconcile.policy_store import PolicyStore

MISSED_CYCLES: Final = 3
"""The leader's loop counts as stuck when this many intervals passed without a finished cycle."""

GRACE: Final = timedelta(seconds=60)
"""And at least this long: a cycle may wait for a slow Prometheus once."""

WATCH_MAY_LAG: Final = timedelta(minutes=2)
"""How long the watch may take to show what a list has shown."""


class Health:
    """What is wrong with this replica, as a sentence; empty if nothing is.

    Args:
        elector: knows whether we lead and whether the API server answers.
        store: knows whether the watch is behind.
        interval: of the cycles.
        monotonic: a clock in seconds that nobody sets.
    """

    def __init__(
        self,
        elector: Elector,
        store: PolicyStore,
        *,
        interval: timedelta,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._elector = elector
        self._store = store
        self._stuck_after_s = max(GRACE, MISSED_CYCLES * interval).total_seconds()
        self._monotonic = monotonic
        self._moved_at_s = monotonic()

    def moved(self) -> None:
        """Take note that a leadership began, or a cycle finished."""
        self._moved_at_s = self._monotonic()

    def unhealthy(self) -> str:
        """Return why this process should be started anew: a stuck loop on the leader, or a watch that is mute."""
        now_s = self._monotonic()
        silent_s, behind_s = now_s - self._moved_at_s, self._store.watch_behind_s(now_s)
        if self._elector.leads and silent_s > self._stuck_after_s:
            return f"no cycle has finished for {silent_s:.0f} s"
        if behind_s > WATCH_MAY_LAG.total_seconds():
            return f"the watch has not shown for {behind_s:.0f} s what a list did"
        return ""

    def unready(self) -> str:
        """Return why this replica could not lead now; a follower is ready while it can see the API."""
        return "" if self._elector.in_touch else "the API server does not answer"
