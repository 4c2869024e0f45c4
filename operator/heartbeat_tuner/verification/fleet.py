"""Is a fit harming many groups, each too little to be seen alone? What all of them show together.

Two ways, half of the stake on each. The mean of what the groups show is fair however they depend on each other; but no
mean is above the highest, so it only says that harm is not one group's chance. What sees little harm in many is the
sum: all their episodes against all that was to be expected, with the scatter of the days of all of them together, in
which a bad day that they share is seen.

Where rates are bounds from records, one of many groups is surely beyond its bound. So for the mean each bound is taken
at the error divided by the number of groups; for the sum there is one bound, of all records together.
"""

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.tails import count_bounds
from heartbeat_tuner.verification import e_process, scatter
from heartbeat_tuner.verification.e_process import ALPHA, HARMFUL
from heartbeat_tuner.verification.verify import EpisodeCount

LATELY: Final = timedelta(days=1)
"""Groups whose values were changed within so long a time are looked at together."""


def must_stop(groups: Sequence[EpisodeCount]) -> bool:
    """Whether no further change of values should begin until a person says so."""
    return log_evidence(groups) >= e_process.THRESHOLD


def log_evidence(groups: Sequence[EpisodeCount]) -> float:
    """Return the logarithm of the evidence that the fleet is harmed; 0 where nothing is known.

    Args:
        groups: those that were changed lately. Without a record a group says nothing.
    """
    watched = [group for group in groups if group.before.is_known]
    if not watched:
        return 0.0
    return float(np.logaddexp(log_mean(watched), log_sum(watched))) - math.log(2.0)


def log_mean(groups: Sequence[EpisodeCount]) -> float:
    """Return the logarithm of the mean evidence of harm over groups with a record, of which there are some."""
    logs = [_log_single(group, ALPHA / len(groups)) for group in groups]
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


def log_sum(groups: Sequence[EpisodeCount]) -> float:
    """Return the logarithm of the evidence of harm that all episodes of groups with a record show together."""
    seen = sum(group.before.episodes for group in groups)
    scatter = max(_common_dispersion(groups), _mean_dispersion(groups))
    episodes = sum(group.times_s.size for group in groups)
    if seen:
        part = math.fsum(group.before.mean * group.exposed for group in groups) / seen
        expected = count_bounds.garwood(seen, 1.0, alpha=ALPHA, dispersion=scatter).upper * part
    else:
        days = math.fsum(group.before.days for group in groups)
        expected = count_bounds.garwood(0, days, alpha=ALPHA).upper * math.fsum(group.exposed for group in groups)
    return float(e_process.log_e(episodes, expected, HARMFUL, scatter))


def _log_single(group: EpisodeCount, alpha: float) -> float:
    record = group.before
    upper = count_bounds.garwood(record.episodes, record.days, alpha=alpha, dispersion=record.dispersion).upper
    return float(e_process.log_e(group.times_s.size, upper * group.exposed, HARMFUL, record.dispersion))


def _common_dispersion(groups: Sequence[EpisodeCount]) -> float:
    """Return the dispersion of all groups' days added up: more than each has alone where bad days are shared."""
    days = min(group.before.by_day.size for group in groups)
    together = np.sum([group.before.by_day[group.before.by_day.size - days :] for group in groups], axis=0)
    return scatter.shown(np.asarray(together, dtype=np.float64), np.ones(days))


def _mean_dispersion(groups: Sequence[EpisodeCount]) -> float:
    """Return the dispersion that the sum of independent groups has: the mean, each by its share of the episodes."""
    weights = [group.before.episodes + 1.0 for group in groups]
    scattered = [weight * group.before.dispersion for weight, group in zip(weights, groups, strict=True)]
    return math.fsum(scattered) / math.fsum(weights)
