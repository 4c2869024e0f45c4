"""The members of one group: how they beat, hear of a rebalance and join, and what their rebalances cost.

By profile and client library. `rebalance_cost` has the formulas, here are the laws of one group that they are fed with.
"""

import functools
import math
from typing import Final

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Beater, StaticIdSupport
from heartbeat_tuner.decision.cost import beat_phase, cost_terms
from heartbeat_tuner.decision.cost.beat_phase import Cadence
from heartbeat_tuner.decision.cost.cost_terms import GroupShape
from heartbeat_tuner.decision.cost.quadrature import mean
from heartbeat_tuner.decision.cost.rebalance_cost import (
    JoinBarrier,
    JoinDelay,
    RebalanceCost,
    RebalanceParticipants,
    after_a_beat,
    rebalance_cost,
    rebalance_cost_in_step,
)
from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.models.failure_profile import Delivery, Profile, Rebalancing
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import Law

_SIXTHS: Final = (np.arange(6) + 0.5) / 6
_LASTING: Final = frozenset({StaticIdSupport.WORKS, StaticIdSupport.GUARDED, StaticIdSupport.STEALS})
"""Where a static id keeps a member's place while it is away."""


class GroupMembers:
    """The members of one group.

    Args:
        profile: what happens to it.

    Attributes:
        card: its library's.
        is_static: whether static ids keep its members' places.
        in_step: whether a rebalance sets the beats of all members again.
        leaves: whether a member that is closed says so.
        group: its shape.
        together: members on one node.
        polls_s: times that stand for what is left of a poll gap.
        last_polls_s: the same of the last member of a node.
        joins_together: the law of joins of members that have all heard, up to R.
        join_delay: the law of t, the time from a rebalance's begin to a member's join, up to R.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.card = catalogue.client(profile.client)
        self.is_static = profile.static and self.card.static_membership in _LASTING
        self._in_turns = self.card.beater is Beater.FETCH_LOOP
        # A rebalance sets the beat timers of all members again. The turns of loops end whenever they end.
        self.in_step = not self._in_turns and profile.rebalancing is not Rebalancing.CONSUMER
        self.leaves = self.card.leaves_on_close
        consumer = profile.rebalancing is Rebalancing.CONSUMER
        self.group = GroupShape(
            members=profile.members,
            partitions=profile.partitions,
            settle_s=profile.settle_s,
            empty_s=0.0 if consumer else cost_terms.EMPTY_S,
            whole_stops=profile.rebalancing is Rebalancing.EAGER,
            waits=not consumer,
        )
        self.together = min(profile.node_members, profile.members)
        self._gaps = Law.table(_gaps(profile))
        self._remaining = self._gaps.remaining()
        # A loop that wakes beats at the end of its turn, and hears there that it has to join.
        shares = np.concatenate((_SIXTHS, 1.0 - (1.0 - _SIXTHS) ** (1.0 / self.together)))
        polls = np.zeros(2) if self._in_turns else self._remaining.quantile(shares)
        self.polls_s, self.last_polls_s = np.split(polls, 2)
        # The law of r, of members that have all heard, up to R: many periods ask for the same one.
        self.joins_together = functools.cache(lambda cap_s: JoinDelay.of(self._remaining.sf, cap_s))
        # A rollout, and each M with the same R, ask for beats and laws of t that the costs of values have asked for.
        self._beats = functools.cache(self._beat)
        self.join_delay = functools.cache(self._heard)

    def cadence(self, *, interval_s: float, wait_s: float) -> Cadence:
        """Return how the members beat."""
        return self._beats(interval_s, wait_s)

    def _beat(self, interval_s: float, wait_s: float) -> Cadence:
        if self._in_turns:
            profile = self._profile
            return beat_phase.in_turns(profile.handlers, idle=profile.idle_turns, interval_s=interval_s, wait_s=wait_s)
        return beat_phase.by_clock(beat_phase.period_of(self.card, interval_s=interval_s, wait_s=wait_s))

    def _heard(self, cadence: Cadence, cap_s: float) -> JoinDelay:
        """Return the law of t, the time from a rebalance's begin to a member's join."""
        turns = cadence.turns
        later = after_a_beat(self._remaining, cadence.period_s) if turns is None else turns.later(self._gaps)
        return JoinDelay.of(later, cap_s)

    def apart(self, barrier: JoinBarrier) -> float:
        """P(D > T_pre): the share of restarts whose two members take a rebalance each."""
        return float(mean(self._profile.restarts.law.sf(barrier.quantiles_s)))

    def rebalance_cost(
        self, join_delay: JoinDelay, cadence: Cadence, cap_s: float, *, gone: int = 1, drops: bool
    ) -> RebalanceCost:
        """Return what it costs that members leave together and come back, or that one joins and another leaves.

        The first rebalance finds members at any phase, and the second one finds them in step.

        Args:
            join_delay: the law of t.
            cadence: of the members.
            cap_s: R.
            gone: how many leave together; of none: one joins before another leaves.
            drops: whether members that join after R are not counted elsewhere, as those are that exceed M = R.
        """
        participants = self.participants(gone)
        ways = rebalance_cost(self._profile.rebalancing, join_delay, participants)
        out, back = ways.out, ways.back
        if self.in_step:
            together = self.joins_together(cap_s)
            protocol, period_s = self._profile.rebalancing, cadence.period_s
            out, back = rebalance_cost_in_step(protocol, together, participants, period_s=period_s)
        again = min(ways.barrier.dropped, 1.0) * back if drops else 0.0
        out, back = (ways.out, back) if gone else (out, ways.back)
        return RebalanceCost(out + again, back + again, ways.barrier, ways.hears_s, ways.rounds)

    def in_turn(self, alone: float, cadence: Cadence, join_delay: JoinDelay, cap_s: float) -> float:
        """Return what one restart costs on average, in stalled partition-seconds, where all members restart in turn.

        The first one meets members out of step. Its rebalance sets all beat timers, so that the others meet members in
        step, which wait for half a period and not for the longest of all of them.

        Args:
            alone: what one costs that comes by itself.
            cadence: of the members.
            join_delay: the law of t, out of step.
            cap_s: R.
        """
        profile = self._profile
        if not (self.in_step and self.leaves):
            return alone
        participants = self.participants(0 if profile.surge else 1)
        together, period_s = self.joins_together(cap_s), cadence.period_s
        out, back = rebalance_cost_in_step(profile.rebalancing, together, participants, period_s=period_s)
        first, second = (back, out) if profile.surge else (out, back)
        later = first + self.apart(join_delay.last_of(participants.stay)) * second
        return (alone + (profile.members - 1) * later) / profile.members

    def returning(self, join_delay: JoinDelay, cadence: Cadence, cap_s: float) -> JoinDelay:
        """Return the law of the time from the end of an outage to a member's join."""
        delivery = self._profile.delivery
        if cadence.turns is not None or delivery is Delivery.LATE:
            return self.joins_together(cap_s)
        if delivery is Delivery.RETRIED:
            return JoinDelay.of(after_a_beat(self._remaining, 2 * cost_terms.RETRY_S), cap_s)
        return join_delay

    def participants(self, gone: int) -> RebalanceParticipants:
        """Return who takes part in a rebalance when so many have left; if none, when one joins."""
        group = self.group
        if gone:
            moved, orphaned = math.floor(gone * group.share), gone * group.share
        else:
            moved = math.floor(group.partitions / (group.members + 1))
            orphaned = (group.partitions - moved) / group.members
        return RebalanceParticipants(
            stay=group.members - gone,
            come=max(gone, 1),
            partitions=group.partitions,
            orphaned=orphaned,
            moved=moved,
            settle_s=group.settle_s,
        )

    def cap_s(self, limit_s: float | None) -> float:
        """R: M itself for most libraries, else what they use unless it is set."""
        if self.card.rebalance_wait is Setting.MAX_POLL_INTERVAL and limit_s is not None:
            return limit_s
        return self.card.defaults[self.card.rebalance_wait].total_seconds()

    def floor_per_day(self, floor_s: float) -> float:
        """Return what no setting can change: how long members that are away stand still themselves, up to a session."""
        profile, group = self._profile, self.group
        absences = [profile.pauses, profile.crashes]
        if self.is_static or (not profile.surge and (group.alone or not self.leaves)):
            absences.append(profile.restarts)
        if group.alone:
            absences += [profile.node_pauses, profile.hangs]
            return group.partitions * sum(absence.per_day * absence.law.mean_s for absence in absences)
        away = group.members * sum(absence.per_day * float(absence.law.integral(floor_s)) for absence in absences)
        together = profile.node_pauses
        away += self.together * together.per_day * float(together.law.integral(floor_s))
        return profile.share * away


def _gaps(profile: Profile) -> Array:
    """P(T > x) of poll gaps, with the rare long ones."""
    usual, slow = profile.handlers, profile.slow_handlers
    if slow is None:
        return usual.exceedances
    rates: Array = slow.per_day * slow.law.exceedances
    return np.maximum(usual.exceedances, np.minimum(rates * usual.mean_s / DAY_S, 1.0))
