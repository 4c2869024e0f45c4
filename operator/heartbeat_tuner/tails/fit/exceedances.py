"""What is fitted and what comes of it: counts beyond the thresholds of many groups, beliefs, and fits."""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S

CHUNK: Final = 256
"""Groups that are fitted together."""

FAR: Final = 1e30  # thresholds away: an edge beyond which nothing is

_BEYOND: Final = 32  # cells after the last one that holds something: what was not seen tells as well


Numbers = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
    """Some groups' exceedances, side by side; rows are alike in how many cells they have.

    Attributes:
        groups: which groups these are.
        edges: in thresholds above the threshold; groups x cells + 1.
        counts: values in each cell; groups x cells.
        unended: values that are only known to be larger than the lower edge of a cell, not among `counts`; groups x
            cells. None where there are none.
    """

    groups: Numbers
    edges: Array
    counts: Array
    unended: Array | None = None

    @property
    def totals(self) -> Array:
        """How many values of each group there are, those without a known end among them."""
        total = self.counts.sum(axis=1)
        return np.asarray(total if self.unended is None else total + self.unended.sum(axis=1))

    @property
    def watched(self) -> Array | None:
        """Which part of the values could have shown that they end in each cell; groups x cells, None for all of them.

        It falls with each value whose end was not seen, as Kaplan and Meier's estimate of the censoring does.
        """
        if self.unended is None:
            return None
        reaching = np.cumsum((self.counts + self.unended)[:, ::-1], axis=1)[:, ::-1]
        lost = np.where(reaching > 0, self.unended / np.maximum(reaching, 1e-300), 0.0)
        return np.asarray(np.cumprod(1.0 - lost, axis=1), dtype=np.float64)


@dataclasses.dataclass(frozen=True, slots=True)
class Exceedances:
    """What lies over the thresholds of some groups, by bucket.

    Attributes:
        first: the bucket of each group whose lower edge is its threshold.
        totals: how many values of each group exceed it.
        chunks: all groups, each in one chunk.
    """

    first: Numbers
    totals: Array
    chunks: tuple[Chunk, ...]

    @classmethod
    def over(
        cls, counts: Array, first: Numbers, *, cut: Numbers | None = None, unended: Array | None = None
    ) -> "Exceedances":
        """Return the exceedances of thresholds, given as buckets.

        Args:
            counts: values of each group in each bucket, weighted or not; groups x `BUCKETS`.
            first: bucket of each group whose lower edge is its threshold.
            cut: bucket, not before `first`, from whose lower edge on values are only known to be larger; `BUCKETS`
                where nothing cut them.
            unended: how many of `counts` are only known to be larger than the lower edge of their bucket. Those of
                buckets before `first` count as exceedances: nobody knows that they are not.
        """
        filled = BUCKETS - 1 - np.argmax(counts[:, ::-1] > 0, axis=1)
        last = np.minimum(np.maximum(filled, first) + _BEYOND, BUCKETS - 1)
        last = last if cut is None else np.minimum(last, cut)
        order = np.argsort(last - first, kind="stable")
        chunks = tuple(
            _cells(order[begin : begin + CHUNK], counts, first, last, unended) for begin in range(0, len(order), CHUNK)
        )
        totals = np.zeros(len(first))
        for chunk in chunks:
            totals[chunk.groups] = chunk.totals
        return cls(first, totals, chunks)

    def __len__(self) -> int:
        return len(self.first)


def _cells(groups: Numbers, counts: Array, first: Numbers, last: Numbers, unended: Array | None) -> Chunk:
    """Return the cells of some groups; the last one holds everything from its lower edge on."""
    begin, end = first[groups, None], last[groups, None]
    buckets = begin + np.arange(int((end - begin).max()) + 2)
    edges = EDGES_S[np.minimum(buckets, BUCKETS)] / EDGES_S[begin] - 1.0
    edges[buckets > end] = FAR
    without_end = None if unended is None else unended[groups]
    if without_end is None or not without_end.any():
        return Chunk(groups, edges, _in_cells(counts[groups], buckets, end))
    cells = _in_cells(without_end, buckets, end)
    cells[:, 0] += without_end.sum(axis=1, where=np.arange(BUCKETS) < begin)
    return Chunk(groups, edges, _in_cells(counts[groups] - without_end, buckets, end), cells)


def _in_cells(held: Array, buckets: Numbers, end: Numbers) -> Array:
    """Return how many values lie in each cell, given the bucket of each, and the last one of each group."""
    cells = np.take_along_axis(held, np.minimum(buckets[:, :-1], BUCKETS - 1), axis=1)
    cells[buckets[:, :-1] > end] = 0.0
    beyond = held.sum(axis=1, where=np.arange(BUCKETS) > end)
    cells[np.arange(len(held)), (end - buckets[:, :1])[:, 0]] += beyond
    return cells


@dataclasses.dataclass(frozen=True, slots=True)
class Normal:
    """What is believed of shape and log scale before a group's own exceedances are looked at; independent normals.

    Attributes:
        mean: groups x 2: shape, logarithm of the scale in thresholds.
        sd: groups x 2.
    """

    mean: Array
    sd: Array


@dataclasses.dataclass(frozen=True, slots=True)
class Fits:
    """Shape and log scale of each group.

    Attributes:
        theta: groups x 2: shape, logarithm of the scale in thresholds.
        covariance: groups x 2 x 2, the inverse of the expected information (and of the prior's).
        converged: false where no maximum was found; the other figures mean nothing then.
    """

    theta: Array
    covariance: Array
    converged: npt.NDArray[np.bool_]
