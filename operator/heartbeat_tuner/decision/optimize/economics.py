"""What may it cost a group to meet its objective, and is a change worth the restarts that bring it about?

The objective is a person's. A tenth of what the group cost with somebody else's values is its price, and of what our
changes saved a part. A longer session costs when members crash, and how often they do is hardly known of a small group:
what that may cost at most has a limit of its own.

Every pod has to be replaced for new values to come into force, and that makes the group stand still too. What a change
saves within the horizon has to pay for that. Deploys of somebody else do not end the horizon: their pods start with the
template as it is, without the values, so a change that waited for them would wait endlessly (design note 0012). Mode
Initial is for those: there the webhook sets values in pods that are replaced anyway. The session and the heartbeat of a
KIP-848 group are the broker's, and change without a restart.
"""

import dataclasses
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.decision.optimize.cost_points import CostPoint, Mask, SessionTable
from heartbeat_tuner.domain import liveness
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.models.failure_profile import Profile, Rebalancing
from heartbeat_tuner.tails.gpd import Array

SAFETY_PRICE: Final = 0.10
"""So much may the net cost rise to meet the objective, where live members are being evicted or likely to be."""

UNCOUNTED: Final = 2.0
"""Where no eviction was counted, so many times the objective must be likely before it is paid for: of Java groups of
three fleets with a median of one to two evictions a month 0.41 truly had more than one, of those with more 0.80
(docs/design/0035)."""

OF_SAVINGS: Final = 0.25
"""So much of what our changes saved may be paid for that where only the average misses the objective."""

IN_DOUBT: Final = 0.20
"""So much may a longer session cost if members crash as often as they may (95 %)."""

TOO_COSTLY: Final = 0.20
"""A raise of S is undone where what is set costs so much more than what stood before our changes: twice what may be
paid, or two models that differ by chance would write the values back and forth."""

RESTORED: Final = 0.5
"""At most this part of the evictions may be left after that, or the next fit would ask for the next small step."""

NEARER: Final = 0.1
"""Or at most this part, where no values are expected to meet the objective with room: ten times nearer is worth it."""

EXPECTED_SHARE: Final = 0.75
"""Of its objective: what a group may be expected to evict under values that help, but are not surely safe."""

RELIEF: Final = 0.30
"""So many fewer evictions must that bring."""

ERROR_SHARE: Final = 1.3
"""So much more than it costs must a rollout save, since both are estimates."""

BEAT_SHARE: Final = 2.0
"""Likewise, where only H or W would change."""

_DAY: Final = timedelta(days=1)
_BEAT: Final = {Setting.HEARTBEAT_INTERVAL, Setting.FETCH_WAIT}
_BROKERS: Final = {Setting.HEARTBEAT_INTERVAL, Setting.SESSION_TIMEOUT}


def likely(point: CostPoint, per_month: float) -> bool:
    """Whether values are expected to meet the objective, with some room."""
    return point.evictions_per_month <= EXPECTED_SHARE * per_month


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What a group may cost to meet its objective.

    The objective is a person's, and worth a tenth of what the group cost with somebody else's values. As a share of
    what we have set it would be worth less with each saving, and more with each price paid.

    Attributes:
        now: what is set, and what that costs.
        before: what stood before our changes; None where nothing of ours is set.
        per_month: false evictions that the objective allows.
        shown: whether the group's own record shows more than these.
        counted: whether any live member was evicted with what is set.
        at_broker: whether S and H are the broker's: they change without a rollout.
    """

    now: CostPoint
    before: CostPoint | None
    per_month: float
    shown: bool
    counted: bool
    at_broker: bool = False

    @property
    def in_danger(self) -> float:
        """The most net cost where live members are being evicted."""
        measure = self.now if self.before is None else self.before
        return max(self.now.net_per_day, (1 + SAFETY_PRICE) * measure.net_per_day)

    @property
    def most(self) -> float:
        """The most net cost otherwise: that of now, unless the objective is more likely missed than not (`UNCOUNTED`).

        An average may lie far above that: few groups in which it happens often make it, and the others would pay for
        nothing. So where only the average misses the objective, a part of what our changes saved may be paid for it.
        """
        if self.now.likeliest_per_month > (1.0 if self.counted else UNCOUNTED) * self.per_month:
            return self.in_danger
        saved = 0.0 if self.before is None else max(self.before.net_per_day - self.now.net_per_day, 0.0)
        return self.now.net_per_day + (OF_SAVINGS * saved if self.is_missed else 0.0)

    @property
    def is_missed(self) -> bool:
        """Whether the group is expected to miss its objective."""
        return self.now.evictions_per_month > self.per_month

    def allows_doubt(self, at_most: Array, longer: Array) -> Mask:
        """Return which sessions cost little more if members crash as often as they may (95 %).

        Where the objective is missed, a session is also allowed that then costs a tenth more at most than what stood
        before our changes costs then.

        Args:
            at_most: net cost of each then.
            longer: by how much that is more than without the session.
        """
        allowed = longer <= IN_DOUBT * self.now.net_per_day
        if self.before is not None and (self.shown or self.is_missed):
            allowed |= at_most <= (1 + SAFETY_PRICE) * (self.before.net_per_day + self.before.crash_doubt_per_day)
        return np.asarray(allowed)

    def restores(self, new: CostPoint) -> bool:
        """Whether values bring a group to its objective, with room, or far nearer to it, within the budget.

        The group is expected to miss it. Where no pod restarts for it, they need no room: a further step is as cheap.
        """
        now, left = self.now.evictions_per_month, new.evictions_per_month
        is_far_nearer = left <= RESTORED * now and (likely(new, self.per_month) or left <= NEARER * now)
        moved = set(liveness.changed(self.now.settings, new.settings))
        is_free = moved <= _BROKERS and left <= self.without_a_rollout
        return self.is_missed and (is_far_nearer or is_free) and new.net_per_day <= self.most

    def writes_back_and_forth(self, new: CostPoint) -> bool:
        """Whether values shorten a session at the broker that our last write there raised, and save too little for it.

        No rollout has to be paid there. What asked for the raise may be one event, which is not seen any more once the
        days that a fit reads have gone on: the next fit would take back what the last one asked for, and so on.

        Args:
            new: what shall be.
        """
        session = self.now.settings.session_timeout
        if not self.at_broker or self.before is None or new.settings.session_timeout >= session:
            return False
        is_raised = self.before.settings.session_timeout < session
        return is_raised and self.now.net_per_day <= (1 + TOO_COSTLY) * new.net_per_day

    @property
    def without_a_rollout(self) -> float:
        """How many evictions values may leave that restart no pod; 0 for a group whose S and H are not the broker's."""
        return min(self.per_month, (1 - RELIEF) * self.now.evictions_per_month) if self.at_broker else 0.0


