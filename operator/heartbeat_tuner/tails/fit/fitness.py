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

from heartbeat_tuner.tails.fit import likelihood
from heartbeat_tuner.tails.fit.exceedances import Chunk, Exceedances
from heartbeat_tuner.tails.gpd import Array

CRITICAL: Final = 2.0
"""Above this a group speaks against the fleet's threshold."""

REJECTED: Final = 4.0
"""Above this a group's law is rejected. Chance reaches it in 1 of 100 groups where a belief made the law, and hardly
ever where the group's own values did."""

MATTERS: Final = 0.05
"""A distance that is worth a rejection; below, a tail is close enough however sure its misfit is."""

_NOTHING: Final = 1e-9
_STEPS: Final = np.linspace(0.05, 1.0, 20)
_FAR: Final = np.array([0.05, 0.02, 0.01, 0.005, 0.002])
"""Parts of the exceedances that a law expects beyond times which they are looked for beyond."""

_PLACES: Final = np.concatenate((_STEPS, 1.0 - _FAR))
_FAR_RATIO: Final = 1.4
_FAR_SURE: Final = 3.0  # standard deviations of a Poisson count
_HEARD_AT_MOST: Final = 200.0  # exceedances of one group: a few rich ones are no fleet


@dataclasses.dataclass(frozen=True, slots=True)
class Fitness:
    """How well each group's law fits.

    Attributes:
        anderson_darling: the statistic, all exceedances taken as independent.
        distance: the largest difference between seen and fitted share of exceedances, 0..1.
        below: exceedances (of a rich group as many as are heard) up to where its law expects a part of them, groups x
            parts: what one group has too few exceedances to show, a fleet shows.
    """

    anderson_darling: Array
    distance: Array
    below: Array

    def pooled_distance(self, members: npt.NDArray[np.bool_]) -> float:
        """Return the largest difference between seen and fitted share of exceedances, of some groups laid together."""
        pooled = self.below[members, : _STEPS.size].sum(axis=0)
        return 0.0 if pooled[-1] == 0 else float(np.abs(pooled / pooled[-1] - _STEPS).max())

    def heard(self, members: npt.NDArray[np.bool_]) -> float:
        """Return how many exceedances of some groups are laid together; at least one."""
        return max(float(self.below[members, _STEPS.size - 1].sum()), 1.0)

    def too_many_far(self, members: npt.NDArray[np.bool_]) -> bool:
        """Return whether more exceedances of some groups than chance brings lie far out, by enough to matter.

        Few lie there, and other distances hardly hear them; but what lies there is what a tail is wanted for.
        """
        pooled = self.below[members].sum(axis=0)
        total = pooled[_STEPS.size - 1]
        expected, seen = total * _FAR, total - pooled[_STEPS.size :]
        return bool(np.any((seen > _FAR_RATIO * expected) & (seen - expected > _FAR_SURE * np.sqrt(expected))))

    @property
    def doubted(self) -> npt.NDArray[np.bool_]:
        """Groups that speak against their law, by enough to matter.

        Values that come in clusters speak too loudly here, which leads to a higher threshold: the safe side.
        """
        return (self.anderson_darling > CRITICAL) & (self.distance > MATTERS)

    def refuted(self, weight: Array) -> npt.NDArray[np.bool_]:
        """Return the groups whose law is surely not this one, and far enough off to matter.

        Args:
            weight: how much each group's counts tell, as part of independent ones.
        """
        return (self.anderson_darling * weight > REJECTED) & (self.distance > MATTERS)


def measure_fitness(exceedances: Exceedances, theta: Array) -> Fitness:
    """Return how well laws fit the exceedances of their groups.

    Args:
        exceedances: of all groups.
        theta: groups x 2: shape, log scale.
    """
    size = len(exceedances)
    fitness = Fitness(np.zeros(size), np.zeros(size), np.zeros((size, _PLACES.size)))
    for chunk in exceedances.chunks:
        groups = chunk.groups
        probability, _, _ = likelihood.cell_probabilities(chunk.edges, theta[groups])
        counts = _completed(chunk, probability)
        total = counts.sum(axis=1, keepdims=True)
        seen = counts / np.maximum(total, 1e-300)
        fitted = np.cumsum(probability, axis=1)
        # In the open cell, and past it, both shares are 1: there is nothing to compare.
        inner = (fitted > _NOTHING) & (fitted < 1.0 - _NOTHING) & (total > 0)
        away = np.where(inner, np.cumsum(seen, axis=1) - fitted, 0.0)
        terms = away**2 * probability / np.where(inner, fitted * (1.0 - fitted), 1.0)
        fitness.anderson_darling[groups] = terms.sum(axis=1) * total[:, 0]
        fitness.distance[groups] = np.abs(away).max(axis=1)
        rows, columns = np.nonzero(counts)
        reached = (_PLACES - (fitted - probability)[rows, columns, None]) / probability[rows, columns, None]
        heard = np.minimum(total[rows, 0], _HEARD_AT_MOST) * seen[rows, columns]
        parts = heard[:, None] * np.clip(reached, 0.0, 1.0)
        filled, begin = np.unique(rows, return_index=True)
        fitness.below[groups[filled]] = np.add.reduceat(parts, begin, axis=0) if begin.size else 0.0
    return fitness


def _completed(chunk: Chunk, probability: Array) -> Array:
    """Return the values in each cell, those whose end nobody saw spread over the cells beyond as the law has it.

    So they speak neither for their law nor against it.
    """
    if chunk.unended is None:
        return chunk.counts
    reached = np.cumsum(probability[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(chunk.counts + probability * np.cumsum(chunk.unended / np.maximum(reached, 1e-300), axis=1))
