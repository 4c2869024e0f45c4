"""What the probes answer: whether this replica does its part, leader or not."""

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from heartbeat_tuner.domain.shards import WHOLE, Shard
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.reconcile.policy_store import PolicyStore

MISSED_CYCLES: Final = 3
"""The leader's loop counts as stuck when for this many intervals nothing moved: no part of a cycle was done."""

FAILURES: Final = 2
"""After so many failed cycles one after the other only a finished one counts: who always fails moves, too."""

GRACE: Final = timedelta(seconds=60)
"""And at least this long: a cycle may wait for a slow Prometheus once."""

WATCH_MAY_LAG: Final = timedelta(minutes=2)
"""How long the watch may take to show what a list has shown."""


class Health:
    """What is wrong with this replica, as a sentence; empty if nothing is.

    With several shards there is one for each: a shard whose loop is stuck is no better off for another's that moves.

    Args:
        elector: knows whether we lead and whether the API server answers.
        store: knows whether the watch is behind.
        interval: of the cycles.
        shard: whose cycles they are.
        monotonic: a clock in seconds that nobody sets.
    """

    def __init__(
        self,
        elector: Elector,
        store: PolicyStore,
        *,
        interval: timedelta,
        shard: Shard = WHOLE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._elector = elector
        self._store = store
        self._stuck_after_s = max(GRACE, MISSED_CYCLES * interval).total_seconds()
        self._monotonic = monotonic
        self._whose = "" if shard == WHOLE else f"{shard}: "
        self._moved_at_s = self._finished_at_s = monotonic()
        self._failures = 0

    def moved(self) -> None:
        """Take note that a cycle has done a part of its work."""
        self._moved_at_s = self._monotonic()

    def finished(self) -> None:
        """Take note that a cycle finished, or a leadership began."""
        self._moved_at_s = self._finished_at_s = self._monotonic()
        self._failures = 0

    def failed(self) -> None:
        """Take note that a cycle failed unexpectedly."""
        self._failures += 1

    def unhealthy(self) -> str:
        """Return why this process should be started again: a stuck loop on the leader, or a watch that is mute."""
        now_s = self._monotonic()
        alive_at_s = self._finished_at_s if self._failures >= FAILURES else self._moved_at_s
        behind_s = self._store.watch_behind_s(now_s)
        if self._elector.leads and now_s - alive_at_s > self._stuck_after_s:
            unmoved_s = now_s - self._moved_at_s
            hangs = f", and nothing has moved for {unmoved_s:.0f} s" if self._moved_at_s > self._finished_at_s else ""
            return f"{self._whose}no cycle has finished for {now_s - self._finished_at_s:.0f} s{hangs}"
        if behind_s > WATCH_MAY_LAG.total_seconds():
            return f"the watch has not shown for {behind_s:.0f} s what a list did"
        return ""

    def unready(self) -> str:
        """Return why this replica could not lead now; a follower is ready while it can see the API."""
        return "" if self._elector.in_touch else "the API server does not answer"


def first_complaint(parts: Iterable[Callable[[], str]]) -> str:
    """Return what the first part says that is not well; empty if all are."""
    return next(filter(None, (complaint() for complaint in parts)), "")
