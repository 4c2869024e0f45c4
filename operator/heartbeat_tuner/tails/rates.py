"""Rates of rare events, and how long something lasts: crashes, restarts and evictions; downtimes and rebalances.

Few of them are seen in any one group, so a fleet tells what is usual. Events are Poisson, their rates gamma over the
groups; the rate of a group is then gamma again, and its mean lies between its own and the fleet's. By how much rates
differ is hardly known of a fleet with few events, so each difference counts by how likely it makes what was seen: one
best guess of it would be as sure of a group with three events as of one without any. Durations are lognormal; the
fleet's law is worth a few durations of a group's own.

The fleet of a group is its namespace. What is usual there is drawn to other namespaces within bounds (`neighbours`);
how much groups differ, and how long something lasts, is each namespace's own.
"""

import dataclasses
import math
from statistics import NormalDist
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails import gamma, neighbours
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import MIDDLES_S

_SPREAD_BEFORE: Final = 2.0  # squared coefficient of variation of rates, before any group is seen: they differ a lot
_HALF_AN_EVENT: Final = 0.5  # that may have been missed, whatever was counted
_SPREADS: Final = (0.01, 10.0)
_SPREADS_TRIED: Final = np.geomspace(*_SPREADS, 13)
_LOG_SD_BEFORE: Final = math.sqrt(math.log(2.0))  # of a lognormal law that is as wide as its mean
_WORTH_DURATIONS: Final = 5.0
_HEARD_AT_MOST: Final = 20.0  # durations of one group
_WORTH_SCATTER: Final = 5.0  # events: of a group at most, and of what shorter ones show
_SD_BEFORE: Final = 0.5  # of the logarithm of a duration

MOST_CLUMP: Final = 1000.0
"""Events that come at a time, as models say it."""

_BUCKET_LOGS: Final = np.log(MIDDLES_S)


@dataclasses.dataclass(frozen=True, slots=True)
class Rate:
    """How often something happens in one group, per unit of the exposure.

    Attributes:
        mean: posterior mean.
        upper: 95 % upper bound.
    """

    mean: float
    upper: float


@dataclasses.dataclass(frozen=True, slots=True)
class Rates:
    """The rate of each group, a gamma law; per unit of the exposure (days, member-days).

    Attributes:
        shape: of the law; groups.
        exposure: its rate parameter; groups.
    """

    shape: Array
    exposure: Array

    @property
    def mean(self) -> Array:
        """Posterior mean of each group's rate."""
        return self.shape / self.exposure

    @property
    def upper(self) -> Array:
        """95 % upper bound of each group's rate."""
        shapes, places = np.unique(self.shape, return_inverse=True)  # counts of rare events: a few different ones
        return np.asarray(gamma.quantile(shapes, 0.95)[places] / self.exposure)

    @property
    def each(self) -> list[Rate]:
        """The rate of each group."""
        return [Rate(*both) for both in zip(self.mean.tolist(), self.upper.tolist(), strict=True)]


