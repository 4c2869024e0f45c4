"""The terms of the cost that handlers cause: slow turns, slow polls, and handlers that hang."""

import dataclasses

import numpy as np

from heartbeat_tuner.decision.cost.beat_phase import LoopTurns
from heartbeat_tuner.decision.cost.cost_terms import GroupShape, Term
from heartbeat_tuner.decision.cost.quadrature import mean, quantile_nodes
from heartbeat_tuner.decision.cost.rate_tables import TableCells
from heartbeat_tuner.decision.cost.rebalance_cost import RebalanceCost
from heartbeat_tuner.decision.cost.session_outcomes import Sessions
from heartbeat_tuner.tails.gpd import Array


def slow_turns(
    group: GroupShape,
    at: Sessions,
    rebalance_cost: RebalanceCost,
    turns: LoopTurns,
    rows: tuple[int, int],
    *,
    share: float,
) -> Term:
    """Return the cost of handlers that a library's beat waits for: a turn that ends only after the session.

    The member works on meanwhile, so that only the way out and in stand still.

    Args:
        group: who stands still.
        at: the sessions.
        rebalance_cost: out and back.
        turns: of the loop.
        rows: of the table, and of the same at most: each member's turns that find something.
        share: of those that there would be if none were idle.
    """
    ends = at.sessions_s - turns.starts_s[:, None]
    waits = np.subtract.outer(at.barrier.quantiles_s, turns.starts_s).ravel()
    shifts = quantile_nodes(waits, np.tile(turns.weights, at.barrier.quantiles_s.size))
    later = at.sessions_s + shifts[:, None]
    at_ends = TableCells.of(ends)
    idle = turns.idle_per_day * (turns.weights @ (turns.idle_s > ends))
    evicted, upper = (share * (turns.weights @ at.table.longer(row, at_ends)) + idle for row in rows)
    late = share * mean(at.table.longer(rows[0], TableCells.of(later))) + turns.idle_per_day * mean(
        turns.idle_s > later
    )
    return _alive(group, rebalance_cost, evicted, upper, late)


def slow_polls(
    group: GroupShape, at: Sessions, rebalance_cost: RebalanceCost, rows: tuple[int, int], limit_s: float
) -> Term:
    """Return the cost of poll gaps longer than the limit: the member leaves, and joins when it polls."""
    places = TableCells.of(np.concatenate(([limit_s], limit_s + at.barrier.quantiles_s)))
    gaps = at.table.longer(rows[0], places)
    upper = at.table.longer(rows[1], places)[0]
    whole = np.ones(at.sessions_s.size)
    return _alive(group, rebalance_cost, gaps[0] * whole, upper * whole, mean(gaps[1:]) * whole)


def never_in_time(group: GroupShape, at: Sessions, rebalance_cost: RebalanceCost) -> Term:
    """Return the cost of a clock whose period is longer than the session: every beat comes too late."""
    period = at.cadence.period_s
    often = np.where(at.sessions_s < period, 86_400.0 / period, 0.0)
    return _alive(group, rebalance_cost, often, often, often)


def _alive(group: GroupShape, rebalance_cost: RebalanceCost, evicted: Array, upper: Array, late: Array) -> Term:
    """Return the cost of removing members that work on; rates are each member's."""
    if group.alone:
        return Term(group.partitions * group.anew_s * evicted, evicted, evicted, evicted, upper)
    cost = group.members * (evicted * rebalance_cost.out + late * rebalance_cost.back)
    out = group.members * evicted
    return Term(cost, out + group.members * rebalance_cost.rounds * late, out, out, group.members * upper)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class HangLimit:
    """When a member whose handler hangs is removed.

    Attributes:
        times_s: so long after it hung, an array for each of a few ages of the last beat; None: never.
        weights: the share of each.
        barrier_s: how long a rebalance waits for a member, R.
    """

    times_s: Array | None
    weights: Array
    barrier_s: float


def hangs(
    group: GroupShape, at: Sessions, rebalance_cost: RebalanceCost, row: int, limit: HangLimit, triggers: Array
) -> Term:
    """Return the cost of handlers that do not return.

    Args:
        group: who stands still.
        at: the sessions.
        rebalance_cost: out and back.
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
    places = TableCells.of(limit.times_s)
    removed = limit.weights @ table.longer(row, places)
    later = limit.times_s + at.barrier.quantiles_s[:, None, None]
    late = limit.weights @ mean(table.longer(row, TableCells.of(later)))
    cost = (
        group.share * (limit.weights @ table.seconds(row, places))
        + removed * rebalance_cost.out
        + late * rebalance_cost.back
    )
    if group.whole_stops:
        cost = cost + pace * group.partitions * (limit.weights @ table.moments(row, limit.times_s))
    out = group.members * removed + nothing
    return Term(
        group.members * cost + nothing, out + group.members * rebalance_cost.rounds * late, out, nothing, nothing
    )
