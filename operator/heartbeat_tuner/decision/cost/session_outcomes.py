"""What happens to a member, at many sessions: is it evicted, how long does its group wait, is it back in time?"""

import functools
from typing import Final

import numpy as np

from heartbeat_tuner.decision.cost.beat_phase import Cadence
from heartbeat_tuner.decision.cost.quadrature import mean, quantile_nodes, quantile_nodes_of_equal
from heartbeat_tuner.decision.cost.rate_tables import ALL, RateTable, TableCells
from heartbeat_tuner.decision.cost.rebalance_cost import JoinBarrier
from heartbeat_tuner.tails.gpd import Array

_THIRDS: Final = (np.arange(3) + 0.5) / 3
_AT_ONCE: Final = np.zeros(1)


class Sessions:
    """Lookups at many sessions; each set of times is placed in the tables once, and serves every row.

    Attributes:
        sessions_s: the sessions.
        left_s: how long the coordinator still waits when something happens to a member, S - A and not below 0: an array
            for each age that stands for others; `weights` their shares.
    """

    def __init__(
        self, sessions_s: Array, cadence: Cadence, table: RateTable, barrier: JoinBarrier, polls_s: Array = _AT_ONCE
    ) -> None:
        """Place what every term needs.

        Args:
            sessions_s: the sessions.
            cadence: of the members.
            table: of what happens to them.
            barrier: of a rebalance after one has left.
            polls_s: how long after it woke a member polls, and can join: a few times of equal share.
        """
        self.sessions_s = sessions_s
        self.cadence = cadence
        self.table = table
        self.barrier = barrier
        self.left_s = np.maximum(sessions_s - cadence.ages_s[:, None], 0.0)
        self.weights = cadence.weights
        self._left = TableCells.of(self.left_s)
        if cadence.silences_s is None:
            self._silences = cadence.period_s * (np.arange(3) + 0.5) / 3
            self._ends = TableCells.of(np.stack((sessions_s, sessions_s - cadence.period_s)))
        else:
            self._silences = cadence.silences_s
            self._ends = TableCells.of(sessions_s - self._silences[:, None])
        self.polls_s = polls_s

    def seconds_left(self, row: int) -> Array:
        """Return E min(X, S - A), times the rate."""
        return np.asarray(self.weights @ self.table.seconds(row, self._left))

    def seconds_saved(self, row: int, cap_s: float) -> Array:
        """Return E max(S - A - R - D, 0), times the rate: what is not waited for the dead, as a rebalance ends at R."""
        if self.sessions_s.max() <= cap_s:
            return np.zeros_like(self.sessions_s)
        left_s = np.maximum(self.left_s - cap_s, 0.0)
        return np.asarray(
            self.weights @ (left_s * self.table.often(row) - self.table.seconds(row, TableCells.of(left_s)))
        )

    def longer_left(self, row: int) -> Array:
        """Return P(X > S - A) for each age, times the rate."""
        return self.table.longer(row, self._left)

    def evicted(self, row: int) -> Array:
        """Return p1, P(silence + X > S), times the rate."""
        return np.asarray(self._evicted[row])

    @functools.cached_property
    def _evicted(self) -> Array:
        """p1 of all rows, since most are asked for: of what is expected, and at most."""
        if self.cadence.silences_s is None:
            seconds = self.table.seconds(ALL, self._ends)
            return np.asarray(np.maximum((seconds[:, 0] - seconds[:, 1]) / self.cadence.period_s, 0.0))
        return mean(np.moveaxis(self.table.longer(ALL, self._ends), 1, 0))

    def late(self, row: int) -> Array:
        """Return P(silence + X > S + T_pre), times the rate: who must join again, of members that begin again."""
        return self._late(row, self.barrier.quantiles_s)

    def late_to_poll(self, row: int) -> Array:
        """Return P(silence + X > S + max(T_pre - r, 0)), times the rate: the same for members that go on as they were.

        One that is heard before its session is over is not out, however late it polls: the group waits for it.
        """
        return self._late(row, np.maximum(np.subtract.outer(self.barrier.quantiles_s, self.polls_s), 0.0).ravel())

    def _late(self, row: int, back_s: Array) -> Array:
        """Return P(silence + X > S + b), times the rate, for a few times b of equal share."""
        if not self.barrier.holds:
            return self.evicted(row)
        waits = np.subtract.outer(back_s, self._silences).ravel()
        return mean(self.table.longer(row, TableCells.of(self.sessions_s + quantile_nodes_of_equal(waits)[:, None])))

    def first_and_all(self, row: int, count: int, sessions_s: Array | None = None) -> tuple[Array, Array]:
        """Return P(max A + X > S) and P(min A + X > S) of so many members that are away together, times the rate.

        Args:
            row: of the table.
            count: how many there are.
            sessions_s: other sessions than those of `self`.
        """
        sessions = self.sessions_s if sessions_s is None else sessions_s
        oldest = _THIRDS ** (1.0 / count)
        ages = self._age_s(np.concatenate((oldest, 1.0 - oldest)))
        longer = self.table.longer(row, TableCells.of(sessions - ages[:, None]))
        return mean(longer[: oldest.size]), mean(longer[oldest.size :])

    def first_and_late(self, row: int, count: int, barrier: JoinBarrier, last_polls_s: Array) -> tuple[Array, Array]:
        """Return P(max A + X > S) and P(max A + X > S + max(T_pre - max r, 0)), times the rate.

        Args:
            row: of the table.
            count: members that are away together.
            barrier: of those that stay.
            last_polls_s: max r: a few times of equal share.
        """
        oldest = self._age_s(_THIRDS ** (1.0 / count))
        back = np.maximum(np.subtract.outer(barrier.quantiles_s, last_polls_s), 0.0).ravel()
        waits = np.subtract.outer(back, oldest).ravel()
        shifts = np.concatenate((-oldest, quantile_nodes_of_equal(waits)))
        longer = self.table.longer(row, TableCells.of(self.sessions_s + shifts[:, None]))
        return mean(longer[: oldest.size]), mean(longer[oldest.size :])

    def oldest_by_s(self, count: int) -> float:
        """Return by how much the last beat of one of so many members is older than those of all, on average."""
        return float(mean(self._age_s(_THIRDS ** (1.0 / count))) - mean(self._silences))

    def _age_s(self, shares: Array) -> Array:
        """Return the silences, of which A is a part, that are not exceeded by such shares of them."""
        if self.cadence.silences_s is None:
            return self.cadence.period_s * shares
        silences = self.cadence.silences_s
        return np.interp(shares, (np.arange(silences.size) + 0.5) / silences.size, silences)

    def evicted_at(self, row: int, sessions_s: Array) -> Array:
        """Return p1 of other sessions, for members that beat by a clock."""
        period = self.cadence.period_s
        until, before = self.table.seconds(row, TableCells.of(np.stack((sessions_s, sessions_s - period))))
        return np.asarray(np.maximum((until - before) / period, 0.0))

    def seconds_early(self, row: int) -> Array:
        """Return E min(D, S - A - T_pre), times the rate; below zero where that time is."""
        quantiles = self.barrier.quantiles_s
        sums = np.add.outer(quantiles, self.cadence.ages_s).ravel()
        shares = np.tile(self.weights, quantiles.size)
        return mean(self.table.seconds(row, TableCells.of(self.sessions_s - quantile_nodes(sums, shares)[:, None])))
