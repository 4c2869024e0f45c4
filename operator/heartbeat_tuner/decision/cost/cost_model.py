"""The cost of settings: stalled partition-seconds a day, and what comes with them, for many sessions at once.

`CostModel` takes from a profile what no setting changes (tables of rates, the laws of `group_members`) and gives
`Costs` for an interval, a wait and a poll limit over an array of sessions. The parts: `beat_phase` (how old the last
beat is), `rebalance_cost` (what a rebalance costs), `cost_terms` (what each kind of happening costs),
`session_outcomes` and `rate_tables` (lookups), `quadrature` (a few times that stand for many).
"""

import dataclasses
import functools
import operator
from collections.abc import Mapping
from typing import Final

import numpy as np

from heartbeat_tuner.clients.client import Hung
from heartbeat_tuner.decision.cost import cost_terms, doubts, hang_terms, outage_terms
from heartbeat_tuner.decision.cost.cost_terms import Node, Term
from heartbeat_tuner.decision.cost.group_members import GroupMembers
from heartbeat_tuner.decision.cost.hang_terms import HangLimit
from heartbeat_tuner.decision.cost.rate_tables import RateTable
from heartbeat_tuner.decision.cost.rebalance_cost import JoinDelay, RebalanceCost
from heartbeat_tuner.decision.cost.session_outcomes import Sessions
from heartbeat_tuner.domain.durations import DAY_S, MONTH_DAYS
from heartbeat_tuner.models.failure_profile import FailureProcess, Profile
from heartbeat_tuner.tails.gpd import Array

