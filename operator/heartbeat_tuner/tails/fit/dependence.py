"""How much values tell that come in clusters.

A stall of ten minutes is one event, not twenty values of 30 s; intervals that count it as twenty are too narrow. The
extremal index is the number of clusters per exceedance. It needs the order of values, which histograms have not, so
what it needs is itself made a histogram, under the same contract and merged the same way: of each value, the smaller
of itself and of the largest of those shortly before it. That exceeds a threshold exactly where a value does that does
not begin a cluster (the runs estimator: Smith and Weissman, JRSS B 56, 1994).
"""

import numpy as np

from heartbeat_tuner.tails.gpd import Array


def repeats(values_s: Array, *, run: int) -> Array:
    """Return the values that go on with clusters, to be kept as a histogram of its own beside the values'.

    Args:
        values_s: one member's values in order of time, without holes.
        run: values without an exceedance that end a cluster, at least 1.

    Raises:
        ValueError: no run.
    """
    if run < 1:
        raise ValueError(f"run {run}: a cluster ends after at least 1 value")
    before = np.zeros(values_s.size)
    for lag in range(1, min(run, values_s.size - 1) + 1):
        before[lag:] = np.maximum(before[lag:], values_s[:-lag])
    return np.asarray(np.minimum(values_s, before)[1:])


def extremal_index(exceeding: Array, repeating: Array) -> Array:
    """Return clusters per exceedance, in (0, 1], from how many values and how many `repeats` exceed a threshold.

    Where nothing exceeds it, 1: nothing is known of clusters.
    """
    clusters = np.maximum(exceeding - repeating, 1.0)
    return np.where(exceeding > 0, np.minimum(clusters / np.maximum(exceeding, 1.0), 1.0), 1.0)


def information(index: Array) -> Array:
    """Return how much a value tells, as part of an independent one, at an extremal index.

    Counts of exceedances scatter by the square of the clusters' sizes. With sizes of a geometric law of mean 1 / index
    their variance is (2 - index) / index times that of as many independent ones.
    """
    return np.asarray(index / (2.0 - index))
