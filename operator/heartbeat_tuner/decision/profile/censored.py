"""What counted evictions say of a group's absences: who was evicted shows no absence, but was away.

Where absences show as missing heartbeats, one that ended in an eviction shows in no value
(`metrics.absence.missing_beats`): beyond the session that is set, a history is blind, and a law fitted to it says that
nothing lies there. The record knows how often something did. Each eviction is an absence longer than S less the age of
the last beat, no more is known of it.

A fit that was given the evictions has them in its law, as values without an end (`tails.fit`); but a law of thousands
of short absences may pass by a few dozen long ones, so its rate there is never below their count.

So up to that each eviction that the law has not is one absence more, and beyond it the rate is the record's. How fast
it falls from there is seen before: by how much fewer absences are as long as S than half as long. A generalised Pareto
law goes on from there, of the shape that delays usually have; at most, of a heavier one. It never falls more slowly
than what nobody has seen (`tails.shape_free`).
"""

import math
from typing import Final

import numpy as np

from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.tails import gpd, shape_free
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.model import Z_95

SHAPE: Final = 0.15
"""Of delays, usually (`tails.fit.growth` begins with it)."""

HEAVIER_SHAPE: Final = 0.25
"""One fleet in four has a heavier one, by what is believed of shapes before any is seen (0.15 ± 0.15).

With 0.4, what nobody has seen, groups of many evictions got sessions several times as long as they needed
(docs/design/0006).
"""

SLOWEST_FALL: Final = 0.3
"""Of what was outlasted: at most, the rate falls to 1 / e within so much more. What is seen before may be the end of
short absences, and nobody has seen how the long ones fall (measured: docs/design/0010)."""

_MISSED: Final = 1.35  # events that may have been missed, whatever was counted
_LEAST: Final = 1e-9  # a fall of nothing at all


def with_evictions(
    absences: FailureProcess, evictions: int, member_days: float, *, session_s: float, period_s: float
) -> FailureProcess:
    """Return absences that are at least as often too long as members were evicted.

    Args:
        absences: of each member, of which those that ended in an eviction may not show.
        evictions: for silence, of all members.
        member_days: in which they were counted, above 0.
        session_s: S in that time.
        period_s: P in that time.
    """
    return outlasting(absences, evictions, member_days, from_s=session_s - period_s / 2)


def outlasting(
    absences: FailureProcess, evictions: int, member_days: float, *, from_s: float, expected: float | None = None
) -> FailureProcess:
    """Return absences of which at least as many are longer than a time as members were evicted after it.

    What the absences have beyond it already is not added again.

    Args:
        absences: of each member.
        evictions: for silence, of all members.
        member_days: in which they were counted, above 0.
        from_s: what each of them outlasted.
        expected: how many evictions are expected in as many days, where others tell that these were chance; None: as
            many as were counted. The bound rests on what was counted.
    """
    if not evictions:
        return absences
    from_s = max(from_s, TIMES_S[1])
    counted = evictions / member_days
    evicted = counted if expected is None else expected / member_days
    shown = absences.per_day * absences.law.exceedances
    missing = max(evicted - float(np.interp(from_s, TIMES_S, shown)), 0.0)
    beyond = from_s < TIMES_S
    excess_s = (TIMES_S - from_s)[beyond]
    rates = shown + missing
    rates[beyond] = np.maximum(shown[beyond], evicted * gpd.survival(excess_s, SHAPE, _scale_s(shown, from_s, evicted)))
    uppers = absences.upper_per_day
    if uppers is not None:
        seen = (evictions + Z_95 * math.sqrt(evictions) + _MISSED) / member_days
        widest_s = max(_scale_s(shown, from_s, counted), SLOWEST_FALL * from_s)
        further = np.maximum(uppers[beyond], seen * gpd.survival(excess_s, HEAVIER_SHAPE, widest_s))
        uppers = uppers + max(seen - float(np.interp(from_s, TIMES_S, uppers)), 0.0)
        uppers[beyond] = further
        uppers = np.maximum.accumulate(np.maximum(uppers, rates)[::-1])[::-1]
    return FailureProcess(float(rates[0]), Law.table(np.minimum(rates / rates[0], 1.0)), uppers)


def _scale_s(shown: Array, from_s: float, evicted: float) -> float:
    """Return within how much more than a time the rate of absences falls, in seconds.

    Args:
        shown: how often a day an absence is longer than each of `TIMES_S`.
        from_s: the time.
        evicted: how often a day one is longer than that, above 0.
    """
    halfway, then = (float(np.interp(time_s, TIMES_S, shown)) for time_s in (from_s / 2, from_s))
    more = max(halfway + max(evicted - then, 0.0), evicted) / evicted
    return min(from_s / 2 / max(math.log(more), _LEAST), shape_free.SHAPE * from_s)
