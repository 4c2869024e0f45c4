"""Where a tail begins: the share of values that a law is fitted to, chosen by the whole fleet.

The choice matters more than the estimator. Too low a threshold, and the law describes the body: what is rare beyond a
kink (one slow poll in a hundred) is then over- or underestimated by orders of magnitude. One group seldom has enough
values to show that, so the fleet decides, that is the group's namespace: the largest share at which few groups speak
against their law and all together lie close to it, and the smallest where none does. A group with very many
handlers takes a smaller share, and so does one whose own law is too heavy far out.
"""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.fit import fitness, fleet_prior
from heartbeat_tuner.tails.fit.exceedances import Exceedances, Fits, Normal
from heartbeat_tuner.tails.fit.fitness import Fitness
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS
from heartbeat_tuner.tails.model import TailModel

FRACTIONS: Final = (0.05, 0.02, 0.01, 0.005, 0.0025, 0.00125, 0.0006, 0.0003)
"""Candidates: shares of all values, the largest first."""

_DOUBTED_AT_MOST: Final = 0.06  # of the groups, and one
_POOLED_AT_MOST: Final = 0.025
_BY_CHANCE: Final = 0.8  # over the square root of how many are heard: Kolmogorov and Smirnov's, with a fitted law

_USUAL_AT_MOST: Final = 0.35  # shape

KINKED: Final = 0.5
"""Delays are not heavier than that; where a law is, its threshold lies below a kink, and a smaller share is asked."""

MOST_UNSEEN: Final = 7.0
"""Independent values that a law may expect beyond the largest that a group has: chance hides 7 of them once in a
thousand groups."""

MOST_EXCEEDANCES: Final = 300.0
"""Independent values that a law of handlers is fitted to, where a smaller share leaves as many: thousands describe
where a tail begins, and not the few slow handlers that a limit is set by (docs/design/0036)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """All groups fitted at one share of their values."""

    fraction: float
    exceedances: Exceedances
    belief: Normal
    fits: Fits
    fitness: Fitness

    def holds(self, members: npt.NDArray[np.bool_]) -> bool:
        """Return whether some groups, as a whole, have such tails; what chance alone brings speaks against none."""
        against = np.count_nonzero((self.fitness.doubted | ~self.fits.converged)[members])
        few = against <= _DOUBTED_AT_MOST * np.count_nonzero(members) + 1.0
        chance = _BY_CHANCE / np.sqrt(self.fitness.heard(members))
        near = self.fitness.pooled_distance(members) <= max(_POOLED_AT_MOST, chance)
        return bool(few and near and self.holds_far(members))

    def holds_far(self, members: npt.NDArray[np.bool_]) -> bool:
        """Return whether what lies far out is no more than some groups' laws expect, and none of a kink's shape."""
        return not self.fitness.too_many_far(members) and bool(
            np.median(self.belief.mean[members, 0]) <= _USUAL_AT_MOST
        )


def lies_below_a_kink(tail: TailModel, weight: float) -> bool:
    """Return whether the threshold of a group's law lies below a kink, so that a smaller share may give a better law.

    The law is then heavier than delays are, or expects more values beyond the largest that was seen than chance hides:
    it follows the many values near the threshold, and the usual distances hardly show where the few far ones end.

    Args:
        tail: the law.
        weight: how much one value of the group tells, as part of an independent one.
    """
    beyond = tail.sf(np.array([max(tail.largest_s, tail.threshold_s)]))[0]
    return bool(tail.shape > KINKED or tail.samples * weight * beyond > MOST_UNSEEN)


def places_of_few(values: Array) -> npt.NDArray[np.int64]:
    """Return the first place in `FRACTIONS` that leaves `MOST_EXCEEDANCES` of some independent values, or the last."""
    many = values[:, None] * np.array(FRACTIONS) > MOST_EXCEEDANCES
    return np.asarray(np.minimum(many.sum(axis=1), len(FRACTIONS) - 1), dtype=np.int64)


def above(counts: Array) -> Array:
    """Return how many values lie in each bucket or beyond; groups x `BUCKETS`."""
    return np.asarray(np.cumsum(counts[:, ::-1], axis=1)[:, ::-1])


def edges_over(counts: Array, exceed: Array) -> npt.NDArray[np.int64]:
    """Return the bucket of each group from whose lower edge on lie as many of the largest values as `exceed` says.

    It is the upper edge of the bucket that holds the next smaller value, so that nothing is known of the values beyond
    but that they exceed it: an edge set just below the last of them would find them crowding there. Values that share
    a bucket with that one are left out.
    """
    buckets = (above(counts) >= exceed[:, None] + 1.0).sum(axis=1)
    return np.asarray(np.minimum(buckets, BUCKETS - 1), dtype=np.int64)


def candidate(
    fraction: float,
    counts: Array,
    first: npt.NDArray[np.int64],
    *,
    strata: npt.NDArray[np.int64],
    homes: npt.NDArray[np.int64],
    cut: npt.NDArray[np.int64],
    weight: Array,
    unended: Array | None = None,
) -> Candidate:
    """Return all groups fitted over thresholds that stand for one share of their values."""
    exceedances = Exceedances.over(counts, first, cut=np.maximum(cut, first), unended=unended)
    belief, fits = fleet_prior.learn(exceedances, strata=strata, weight=weight, homes=homes)
    return Candidate(fraction, exceedances, belief, fits, fitness.measure_fitness(exceedances, fits.theta))
