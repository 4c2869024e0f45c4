"""Episodes: evictions of one group that come together count once, for they have one cause.

A burst that removes four members is one misfortune, not four. Counted one by one, bursts alone would look like harm.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from heartbeat_tuner.tails.gpd import Array

WITHIN_S: Final = 900.0
"""Evictions so soon after the first of an episode belong to it. The time runs from the first, not from the last: a
storm that goes on for hours is many episodes."""

WITNESSES: Final = 3
"""So many other groups with an episode at the same time: whatever it was, it was not our values."""

Stretch = tuple[float, float]
"""From and to, in Unix seconds."""


def starts(evictions_s: Sequence[float] | Array) -> Array:
    """Return when episodes began, in order; times that are no numbers are left out."""
    times = np.asarray(evictions_s, dtype=np.float64)
    times = np.sort(times[np.isfinite(times)])
    if not times.size:
        return times
    if np.all(np.diff(times) >= WITHIN_S):
        return times
    following = np.searchsorted(times, times + WITHIN_S, side="left")
    after = np.maximum(following, np.arange(1, times.size + 1)).tolist()  # what is huge is not moved by 15 minutes
    first, place = [], 0
    while place < times.size:
        first.append(place)
        place = after[place]
    return times[first]


def broker_wide(others_s: Sequence[Sequence[float]]) -> list[Stretch]:
    """Return the stretches in which at least `WITNESSES` other groups had an episode within `WITHIN_S`.

    A stretch is the union of all windows of that length which hold them.

    Args:
        others_s: evictions of each other group of the same broker or node. Groups whose own values were changed
            lately are no witnesses: a fit that harms them all must not hide behind itself.
    """
    begun = [(float(at), group) for group, times in enumerate(others_s) for at in starts(times)]
    begun.sort()
    wide: list[Stretch] = []
    oldest, seen = 0, dict.fromkeys(range(len(others_s)), 0)
    groups = 0
    for at, group in begun:
        groups += seen[group] == 0
        seen[group] += 1
        while begun[oldest][0] < at - WITHIN_S:
            past = begun[oldest][1]
            seen[past] -= 1
            groups -= seen[past] == 0
            oldest += 1
        if groups >= WITNESSES:
            wide.append((at - WITHIN_S, begun[oldest][0] + WITHIN_S))
    return merged(wide)


def merged(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return stretches in order, those that touch as one; what is empty, or no stretch of time, is left out."""
    joined: list[Stretch] = []
    for since_s, until_s in sorted(pair for pair in stretches if pair[0] < pair[1]):
        if joined and since_s <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], until_s))
        else:
            joined.append((since_s, until_s))
    return joined


def outside(times_s: Array, stretches: Sequence[Stretch]) -> Array:
    """Return the times that lie in none of these stretches, which are in order and apart."""
    if not stretches:
        return times_s
    since_s, until_s = (np.array(bounds) for bounds in zip(*stretches, strict=True))
    place = np.searchsorted(since_s, times_s, side="right") - 1
    return np.asarray(times_s[(place < 0) | (times_s >= until_s[place])])
