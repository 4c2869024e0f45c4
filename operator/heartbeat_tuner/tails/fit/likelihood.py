"""Fits the tails of many groups at once, from counts in buckets.

A bucket says only between which edges a value lay, so its probability is the difference of two survivals
(interval-censored likelihood). The last cell of each group is open: it holds all that is known to be *larger* than its
lower edge. A value whose end nobody saw (an absence that ended in an eviction: longer than S less the age of the last
beat) tells the survival of the lower edge of its cell, and nothing of the cells beyond.
Thresholds are edges, and all is measured in units of a group's threshold; a scale is kept as its logarithm.

Fisher scoring: steps by the expected information, halved where they do not help; converged groups drop out. Groups are
fitted in chunks that stay in the processor's cache, sorted by how many cells they have.
"""

import dataclasses
from typing import Final

import numpy as np

from heartbeat_tuner.tails import gpd
from heartbeat_tuner.tails.fit.exceedances import Chunk, Exceedances, Fits, Normal, Numbers
from heartbeat_tuner.tails.gpd import Array

SHAPES: Final = (-0.45, 1.5)
"""Where a shape is looked for: beyond the first likelihoods are not regular, beyond the second there is no tail."""

LOG_SCALES: Final = (-8.0, 8.0)

_TINY: Final = 1e-300
_DECREMENT: Final = 1e-5
_ROUNDS: Final = 60
_SMALLEST_STEP: Final = 1e-4


def fit(
    exceedances: Exceedances, *, prior: Normal | None = None, start: Array | None = None, weight: Array | None = None
) -> Fits:
    """Return the most likely shape and scale of each group, or the most probable where a prior is given.

    Args:
        exceedances: of all groups. A group without any gets the prior back; without a prior it does not converge.
        prior: what is believed of each group.
        start: groups x 2, where to begin; by default at the prior, or at the tail of an exponential.
        weight: how much each group's counts tell: under 1 where they depend on each other.
    """
    size = len(exceedances)
    theta = np.tile([0.1, -0.7], (size, 1)) if prior is None else prior.mean.copy()
    theta = theta if start is None else start.copy()
    weights = np.ones(size) if weight is None else weight
    fits = Fits(theta, np.full((size, 2, 2), np.inf), np.zeros(size, dtype=np.bool_))
    for chunk in exceedances.chunks:
        believed = None if prior is None else Normal(prior.mean[chunk.groups], prior.sd[chunk.groups])
        _Climb(_weighed(chunk, weights), believed).to_the_top(chunk.groups, fits)
    return fits


def posterior(exceedances: Exceedances, fits: Fits, *, prior: Normal, weight: Array | None = None) -> Fits:
    """Return mean and covariance of each group's posterior, from its top and its curvature there.

    With few exceedances the posterior is lopsided, and its top lies at too short a tail; a belief learnt from tops
    inherits that from every group. Adaptive Gauss-Hermite quadrature: the posterior is looked at in 3 x 3 places around
    its top, where a normal distribution of that curvature would be integrated exactly.

    Args:
        exceedances: of all groups.
        fits: tops, found under the same prior and weight.
        prior: what is believed of each group.
        weight: how much each group's counts tell.
    """
    weights = np.ones(len(exceedances)) if weight is None else weight
    posteriors = Fits(fits.theta.copy(), fits.covariance.copy(), fits.converged)
    for chunk in exceedances.chunks:
        found_top = fits.converged[chunk.groups]
        groups = chunk.groups[found_top]
        weighed = _weighed(chunk, weights)
        values = _FilledCells.of(
            weighed.edges[found_top],
            weighed.counts[found_top],
            None if weighed.unended is None else weighed.unended[found_top],
        )
        root = np.linalg.cholesky(fits.covariance[groups])
        places = _within(fits.theta[groups] + np.einsum("gab,pb->pga", root, _PLACES))
        away = (places - prior.mean[groups]) / prior.sd[groups]
        heights = np.array([values.height(theta) for theta in places]) - 0.5 * (away**2).sum(axis=2)
        heights += 0.5 * (_PLACES**2).sum(axis=1)[:, None]  # over the normal's own density
        shares = np.exp(heights - heights.max(axis=0)) * _PLACE_WEIGHTS[:, None]
        shares /= shares.sum(axis=0)
        mean = np.einsum("pg,pga->ga", shares, places)
        spread = places - mean
        posteriors.theta[groups] = mean
        posteriors.covariance[groups] = np.einsum("pg,pga,pgb->gab", shares, spread, spread)
    return posteriors