def rates(events: Array, exposure: Array, *, homes: npt.NDArray[np.int64] | None = None) -> Rates:
    """Return the rate of each group from what all of them saw.

    Args:
        events: how many each group saw.
        exposure: for how long it was watched, in whichever unit the rates should be; 0 is a group not watched.
        homes: a number for each group, the same for those of one namespace; one namespace if left out.

    Raises:
        ValueError: negative numbers, or a namespace that was not watched at all.
    """
    if np.any(events < 0) or np.any(exposure < 0):
        raise ValueError("events and exposure: must not be negative")
    _, homes = np.unique(np.zeros(len(events)) if homes is None else homes, return_inverse=True)
    own: Array = np.bincount(homes, weights=exposure).astype(np.float64)
    if not own.size or not own.min() > 0:
        raise ValueError("exposure: no group was watched, so nothing is known of any")
    seen: Array = np.bincount(homes, weights=events).astype(np.float64)[:, None]
    together, watched = neighbours.heard(seen + _HALF_AN_EVENT, own, least=np.full(seen.shape, _HALF_AN_EVENT))
    usual = (together[:, 0] / watched)[homes]
    weights = np.empty((own.size, _SPREADS_TRIED.size))
    for home in range(own.size):
        at_home = homes == home
        weights[home] = _spread_weights(events[at_home], exposure[at_home], float(together[home, 0] / watched[home]))
    # A mixture of gamma laws; the gamma law of its mean and variance has nearly the same 95 % quantile.
    likely, shapes = weights[homes], events[:, None] + 1.0 / _SPREADS_TRIED
    exposures = exposure[:, None] + 1.0 / (_SPREADS_TRIED * usual[:, None])
    means = shapes / exposures
    mean = (likely * means).sum(axis=1)
    variance = (likely * (means / exposures + (means - mean[:, None]) ** 2)).sum(axis=1)
    return Rates(mean**2 / variance, mean / variance)


def _spread_weights(events: Array, exposure: Array, usual: float) -> Array:
    """Return how likely each of `_SPREADS_TRIED` is in one namespace, by the negative binomial law of its counts.

    Args:
        events: how many each group saw.
        exposure: for how long it was watched.
        usual: the rate of all of them.
    """
    shapes = 1.0 / _SPREADS_TRIED
    before = shapes / usual
    watched = before + exposure[:, None]
    each = gamma.log_gamma(events[:, None] + shapes) - gamma.log_gamma(shapes)
    each += shapes * np.log(before / watched) - events[:, None] * np.log(watched)
    # Whole sums: the same in whatever order groups come.
    logs = np.array([math.fsum(column) for column in each.T.tolist()])
    logs -= 0.5 * (np.log(_SPREADS_TRIED / _SPREAD_BEFORE) / _LOG_SD_BEFORE) ** 2
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def spread(events: Array, exposure: Array, *, before: float, clump: float = 1.0) -> float:
    """Return by how much the rates of groups differ: the squared coefficient of variation, between 0.01 and 10.

    It is what counts scatter more than chance makes them. What that tells is weighed against what was believed before
    by how sure each is: chance alone scatters the counts e of a fleet such that the estimate's variance is
    sum(2 e^2 + e) / sum(e^2)^2, and the belief's standard deviation is as large as itself.

    Args:
        events: how many each group saw.
        exposure: for how long it was watched; of one at least above 0.
        before: what is believed of such events before any is seen.
        clump: so many events come at a time.
    """
    # Whole sums: the same in whatever order groups come.
    expected = (math.fsum(events) + 0.5) / math.fsum(exposure) * exposure
    squares = math.fsum(expected**2)
    seen = math.fsum((events - expected) ** 2 - clump * expected) / squares
    sure = squares**2 / (2.0 * squares + clump * math.fsum(expected))
    return float(np.clip((seen * sure + 1.0 / before) / (sure + 1.0 / before**2), *_SPREADS))


