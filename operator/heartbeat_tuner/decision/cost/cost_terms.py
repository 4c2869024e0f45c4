"""The terms of the cost: what each kind of happening costs a group a day, for many sessions at once.

All are sums over what is rare and independent: a rate times what one of them costs. Times that one must add before a
lookup (the age of the last beat, the barrier) stand as a few values of known share.
"""

import dataclasses
import math
from typing import Final

import numpy as np

from heartbeat_tuner.decision.cost.quadrature import mean
from heartbeat_tuner.decision.cost.rebalance_cost import JoinDelay, RebalanceCost
from heartbeat_tuner.decision.cost.session_outcomes import Sessions
from heartbeat_tuner.tails.gpd import Array, Values

RETRY_S: Final = 0.5
"""How late the first try after an outage comes: the back-off of the Java client has grown to 1 s by then."""

_TINY: Final = 1e-300

EMPTY_S: Final = 3.0
"""`group.initial.rebalance.delay.ms`: how long a classic group that was empty waits for more members."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A day of one kind of happening; arrays over the sessions.

    Attributes:
        cost: stalled partition-seconds.
        rebalances: how many there are.
        triggers: how many chains of them begin.
        evictions: members removed that were alive.
        upper: the same, at most, at 95 %.
    """

    cost: Array
    rebalances: Array
    triggers: Array
    evictions: Array
    upper: Array

    @classmethod
    def none(cls, sessions: int) -> "Term":
        """Return the term of what never happens."""
        nothing = np.zeros(sessions)
        return cls(nothing, nothing, nothing, nothing, nothing)

    def times(self, factor: float) -> "Term":
        """Return so many of it."""
        return Term(*(factor * getattr(self, field.name) for field in dataclasses.fields(self)))

    def __add__(self, other: "Term") -> "Term":
        """Return both."""
        return Term(
            self.cost + other.cost,
            self.rebalances + other.rebalances,
            self.triggers + other.triggers,
            self.evictions + other.evictions,
            self.upper + other.upper,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class GroupShape:
    """Who stands still.

    Attributes:
        members: N.
        partitions: n.
        settle_s: B0.
        empty_s: how long a group waits for more members that was empty.
        whole_stops: whether all partitions stand still in a rebalance (eager).
        waits: whether a rebalance waits for all members (not in KIP-848).
    """

    members: int
    partitions: float
    settle_s: float
    empty_s: float
    whole_stops: bool
    waits: bool

    @property
    def share(self) -> float:
        """Partitions of one member."""
        return self.partitions / self.members

    @property
    def alone(self) -> bool:
        """Whether nobody is there to take over."""
        return self.members == 1

    @property
    def anew_s(self) -> float:
        """How long a group that was empty takes to begin again, once a member asks."""
        return self.empty_s + self.settle_s


def absences(group: GroupShape, at: Sessions, rebalance_cost: RebalanceCost, row: int, upper_row: int | None) -> Term:
    """Return the cost of absences of single members: away for X, out if it lasts, and in again.

    Args:
        group: who stands still.
        at: the sessions.
        rebalance_cost: out and back.
        row: of the table; each member's rates.
        upper_row: the same at most; None for members that were not alive, whose removal is no false eviction.
    """
    evicted = at.evicted(row)
    late = at.late(row) if upper_row is None else at.late_to_poll(row)
    false = np.zeros_like(evicted) if upper_row is None else group.members * evicted
    upper = false if upper_row is None else group.members * at.evicted(upper_row)
    if group.alone:
        again_s = group.anew_s + (0.0 if upper_row is None else float(mean(at.polls_s)))
        cost = group.partitions * (at.table.whole(row) + evicted * again_s)
        return Term(cost, evicted, evicted, false, upper)
    cost = group.share * at.seconds_left(row) + evicted * rebalance_cost.out + late * rebalance_cost.back
    out = group.members * evicted
    return Term(group.members * cost, out + group.members * rebalance_cost.rounds * late, out, false, upper)


def stalled_per_eviction(group: GroupShape, at: Sessions, rebalance_cost: RebalanceCost, row: int) -> Array:
    """Return the partition-seconds that one eviction of a live member stalls beyond its absence: out, and in again.

    A member that polls before the others have gone on takes part in the rebalance that its eviction began. Where no
    absence is known, it is taken to come later.

    Args:
        group: who stands still.
        at: the sessions.
        rebalance_cost: out and back.
        row: of the table; each member's rates of absences.
    """
    if group.alone:
        return np.full(at.sessions_s.size, group.partitions * (group.anew_s + float(mean(at.polls_s))))
    evicted = at.evicted(row)
    late = np.divide(at.late_to_poll(row), evicted, out=np.ones_like(evicted), where=evicted > _TINY)
    return rebalance_cost.out + np.minimum(late, 1.0) * rebalance_cost.back


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Members of a group that stop together.

    Attributes:
        together: how many, q.
        last_polls_s: how long after they woke the last of them polls: a few times of equal share.
        returns: the law of the time from when they woke to the join of one.
    """

    together: int
    last_polls_s: Array
    returns: JoinDelay


def node_absences(
    group: GroupShape, at: Sessions, rebalance_cost: RebalanceCost, rows: tuple[int, int], node: Node
) -> Term:
    """Return the cost of absences that take several members away at once: one way out for all, and one in.

    Args:
        group: who stands still.
        at: the sessions; rates are those of the group.
        rebalance_cost: for so many orphans; of one member in KIP-848.
        rows: of the table, and of the same at most.
        node: who is away together.
    """
    row, together = rows[0], node.together
    if together == 1 or (not group.waits and together < group.members):
        # Nobody waits for anybody: each leaves and comes back on its own.
        term = absences(group, at, rebalance_cost, *rows)
        return term.times(together / group.members)
    single = at.evicted(row)
    evicted, upper = together * single, together * at.evicted(rows[1])
    if together == group.members:
        first, every = at.first_and_all(row, together)
        begun, count = begun_again(group, rebalance_cost, node.returns, (first, single, every), None)
        return Term(group.partitions * at.table.whole(row) + begun, count, first, evicted, upper)
    first, late = at.first_and_late(row, together, rebalance_cost.barrier, node.last_polls_s)
    # Those evicted after the first of them stand still less long until the barrier opens.
    out = rebalance_cost.out - together * group.share * at.oldest_by_s(together)
    cost = first * out + late * rebalance_cost.back
    if not group.whole_stops:
        # Fewer move where some of them were not evicted; in an eager group all stand still all the same.
        cost *= single / np.maximum(first, _TINY)
    cost += together * group.share * at.seconds_left(row)
    return Term(cost, first + rebalance_cost.rounds * late, first, evicted, upper)


def begun_again(
    group: GroupShape,
    rebalance_cost: RebalanceCost,
    returns: JoinDelay,
    rates: tuple[Array, Array, Array],
    apart: float | None,
) -> tuple[Array, Array]:
    """Return what it costs that all members were away together, after that, and how many rebalances there are.

    The first session that ends begins a rebalance. If all sessions end, the group is empty, and begins again with the
    first member that is back; who comes later than the wait of an empty group makes one rebalance more. If only some
    end, the rebalance waits for the others; one of the evicted is the last of all to come as often as they are a share
    of the members, and makes one rebalance more. In a cooperative group each who comes then has its partitions moved.

    Args:
        group: who was away.
        rebalance_cost: out and back of one member.
        returns: the law of the time from when they can be heard to the join of one.
        rates: how often a day a session ends, that of each member does, and all do.
        apart: how often the evicted come after the others have gone on; None: as told.
    """
    first, evicted, every = rates
    members = group.members
    shortest_s = returns.shortest_s(members)
    if not group.waits:
        return group.partitions * evicted * (group.anew_s + shortest_s), 2.0 * members * evicted
    if group.alone:
        return group.partitions * evicted * (group.anew_s + shortest_s), evicted
    straggle = returns.any_later(members, shortest_s + group.empty_s)
    some, orphans = first - every, evicted - every
    late = orphans if apart is None else apart * some
    # Of so many the longest wait grows as the logarithm: from the mean wait of one to that of all members.
    stay = np.maximum(1.0 - orphans / np.maximum(some, _TINY), 1.0 / members)
    beyond_mean_s = (returns.longest_s(members) - returns.mean_s) * (1.0 + np.log(stay) / math.log(members))
    if group.whole_stops:
        waits, joins = some * (beyond_mean_s + group.settle_s) + orphans * returns.mean_s, late
    else:
        waits = orphans * (returns.mean_s + beyond_mean_s + group.settle_s)
        joins = members * orphans * (1.0 / (members * stay + 1.0) if apart is None else apart)
    cost = (
        group.partitions * (every * (group.anew_s + shortest_s) + waits)
        + (every * straggle + joins) * rebalance_cost.back
    )
    return cost, first + every + (every * straggle + late) * rebalance_cost.rounds


def crashes(group: GroupShape, at: Sessions, rebalance_cost: RebalanceCost, row: int, cap_s: float) -> Term:
    """Return the cost of members that die unannounced and come back as strangers, after D.

    Who is back before the dead one is removed starts a rebalance that waits for the dead, but for R at most: until
    e = min(max(S - A, D + T_pre), D + R) + B0 after the death the orphans stand still, and in an eager group everybody
    who has heard of it.

    Args:
        group: who stands still.
        at: the sessions.
        rebalance_cost: out and back of one member.
        row: of the table.
        cap_s: R; infinite if nothing ends a rebalance.
    """
    table, left, weights = at.table, at.left_s, at.weights
    often = table.often(row)
    longer = at.longer_left(row)
    dead = weights @ longer
    back_first = often - dead
    if group.alone:
        until = often * (weights @ left) + table.whole(row) - at.seconds_left(row)
        cost = group.partitions * (until + group.settle_s * back_first + group.anew_s * dead)
        return _deaths(often, np.zeros_like(cost), cost)
    if not group.waits:
        cost = often * (group.share * (weights @ left) + rebalance_cost.out + rebalance_cost.back)
        return _deaths(group.members * often, np.full(cost.size, group.members * often), group.members * cost)
    late = at.late(row)
    away, barred = at.seconds_left(row), float(mean(at.barrier.quantiles_s))
    waited = weights @ (left * (often - longer)) + away - at.seconds_early(row) - barred * dead
    waited += group.settle_s * back_first - at.seconds_saved(row, cap_s)
    cost = (
        group.share * waited
        + dead * rebalance_cost.out
        + group.share * (weights @ (left * longer))
        + late * rebalance_cost.back
    )
    if group.whole_stops:
        unheard = away - weights @ (left * longer) + rebalance_cost.hears_s * back_first
        cost += (group.partitions - group.share) * np.maximum(waited - unheard, 0.0)
    return _deaths(group.members * often, group.members * rebalance_cost.rounds * late, group.members * cost)


def _deaths(often: float, again: Array, cost: Array) -> Term:
    once = np.full(cost.size, often)
    nothing = np.zeros(cost.size)
    return Term(cost, once + again, once, nothing, nothing)


def departures(group: GroupShape, at: Sessions, often: float, cost: Values, rebalances: float) -> Term:
    """Return the cost of members that are closed and replaced, where no session has a part in it.

    Args:
        group: who stands still.
        at: the sessions.
        often: how many a day each member.
        cost: of one, in stalled partition-seconds; one number, or one for each session.
        rebalances: of one.
    """
    each = np.full(at.sessions_s.size, group.members * often)
    nothing = np.zeros_like(each)
    return Term(cost * each, rebalances * each, each, nothing, nothing)