LEAST_SESSION_S: Final = 6.0
"""`group.min.session.timeout.ms` of a broker where nothing else is set."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """What settings cost a group; arrays are over the sessions.

    Attributes:
        sessions_s: S.
        terms: stalled partition-seconds a day by cause, gross: pauses, nodePauses, outages, crashes, restarts, hangs,
            slowHandlers, evictionPrice.
        floor_per_day: the part of them that no setting can change: how long members that are away stand still
            themselves, up to the shortest session.
        evictions_per_month: members removed that were alive, of the whole group in 30 days, on average.
        evictions_upper_per_month: the same, at most, at 95 %.
        poll_evictions_per_month: the part of them for not polling.
        poll_evictions_upper_per_month: the part of those at most, at 95 %.
        rebalances_per_day: of the whole group.
        rebalancing_share: of the day, during which a rebalance is under way.
        detection_s: from a crash to the removal of the member, on average.
        period_s: P.
        stalled_per_eviction: partition-seconds, of one live member that is removed, beyond its absence.
        crash_doubt_per_day: stalled partition-seconds a day on top of `terms` if members crash as often as they may, at
            95 %; 0 where no bound is known.
    """

    sessions_s: Array
    terms: Mapping[str, Array]
    floor_per_day: float
    evictions_per_month: Array
    evictions_upper_per_month: Array
    poll_evictions_per_month: float
    poll_evictions_upper_per_month: float
    rebalances_per_day: Array
    rebalancing_share: Array
    detection_s: Array
    period_s: float
    stalled_per_eviction: Array
    crash_doubt_per_day: Array

    @property
    def gross_per_day(self) -> Array:
        """All terms."""
        return functools.reduce(operator.add, self.terms.values())

    @property
    def net_per_day(self) -> Array:
        """All terms, less what no setting can change."""
        return self.gross_per_day - self.floor_per_day


def costs(
    profile: Profile,
    *,
    interval_s: float,
    wait_s: float,
    poll_limit_s: float | None,
    sessions_s: Array,
    floor_s: float = LEAST_SESSION_S,
) -> Costs:
    """Return what settings cost a group; to ask for several intervals, keep a `CostModel`.

    Args:
        profile: the group.
        interval_s: H.
        wait_s: W; counts for libraries whose beat waits for the fetch.
        poll_limit_s: M as it is set; None for a library that has none.
        sessions_s: S, one or more.
        floor_s: the least session that the broker allows.
    """
    return CostModel(profile, floor_s=floor_s).costs(
        interval_s=interval_s, wait_s=wait_s, poll_limit_s=poll_limit_s, sessions_s=sessions_s
    )


class CostModel:
    """One group, ready to be computed with under many settings."""

    def __init__(self, profile: Profile, *, floor_s: float = LEAST_SESSION_S) -> None:
        """Prepare what no setting changes.

        Args:
            profile: the group.
            floor_s: the least session that the broker allows, in seconds.
        """
        self.profile = profile
        self._members = GroupMembers(profile)
        self._group = self._members.group
        self._rows: list[Array] = []
        self._pauses = self._add(_rates(profile.pauses), profile.pauses.upper_per_day)
        self._nodes = self._add(_rates(profile.node_pauses), profile.node_pauses.upper_per_day)
        self._outages = self._add(_rates(profile.outages), profile.outages.upper_per_day)
        self._crashes = self._add(_rates(profile.crashes), None)
        self._restarts = self._add(_rates(profile.restarts), None)
        self._hangs = self._add(_rates(profile.hangs), None)
        slow = profile.slow_handlers
        self._slow = self._add(_turns(profile), None if slow is None else slow.upper_per_day)
        self.table = RateTable.of(self._rows)
        self.floor_per_day = self._members.floor_per_day(floor_s)

    def costs(self, *, interval_s: float, wait_s: float, poll_limit_s: float | None, sessions_s: Array) -> Costs:
        """Return what settings cost; the arguments are those of the function `costs`."""
        cadence = self._members.cadence(interval_s=interval_s, wait_s=wait_s)
        limit_s = None if poll_limit_s is None else poll_limit_s * self._members.card.poll_limit_factor
        cap_s = self._members.cap_s(limit_s)
        join_delay = self._members.join_delay(cadence, cap_s)
        ways = self._members.rebalance_cost(join_delay, cadence, cap_s, drops=limit_s != cap_s)
        sessions = np.asarray(sessions_s, dtype=np.float64)
        at = Sessions(sessions, cadence, self.table, ways.barrier, self._members.polls_s)
        terms = self._terms(at, join_delay, ways, limit_s, cap_s)
        total = functools.reduce(operator.add, (term.evictions for term in terms.values()))
        upper = doubts.evictions_at_most(terms.values())
        rebalances = functools.reduce(operator.add, (term.rebalances for term in terms.values()))
        polls = (0.0, 0.0)
        if limit_s is not None:
            slow = terms["slowHandlers"]
            polls = (float(slow.evictions[0]) * MONTH_DAYS, float(slow.upper[0]) * MONTH_DAYS)
        return Costs(
            sessions_s=at.sessions_s,
            terms={name: term.cost for name, term in terms.items()}
            | {"evictionPrice": total * self.profile.eviction_price},
            floor_per_day=self.floor_per_day,
            evictions_per_month=total * MONTH_DAYS,
            evictions_upper_per_month=upper * MONTH_DAYS,
            poll_evictions_per_month=polls[0],
            poll_evictions_upper_per_month=polls[1],
            rebalances_per_day=rebalances,
            rebalancing_share=rebalances * (ways.barrier.mean_s + self._group.settle_s) / DAY_S,
            detection_s=at.sessions_s - cadence.mean_age_s,
            period_s=cadence.period_s,
            stalled_per_eviction=cost_terms.stalled_per_eviction(self._group, at, ways, self._pauses[0]),
            crash_doubt_per_day=doubts.more_crashes(self.profile.crashes) * terms["crashes"].cost,
        )

    def _terms(
        self, at: Sessions, join_delay: JoinDelay, ways: RebalanceCost, limit_s: float | None, cap_s: float
    ) -> dict[str, Term]:
        profile, group = self.profile, self._group
        none = Term.none(at.sessions_s.size)
        terms = dict.fromkeys(("pauses", "nodePauses", "outages", "crashes", "restarts", "hangs", "slowHandlers"), none)
        if profile.pauses.per_day:
            terms["pauses"] = cost_terms.absences(group, at, ways, *self._pauses)
        if at.cadence.turns is None and at.sessions_s.min() < at.cadence.period_s:
            terms["pauses"] += hang_terms.never_in_time(group, at, ways)
        if profile.node_pauses.per_day:
            gone = self._members.together if group.waits else 1
            together = self._members.rebalance_cost(join_delay, at.cadence, cap_s, gone=gone, drops=limit_s != cap_s)
            node = Node(self._members.together, self._members.last_polls_s, self._members.joins_together(cap_s))
            terms["nodePauses"] = cost_terms.node_absences(group, at, together, self._nodes, node)
        if profile.outages.per_day:
            returns = self._members.returning(join_delay, at.cadence, cap_s)
            terms["outages"] = outage_terms.outages(group, at, ways, returns, profile.delivery, self._outages)
        if profile.crashes.per_day:
            terms["crashes"] = self._crashed(at, ways, cap_s)
        if profile.restarts.per_day:
            terms["restarts"] = self._restarted(
                at, join_delay, ways, cap_s, drops=limit_s != cap_s, in_turn=profile.restarts_in_turn
            )
        if at.cadence.turns is not None:
            turns = at.cadence.turns
            share = 1.0 if profile.slow_handlers else turns.busy_per_day * profile.handlers.mean_s / DAY_S
            terms["slowHandlers"] = hang_terms.slow_turns(group, at, ways, turns, self._slow, share=share)
        elif limit_s is not None:
            terms["slowHandlers"] = hang_terms.slow_polls(group, at, ways, self._slow, limit_s)
        if profile.hangs.per_day:
            triggers = functools.reduce(operator.add, (term.triggers for term in terms.values()))
            limit = self._notice(at, limit_s, cap_s)
            terms["hangs"] = hang_terms.hangs(group, at, ways, self._hangs[0], limit, triggers)
        return terms

    def _crashed(self, at: Sessions, ways: RebalanceCost, cap_s: float) -> Term:
        """A static member that died takes its place again, but in KIP-848, where its id is refused until S is over."""
        if self._members.is_static and self._group.waits:
            return cost_terms.absences(self._group, at, ways, self._crashes[0], None)
        return cost_terms.crashes(self._group, at, ways, self._crashes[0], cap_s)

    def _restarted(
        self, at: Sessions, join_delay: JoinDelay, ways: RebalanceCost, cap_s: float, *, drops: bool, in_turn: bool
    ) -> Term:
        profile, group = self.profile, self._group
        law, often = profile.restarts.law, profile.restarts.per_day
        if self._members.is_static:
            return cost_terms.absences(group, at, ways, self._restarts[0], None)
        if profile.surge:
            ways = self._members.rebalance_cost(join_delay, at.cadence, cap_s, gone=0, drops=drops)
            orphaned = self._members.participants(0).orphaned
            silent = 0.0 if self._members.leaves else at.weights @ at.left_s * orphaned
            apart = self._members.apart(ways.barrier) if self._members.leaves else 1.0
            handover = ways.back + apart * ways.out
            if in_turn:
                handover = self._members.in_turn(handover, at.cadence, join_delay, cap_s)
            return cost_terms.departures(group, at, often, handover + silent, ways.rounds + apart)
        if not self._members.leaves:
            return cost_terms.crashes(group, at, ways, self._restarts[0], cap_s)
        if group.alone:
            return cost_terms.departures(group, at, often, group.partitions * (law.mean_s + group.anew_s), 1.0)
        apart = self._members.apart(ways.barrier)
        each = ways.out + apart * ways.back
        if in_turn:
            each = self._members.in_turn(each, at.cadence, join_delay, cap_s)
        return cost_terms.departures(group, at, often, each, 1.0 + apart * ways.rounds)

    def rollout(self, *, interval_s: float, wait_s: float, session_s: float) -> float:
        """Return the cost of replacing every pod; the arguments are those of `rollout_cost`.

        One after the other, unless all are stopped together: then all partitions stand still until the pods are back.
        """
        singly = self._rollout_of_each(interval_s=interval_s, wait_s=wait_s, session_s=session_s)
        if not self.profile.at_once:
            return singly
        anew_s = 0.0 if self._members.is_static else self._group.anew_s
        return max(singly, self._group.partitions * (self.profile.restarts.law.mean_s + anew_s))

    def _rollout_of_each(self, *, interval_s: float, wait_s: float, session_s: float) -> float:
        profile = self.profile
        if not profile.restarts.per_day:
            once = dataclasses.replace(profile, restarts=FailureProcess(1.0, profile.restarts.law), at_once=False)
            return CostModel(once).rollout(interval_s=interval_s, wait_s=wait_s, session_s=session_s)
        cadence = self._members.cadence(interval_s=interval_s, wait_s=wait_s)
        cap_s = self._members.cap_s(None)
        join_delay = self._members.join_delay(cadence, cap_s)
        ways = self._members.rebalance_cost(join_delay, cadence, cap_s, drops=False)
        at = Sessions(np.array([session_s]), cadence, self.table, ways.barrier)
        restarts = self._restarted(at, join_delay, ways, cap_s, drops=False, in_turn=True)
        return float(restarts.cost[0]) / profile.restarts.per_day

    def _notice(self, at: Sessions, limit_s: float | None, cap_s: float) -> HangLimit:
        """When a member whose handler hangs is removed: by its library's card."""
        if self._members.card.hung is Hung.UNNOTICED:
            return HangLimit(None, at.weights, cap_s)
        if self._members.card.hung is Hung.PLACEMENT:
            return HangLimit(at.left_s, at.weights, cap_s)
        limit = cap_s if limit_s is None else limit_s
        if (self._members.is_static and self._group.waits) or self._members.card.hung is Hung.STOPS:
            # It stops beating and does not say that it leaves.
            return HangLimit(limit + at.left_s, at.weights, cap_s)
        return HangLimit(np.full((1, 1), limit), np.ones(1), cap_s)

    def _add(self, rates: Array, upper: Array | None) -> tuple[int, int]:
        self._rows.append(rates)
        row = len(self._rows) - 1
        if upper is None:
            return row, row
        self._rows.append(upper)
        return row, row + 1


def rollout_cost(profile: Profile, *, interval_s: float, wait_s: float, session_s: float) -> float:
    """Return the stalled partition-seconds of replacing every pod once.

    Args:
        profile: the group.
        interval_s: H, as it is set while pods are replaced.
        wait_s: W.
        session_s: S.
    """
    return CostModel(profile).rollout(interval_s=interval_s, wait_s=wait_s, session_s=session_s)


def _rates(failure_process: FailureProcess) -> Array:
    return failure_process.per_day * failure_process.law.exceedances


def _turns(profile: Profile) -> Array:
    """How often a day a poll gap, or a busy turn of the loop, is longer than each of the times."""
    if profile.slow_handlers is None:
        return profile.handlers.exceedances * (DAY_S / max(profile.handlers.mean_s, 1e-3))
    return _rates(profile.slow_handlers)
