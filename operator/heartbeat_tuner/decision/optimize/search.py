"""Which of the values that may be set cost the group least, within its objective?

The cost of a session timeout has more than one minimum in one group of ten, so all that may be set are compared, for
each H, and no slope is followed. M comes first (`poll_limits`), since few things depend on both. What is uncertain is
judged twice: a value is the cheapest by what is expected, and within the objective by what is possible (95 %).

Of several H the longest is taken whose cost is hardly more than the best: it saves requests. Of several S, too: it
evicts less; but above a minute the shortest of them, for a crash is noticed sooner.
"""

import dataclasses
import functools
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.decision.cost.cost_model import CostModel, Costs
from heartbeat_tuner.decision.optimize import answer_sentences, poll_limits
from heartbeat_tuner.decision.optimize.cost_points import Choice, CostPoint, Mask, SessionTable, Unsure
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.limits import allowed_values as allowed
from heartbeat_tuner.limits import grid, smallest_changes
from heartbeat_tuner.limits.allowed_values import Infeasible, Limit, Rules
from heartbeat_tuner.models.failure_profile import Profile

INTERVAL_SHARE: Final = 0.03
"""So much more may a longer H cost."""

BAND_SHARE: Final = 0.05
"""Costs that are so near to each other are the same."""

LONGER_SHARE: Final = 0.01
"""So much more may a longer S cost."""

USUAL_SESSION_S: Final = 60.0
"""Of several S that cost the same the longest is taken, but none above this: the default of `maxDetectionTime`."""

_LONGEST_LOOKED_AT_S: Final = 1_800.0
"""How far is looked for a session that would do: the broker's usual maximum."""


class CostCache:
    """The costs of one group, each computed once."""

    def __init__(self, profile: Profile, rules: Rules) -> None:
        """Keep what all of them share.

        Args:
            profile: the group.
            rules: of its values; its policy's bounds are not looked at.
        """
        self.profile, self._client = profile, rules.client
        self.polls_are_known = rules.largest_poll_gap_s is not None
        self._cost_model = CostModel(profile)
        self._reckoned = functools.cache(self._reckon)
        self._rolled_out = functools.cache(self._roll_out)

    def at(self, settings: LivenessSettings) -> CostPoint:
        """Return what one set of values costs."""
        return self._table(settings, (settings.session_timeout.total_seconds(),)).point(0)

    def rollout(self, settings: LivenessSettings) -> float:
        """Return the stalled partition-seconds of replacing every pod once."""
        return self._rolled_out(settings.heartbeat_interval, settings.fetch_wait, settings.session_timeout)

    def table(self, rules: Rules, beat: LivenessSettings) -> SessionTable | Infeasible:
        """Return what each S costs that may go with a beat, or the two limits of S that collide."""
        floor, ceiling = rules.session(beat)
        if floor.value > ceiling.value:
            return allowed.collide("No session timeout fits: it must be", floor, ceiling)
        limits = _seconds(floor, ceiling)
        # Over all that any policy's bounds allow, so that the same table tells what they cost.
        free = _seconds(*rules.unbounded().session(beat)) if rules.bounds else limits
        table = self._table(beat, _compared(limits, free, rules.current.session_timeout.total_seconds()))
        sessions, (low_s, high_s) = table.costs.sessions_s, limits
        return dataclasses.replace(table, within=table.within & (sessions >= low_s) & (sessions <= high_s))

    def beyond(self, beat: LivenessSettings, from_s: float) -> SessionTable:
        """Return what longer S than may be would cost."""
        sessions = grid.settable(from_s, max(from_s, _LONGEST_LOOKED_AT_S))
        return self._table(beat, tuple(sessions.tolist()))

    def _table(self, beat: LivenessSettings, sessions_s: tuple[float, ...]) -> SessionTable:
        limit = allowed.poll_limit(self._client, beat)
        costs = self._reckoned(beat.heartbeat_interval, beat.fetch_wait, limit, sessions_s)
        expected, upper = costs.evictions_per_month, costs.evictions_upper_per_month
        if not self.polls_are_known:
            # What was not measured says nothing against any value.
            expected = expected - costs.poll_evictions_per_month
            upper = upper - costs.poll_evictions_upper_per_month
        net = costs.net_per_day
        return SessionTable(beat, costs, net, expected, upper, np.isfinite(net))

    def _roll_out(self, interval: timedelta, wait: timedelta, session: timedelta) -> float:
        return self._cost_model.rollout(
            interval_s=interval.total_seconds(), wait_s=wait.total_seconds(), session_s=session.total_seconds()
        )

    def _reckon(
        self, interval: timedelta, wait: timedelta, poll_limit: timedelta | None, sessions_s: tuple[float, ...]
    ) -> Costs:
        return self._cost_model.costs(
            interval_s=interval.total_seconds(),
            wait_s=wait.total_seconds(),
            poll_limit_s=None if poll_limit is None else poll_limit.total_seconds(),
            sessions_s=np.array(sessions_s),
        )


