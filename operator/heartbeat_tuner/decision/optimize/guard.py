"""May values be changed for what is better on paper? Never worse, as far as anybody can know.

A change must make the group stand still less by more than the figures can be wrong, and be safe at 95 %. Who wins where
these two cannot both be had is settled here: a group whose values are too risky is left alone if the safe ones cost
more, unless its own record shows the risk. Then, and only upwards, safety has a price (`economics`). Without that, only
values may take their place that cost less, evict less and are likely to be safe: they are better, if not surely good.
"""

import enum
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients.client import Client
from heartbeat_tuner.decision.evictions.assessment import ENOUGH_EVICTIONS, UNSTABLE_SHARE
from heartbeat_tuner.decision.optimize.cost_points import CostPoint, SessionTable
from heartbeat_tuner.decision.optimize.economics import RELIEF, Budget, affordable, likely
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.durations import MONTH_DAYS
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import Limit

IMPROVEMENT: Final = 0.05
"""A change that saves less of the net cost is none."""

UNMEASURED_IMPROVEMENT: Final = 0.10
"""Likewise, where what a rebalance costs is assumed: of clients whose gaps between polls do not show."""

LEAST_SAVING: Final = 0.1
"""Likewise in stalled partition-seconds a day: where next to nothing is lost, there is nothing to save."""

LEAST_DAYS: Final = 1.0
"""Days watched, and member-days: with less than that nothing is recommended; the hours seen may have been the best."""

SURE_DAYS: Final = 7.0
"""With less than that nothing is written that no danger demands: the group may have been seen without its busiest day,
and what crashes and rebalances cost is hardly known."""


def least_poll_limit(client: Client, days: float) -> timedelta:
    """Return below which M is not lowered: the library's default, and less from a week on, as the weeks add up.

    What a stalled database does to all members at once shows in no quiet fortnight, and a low M then empties the group.
    What a low M saves rests on how often handlers hang, which is assumed.

    Args:
        client: the group's library.
        days: for which gaps between polls were watched.
    """
    default = client.defaults.max_poll_interval or allowed_values.USUAL_POLL_LIMIT
    supported = default * min(SURE_DAYS / days, 1.0) if days > 0 else default
    return max(durations.ceil_to_second(supported), allowed_values.USUAL_POLL_LIMIT)


def outlasted(largest_s: float | None, days: float, per_month: float) -> Limit | None:
    """Return the longest absence seen, where one such in that time is more than the objective allows; else None.

    A pool may call it rare, for other groups have not had it; this group has.

    Args:
        largest_s: the longest absence seen, in seconds; None where nobody knows, and 0 where none was.
        days: for which the group was watched.
        per_month: false evictions that the objective allows.
    """
    if not largest_s or per_month * days >= MONTH_DAYS:
        return None
    largest = timedelta(seconds=min(largest_s, allowed_values.LONGEST.total_seconds() / 2))
    name = say("the longest absence seen, {largestAbsence:about}, and a heartbeat", largestAbsence=Reading(largest))
    return Limit(largest, name)


class Leave(enum.Enum):
    """How far a change may go, by the data that it rests on."""

    NONE = enum.auto()  # not even recommended
    RECOMMEND = enum.auto()  # recommended, not made
    CHANGE = enum.auto()


def leave(*, watched_days: float, member_days: float) -> Leave:
    """Return how far a change that no danger demands may go."""
    if min(watched_days, member_days) < LEAST_DAYS:
        return Leave.NONE
    return Leave.RECOMMEND if watched_days < SURE_DAYS else Leave.CHANGE


def tightens(now: LivenessSettings, target: LivenessSettings) -> bool:
    """Whether S or M would be lower."""
    return target.session_timeout < now.session_timeout or lowers_poll_limit(now, target)


def lowers_poll_limit(now: LivenessSettings, target: LivenessSettings) -> bool:
    """Whether M would be lower."""
    limit, was = target.max_poll_interval, now.max_poll_interval
    return limit is not None and was is not None and limit < was


def improves(now: CostPoint, new: CostPoint, *, measured: bool = True) -> bool:
    """Whether a change saves enough to be sure of.

    Args:
        now: what is set.
        new: what shall be.
        measured: whether anything shows how long handlers and rebalances take.
    """
    share = IMPROVEMENT if measured else UNMEASURED_IMPROVEMENT
    return now.net_per_day - new.net_per_day > max(share * now.net_per_day, LEAST_SAVING)


def no_riskier(now: CostPoint, new: CostPoint) -> bool:
    """Whether values that are not surely safe may take the place of others that are not, for being cheaper.

    They must evict no more, on average and at most, and lower neither S nor M.
    """
    return (
        new.evictions_upper <= now.evictions_upper
        and new.evictions_per_month <= now.evictions_per_month
        and not tightens(now.settings, new.settings)
    )


def endangered(evictions: int, days: float, per_month: float) -> bool:
    """Whether a group's own record shows more false evictions than its objective allows."""
    return evictions >= ENOUGH_EVICTIONS and days > 0 and evictions / days * MONTH_DAYS > per_month


def cures(now: CostPoint, new: CostPoint) -> bool:
    """Whether values evict so much less than what is set that danger may ask for them."""
    return new.evictions_per_month <= (1 - RELIEF) * now.evictions_per_month


def relief(tables: Iterable[SessionTable], budget: Budget, *, measured: bool = True) -> CostPoint | None:
    """Return longer sessions that help a group in danger at a price that may be paid; None if none do, or none need to.

    The cheapest that is safe; if none is, the cheapest that is expected to meet the objective with some room; or else
    the cheapest of all, if it saves as much as any change has to. The safest at no cost would stand where it begins to
    cost, and every error would make the group worse.

    Args:
        tables: what may be set, and what it costs.
        budget: of the group.
        measured: whether anything shows how long handlers and rebalances take.
    """
    now, per_month = budget.now, budget.per_month
    if now.evictions_upper <= per_month:
        return None
    helping = []
    for table in tables:
        helps = (
            table.within
            & (table.costs.sessions_s >= now.settings.session_timeout.total_seconds())
            & affordable(table, budget, budget.in_danger)
            & (table.costs.evictions_per_month <= (1 - RELIEF) * now.evictions_per_month)
            & (table.upper < now.evictions_upper)
        )
        helping += [table.point(int(index)) for index in np.flatnonzero(helps)]
    safe = [point for point in helping if point.evictions_upper <= per_month]
    hopeful = [point for point in helping if likely(point, per_month)]
    saving = [point for point in helping if improves(now, point, measured=measured)]  # a price is the objective's
    return min(safe or hopeful or saving, key=lambda point: point.net_per_day, default=None)


def unstable(now: CostPoint) -> bool:
    """Whether the group rebalances for more of the day than the formulas hold for."""
    return now.rebalancing_share > UNSTABLE_SHARE
