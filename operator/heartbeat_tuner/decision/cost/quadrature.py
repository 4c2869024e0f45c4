"""Many times stand as a few of equal share, so that what depends on them is looked up for those only."""

from typing import Final

import numpy as np

from heartbeat_tuner.tails.gpd import Array

NODES: Final = 12
"""How many stand for a whole distribution."""

_PARTS: Final = np.arange(NODES + 1) / NODES


def quantile_nodes(values: Array, weights: Array) -> Array:
    """Return `NODES` values of equal share that stand for many: the means of the parts of their distribution."""
    order = values.argsort()
    shares = weights[order]
    total, sums = np.zeros(order.size + 1), np.zeros(order.size + 1)
    shares.cumsum(out=total[1:])
    (shares * values[order]).cumsum(out=sums[1:])
    parts = np.interp(_PARTS * total[-1], total, sums)
    return np.asarray((parts[1:] - parts[:-1]) * (NODES / total[-1]))


def quantile_nodes_of_equal(values: Array) -> Array:
    """Return the same of values of equal share, of which there are a multiple of as many."""
    return mean(np.sort(values).reshape(NODES, -1).T)


def mean(values: np.ndarray) -> Array:
    """Return the mean of equal shares, which are the first axis."""
    return np.asarray(np.add.reduce(values, axis=0) / len(values))
