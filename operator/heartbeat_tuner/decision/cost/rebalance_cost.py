"""What a rebalance costs by its protocol: the barrier, the way out and the way in.

A member hears of a rebalance at its next beat and joins at its next poll: t = U(0, P) + r, with r what is left of its
poll gap. One whose beat waits for its loop hears when a beat is due, and finishes one turn more. In groups of the
classic protocols all must have joined before anybody goes on: T_pre is the longest t of those who must hear, never
more than the rebalance timeout R; then join, sync and the first fetch take B0. In groups of KIP-848 nobody waits.
"""

import dataclasses
from collections.abc import Callable
from typing import Final

import numpy as np

from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law

QUANTILES: Final = 12
"""How many times of equal share stand for the barrier: its mean alone would be far off where handlers are slow."""

_GRID_S: Final = TIMES_S[::3]
_SHARES: Final = (np.arange(QUANTILES) + 0.5) / QUANTILES


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class JoinDelay:
    """The law of t, the time from a rebalance's begin to the join of one member, capped at R.

    Attributes:
        times_s: a grid up to R.
        late: P(t > x) on it.
        mean_s: of min(t, R).
    """

    times_s: Array
    late: Array
    mean_s: float
    _lasts: dict[float, "JoinBarrier"] = dataclasses.field(default_factory=dict, init=False, repr=False)
    _longest_s: dict[float, float] = dataclasses.field(default_factory=dict, init=False, repr=False)
    _shortest_s: dict[float, float] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, later: Callable[[Array], Array], cap_s: float) -> "JoinDelay":
        """Return the law of t from P(t > x), as a function of times in seconds."""
        times = np.minimum(_GRID_S, cap_s)
        late = np.minimum(later(times), 1.0)
        return cls(times, late, _mean(late, times))

    def last_of(self, count: float) -> "JoinBarrier":
        """Return the law of the last of so many members, kept, too; of none it is over at once."""
        if count <= 0:
            return _NONE
        if count not in self._lasts:
            heard = (1.0 - self.late) ** count
            quantiles = np.interp(_SHARES, heard, self.times_s)
            self._lasts[count] = JoinBarrier(_mean(1.0 - heard, self.times_s), quantiles, count * float(self.late[-1]))
        return self._lasts[count]

    def longest_s(self, count: float) -> float:
        """Return the mean of the longest t of so many members, 0 of none; kept, since many periods ask for it."""
        if count not in self._longest_s:
            self._longest_s[count] = _mean(1.0 - (1.0 - self.late) ** count, self.times_s) if count > 0 else 0.0
        return self._longest_s[count]

    def shortest_s(self, count: float) -> float:
        """Return the mean of the shortest t of so many members; kept, too."""
        if count not in self._shortest_s:
            self._shortest_s[count] = _mean(self.late**count, self.times_s)
        return self._shortest_s[count]

    def any_later(self, count: float, than_s: float) -> float:
        """Return P(the longest t of so many members > a time)."""
        late = float(np.interp(than_s, self.times_s, self.late))
        return float(1.0 - (1.0 - late) ** count)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class JoinBarrier:
    """How long a group waits until all have joined.

    Attributes:
        mean_s: T_pre on average.
        quantiles_s: twelve times of equal share; all of them 0 where there is nothing to be back in time for.
        dropped: how many members join only after R, on average: they come again.
    """

    mean_s: float
    quantiles_s: Array
    dropped: float

    @property
    def holds(self) -> bool:
        """Whether one who is back soon enough takes part in the rebalance that began without it."""
        return bool(self.quantiles_s[-1] > 0)


_NONE: Final = JoinBarrier(0.0, np.zeros(QUANTILES), 0.0)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RebalanceCost:
    """What a rebalance costs.

    Attributes:
        out: stalled partition-seconds when a member, or several at once, leave: the time after its removal.
        back: when one joins.
        barrier: of the way out.
        hears_s: mean of t.
        rounds: rebalances that a join takes.
    """

    out: float
    back: float
    barrier: JoinBarrier
    hears_s: float
    rounds: float


@dataclasses.dataclass(frozen=True, slots=True)
class RebalanceParticipants:
    """Who takes part in a rebalance.

    Attributes:
        stay: members that stay, and must hear.
        come: members that join together.
        partitions: of the group.
        orphaned: partitions of those that leave.
        moved: partitions that those get that join: a whole number, for no more move than must.
        settle_s: B0.
    """

    stay: float
    come: float
    partitions: float
    orphaned: float
    moved: float
    settle_s: float

    @property
    def kept(self) -> float:
        """Members that gave nothing up when some joined, and must hear of the second round: those at least."""
        return self.stay + self.come - min(self.moved, self.stay)


def after_a_beat(remaining: Law, period_s: float) -> Callable[[Array], Array]:
    """Return P(t > x) of U(0, period) + r."""
    return lambda times: (remaining.integral(times) - remaining.integral(times - period_s)) / period_s


def rebalance_cost(
    rebalancing: Rebalancing, join_delay: JoinDelay, participants: RebalanceParticipants
) -> RebalanceCost:
    """Return what the moves of a group cost whose members beat out of step, each of them by itself.

    Args:
        rebalancing: the protocol.
        join_delay: the law of t.
        participants: who takes part.
    """
    if rebalancing is Rebalancing.CONSUMER:
        none = dataclasses.replace(_NONE, mean_s=join_delay.mean_s)
        return RebalanceCost(
            participants.orphaned * join_delay.mean_s,
            participants.moved * join_delay.mean_s,
            none,
            join_delay.mean_s,
            1.0,
        )
    barrier = join_delay.last_of(participants.stay)
    whole = barrier.mean_s + participants.settle_s
    if rebalancing is Rebalancing.EAGER:
        stopped = max(whole - join_delay.mean_s, 0.0)
        out = participants.orphaned * whole + (participants.partitions - participants.orphaned) * stopped
        back, rounds = participants.partitions * stopped, 1.0
    else:
        out = participants.orphaned * whole
        second = join_delay.last_of(participants.kept)
        back, rounds = participants.moved * (second.mean_s + participants.settle_s), 2.0 if participants.moved else 1.0
    return RebalanceCost(out, back, barrier, join_delay.mean_s, rounds)


def rebalance_cost_in_step(
    rebalancing: Rebalancing, together: JoinDelay, participants: RebalanceParticipants, *, period_s: float
) -> tuple[float, float]:
    """Return what out and in cost while all beat in step: after a rebalance has set all beat timers again.

    Survivors hear together, so the phase cancels for them; the orphans wait for it, half a period.

    Args:
        rebalancing: the protocol.
        together: the law of the time from when all have heard to the join of one.
        participants: who takes part.
        period_s: P.
    """
    if rebalancing is Rebalancing.CONSUMER:
        each = period_s / 2 + together.mean_s
        return participants.orphaned * each, participants.moved * each
    last_s = together.longest_s(participants.stay)
    orphans = participants.orphaned * (period_s / 2 + last_s + participants.settle_s)
    if rebalancing is Rebalancing.EAGER:
        stopped = max(last_s - together.mean_s + participants.settle_s, 0.0)
        return orphans + (participants.partitions - participants.orphaned) * stopped, participants.partitions * stopped
    # Those whose timers the first round has set beat a whole period later.
    second_s = together.longest_s(participants.kept)
    return orphans, participants.moved * (period_s + second_s + participants.settle_s)


def _mean(exceedances: Array, times_s: Array) -> float:
    return float((exceedances[1:] + exceedances[:-1]) @ (times_s[1:] - times_s[:-1])) * 0.5
