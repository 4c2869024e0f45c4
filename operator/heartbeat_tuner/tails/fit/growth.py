"""Thresholds for groups that have too few values for one of their own: the fleet's growth curve (index flood).

A few hundred values tell a group's usual delay, not its rare one. What the fleet shares is how many times longer the
rare one is: all groups are scaled by a reference quantile that even a small group knows, and laid upon each other. A
small group's threshold is its own reference times that factor (Hosking and Wallis, Regional Frequency Analysis, 1997).
How often it exceeds that threshold is again its own count, drawn to what the fleet says. The fleet of a group is its
namespace: others do not show where its tail begins.
"""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.fit import threshold
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S

OWN_FROM: Final = 1_000.0
"""Values, in independent ones, from which on a group has a threshold of its own."""

LEAST: Final = 30.0
"""Values under which a group has not even a reference."""

_REFERENCES: Final = (0.02, 0.05, 0.1, 0.25, 0.5)
_VALUES_OVER_REFERENCE: Final = 15.0
_MULTIPLES: Final = (2.0, 4.0)
_EXCEEDANCES_HEARD: Final = 200.0  # of one group
OF_ITS_OWN: Final = 20  # groups that make a curve of their own
_HEARD_AT_MOST: Final = 2_880.0  # values of one group: rich ones are not the fleet
_GRID: Final = np.exp2(np.arange(12 * 32) / 32)  # multiples of the reference, up to 4,096


@dataclasses.dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds from the growth curve.

    Attributes:
        small: groups that need one; of the others nothing is said.
        first: bucket of each group whose lower edge is the threshold.
        certainty: values over the threshold that the fleet's word on their share is worth to each group.
    """

    small: npt.NDArray[np.bool_]
    first: npt.NDArray[np.int64]
    certainty: Array


def thresholds(
    counts: Array,
    fraction: float,
    *,
    strata: npt.NDArray[np.int64],
    weight: Array,
    least: float,
    homes: npt.NDArray[np.int64] | None = None,
) -> Thresholds:
    """Return the threshold of every small group that, by what the fleet shares, a share of its values exceeds.

    Args:
        counts: groups x `BUCKETS`; groups without values get the last bucket.
        fraction: that share.
        strata: a number for each group, from 0; groups of one number are alike.
        weight: how much each group's counts tell.
        least: independent values over a threshold, under which a group has none of its own.
        homes: a number for each group, the same for those of one namespace; one namespace if left out.
    """
    totals = counts.sum(axis=1) * weight
    small = (totals < OWN_FROM) | (totals * fraction < least)
    thresholds = Thresholds(small, np.full(len(counts), BUCKETS - 1, dtype=np.int64), np.ones(len(counts)))
    homes = np.zeros_like(strata) if homes is None else homes
    for home in np.unique(homes[small & (totals > 0)]):
        own = np.flatnonzero(homes == home)
        _of_one(threshold.above(counts[own]), own, fraction, strata[own], weight[own], thresholds)
    return thresholds


def _of_one(
    above: Array,
    own: npt.NDArray[np.int64],
    fraction: float,
    strata: npt.NDArray[np.int64],
    weight: Array,
    thresholds: Thresholds,
) -> None:
    """Find the thresholds of one fleet, whose groups are `own` of all."""
    totals, small = above[:, 0] * weight, thresholds.small[own]
    for number in np.unique(strata):
        members = strata == number
        alike = members if np.count_nonzero(members & (totals > 0)) >= OF_ITS_OWN else np.ones_like(members)
        users = small & members & (totals > 0)
        if not users.any():
            continue
        scaled = _scaled(above, fraction, alike, weight)
        shared = _shared(above, fraction, alike)
        there = alike & (totals > 0)
        first = min(scaled, shared, key=lambda edges: _unlike(above[there], edges[there], fraction, weight[there]))
        doubt: Array | float = 1.0 / _certainty(above[users], first[users], fraction, weight[users])
        if first is scaled:  # each knows its reference only as well as the values over it tell
            doubt = doubt + 1.0 / np.maximum(_references(totals[users])[1], 1e-3)
        thresholds.first[own[users]], thresholds.certainty[own[users]] = first[users], 1.0 / doubt


def _references(totals: Array) -> tuple[npt.NDArray[np.int64], Array]:
    """Return which reference each group knows, and how many values it has over it."""
    over = np.asarray(_REFERENCES) * totals[:, None]
    known = over >= _VALUES_OVER_REFERENCE
    choice = np.where(known.any(axis=1), known.argmax(axis=1), len(_REFERENCES) - 1)
    return choice, np.take_along_axis(over, choice[:, None], axis=1)[:, 0]


def _scaled(above: Array, fraction: float, alike: npt.NDArray[np.bool_], weight: Array) -> npt.NDArray[np.int64]:
    """Return thresholds that are multiples of each group's own reference."""
    totals = above[:, 0] * weight
    first = np.full(len(above), BUCKETS - 1, dtype=np.int64)
    choice, _ = _references(totals)
    for number, share in enumerate(_REFERENCES):
        those = (choice == number) & (totals > 0)
        tellers = alike & (share * totals >= _VALUES_OVER_REFERENCE)
        if not those.any() or not tellers.any():
            continue
        factor = _growth(above[tellers], share, fraction)
        wanted = _quantiles_s(above[those], share) * factor
        first[those] = np.minimum(np.searchsorted(EDGES_S, wanted), BUCKETS - 1)
    return first


