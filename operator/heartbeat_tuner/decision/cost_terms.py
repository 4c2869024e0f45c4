"""The terms of the cost: what each kind of happening costs a group a day, for many sessions at once.

All are sums over what is rare and independent: a rate times what one of them costs. Times that one must add before a
lookup (the age of the last beat, the barrier) stand as a few values of known share.
"""

import dataclasses
import math
from typing import Final

import numpy as np

from heartbeat_tuner.decision.barrier import Hearing, Moves
from heartbeat_tuner.decision.cadences import Turns
from heartbeat_tuner.decision.cost_sessions import Sessions
from heartbeat_tuner.decision.cost_tables import Places
from heartbeat_tuner.decision.shares import few, mean
from heartbeat_tuner.tails.gpd import Array, Values
from heartbeat_tuner.tails.profile import Delivery

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
class Group:
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


def absences(group: Group, at: Sessions, moves: Moves, row: int, upper_row: int | None) -> Term:
    """Return the cost of absences of single members: away for X, out if it lasts, and in again.

    Args:
        group: who stands still.
        at: the sessions.
        moves: out and back.
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
    cost = group.share * at.seconds_left(row) + evicted * moves.out + late * moves.back
    out = group.members * evicted
    return Term(group.members * cost, out + group.members * moves.rounds * late, out, false, upper)


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
    returns: Hearing


def node_absences(group: Group, at: Sessions, moves: Moves, rows: tuple[int, int], node: Node) -> Term:
    """Return the cost of absences that take several members away at once: one way out for all, and one in.

    Args:
        group: who stands still.
        at: the sessions; rates are those of the group.
        moves: for so many orphans; of one member in KIP-848.
        rows: of the table, and of the same at most.
        node: who is away together.
    """
    row, together = rows[0], node.together
    if together == 1 or (not group.waits and together < group.members):
        # Nobody waits for anybody: each leaves and comes back on its own.
        one = absences(group, at, moves, *rows)
        return one.times(together / group.members)
    single = at.evicted(row)
    evicted, upper = together * single, together * at.evicted(rows[1])
    if together == group.members:
        first, every = at.first_and_all(row, together)
        anew, count = _begun_anew(group, moves, node.returns, (first, single, every), None)
        return Term(group.partitions * at.table.whole(row) + anew, count, first, evicted, upper)
    first, late = at.first_and_late(row, together, moves.barrier, node.last_polls_s)
    # Those evicted after the first of them stand still less long until the barrier opens.
    out = moves.out - together * group.share * at.oldest_by_s(together)
    cost = first * out + late * moves.back
    if not group.whole_stops:
        # Fewer move where some of them were not evicted; in an eager group all stand still all the same.
        cost *= single / np.maximum(first, _TINY)
    cost += together * group.share * at.seconds_left(row)
    return Term(cost, first + moves.rounds * late, first, evicted, upper)


def _begun_anew(
    group: Group, moves: Moves, returns: Hearing, rates: tuple[Array, Array, Array], apart: float | None
) -> tuple[Array, Array]:
    """Return what it costs that all members were away together, after that, and how many rebalances there are.

    The first session that ends begins a rebalance. If all sessions end, the group is empty, and begins anew with the
    first member that is back; who comes later than the wait of an empty group makes one rebalance more. If only some
    end, the rebalance waits for the others; one of the evicted is the last of all to come as often as they are a share
    of the members, and makes one rebalance more. In a cooperative group each who comes then has its partitions moved.

    Args:
        group: who was away.
        moves: out and back of one member.
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
    cost = group.partitions * (every * (group.anew_s + shortest_s) + waits) + (every * straggle + joins) * moves.back
    return cost, first + every + (every * straggle + late) * moves.rounds