def _seconds(floor: Limit, ceiling: Limit) -> tuple[float, float]:
    return floor.value.total_seconds(), ceiling.value.total_seconds()


@functools.lru_cache(maxsize=1024)
def _compared(limits_s: tuple[float, float], free_s: tuple[float, float], current_s: float) -> tuple[float, ...]:
    """Return which S are compared between two pairs of limits, and the one that is set; many groups share them."""
    sessions = {*grid.settable(*limits_s).tolist(), *grid.settable(*free_s).tolist(), current_s}
    return tuple(sorted(sessions))


def choose(cost_cache: CostCache, rules: Rules, per_month: float) -> Choice | Infeasible:
    """Return the cheapest values within the rules and the objective, or the two numbers that collide.

    Args:
        cost_cache: of the group.
        rules: of its values.
        per_month: false evictions that the objective allows.
    """
    limits = poll_limits.poll_limits(cost_cache.profile, rules, per_month)
    if isinstance(limits, Infeasible):
        return limits
    choice = _of_poll_limit(cost_cache, rules, per_month, limits.kept)
    if limits.other is None:
        return choice
    if isinstance(choice, Choice) and limits.saving < INTERVAL_SHARE * choice.point.net_per_day:
        return choice
    return _preferred(choice, _of_poll_limit(cost_cache, rules, per_month, limits.other))


def _preferred(choice: Choice | Infeasible, other: Choice | Infeasible) -> Choice | Infeasible:
    """Return the choice with another M where that is worth it, or where only that one may meet the objective."""
    if isinstance(choice, Infeasible):
        return other if isinstance(other, Choice | Unsure) else choice
    least = (1 - INTERVAL_SHARE) * choice.point.net_per_day
    return other if not isinstance(other, Infeasible) and other.point.net_per_day < least else choice


def tables(cost_cache: CostCache, rules: Rules, poll_limit: timedelta | None) -> list[SessionTable] | Infeasible:
    """Return what all that may be set with one M costs, for each H the shortest first, or what two limits collide."""
    answers = [cost_cache.table(rules, rules.beat(interval, poll_limit)) for interval in rules.intervals()]
    sound = [table for table in answers if isinstance(table, SessionTable)]
    # A longer H needs a longer S: where the shortest has none, no other has.
    return sound or next(
        (infeasible for infeasible in answers if isinstance(infeasible, Infeasible)), _no_interval(rules)
    )


def _beats(rules: Rules, interval: timedelta, poll_limit: timedelta | None) -> list[LivenessSettings]:
    """Return the beats with one H and M, the longest W first: where the beat waits for the fetch, every W up to H.

    Else a W that was shortened with a shorter H would offer, with the next longer H, what was never compared before.
    """
    beat = rules.beat(interval, poll_limit)
    if not rules.client.beat_waits_for_fetch or rules.client.handler_delays_beat:
        return [beat]  # a loop that handlers delay is dear to compute, and a shorter W hardly makes its beats sooner
    shorter = [wait for wait in reversed(allowed.INTERVALS) if wait < beat.fetch_wait]
    others = (rules.bounded(dataclasses.replace(beat, fetch_wait=wait)) for wait in shorter)
    return list(dict.fromkeys((beat, *others)))


def _cheapest_wait(
    cost_cache: CostCache, rules: Rules, interval: timedelta, poll_limit: timedelta | None, per_month: float
) -> SessionTable | Infeasible:
    """Return what each S costs with one H and M, and the W that costs least; of equals the longest."""
    answers = [cost_cache.table(rules, beat) for beat in _beats(rules, interval, poll_limit)]
    sound = [table for table in answers if isinstance(table, SessionTable)]
    if len(answers) == 1 or not sound:
        return answers[0]
    places = [_cheapest(table, per_month) for table in sound]
    nets = [np.inf if place is None else table.net[place] for table, place in zip(sound, places, strict=True)]
    return sound[int(np.argmin(nets))]


