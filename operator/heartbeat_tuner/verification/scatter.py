"""How much daily counts scatter more than chance makes them: in a record as it is seen, and as it may be.

Days differ: a deploy, a campaign, a noisy neighbour. Daily counts with a mean m, whose rates have a squared coefficient
of variation c, have the variance m + c m^2, so their *dispersion*, variance over mean, is 1 + c m. Where bad days
follow each other, sums of days scatter more yet: by (1 + r) / (1 - r) for a correlation r of one day with the next.

`shown` is what a record shows of it. `possible` is what harm is measured with: two weeks can hold one kind of days
only, and nothing in them says that the other exists. So days of the usual kind are added to those that were seen, as
far as the record does not rule them out, and days are taken to follow each other until they are seen not to.
"""

import math
from typing import Final

import numpy as np

from heartbeat_tuner.tails import count_bounds
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.verification.e_process import ALPHA

ENOUGH_DAYS: Final = 8
"""Days of a record from which their own scatter is believed."""

_USUAL: Final = 0.5  # squared coefficient of variation of a group's daily rates, where nothing says otherwise
_UNSEEN: Final = 1.5  # scatter rests on rare bad days, and two weeks mostly hold fewer of them than their share
_MOST_SHOWN: Final = 0.7  # correlation of one day with the next, of what two weeks can show
_USUAL_DAYS: Final = 4  # of the usual kind, beside those that were seen
_FOLLOWING: Final = 0.75  # correlation of one day with the next, where nothing says otherwise; and at most
_FOLLOWING_DAYS: Final = 10  # as if so many had shown it


def shown(daily: Array, exposure: Array) -> float:
    """Return the dispersion that daily counts show, each against its own day's exposure; 1 at least.

    What chance alone would make of so few days is taken off, the more the less there is. Days that are missing to
    `ENOUGH_DAYS` are taken to scatter as days usually do.
    """
    daily, exposure = _watched(daily, exposure)
    if not daily.sum() > 0.0:
        return 1.0
    apart, mean = _apart(daily, exposure)
    missing = max(0, ENOUGH_DAYS - daily.size)
    freedom = daily.size - 1 + missing
    excess = max(0.0, (float((apart**2).sum()) + missing * usual(mean)) / freedom - 1.0)
    excess *= excess / (excess + math.sqrt(2.0 / freedom)) if excess else 0.0
    return 1.0 + excess * _UNSEEN * _sums(_shown_memory(apart, 1.0 + excess))


def possible(daily: Array, exposure: Array, episodes: int, days: float) -> float:
    """Return the dispersion that a group's days may have, as far as its record does not rule it out.

    Args:
        daily: counts of whole days.
        exposure: of each.
        episodes: of the whole record.
        days: its exposure.
    """
    if not days > 0.0:
        return 1.0
    mean = (episodes + 1.0) / days
    daily, exposure = _watched(daily, exposure)
    if daily.size < 2 or not daily.sum() > 0.0:  # noqa: PLR2004 - one day does not differ from others
        return 1.0 + _USUAL * mean * _sums(_FOLLOWING)
    apart, daily_mean = _apart(daily, exposure)
    freedom = daily.size - 1
    single = float((apart**2).sum()) / freedom
    seen = max(0.0, single - 1.0) / daily_mean
    most = single * freedom / (2.0 * count_bounds.gamma_quantile(0.5 * freedom, 0.5 * ALPHA))
    added = max(_USUAL_DAYS, ENOUGH_DAYS - daily.size)
    usually = min(_USUAL, max(0.0, most - 1.0) / daily_mean)
    variation = (freedom * seen + added * usually) / (freedom + added)
    return 1.0 + variation * mean * _sums(_possible_memory(apart, single))


def usual(per_day: float) -> float:
    """Return the dispersion of daily counts where the rate itself is another every day, as it usually is."""
    return 1.0 + _USUAL * per_day


def daily(times_s: Array, days_s: Array) -> Array:
    """Return how many times, in order, fall into each day, whose edges are given."""
    return np.diff(np.searchsorted(times_s, days_s)).astype(np.float64)


def _watched(daily: Array, exposure: Array) -> tuple[Array, Array]:
    watched = exposure > 0.0
    return daily[watched], exposure[watched]


def _apart(daily: Array, exposure: Array) -> tuple[Array, float]:
    """Return how far each day is from what was to be expected, in deviations of chance, and the mean of that."""
    expected = daily.sum() / exposure.sum() * exposure
    return (daily - expected) / np.sqrt(expected), float(expected.mean())


def _sums(correlation: float) -> float:
    """Return by how much sums of days scatter more where each is like the one before."""
    return (1.0 + correlation) / (1.0 - correlation)


def _shown_memory(apart: Array, single: float) -> float:
    """Return the correlation of one day with the next that shows; 0 if a bad day is not followed by bad ones.

    Chance is not followed by chance, so what days share is that part of their correlation which is not diluted by it.
    """
    if apart.size < ENOUGH_DAYS or single <= 1.0:
        return 0.0
    correlation = float((apart[1:] * apart[:-1]).sum() / (apart**2).sum()) * single / (single - 1.0)
    return min(max(correlation, 0.0), _MOST_SHOWN)


def _possible_memory(apart: Array, single: float) -> float:
    """Return the correlation of one day with the next that has to be allowed for, until a record shows it is less."""
    scale = max(single, 1.0)
    beyond_chance = float((apart**2).sum()) * (scale - 1.0) / scale
    together = float((apart[1:] * apart[:-1]).sum())
    taken = _FOLLOWING_DAYS * scale
    return min(max((together + _FOLLOWING * taken) / (beyond_chance + taken), 0.0), _FOLLOWING)
