"""The term of the cost that outages cause: of the network, or of the coordinator."""

import numpy as np

from heartbeat_tuner.decision.cost.cost_terms import RETRY_S, GroupShape, Term, begun_again
from heartbeat_tuner.decision.cost.rebalance_cost import JoinDelay, RebalanceCost
from heartbeat_tuner.decision.cost.session_outcomes import Sessions
from heartbeat_tuner.models.failure_profile import Delivery
from heartbeat_tuner.tails.gpd import Array


def outages(
    group: GroupShape,
    at: Sessions,
    rebalance_cost: RebalanceCost,
    returns: JoinDelay,
    delivery: Delivery,
    rows: tuple[int, int],
) -> Term:
    """Return the cost of network or coordinator away: nobody is left to take over, and the group begins again.

    Args:
        group: who stands still.
        at: the sessions; rates are those of the group.
        rebalance_cost: out and back of one member.
        returns: the law of the time from the end of an outage to the join of one.
        delivery: what becomes of the beats meanwhile.
        rows: of the table, and of the same at most.
    """
    row, members = rows[0], group.members
    endured_s = _endured_s(at, delivery)
    evicted, upper = (at.evicted(place) if endured_s is None else at.evicted_at(place, endured_s) for place in rows)
    first, every = at.first_and_all(row, members, endured_s)
    in_flight = at.cadence.turns is None and delivery is Delivery.ONE_IN_FLIGHT
    apart = None
    if in_flight:
        # Who is evicted comes back a period later, whatever the others do.
        apart = float((at.barrier.quantiles_s[:, None] < at.cadence.period_s + at.polls_s).mean())
    cost, count = begun_again(group, rebalance_cost, returns, (first, evicted, every), apart)
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
