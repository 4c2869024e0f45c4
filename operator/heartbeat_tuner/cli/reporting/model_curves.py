"""The curves of a group's model: how often absences last longer than a time, and what each session timeout costs."""

from typing import Final

import numpy as np

from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.durations import MONTH_DAYS
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.report.plotted_data import CostEntry, SurvivalEntry
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S

_POINTS: Final = 72
_SHORTEST_S: Final = 0.5
_LEAST_S: Final = 120.0
_BEYOND: Final = 3.0
"""So many times the longest session that matters are drawn."""

_LEAST_PER_MONTH: Final = 1e-4


def survival(case: Case) -> SurvivalEntry | None:
    """Return how many absences of members a month last longer than a time; None where no model knows.

    Pauses of members, and long handlers where the beat waits for these: what is a member's own, and ends by itself.
    """
    if not isinstance(case.asked, Question):
        return None
    profile = case.asked.profile
    handlers = profile.slow_handlers if case.stated.client.handler_delays_beat else None
    absences = [profile.pauses] if handlers is None else [profile.pauses, handlers]
    times_s = np.geomspace(_SHORTEST_S, _longest_s(case, case.asked.current), _POINTS)
    month = profile.members * MONTH_DAYS
    per_month = month * np.sum([absence.per_day * absence.law.sf(times_s) for absence in absences], axis=0)
    at_most = month * np.sum([_at_most(absence, times_s) for absence in absences], axis=0)
    shown = per_month >= _LEAST_PER_MONTH
    if not shown.any():
        return None
    return SurvivalEntry(
        title="Pauses of members" if handlers is None else "Pauses and long handlers of members",
        times_s=_numbers(times_s[shown]),
        per_month=_numbers(per_month[shown]),
        at_most=_numbers(at_most[shown]),
    )


def _at_most(absences: FailureProcess, times_s: Array) -> Array:
    """Return how many absences a day last longer than times, at 95 %; what is expected, where the law is known."""
    if absences.upper_per_day is None:
        return absences.per_day * absences.law.sf(times_s)
    return np.asarray(np.interp(times_s, TIMES_S, absences.upper_per_day))


def costs(case: Case) -> CostEntry | None:
    """Return what each session timeout costs, with the beat that is recommended; None where that is not known."""
    if not isinstance(case.asked, Question) or case.found is None or case.found.now is None:
        return None
    asked, target = case.asked, case.found.target
    current_s = asked.current.session_timeout.total_seconds()
    with np.errstate(all="ignore"):
        _, cost_cache = tuning.rules_and_costs(asked)
        table = cost_cache.beyond(target or asked.current, min(1.0, current_s))
    sessions_s, longest_s = table.costs.sessions_s, _longest_s(case, asked.current)
    known = np.isfinite(table.net + table.upper) & (sessions_s <= longest_s)
    if not known.any():
        return None
    shown = np.flatnonzero(known)[_spread(sessions_s[known])]
    lower, upper = case.found.lower, case.found.upper
    return CostEntry(
        heartbeat_ms=durations.to_ms((target or asked.current).heartbeat_interval),
        sessions_s=_numbers(sessions_s[shown]),
        stalled_per_day=_numbers(table.net[shown]),
        evictions_per_month=_numbers(table.costs.evictions_per_month[shown]),
        evictions_at_most=_numbers(table.upper[shown]),
        band_s=None if lower is None or upper is None else (lower.total_seconds(), upper.total_seconds()),
    )


def _longest_s(case: Case, current: LivenessSettings) -> float:
    """Return how far curves are drawn, in seconds: some times further than any session that matters."""
    sessions = [current.session_timeout]
    if case.found is not None:
        sessions += [case.found.upper or current.session_timeout]
    return max(_LEAST_S, _BEYOND * max(sessions).total_seconds())


def _spread(values: Array) -> Array:
    """Return the indices of some values, evenly spread on a logarithmic scale."""
    wanted = np.geomspace(values[0], values[-1], _POINTS)
    return np.unique(np.searchsorted(values, wanted).clip(max=values.size - 1))


def _numbers(values: Array) -> tuple[float, ...]:
    """Return plain numbers with four significant digits: a page needs no more, and is shorter."""
    return tuple(float(f"{value:.4g}") for value in values)
