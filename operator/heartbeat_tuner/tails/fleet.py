"""What a fleet's groups have in common: the belief that a group with few exceedances starts from.

Shapes and log scales of the groups are taken as draws from a normal population, whose mean and spread the groups
themselves tell (empirical Bayes). They are found by expectation and maximisation: fit all groups under the present
belief, then believe what the means and variances of their posteriors say, and again.

The fleet's population starts from `WIDE`, which is worth a few groups: a fleet of one is no fleet. Each stratum (client
family, cluster) starts from the fleet's, which is worth some more: a stratum of two says little, one of two hundred
speaks for itself.
"""

import dataclasses
import math
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails import likelihood
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.likelihood import Exceedances, Fits, Normal

ROUNDS: Final = 8
"""At most; a fleet that tells much is found in three or four."""

_STILL: Final = 1e-3
"""A population that a round moves by less, in its own spreads, is found."""

LEARN_FROM: Final = 5.0
"""Exceedances, in independent ones, that a group needs before the fleet learns from it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Population:
    """How shape and log scale (in thresholds) are distributed over groups: mean and standard deviation of each."""

    mean: Array
    sd: Array

    def is_near(self, other: "Population") -> bool:
        """Whether it differs from another by less than matters."""
        moved = np.maximum(np.abs(self.mean - other.mean), np.abs(self.sd - other.sd))
        return bool((moved < _STILL * self.sd).all())


WIDE: Final = Population(np.array([0.15, math.log(0.5)]), np.array([0.15, 0.5]))
"""Before any group is seen: delays have tails somewhat heavier than exponential; most shapes lie in -0.15..0.45."""

_WIDE_IS_WORTH: Final = 5.0  # groups
_FLEET_IS_WORTH: Final = 20.0  # groups


def learn(exceedances: Exceedances, *, strata: npt.NDArray[np.int64], weight: Array) -> tuple[Normal, Fits]:
    """Return what is believed of each group by its stratum, and the mean and covariance of each group's posterior.

    Args:
        exceedances: of all groups.
        strata: a number for each group, from 0; groups of one number are alike.
        weight: how much each group's counts tell, 1 where they are independent.
    """
    tells = exceedances.totals * weight >= LEARN_FROM
    populations = [WIDE] * (int(strata.max(initial=-1)) + 1)
    belief = _belief_of(populations, strata)
    tops, fits = _fits_of(exceedances, belief, None, weight)
    for _ in range(ROUNDS):
        fleet = _population(fits, tells & fits.converged, WIDE, _WIDE_IS_WORTH)
        before = populations
        populations = [
            _population(fits, tells & fits.converged & (strata == number), fleet, _FLEET_IS_WORTH)
            for number in range(len(before))
        ]
        belief = _belief_of(populations, strata)
        tops, fits = _fits_of(exceedances, belief, tops.theta, weight)
        if all(now.is_near(old) for now, old in zip(populations, before, strict=True)):
            break
    return belief, fits


def _fits_of(exceedances: Exceedances, belief: Normal, start: Array | None, weight: Array) -> tuple[Fits, Fits]:
    tops = likelihood.fit(exceedances, prior=belief, start=start, weight=weight)
    return tops, likelihood.posterior(exceedances, tops, prior=belief, weight=weight)


def _population(fits: Fits, members: npt.NDArray[np.bool_], before: Population, worth: float) -> Population:
    """Return the population that some fits show, `before` counting as `worth` groups."""
    theta = fits.theta[members]
    variances = fits.covariance[members][:, [0, 1], [0, 1]]
    groups = len(theta) + worth
    mean = (theta.sum(axis=0) + worth * before.mean) / groups
    spread = ((theta - mean) ** 2 + variances).sum(axis=0) + worth * (before.sd**2 + (before.mean - mean) ** 2)
    return Population(mean, np.sqrt(spread / groups))


def _belief_of(populations: list[Population], strata: npt.NDArray[np.int64]) -> Normal:
    means = np.array([population.mean for population in populations]).reshape(-1, 2)
    sds = np.array([population.sd for population in populations]).reshape(-1, 2)
    return Normal(means[strata], sds[strata])
