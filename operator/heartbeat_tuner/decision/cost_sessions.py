"""What befalls a member, at many sessions at once: is it evicted, how long does the group wait, is it back in time?"""

from typing import Final

import numpy as np

from heartbeat_tuner.decision.barrier import Barrier
from heartbeat_tuner.decision.cadences import Cadence, few
from heartbeat_tuner.decision.cost_tables import Places, Table
from heartbeat_tuner.tails.gpd import Array

_AT_ONCE: Final = np.zeros(1)


class Sessions:
    """Lookups at many sessions; each set of times is placed in the tables once, and serves every row.

    Attributes:
        sessions_s: the sessions.
        left_s: how long the coordinator still waits when something befalls a member, S - A and not below 0: an array
            for each age that stands for others; `weights` their shares.
    """

    def __init__(
        self, sessions_s: Array, cadence: Cadence, table: Table, barrier: Barrier, polls_s: Array = _AT_ONCE
    ) -> None:
        """Place what every term needs.

        Args:
            sessions_s: the sessions.
            cadence: of the members.
            table: of what befalls them.
            barrier: of a rebalance after one has left.
            polls_s: how long after it woke a member polls, and can join: a few times of equal share.
        """
        self.sessions_s = sessions_s
        self.cadence = cadence
        self.table = table
        self.barrier = barrier
        self.left_s = np.maximum(sessions_s - cadence.ages_s[:, None], 0.0)
        self.weights = cadence.weights
        self._left = Places.of(self.left_s)
        if cadence.silences_s is None:
            silences = cadence.period_s * (np.arange(3) + 0.5) / 3
            self._ends = Places.of(np.stack((sessions_s, sessions_s - cadence.period_s)))
        else:
            silences = cadence.silences_s
            self._ends = Places.of(sessions_s - silences[:, None])
        self._waits = np.subtract.outer(barrier.quantiles_s, silences).ravel()
        self.polls_s = polls_s

    def seconds_left(self, row: int) -> Array:
        """Return E min(X, S - A), times the rate."""
        return np.asarray(self.weights @ self.table.seconds(row, self._left))

    def longer_left(self, row: int) -> Array:
        """Return P(X > S - A) for each age, times the rate."""
        return self.table.longer(row, self._left)

    def evicted(self, row: int) -> Array:
        """Return p1, P(silence + X > S), times the rate."""
        if self.cadence.silences_s is None:
            until, before = self.table.seconds(row, self._ends)
            return np.asarray(np.maximum((until - before) / self.cadence.period_s, 0.0))
        return mean(self.table.longer(row, self._ends))

    def late(self, row: int) -> Array:
        """Return P(silence + X > S + T_pre), times the rate: those who must join anew, for members that begin anew."""
        return self._late(row, self._waits)

    def late_to_poll(self, row: int) -> Array:
        """Return P(silence + X + r > S + T_pre), times the rate: the same for members that go on where they were."""
        return self._late(row, np.subtract.outer(self._waits, self.polls_s).ravel())

    def _late(self, row: int, waits: Array) -> Array:
        if not self.barrier.holds:
            return self.evicted(row)
        return mean(self.table.longer(row, Places.of(self.sessions_s + few(waits, np.ones(waits.size))[:, None])))

    def evicted_at(self, row: int, sessions_s: Array) -> Array:
        """Return p1 of other sessions, for members that beat by a clock."""
        period = self.cadence.period_s
        until, before = self.table.seconds(row, Places.of(np.stack((sessions_s, sessions_s - period))))
        return np.asarray(np.maximum((until - before) / period, 0.0))

    def seconds_early(self, row: int) -> Array:
        """Return E min(D, S - A - T_pre), times the rate; below zero where that time is."""
        quantiles = self.barrier.quantiles_s
        sums = np.add.outer(quantiles, self.cadence.ages_s).ravel()
        shares = np.tile(self.weights, quantiles.size)
        return mean(self.table.seconds(row, Places.of(self.sessions_s - few(sums, shares)[:, None])))


def mean(values: np.ndarray) -> Array:
    """Return the mean of equal shares, which are the first axis."""
    return np.asarray(np.add.reduce(values, axis=0) / len(values))