def crashes(group: Group, at: Sessions, moves: Moves, row: int, cap_s: float) -> Term:
    """Return the cost of members that die unannounced and come back as strangers, after D.

    Who is back before the dead one is removed starts a rebalance that waits for the dead, but for R at most: until
    e = min(max(S - A, D + T_pre), D + R) + B0 after the death the orphans stand still, and in an eager group everybody
    who has heard of it.

    Args:
        group: who stands still.
        at: the sessions.
        moves: out and back of one member.
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
        cost = often * (group.share * (weights @ left) + moves.out + moves.back)
        return _deaths(group.members * often, np.full(cost.size, group.members * often), group.members * cost)
    late = at.late(row)
    away, barred = at.seconds_left(row), float(mean(at.barrier.quantiles_s))
    waited = weights @ (left * (often - longer)) + away - at.seconds_early(row) - barred * dead
    waited += group.settle_s * back_first - at.seconds_saved(row, cap_s)
    cost = group.share * waited + dead * moves.out + group.share * (weights @ (left * longer)) + late * moves.back
    if group.whole_stops:
        unheard = away - weights @ (left * longer) + moves.hears_s * back_first
        cost += (group.partitions - group.share) * np.maximum(waited - unheard, 0.0)
    return _deaths(group.members * often, group.members * moves.rounds * late, group.members * cost)


def _deaths(often: float, again: Array, cost: Array) -> Term:
    once = np.full(cost.size, often)
    nothing = np.zeros(cost.size)
    return Term(cost, once + again, once, nothing, nothing)


def departures(group: Group, at: Sessions, often: float, cost: Values, rebalances: float) -> Term:
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


def outages(
    group: Group, at: Sessions, moves: Moves, returns: Hearing, delivery: Delivery, rows: tuple[int, int]
) -> Term:
    """Return the cost of network or coordinator away: nobody is left to take over, and the group begins anew.

    Args:
        group: who stands still.
        at: the sessions; rates are those of the group.
        moves: out and back of one member.
        returns: the law of the time from the end of an outage to the join of one.
        delivery: what becomes of the beats meanwhile.
        rows: of the table, and of the same at most.
    """
    row, members = rows[0], group.members
    endured_s = _endured_s(at, delivery)
    evicted, upper = (at.evicted(one) if endured_s is None else at.evicted_at(one, endured_s) for one in rows)
    first, every = at.first_and_all(row, members, endured_s)
    in_flight = at.cadence.turns is None and delivery is Delivery.ONE_IN_FLIGHT
    apart = None
    if in_flight:
        # Who is evicted comes back a period later, whatever the others do.
        apart = float((at.barrier.quantiles_s[:, None] < at.cadence.period_s + at.polls_s).mean())
    cost, count = _begun_anew(group, moves, returns, (first, evicted, every), apart)
    if in_flight:
        # A member reads until its session ends, a period before the answer to its beat is given up; what lies within a
        # longer outage is not counted.
        shorter = np.maximum(every - at.evicted(row), 0.0)
        cost += group.partitions * shorter * at.cadence.period_s / 2
    return Term(cost, count, first, members * evicted, members * upper)


def _endured_s(at: Sessions, delivery: Delivery) -> Array | None:
    """Return how long a silence of each session may last, counted to the end of the outage; None: S itself."""
    sessions, period = at.sessions_s, at.cadence.period_s
    if delivery is Delivery.LATE or at.cadence.turns is not None:
        return None
    if delivery is Delivery.RETRIED:
        return sessions - RETRY_S
    if delivery is Delivery.NEXT_TICK:
        # A session that is a whole number of periods, but for rounding, has them all.
        return np.asarray(np.maximum(period * np.floor(sessions / period + 1e-9), 0.0))
    return np.full_like(sessions, period)


def slow_turns(group: Group, at: Sessions, moves: Moves, turns: Turns, rows: tuple[int, int], *, share: float) -> Term:
    """Return the cost of handlers that a library's beat waits for: a turn that ends only after the session.

    The member works on meanwhile, so that only the way out and in stand still.

    Args:
        group: who stands still.
        at: the sessions.
        moves: out and back.
        turns: of the loop.
        rows: of the table, and of the same at most: each member's turns that find something.
        share: of those that there would be if none were idle.
    """
    ends = at.sessions_s - turns.starts_s[:, None]
    waits = np.subtract.outer(at.barrier.quantiles_s, turns.starts_s).ravel()
    shifts = few(waits, np.tile(turns.weights, at.barrier.quantiles_s.size))
    later = at.sessions_s + shifts[:, None]
    at_ends = Places.of(ends)
    idle = turns.idle_per_day * (turns.weights @ (turns.idle_s > ends))
    evicted, upper = (share * (turns.weights @ at.table.longer(row, at_ends)) + idle for row in rows)
    late = share * mean(at.table.longer(rows[0], Places.of(later))) + turns.idle_per_day * mean(turns.idle_s > later)
    return _alive(group, moves, evicted, upper, late)


def slow_polls(group: Group, at: Sessions, moves: Moves, rows: tuple[int, int], limit_s: float) -> Term:
    """Return the cost of poll gaps longer than the limit: the member leaves, and joins when it polls."""
    places = Places.of(np.concatenate(([limit_s], limit_s + at.barrier.quantiles_s)))
    gaps = at.table.longer(rows[0], places)
    upper = at.table.longer(rows[1], places)[0]
    whole = np.ones(at.sessions_s.size)
    return _alive(group, moves, gaps[0] * whole, upper * whole, mean(gaps[1:]) * whole)


def never_in_time(group: Group, at: Sessions, moves: Moves) -> Term:
    """Return the cost of a clock whose period is longer than the session: every beat comes too late."""
    period = at.cadence.period_s
    often = np.where(at.sessions_s < period, 86_400.0 / period, 0.0)
    return _alive(group, moves, often, often, often)


def _alive(group: Group, moves: Moves, evicted: Array, upper: Array, late: Array) -> Term:
    """Return the cost of removing members that work on; rates are each member's."""
    if group.alone:
        return Term(group.partitions * group.anew_s * evicted, evicted, evicted, evicted, upper)
    cost = group.members * (evicted * moves.out + late * moves.back)
    out = group.members * evicted
    return Term(cost, out + group.members * moves.rounds * late, out, out, group.members * upper)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """When a member whose handler hangs is removed.

    Attributes:
        times_s: so long after it hung, an array for each of a few ages of the last beat; None: never.
        weights: the share of each.
        barrier_s: how long a rebalance waits for a member, R.
    """

    times_s: Array | None
    weights: Array
    barrier_s: float


