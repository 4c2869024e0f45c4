"""May values be changed for what is better on paper? Never worse, as far as anybody can know.

A change must make the group stand still less by more than the figures can be wrong, and be safe at 95 %. Who wins where
these two cannot both be had is settled here: a group whose values are too risky is left alone if the safe ones cost
more, unless its own record shows the risk. Then, and only upwards, safety may cost a little.
"""

import dataclasses
import enum
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients.client import Circumstances
from heartbeat_tuner.decision import limits
from heartbeat_tuner.decision.assessment import ENOUGH_EVICTIONS, UNSTABLE_SHARE
from heartbeat_tuner.decision.choice import ABSENCE_MARGIN
from heartbeat_tuner.decision.choosing import MONTH_DAYS, Point, Table
from heartbeat_tuner.decision.limits import BEATS_PER_SESSION, Infeasible, Limit
from heartbeat_tuner.decision.rules import Rules
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.liveness import LivenessSettings

IMPROVEMENT: Final = 0.05
"""A change that saves less of the net cost is none."""

LEAST_SAVING: Final = 0.1
"""Likewise in stalled partition-seconds a day: where next to nothing is lost, there is nothing to save."""

SAFETY_PRICE: Final = 0.10
"""So much may the net cost rise where live members are being evicted."""

RELIEF: Final = 0.30
"""So many fewer evictions must that bring."""

LEAST_DAYS: Final = 1.0
"""Days watched, and member-days: with less than that, the one hour seen may have been the best of the week."""

SURE_DAYS: Final = 7.0
"""Who was not watched for a week may have been seen without its busiest day."""


class Leave(enum.Enum):
    """How far a change may go, by the data that it rests on."""

    NONE = enum.auto()  # not even recommended
    RECOMMEND = enum.auto()  # recommended, not made
    CHANGE = enum.auto()


def leave(now: LivenessSettings, target: LivenessSettings, *, watched_days: float, member_days: float) -> Leave:
    """Return how far a change that no danger demands may go."""
    if min(watched_days, member_days) < LEAST_DAYS:
        return Leave.NONE
    return Leave.RECOMMEND if tightens(now, target) and watched_days < SURE_DAYS else Leave.CHANGE


def tightens(now: LivenessSettings, target: LivenessSettings) -> bool:
    """Whether S or M would be lower."""
    limit, was = target.max_poll_interval, now.max_poll_interval
    return target.session_timeout < now.session_timeout or (limit is not None and was is not None and limit < was)


def improves(now: Point, new: Point) -> bool:
    """Whether a change saves enough to be sure of."""
    return now.net_per_day - new.net_per_day > max(IMPROVEMENT * now.net_per_day, LEAST_SAVING)


def endangered(evictions: int, days: float, per_month: float) -> bool:
    """Whether a group's own record shows more false evictions than its objective allows."""
    return evictions >= ENOUGH_EVICTIONS and days > 0 and evictions / days * MONTH_DAYS > per_month


def relief(tables: Iterable[Table], now: Point, per_month: float) -> Point | None:
    """Return longer sessions that help a group in danger at a price that may be paid; None if none do, or none need to.

    The cheapest that is safe; if none is, the safest.

    Args:
        tables: what may be set, and what it costs.
        now: what is set.
        per_month: false evictions that the objective allows.
    """
    if now.evictions_upper <= per_month:
        return None
    helping = []
    for table in tables:
        helps = (
            table.within
            & (table.costs.sessions_s >= now.settings.session_timeout.total_seconds())
            & (table.net <= (1 + SAFETY_PRICE) * now.net_per_day)
            & (table.costs.evictions_per_month <= (1 - RELIEF) * now.evictions_per_month)
            & (table.upper < now.evictions_upper)
        )
        helping += [table.point(int(one)) for one in np.flatnonzero(helps)]
    safe = [one for one in helping if one.evictions_upper <= per_month]
    if safe:
        return min(safe, key=lambda one: one.net_per_day)
    return min(helping, key=lambda one: (one.evictions_upper, one.net_per_day), default=None)


def unstable(now: Point) -> bool:
    """Whether the group rebalances for more of the day than the formulas bear."""
    return now.rebalancing_share > UNSTABLE_SHARE


def settled(rules: Rules, largest_absence_s: float) -> LivenessSettings | Infeasible:
    """Return values for a group that is outside the formulas and evicts: W of at most H, S never lower.

    Args:
        rules: of its values.
        largest_absence_s: that was seen.
    """
    beat = limits.with_interval(rules.current, rules.client, rules.current.heartbeat_interval)
    period = rules.client.period(beat, Circumstances()).longest
    floor, ceiling = dataclasses.replace(rules, upwards=True).session(beat)
    # Who was evicted was away for at least S - P, however little of that shows.
    set_period = rules.client.period(rules.current, Circumstances()).longest
    largest_s = max(largest_absence_s, (rules.current.session_timeout - set_period).total_seconds())
    absence = timedelta(seconds=min(ABSENCE_MARGIN * largest_s, ceiling.value.total_seconds()))
    needed = [
        floor,
        Limit(BEATS_PER_SESSION * period, f"{BEATS_PER_SESSION} heartbeats of {durations.show(period)}"),
        Limit(
            durations.ceil_to_second(period + absence),
            f"{ABSENCE_MARGIN:g} times the largest absence, {largest_s:.2g} s",
        ),
    ]
    session = limits.session_between(max(needed, key=lambda one: one.value), ceiling, rules.client)
    if isinstance(session, Infeasible):
        return session
    return dataclasses.replace(beat, session_timeout=session)
