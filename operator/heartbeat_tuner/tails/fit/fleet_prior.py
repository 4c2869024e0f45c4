"""What a fleet's groups have in common: the belief that a group with few exceedances starts from.

Shapes and log scales of the groups are taken as draws from a normal population, whose mean and spread the groups
themselves tell (empirical Bayes). They are found by expectation and maximisation: fit all groups under the present
belief, then believe what the means and variances of their posteriors say, and again.

The fleet of a group is its namespace. Its population starts from `WIDE`, which is worth a few groups: a fleet of one is
no fleet. Each stratum of it (client family, cluster) starts from the fleet's, which is worth some more: a stratum of
two says little, one of two hundred speaks for itself.

Other namespaces say nothing of it. One vote of each, however bounded, let one of them move laws of another one beyond
any bound: which part of the values a law is fitted to changes in steps (docs/design/0038).
"""

import dataclasses
import math
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.fit import likelihood
from heartbeat_tuner.tails.fit.exceedances import Exceedances, Fits, Normal
from heartbeat_tuner.tails.gpd import Array

ROUNDS: Final = 8
"""At most; a fleet that tells much is found in three or four."""

_STILL: Final = 1e-3
"""A population that a round moves by less, in its own spreads, is found."""

LEARN_FROM: Final = 5.0
"""Exceedances, in independent ones, that a group needs before the fleet learns from it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Population:
    """How shape and log scale (in thresholds) are distributed over groups; of one fleet, or of several, a line each.

    Attributes:
        mean: of shape and log scale.
        sd: standard deviation of each.
    """

    mean: Array
    sd: Array

    def is_near(self, other: "Population") -> bool:
        """Whether it differs from another by less than matters."""
        moved = np.maximum(np.abs(self.mean - other.mean), np.abs(self.sd - other.sd))
        return bool((moved < _STILL * self.sd).all())

    def of(self, numbers: npt.NDArray[np.int64]) -> "Population":
        """Return the lines of some of several."""
        return Population(self.mean[numbers], self.sd[numbers])


WIDE: Final = Population(np.array([0.15, math.log(0.5)]), np.array([0.15, 0.5]))
"""Before any group is seen: delays have tails somewhat heavier than exponential; most shapes lie in -0.15..0.45."""

_WIDE_IS_WORTH: Final = 5.0  # groups
_FLEET_IS_WORTH: Final = 20.0  # groups


def learn(
    exceedances: Exceedances,
    *,
    strata: npt.NDArray[np.int64],
    weight: Array,
    homes: npt.NDArray[np.int64] | None = None,
) -> tuple[Normal, Fits]:
    """Return what is believed of each group by its stratum, and the mean and covariance of each group's posterior.

    Args:
        exceedances: of all groups.
        strata: a number for each group, from 0; groups of one number are alike.
        weight: how much each group's counts tell, 1 where they are independent.
        homes: a number for each group, from 0, the same for those of one namespace; one namespace if left out.
    """
    tells = exceedances.totals * weight >= LEARN_FROM
    homes = np.zeros_like(strata) if homes is None else homes
    families, first, family = np.unique(np.stack([homes, strata]), axis=1, return_index=True, return_inverse=True)
    family, size = family.reshape(-1), int(homes.max(initial=-1)) + 1
    populations = _several(WIDE, families.shape[1])
    belief = _belief_of(populations, family)
    tops, fits = _fits_of(exceedances, belief, None, weight)
    for _ in range(ROUNDS):
        learned = tells & fits.converged
        fleets = _populations(fits, learned, homes, _several(WIDE, size), _WIDE_IS_WORTH)
        before = populations
        populations = _populations(fits, learned, family, fleets.of(homes[first]), _FLEET_IS_WORTH)
        belief = _belief_of(populations, family)
        tops, fits = _fits_of(exceedances, belief, tops.theta, weight)
        if populations.is_near(before):
            break
    return belief, fits


def _fits_of(exceedances: Exceedances, belief: Normal, start: Array | None, weight: Array) -> tuple[Fits, Fits]:
    tops = likelihood.fit(exceedances, prior=belief, start=start, weight=weight)
    return tops, likelihood.posterior(exceedances, tops, prior=belief, weight=weight)


def _several(population: Population, size: int) -> Population:
    return Population(np.tile(population.mean, (size, 1)), np.tile(population.sd, (size, 1)))


def _populations(
    fits: Fits, learned: npt.NDArray[np.bool_], numbers: npt.NDArray[np.int64], before: Population, worth: float
) -> Population:
    """Return the populations that some fits show, `before` counting as `worth` groups.

    Args:
        fits: of all groups.
        learned: which of them tell something.
        numbers: which population each group is of.
        before: a line for each population.
        worth: above 0, or else those without a group that tells something mean nothing.
    """
    numbers, theta = numbers[learned], fits.theta[learned]
    variances = fits.covariance[learned][:, [0, 1], [0, 1]]
    size = len(before.mean)
    groups = np.maximum(np.bincount(numbers, minlength=size)[:, None] + worth, 1e-300)
    mean = (_summed(theta, numbers, size) + worth * before.mean) / groups
    own = _summed((theta - mean[numbers]) ** 2 + variances, numbers, size)
    return Population(mean, np.sqrt((own + worth * (before.sd**2 + (before.mean - mean) ** 2)) / groups))


def _summed(values: Array, numbers: npt.NDArray[np.int64], size: int) -> Array:
    return np.stack([np.bincount(numbers, weights=column, minlength=size) for column in values.T], axis=1)


def _belief_of(populations: Population, numbers: npt.NDArray[np.int64]) -> Normal:
    population = populations.of(numbers)
    return Normal(population.mean, population.sd)
