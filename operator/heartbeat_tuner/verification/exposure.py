"""The clock on which episodes are awaited: days of the group's own hours.

A group that is evicted at noon and never at night is not to be judged by the noon after a change. So the clock runs
fast in the hours that had many episodes before, and slowly in the others; over a whole day it is a day. It stands still
while nothing can be learnt: in rollouts, steps of scale, gaps of scrapes and events of the whole broker.

The hours are learnt as three waves of a day, each drawn to nothing as far as chance alone would make it: with few
episodes, or none, every hour is like every other. Hours are UTC's.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np

from heartbeat_tuner.domain.durations import DAY_S
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.verification import episodes
from heartbeat_tuner.verification.episodes import Stretch

HOURS: Final = 24

_WAVES: Final = np.arange(1, 4)
_ANGLES: Final = 2.0 * np.pi / HOURS * (np.arange(HOURS) + 0.5)
_LEAST: Final = 0.1
"""No hour counts less than so much of a mean one: a few weeks do not show that something never happens."""

_RARELY_SEEN: Final = 0.25
"""An hour of the day that was watched for less than this part of the mean is taken for one that was so long."""

EVEN: Final = (1.0,) * HOURS
"""Every hour like every other."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExposureClock:
    """How exposure passes.

    Attributes:
        hours: how fast in each hour of the day; 1 on average.
        left_out: when it stands still: in order and apart.
    """

    hours: tuple[float, ...]
    left_out: tuple[Stretch, ...]

    def days(self, since_s: float, until_s: Array | float) -> Array:
        """Return the exposure from a time to others, in days; 0 for those before it."""
        until = np.maximum(np.asarray(until_s, dtype=np.float64), since_s)
        return np.asarray(self._running(until) - self._running(np.float64(since_s)))

    def _running(self, times_s: Array | np.float64) -> Array:
        """Return what the clock shows, less what was left out before."""
        shown = self._shown(times_s)
        if not self.left_out:
            return shown
        bounds_s = np.array(self.left_out)
        since_s, until_s = bounds_s[:, 0], bounds_s[:, 1]
        since, until = self._shown(bounds_s).T
        before = np.concatenate([[0.0], np.cumsum(until - since)])
        place = np.searchsorted(since_s, times_s, side="right")
        last = np.maximum(place - 1, 0)
        within = self._shown(np.minimum(times_s, until_s[last])) - since[last]
        return np.asarray(shown - np.where(place > 0, before[last] + within, 0.0))

    def _shown(self, times_s: Array | np.float64) -> Array:
        whole, part = np.divmod(np.asarray(times_s) / DAY_S, 1.0)
        ends = np.concatenate([[0.0], np.cumsum(self.hours)]) / HOURS
        return np.asarray(whole + np.interp(part * HOURS, np.arange(HOURS + 1), ends))


def clock(episodes_s: Array, since_s: float, until_s: float, left_out: Sequence[Stretch]) -> ExposureClock:
    """Return the clock that a record shows.

    Args:
        episodes_s: when its episodes began.
        since_s: where it begins.
        until_s: where it ends.
        left_out: in order and apart; also those after the record.
    """
    out = tuple(left_out)
    if until_s - since_s < DAY_S or not episodes_s.size:
        return ExposureClock(EVEN, out)
    return ExposureClock(_hours(episodes_s, _watched(since_s, until_s, out)), out)


def _watched(since_s: float, until_s: float, left_out: Sequence[Stretch]) -> Array:
    """Return for how long each hour of the day was watched, in parts of the mean."""
    edges = np.arange(np.floor(since_s / 3600.0), np.ceil(until_s / 3600.0) + 1.0) * 3600.0
    inside = np.clip(edges, since_s, until_s)
    seen = np.diff(ExposureClock(EVEN, tuple(left_out)).days(since_s, inside))
    hours = np.bincount((edges[:-1] // 3600.0).astype(np.int64) % HOURS, weights=seen, minlength=HOURS)
    return np.asarray(np.maximum(hours / hours.mean(), _RARELY_SEEN)) if hours.sum() > 0 else np.ones(HOURS)


def _hours(episodes_s: Array, watched: Array) -> tuple[float, ...]:
    """Return how often each hour has episodes, 1 on average: three waves, as far as they are more than chance."""
    part = episodes_s / DAY_S % 1.0
    weight = 1.0 / watched[(part * HOURS).astype(np.int64) % HOURS]
    total = weight.sum()
    turns = np.exp(2j * np.pi * part[:, None] * _WAVES)
    waves = 2.0 / total * (weight[:, None] * turns).sum(axis=0)
    by_chance = 4.0 * (weight**2).sum() / total**2
    drawn = waves * np.maximum(0.0, 1.0 - by_chance / np.maximum(np.abs(waves) ** 2, 1e-300))
    rates = 1.0 + (drawn * np.exp(-1j * _ANGLES[:, None] * _WAVES)).real.sum(axis=1)
    rates = np.maximum(rates, _LEAST)
    return tuple((rates / rates.mean()).tolist())


def left_out(
    stretches: Sequence[Stretch], others_s: Sequence[Sequence[float]], since_s: float, until_s: float
) -> list[Stretch]:
    """Return all that is left out of a time: what is known of the group itself, and events of the whole broker.

    It is cut to that time: a pod that was told to end leaves a stretch without an end.
    """
    every = episodes.merged([*stretches, *episodes.broker_wide(others_s)])
    return episodes.merged([(max(first_s, since_s), min(last_s, until_s)) for first_s, last_s in every])
