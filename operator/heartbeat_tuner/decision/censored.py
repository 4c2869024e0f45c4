"""What the evictions of a group's own record say of its absences: who was evicted shows no absence, but was away.

Where absences show as missing heartbeats, one that ended in an eviction shows in no value (`metrics.deficits`): beyond
the session that is set, a history is blind, and a law fitted to it says that nothing lies there. The record knows how
often something did. Each eviction is an absence longer than S less the age of the last beat, no more is known of it; so
beyond that the rate is the record's, and falls as what nobody has seen does (`tails.shape_free`).
"""

import dataclasses
import math

import numpy as np

from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.model import Z_95
from heartbeat_tuner.tails.profile import Happening, Profile

_MISSED = 1.35  # events that may have been missed, whatever was counted


def with_evictions(profile: Profile, evictions: int, days: float, *, session_s: float, period_s: float) -> Profile:
    """Return the profile with at least as many long pauses as members were evicted.

    Args:
        profile: of a group whose long absences do not show.
        evictions: for silence, of all members.
        days: in which they were counted.
        session_s: S in that time.
        period_s: P in that time.
    """
    if not (evictions and days > 0):
        return profile
    seen = evictions + Z_95 * math.sqrt(evictions) + _MISSED
    member_days, from_s = days * profile.members, max(session_s - period_s / 2, TIMES_S[1])
    shares = np.maximum(TIMES_S / from_s, 1.0) ** (-1.0 / shape_free.SHAPE)
    pauses = profile.pauses
    rates = np.maximum(pauses.per_day * pauses.law.exceedances, evictions / member_days * shares)
    uppers = None if pauses.upper_per_day is None else np.maximum(pauses.upper_per_day, seen / member_days * shares)
    return dataclasses.replace(profile, pauses=_happening(rates, uppers))


def _happening(rates: Array, uppers: Array | None) -> Happening:
    per_day = float(rates[0])
    return Happening(per_day, Law.table(np.minimum(rates / per_day, 1.0)), uppers)
