"""Does a law fit, and is it still the same: distances between counts and a fitted tail.

The test is Anderson and Darling's, which weighs the far end most, in the form for counts in cells (Choulakian,
Lockhart and Stephens, Canadian Journal of Statistics 22, 1994). With parameters estimated from the same counts its
critical values hardly depend on the shape; `bench/tails.py critical` simulates them for these very cells and fits.
With very many values every law is refuted; what then counts is by how much, so the distance is told beside it.
"""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails import likelihood
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.likelihood import Exceedances

CRITICAL_5_PERCENT: Final = 1.0
CRITICAL_1_PER_MILLE: Final = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class Fitness:
    """How well each group's law fits.

    Attributes:
        anderson_darling: the statistic, of independent exceedances.
        distance: the largest difference between seen and fitted share of exceedances, 0..1.
    """

    anderson_darling: Array
    distance: Array

    @property
    def passes(self) -> npt.NDArray[np.bool_]:
        """Where nothing speaks against the law."""
        return self.anderson_darling <= CRITICAL_5_PERCENT

    @property
    def refuted(self) -> npt.NDArray[np.bool_]:
        """Where the law is surely not this one, and far enough off to matter."""
        return (self.anderson_darling > CRITICAL_1_PER_MILLE) & (self.distance > MATTERS)


MATTERS: Final = 0.05
"""A distance that is worth a rejection; below, a tail is close enough however sure its misfit is."""


def of(exceedances: Exceedances, theta: Array, weight: Array) -> Fitness:
    """Return how well laws fit the exceedances of their groups.

    Args:
        exceedances: of all groups.
        theta: groups x 2: shape, log scale.
        weight: how much each group's counts tell.
    """
    size = len(exceedances)
    fitness = Fitness(np.zeros(size), np.zeros(size))
    order = np.argsort(exceedances.last - exceedances.first, kind="stable")
    for begin in range(0, size, likelihood.CHUNK):
        groups = order[begin : begin + likelihood.CHUNK]
        edges, counts = exceedances.cells(groups)
        probability, _, _ = likelihood.cell_probabilities(edges, theta[groups])
        total = counts.sum(axis=1, keepdims=True)
        fitted = np.cumsum(probability, axis=1)
        away = np.cumsum(counts, axis=1) / np.maximum(total, 1e-300) - fitted
        away[:, -1] = 0.0
        # In the open cell, and past it, both shares are 1: there is nothing to compare.
        inner = (fitted > 1e-12) & (fitted < 1.0 - 1e-9)
        terms = np.where(inner, away**2 * probability / np.where(inner, fitted * (1.0 - fitted), 1.0), 0.0)
        fitness.anderson_darling[groups] = terms.sum(axis=1) * total[:, 0] * weight[groups]
        fitness.distance[groups] = np.where(total[:, 0] > 0, np.abs(away).max(axis=1), 0.0)
    return fitness