def _of_poll_limit(
    cost_cache: CostCache, rules: Rules, per_month: float, poll_limit: timedelta | None
) -> Choice | Infeasible:
    """Return the choice with one M: the longest H whose cheapest S costs hardly more than with the shortest.

    The cost rises with H, so the longest is looked for in strides, from the shortest, which most groups get. Where it
    does not rise, as where beats come in whole turns of a loop, the answer may be less than the best, and is none the
    less within the objective.
    """
    intervals = rules.intervals()
    if not intervals:
        return _no_interval(rules)
    shortest = _cheapest_wait(cost_cache, rules, intervals[0], poll_limit, per_month)
    if isinstance(shortest, Infeasible):
        return shortest
    index = _cheapest(shortest, per_month)
    if index is None:
        return _missed(cost_cache, rules, shortest, per_month)
    table, bar = shortest, _hardly_more(shortest.net[index], INTERVAL_SHARE)
    longest, too_long, stride = 0, len(intervals), 1
    while too_long - longest > 1:
        tried = min(longest + stride, too_long - 1)
        longer = _cheapest_wait(cost_cache, rules, intervals[tried], poll_limit, per_month)
        cheapest = _cheapest(longer, per_month) if isinstance(longer, SessionTable) else None
        if isinstance(longer, SessionTable) and cheapest is not None and longer.net[cheapest] <= bar:
            longest, table, index, stride = tried, longer, cheapest, 2 * stride
        else:
            too_long, stride = tried, 1
    return _with_band(table, index, rules.current, per_month)


def _no_interval(rules: Rules) -> Infeasible:
    floor, ceiling = rules.interval()
    return allowed.collide("No heartbeat interval fits: it must be", floor, ceiling)


def _cheapest(table: SessionTable, per_month: float) -> int | None:
    feasible = table.within & (table.upper <= per_month)
    return int(np.argmin(np.where(feasible, table.net, np.inf))) if feasible.any() else None


def _with_band(table: SessionTable, index: int, current: LivenessSettings, per_month: float) -> Choice:
    """Return the choice of a table whose cheapest S is at `index`: the longest usual one that costs hardly more.

    If that is hardly another than what is set, what is set.
    """
    feasible = table.within & (table.upper <= per_month)
    longest = longest_alike(table, feasible, index)
    lower, upper = _around(feasible & (table.net <= _hardly_more(table.net[index], BAND_SHARE)), index)
    point, low, high = (table.point(place) for place in (longest, lower, upper))
    current_place = int(np.searchsorted(table.costs.sessions_s, current.session_timeout.total_seconds()))
    if lower <= current_place <= upper and smallest_changes.too_small(
        current.session_timeout, point.settings.session_timeout
    ):
        point = table.point(current_place)
    return Choice(point, low.settings.session_timeout, high.settings.session_timeout)


def longest_alike(table: SessionTable, allowed_ones: Mask, index: int) -> int:
    """Return the place of the longest usual S that costs hardly more than the cheapest S: it evicts less.

    Args:
        table: of all S with one beat.
        allowed_ones: which of them may be taken.
        index: of the cheapest of these.
    """
    shortest, longest = _around(allowed_ones & (table.net <= _hardly_more(table.net[index], LONGER_SHARE)), index)
    usual = int(np.searchsorted(table.costs.sessions_s, USUAL_SESSION_S, side="right")) - 1
    return min(longest, max(usual, shortest))  # beyond, the longest of equals only hides the dead


def _hardly_more(cost: float, share: float) -> float:
    """Return a cost that is so much more; one that is nothing may be less than that, by rounding."""
    return cost + share * abs(cost)


def _around(mask: Mask, index: int) -> tuple[int, int]:
    """Return the ends of the stretch of true values around one of them."""
    gaps = np.flatnonzero(~mask)
    place = int(np.searchsorted(gaps, index))
    first = int(gaps[place - 1]) + 1 if place else 0
    last = int(gaps[place]) - 1 if place < gaps.size else mask.size - 1
    return first, last


def _missed(cost_cache: CostCache, rules: Rules, table: SessionTable, per_month: float) -> Infeasible:
    """Return what the objective needs, and what does not allow it; `Unsure` where values may meet it, at 95 %."""
    _, ceiling = rules.session(table.beat)
    longer = cost_cache.beyond(table.beat, ceiling.value.total_seconds())
    enough = np.flatnonzero(longer.upper <= per_month)
    needed = longer.point(int(enough[0])) if enough.size else None
    safest = table.point(int(np.argmin(np.where(table.within, table.upper, np.inf))))
    # A record that shows more than the objective allows contradicts what is expected.
    may_be_met = not rules.upwards and bool((table.within & (table.least <= per_month)).any())
    late = 0.0 if not cost_cache.polls_are_known else table.costs.poll_evictions_upper_per_month
    why = answer_sentences.missed(rules, ceiling, needed, safest, per_month, late=late)
    return Unsure(why) if may_be_met else Infeasible(why)