def _shared(above: Array, fraction: float, alike: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the one time that the share of all values exceeds, as the threshold of each group."""
    tellers = above[alike & (above[:, 0] > 0)]
    heard = np.minimum(tellers[:, 0], _HEARD_AT_MOST)
    pooled = heard @ (tellers / tellers[:, :1]) / heard.sum()
    return np.full(len(above), min(int((pooled > fraction).sum()), BUCKETS - 1), dtype=np.int64)


def _unlike(above: Array, first: npt.NDArray[np.int64], fraction: float, weight: Array) -> float:
    """Return how much groups differ in how many values exceed their thresholds, and in how far these reach beyond.

    Both are squared coefficients of variation, by moments: of the share over the threshold, and of the part of that
    which exceeds multiples of it, at its worst.
    """
    rows = np.arange(len(above))
    over = above[rows, first]
    heard = np.minimum(over * weight, _EXCEEDANCES_HEARD)
    spreads = [0.0]
    for times in _MULTIPLES:
        place = np.minimum(np.searchsorted(EDGES_S, EDGES_S[first] * times), BUCKETS - 1)
        parts = above[rows, place] / np.maximum(over, 1e-300)
        usual = float(heard @ parts) / max(float(heard.sum()), 1e-300)
        expected = heard * usual
        excess = ((heard * parts - expected) ** 2 - expected * (1.0 - usual)).sum()
        spreads.append(float(excess / max((expected**2).sum(), 1.0)))
    return max(spreads) + 1.0 / _certainty(above, first, fraction, weight)


def _quantiles_s(above: Array, share: float) -> Array:
    """Return the time in seconds that a share of each group's values exceeds, as near as buckets tell."""
    wanted = share * above[:, :1]
    bucket = np.maximum((above > wanted).sum(axis=1) - 1, 0)  # the last with more than that from it on
    rows = np.arange(len(above))
    from_here = above[rows, bucket]
    beyond = np.where(bucket + 1 < BUCKETS, above[rows, np.minimum(bucket + 1, BUCKETS - 1)], 0.0)
    part = (from_here - wanted[:, 0]) / np.maximum(from_here - beyond, 1e-300)
    return np.asarray(EDGES_S[bucket] + part * (EDGES_S[bucket + 1] - EDGES_S[bucket]))


def _growth(above: Array, share: float, fraction: float) -> float:
    """Return how many times the reference is exceeded by a share of the fleet's values, groups laid upon each other."""
    totals = above[:, :1]
    times = _quantiles_s(above, share)[:, None] * _GRID
    bucket = np.clip(np.searchsorted(EDGES_S, times) - 1, 0, BUCKETS - 1)
    padded = np.hstack([above, np.zeros_like(totals)])
    rows = np.arange(len(above))[:, None]
    part = np.clip((times - EDGES_S[bucket]) / (EDGES_S[bucket + 1] - EDGES_S[bucket]), 0.0, 1.0)
    exceeding = padded[rows, bucket] * (1.0 - part) + padded[rows, bucket + 1] * part
    heard = np.minimum(totals[:, 0], _HEARD_AT_MOST)
    pooled = heard @ (exceeding / totals) / heard.sum()
    reached = int(np.argmax(pooled <= fraction)) if pooled[-1] <= fraction else _GRID.size - 1
    return float(_GRID[reached])


def _certainty(above: Array, first: npt.NDArray[np.int64], fraction: float, weight: Array) -> float:
    """Return the shape of the gamma law of the groups' shares over these thresholds, by moments; at most 1,000."""
    seen = above[np.arange(len(above)), first] * weight
    expected = np.maximum(above[:, 0] * weight * fraction, 1e-300)
    excess = ((seen - expected) ** 2 - expected).sum()
    spread = float(excess / max((expected**2).sum(), 1e-300))
    return 1.0 / max(spread, 1e-3)