def _weighed(chunk: Chunk, weights: Array) -> Chunk:
    """Return a chunk whose values count for as much as they tell."""
    weight = weights[chunk.groups, None]
    unended = None if chunk.unended is None else chunk.unended * weight
    return Chunk(chunk.groups, chunk.edges, chunk.counts * weight, unended)


_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(3)
_PLACES: Final = np.stack(np.meshgrid(_NODES, _NODES), axis=-1).reshape(-1, 2)
_PLACE_WEIGHTS: Final = np.outer(_NODE_WEIGHTS, _NODE_WEIGHTS).ravel()


@dataclasses.dataclass(frozen=True, slots=True)
class _FilledCells:
    """The cells of some groups that hold something, one after another: most cells do not."""

    rows: Numbers
    counts: Array
    groups: int
    edges: Array
    """Each once, though two cells meet there."""
    edge_rows: Numbers
    low: Numbers
    high: Numbers
    open_rows: Numbers
    """Of values without a known end: the groups that have them, how many, and at which edges."""
    open_counts: Array
    open_low: Numbers

    @classmethod
    def of(cls, edges: Array, counts: Array, unended: Array | None) -> "_FilledCells":
        rows, columns = np.nonzero(counts)
        open_cells = np.zeros_like(counts) if unended is None else unended
        open_rows, open_columns = np.nonzero(open_cells)
        needed = np.zeros(edges.shape, dtype=np.bool_)
        needed[rows, columns] = needed[rows, columns + 1] = True
        needed[open_rows, open_columns] = True
        numbers = np.cumsum(needed).reshape(needed.shape) - 1
        return cls(
            rows=rows,
            counts=counts[rows, columns],
            groups=len(counts),
            edges=edges[needed],
            edge_rows=np.nonzero(needed)[0],
            low=numbers[rows, columns],
            high=numbers[rows, columns + 1],
            open_rows=open_rows,
            open_counts=open_cells[open_rows, open_columns],
            open_low=numbers[open_rows, open_columns],
        )

    def height(self, theta: Array) -> Array:
        """Return the logarithm of each group's likelihood."""
        survivals = gpd.survival(self.edges, theta[self.edge_rows, 0], np.exp(theta[:, 1])[self.edge_rows])
        probability = survivals[self.low] - survivals[self.high]
        logs = self.counts * np.log(np.maximum(probability, _TINY))
        height = np.bincount(self.rows, logs, minlength=self.groups).astype(np.float64)
        if self.open_rows.size:
            open_logs = self.open_counts * np.log(np.maximum(survivals[self.open_low], _TINY))
            height += np.bincount(self.open_rows, open_logs, minlength=self.groups)
        return height


