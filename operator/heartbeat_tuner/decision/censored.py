"""What the evictions of a group's own record say of its absences: who was evicted shows no absence, but was away.

Where absences show as missing heartbeats, one that ended in an eviction shows in no value (`metrics.deficits`): beyond
the session that is set, a history is blind, and a law fitted to it says that nothing lies there. The record knows how
often something did. Each eviction is an absence longer than S less the age of the last beat, no more is known of it; so
beyond that the rate is the record's, and falls as what nobody has seen does (`tails.shape_free`).
"""

import math
from typing import Final

import numpy as np

from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.model import Z_95
from heartbeat_tuner.tails.profile import Happening

_MISSED: Final = 1.35  # events that may have been missed, whatever was counted


def with_evictions(
    absences: Happening, evictions: int, member_days: float, *, session_s: float, period_s: float
) -> Happening:
    """Return absences that are at least as often too long as members were evicted.

    Args:
        absences: of each member, of which those that ended in an eviction do not show.
        evictions: for silence, of all members.
        member_days: in which they were counted, above 0.
        session_s: S in that time.
        period_s: P in that time.
    """
    if not evictions:
        return absences
    seen = evictions + Z_95 * math.sqrt(evictions) + _MISSED
    from_s = max(session_s - period_s / 2, TIMES_S[1])
    shares = np.maximum(TIMES_S / from_s, 1.0) ** (-1.0 / shape_free.SHAPE)
    rates = np.maximum(absences.per_day * absences.law.exceedances, evictions / member_days * shares)
    uppers = absences.upper_per_day
    if uppers is not None:
        uppers = np.maximum(uppers, seen / member_days * shares)
    return Happening(float(rates[0]), Law.table(np.minimum(rates / rates[0], 1.0)), uppers)