def hangs(group: Group, at: Sessions, moves: Moves, row: int, limit: Limit, triggers: Array) -> Term:
    """Return the cost of handlers that do not return.

    Args:
        group: who stands still.
        at: the sessions.
        moves: out and back.
        row: of the table.
        limit: when the group learns of it.
        triggers: rebalances a day that begin for other reasons: any makes an eager group wait for the hung member.
    """
    table, nothing = at.table, np.zeros(at.sessions_s.size)
    often, whole = table.often(row), table.whole(row)
    pace = (triggers + (group.members - 1) * often) / 86_400.0
    if group.alone:
        return Term(group.partitions * whole + nothing, nothing, nothing, nothing, nothing)
    if limit.times_s is None:
        waits = group.partitions * limit.barrier_s * np.minimum(pace * whole, often) * group.whole_stops
        return Term(group.members * (group.share * whole + waits), nothing, nothing, nothing, nothing)
    places = Places.of(limit.times_s)
    removed = limit.weights @ table.longer(row, places)
    later = limit.times_s + at.barrier.quantiles_s[:, None, None]
    late = limit.weights @ mean(table.longer(row, Places.of(later)))
    cost = group.share * (limit.weights @ table.seconds(row, places)) + removed * moves.out + late * moves.back
    if group.whole_stops:
        cost = cost + pace * group.partitions * (limit.weights @ table.moments(row, limit.times_s))
    out = group.members * removed + nothing
    return Term(group.members * cost + nothing, out + group.members * moves.rounds * late, out, nothing, nothing)