def affordable(table: SessionTable, budget: Budget, most: float) -> Mask:
    """Return which sessions cost no more than may be paid, in net cost.

    A longer session costs when members crash, and how often they do is hardly known of a small group. So it costs a
    fifth at most even if they crash as often as they may, beside what is set and beside the same beat without it: a
    shorter H does not pay for a longer S. It is undone once more than that is expected (`TOO_COSTLY`).
    """
    now = budget.now
    sessions_s, current_s = table.costs.sessions_s, now.settings.session_timeout.total_seconds()
    at_most = table.net + table.costs.crash_doubt_per_day
    unmoved = min(float(np.interp(current_s, sessions_s, at_most)), now.net_per_day + now.crash_doubt_per_day)
    longer = at_most - unmoved
    return np.asarray((table.net <= most) & ((sessions_s <= current_s) | budget.allows_doubt(at_most, longer)))


def holds_in_doubt(now: CostPoint, new: CostPoint, unmoved: CostPoint) -> bool:
    """Whether a longer session that saves would cost a fifth at most if members crash as often as they may.

    Args:
        now: what is set.
        new: what shall be.
        unmoved: the same with the session that is set.
    """
    return in_doubt(now, new, unmoved) <= IN_DOUBT * now.net_per_day


def in_doubt(now: CostPoint, new: CostPoint, unmoved: CostPoint) -> float:
    """Return what a longer session costs if members crash as often as they may; 0 of one that is no longer.

    Args:
        now: what is set.
        new: what shall be.
        unmoved: the same with the session that is set.
    """
    if new.settings.session_timeout <= now.settings.session_timeout:
        return 0.0
    least = min(point.net_per_day + point.crash_doubt_per_day for point in (now, unmoved))
    return new.net_per_day + new.crash_doubt_per_day - least


def restores_the_objective(now: CostPoint, new: CostPoint, per_month: float) -> bool:
    """Whether the objective asks for a change, whatever it saves: what is set is expected to miss it.

    A change that leaves more than half of the evictions and still misses it is a saving like others, and so is one that
    leaves nearly all of them (`RELIEF`): from 1.01 to 0.99 a month is no reason to restart every pod.

    Args:
        now: what is set.
        new: what shall be.
        per_month: how many live members may be removed.
    """
    missed, left = now.evictions_per_month, new.evictions_per_month
    return missed > per_month and left <= min(max(per_month, 0.5 * missed), (1.0 - RELIEF) * missed)


def is_paid_by_savings(before: CostPoint | None, new: CostPoint, rollout: float, horizon: timedelta) -> bool:
    """Whether all changes together, and one more rollout, save against what stood before them within the horizon.

    Args:
        before: what stood before our changes; None where nothing of ours is set.
        new: what shall be.
        rollout: what replacing every pod costs, in stalled partition-seconds.
        horizon: within which a change must have paid for itself.
    """
    saved = 0.0 if before is None else before.net_per_day - new.net_per_day
    return saved * (horizon / _DAY) > ERROR_SHARE * rollout


def is_not_worth_a_rollout(
    profile: Profile, now: CostPoint, new: CostPoint, rollout: float, horizon: timedelta
) -> bool:
    """Whether a change does not pay for a rollout of its own within the horizon.

    Args:
        profile: the group.
        now: what is set.
        new: what shall be.
        rollout: what replacing every pod costs, in stalled partition-seconds.
        horizon: within which a change must have paid for itself.
    """
    moved = set(liveness.changed(now.settings, new.settings))
    if profile.rebalancing is Rebalancing.CONSUMER and moved <= _BROKERS:
        return False
    margin = BEAT_SHARE if moved <= _BEAT else ERROR_SHARE
    return (now.net_per_day - new.net_per_day) * (horizon / _DAY) <= margin * rollout
