"""Is a model still true of the newest values?

Newer values are counted where the model says how many there should be: beyond the threshold, and beyond the time that
a tenth of those exceed. A change has to be sure (1 in 1,000 by chance) and large (a factor of 2) to be told.
"""

import dataclasses
import enum
import math
from typing import Final

import numpy as np

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import EDGES_S
from heartbeat_tuner.tails.model import TailModel

_SURE: Final = 3.29  # standard deviations
_LARGE: Final = 2.0
_LEVELS: Final = (1.0, 0.1)  # of the threshold's share
_EXPECTED_AT_LEAST: Final = 1.0


class DriftVerdict(enum.Enum):
    """What became of a tail."""

    UNKNOWN = "too few new values to tell"
    SAME = "as the model says"
    LONGER = "delays are longer than the model says"
    SHORTER = "delays are shorter than the model says"


@dataclasses.dataclass(frozen=True, slots=True)
class Drift:
    """New values beside a model.

    Attributes:
        verdict: what became of the tail.
        ratio: seen over predicted exceedances, at the level that says most; 1 where nothing was predicted.
    """

    verdict: DriftVerdict
    ratio: float


def measure_drift(model: TailModel, recent: Array, *, weight: float = 1.0) -> Drift:
    """Return how the newest values lie beside a model that was fitted without them.

    Args:
        model: of the group.
        recent: the new values in each bucket.
        weight: how much each of them tells, as part of an independent one.
    """
    total = float(recent.sum())
    worst, ratio = 0.0, 1.0
    enough = False
    for level in _LEVELS:
        edge = int(np.searchsorted(EDGES_S, model.quantile_s(level * model.share)))
        predicted = total * float(model.sf(EDGES_S[edge])[0])
        if predicted * weight < _EXPECTED_AT_LEAST:
            continue
        enough = True
        seen = float(recent[edge:].sum())
        # Half an event more on both sides keeps none at all from being infinitely far away.
        away = math.log((seen + 0.5) / (predicted + 0.5))
        sd = math.sqrt(1.0 / ((min(seen, predicted) + 0.5) * weight) + model.share_log_sd**2)
        if abs(away) / sd > abs(worst):
            worst, ratio = away / sd, seen / predicted
    if not enough:
        return Drift(DriftVerdict.UNKNOWN, 1.0)
    if worst > _SURE and ratio > _LARGE:
        return Drift(DriftVerdict.LONGER, ratio)
    if worst < -_SURE and ratio < 1 / _LARGE:
        return Drift(DriftVerdict.SHORTER, ratio)
    return Drift(DriftVerdict.SAME, ratio)