class _Climb:
    """Groups that climb together."""

    def __init__(self, chunk: Chunk, prior: Normal | None) -> None:
        self._chunk = chunk
        self._totals = chunk.totals
        self._watched = chunk.watched
        self._prior = prior

    def to_the_top(self, groups: Numbers, fits: Fits) -> None:
        """Write the maxima of these groups into `fits`; its `theta` is where they begin."""
        active = np.arange(len(groups))
        theta = fits.theta[groups]
        height, score, information = self._look(active, theta)
        step, decrement = self._step(theta, score, information)
        share = np.ones(len(groups))
        for _ in range(_ROUNDS):
            done = decrement < _DECREMENT
            fits.theta[groups[active[done]]] = theta[done]
            fits.covariance[groups[active[done]]] = _inverse(information[done])
            fits.converged[groups[active[done]]] = True
            go_on = ~done & (share > _SMALLEST_STEP)
            if not go_on.any():
                return
            active, theta, height, share = active[go_on], theta[go_on], height[go_on], share[go_on]
            step, decrement, information = step[go_on], decrement[go_on], information[go_on]
            tried = _within(theta + share[:, None] * step)
            new_height, new_score, new_information = self._look(active, tried)
            new_step, new_decrement = self._step(tried, new_score, new_information)
            better = new_height >= height - 1e-9 * np.abs(height)
            theta = np.where(better[:, None], tried, theta)
            height = np.where(better, new_height, height)
            step = np.where(better[:, None], new_step, step)
            decrement = np.where(better, new_decrement, decrement)
            information = np.where(better[:, None, None], new_information, information)
            share = np.where(better, 1.0, share / 2.0)

    def _look(self, active: Numbers, theta: Array) -> tuple[Array, Array, Array]:
        """Return the logarithm of the (penalised) likelihood, its gradient, and the expected information."""
        counts, edges = self._chunk.counts[active], self._chunk.edges[active]
        probability, by_shape, by_scale = cell_probabilities(edges, theta)
        height = np.einsum("ij,ij->i", counts, np.log(probability))
        ratio = counts / probability
        score = np.stack([np.einsum("ij,ij->i", ratio, by_shape), np.einsum("ij,ij->i", ratio, by_scale)], axis=1)
        if self._chunk.unended is None or self._watched is None:
            per_value = np.stack([by_shape, by_scale]) / np.sqrt(probability)
        else:
            open_counts = self._chunk.unended[active]
            t, *slopes = gpd.exponent(edges[:, :-1], theta[:, :1], np.exp(theta[:, 1:]))
            height -= np.einsum("ij,ij->i", open_counts, t)
            score -= np.stack([np.einsum("ij,ij->i", open_counts, slope) for slope in slopes], axis=1)
            per_value = _hazard_slopes(edges, theta) * np.sqrt(self._watched[active])
        information = np.einsum("agj,bgj->gab", per_value, per_value) * self._totals[active, None, None]
        if self._prior is None:
            return height, score, information
        precision = self._prior.sd[active] ** -2
        away = theta - self._prior.mean[active]
        information[:, [0, 1], [0, 1]] += precision
        return height - 0.5 * (precision * away**2).sum(axis=1), score - precision * away, information

    def _step(self, theta: Array, score: Array, information: Array) -> tuple[Array, Array]:
        """Return the step to the top of the local parabola, and twice the height that it promises.

        Laws that end abruptly have their top where shapes are no longer looked for. Under a prior there is one there,
        too: such a shape stays, and the scale steps as if the shape were known.
        """
        step = np.einsum("gab,gb->ga", _inverse(information), score)
        if self._prior is not None:
            shape, outward = theta[:, 0], step[:, 0]
            held = ((shape <= SHAPES[0]) & (outward < 0)) | ((shape >= SHAPES[1]) & (outward > 0))
            step[held, 0] = 0.0
            step[held, 1] = score[held, 1] / information[held, 1, 1]
        decrement = (step * score).sum(axis=1)
        return step, np.where(np.isfinite(decrement), decrement, np.inf)


def cell_probabilities(edges: Array, theta: Array) -> tuple[Array, Array, Array]:
    """Return the probability of each cell, and its derivatives by shape and log scale: groups x cells each."""
    t, t_by_shape, t_by_scale = gpd.exponent(edges, theta[:, :1], np.exp(theta[:, 1:]))
    survivals = np.exp(-t)
    by_shape, by_scale = -survivals * t_by_shape, -survivals * t_by_scale
    probability = np.maximum(survivals[:, :-1] - survivals[:, 1:], _TINY)
    return probability, by_shape[:, :-1] - by_shape[:, 1:], by_scale[:, :-1] - by_scale[:, 1:]


def _hazard_slopes(edges: Array, theta: Array) -> Array:
    """Return how the chance to end in a cell, once it is reached, changes by shape and log scale, over its spread.

    Weighed by how likely the cell is reached, the squares add up to what a value tells: the same as of probabilities of
    cells. Here it can be left out cell by cell where no end could have been seen.
    """
    t, *slopes = gpd.exponent(edges, theta[:, :1], np.exp(theta[:, 1:]))
    reached, across = np.exp(-t[:, :-1]), np.diff(t, axis=1)
    ends = np.maximum(-np.expm1(-across), _TINY)
    spread = np.sqrt(reached * np.exp(-across) / ends)
    return np.stack([np.diff(slope, axis=1) for slope in slopes]) * np.where(np.isfinite(spread), spread, 0.0)


def _within(theta: Array) -> Array:
    return np.clip(theta, [SHAPES[0], LOG_SCALES[0]], [SHAPES[1], LOG_SCALES[1]])


def _inverse(matrices: Array) -> Array:
    """Return the inverses of symmetric 2 x 2 matrices; not finite where there is none."""
    a, b, d = matrices[:, 0, 0], matrices[:, 0, 1], matrices[:, 1, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.stack([d, -b, -b, a], axis=1) / (a * d - b * b)[:, None]
    return scaled.reshape(-1, 2, 2)
