"""How many events were longer than each time, where of some only what they outlasted is known.

An absence that ended in an eviction outlasted the session, and how much longer it was nobody saw. Counted as if it had
ended there, a fleet whose members are evicted would look as if it had no longer absences. So each of these events is
carried on as the others are: Kaplan and Meier's estimate of how fast events become rarer, by those whose end was seen
and who could be seen there. Where none of them is left, one event more falls as `shape_free` has it.
"""

from typing import Final

import numpy as np

from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import EDGES_S

_WORTH: Final = 1.0
"""Events for which the tail that nobody knows counts beside those that were seen."""

_AT_RISK: Final = 0.5
"""Of a bucket in which an event was lost from sight: on average it was halfway through (the actuarial estimate)."""


def longer(counts: Array, unended: Array) -> Array:
    """Return how many events of each group were longer than the lower edge of each bucket.

    Args:
        counts: events in each bucket; groups x `BUCKETS`.
        unended: how many of them are only known to be longer than the lower edge of their bucket.
    """
    surely = _from_the_top(counts)
    if not unended.any():
        return surely
    shares = _falling(counts.sum(axis=0), unended.sum(axis=0))
    known = _from_the_top(unended)
    before = np.cumsum(unended / shares, axis=1) - unended / shares
    return np.asarray(surely - known + known + before * shares)


def _falling(counts: Array, unended: Array) -> Array:
    """Return the share of all events that are longer than each lower edge, by all groups together."""
    first = int(np.flatnonzero(unended)[0])
    lower_s = EDGES_S[: counts.size]
    unknown = _WORTH * shape_free.beyond_per_day(lower_s, float(max(lower_s[first], EDGES_S[1])), 1.0)
    leaving = -np.diff(np.append(unknown, 0.0))
    at_risk = _from_the_top(counts) + unknown - _AT_RISK * unended
    stays = 1.0 - (counts - unended + leaving)[:-1] / at_risk[:-1]
    return np.concatenate(([1.0], np.cumprod(np.maximum(stays, 0.0))))


def _from_the_top(values: Array) -> Array:
    return np.asarray(np.cumsum(values[..., ::-1], axis=-1)[..., ::-1])