def spread_doubt(groups: int, events: Array, *, before: float) -> Array:
    """Return the standard deviation of what `spread` finds, where groups were watched for equally long.

    Args:
        groups: how many.
        events: how many all of them were expected to see; above 0.
        before: as for `spread`.
    """
    sure = groups / (2.0 + groups / events)
    return 1.0 / np.sqrt(sure + 1.0 / before**2)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DayScatter:
    """By how much what groups see differs from day to day: it shows whether events come one by one.

    A node that stops takes half of a group with it. Five members that were absent then are one event and not five, and
    a fortnight without one shows much less than the days of all members promise.

    Attributes:
        seen: sum of the squared deviations from a group's mean of a day; groups x times.
        by_chance: what that is of as many events that come one by one; groups x times.
    """

    seen: Array
    by_chance: Array

    @classmethod
    def of(cls, counts: Array, squares: Array, days: Array) -> Self:
        """Return the scatter of counts of whole days.

        Args:
            counts: how many events longer than each time a group saw; groups x times.
            squares: sums of the squares of what it saw on each day; groups x times.
            days: on how many days it was watched; groups.
        """
        share = 1.0 / np.maximum(days, 1.0)[:, None]
        return cls(np.maximum(squares - counts**2 * share, 0.0), counts * (1.0 - share))

    def some(self, groups: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "DayScatter":
        """Return the same of some of the groups."""
        return DayScatter(self.seen[groups], self.by_chance[groups])

    def clumps(self) -> tuple[float, ...]:
        """Return how many events come at a time, for each of the times, which ascend; 1 if one by one.

        It is the ratio of the events' scatter to that of chance, by all groups together, of which none counts for more
        than a few events: who has hundreds has bad days, and his own counts. Where few events are as long, it is that
        of shorter ones.
        """
        weights = 1.0 / np.maximum(self.by_chance / _WORTH_SCATTER, 1.0)
        sizes, before = [], 1.0
        for seen, by_chance in zip((weights * self.seen).T, (weights * self.by_chance).T, strict=True):
            worth = math.fsum(by_chance) + _WORTH_SCATTER
            before = min(max((math.fsum(seen) + _WORTH_SCATTER * before) / worth, 1.0), MOST_CLUMP)
            sizes.append(before)
        return tuple(sizes)


@dataclasses.dataclass(frozen=True, slots=True)
class Duration:
    """How long something lasts in one group: a lognormal law, in seconds.

    Attributes:
        mean_log: mean of the logarithm.
        sd_log: its standard deviation.
        worth: durations that it rests on, the fleet's among them.
    """

    mean_log: float
    sd_log: float
    worth: float

    @property
    def mean_s(self) -> float:
        """Mean duration."""
        return math.exp(self.mean_log + 0.5 * self.sd_log**2)

    def sf(self, time_s: float) -> float:
        """Return the probability that the next one lasts longer than a time > 0; the doubt in the law is in it."""
        doubtful_sd = self.sd_log * math.sqrt(1.0 + 1.0 / self.worth)
        return 1.0 - NormalDist(self.mean_log, doubtful_sd).cdf(math.log(time_s))


def durations(counts: Array, *, homes: npt.NDArray[np.int64] | None = None) -> list[Duration | None]:
    """Return the law of each group's durations; a group without any gets its namespace's, None if that has none.

    Args:
        counts: durations in each bucket; groups x `BUCKETS`.
        homes: a number for each group, the same for those of one namespace; one namespace if left out.
    """
    _, homes = np.unique(np.zeros(len(counts)) if homes is None else homes, return_inverse=True)
    totals = counts.sum(axis=1)
    some = np.maximum(totals, 1e-300)
    means = counts @ _BUCKET_LOGS / some
    squares = np.maximum(counts @ _BUCKET_LOGS**2 / some - means**2, 0.0) * totals
    heard = np.minimum(totals, _HEARD_AT_MOST)
    total = np.bincount(homes, weights=heard)
    usual = (np.bincount(homes, weights=heard * means) / np.maximum(total, 1e-300))[homes]
    scatter = np.bincount(homes, weights=heard * (squares / some + (means - usual) ** 2))
    variance = ((scatter + _WORTH_DURATIONS * _SD_BEFORE**2) / (total + _WORTH_DURATIONS))[homes]
    worth = totals + _WORTH_DURATIONS
    own = (_WORTH_DURATIONS * usual + totals * means) / worth
    between = _WORTH_DURATIONS * totals / worth * (means - usual) ** 2
    sds = np.sqrt((_WORTH_DURATIONS * variance + squares + between) / worth)
    return [
        Duration(*law) if any_known else None
        for *law, any_known in zip(own.tolist(), sds.tolist(), worth.tolist(), (total > 0)[homes].tolist(), strict=True)
    ]
