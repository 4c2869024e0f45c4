"""The timeouts that are compared, of those that may be written."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from heartbeat_tuner.limits.allowed_values import COARSE_STEP, FINE_STEPS_BELOW, LONGEST

_GROWTH: Final = 1.04


def _settable() -> NDArray[np.float64]:
    fine_s, step_s = FINE_STEPS_BELOW.total_seconds(), COARSE_STEP.total_seconds()
    values = list(np.arange(1.0, fine_s + 1.0))
    while values[-1] * _GROWTH < LONGEST.total_seconds():
        values.append(max(values[-1] + step_s, math.floor(values[-1] * _GROWTH / step_s) * step_s))
    return np.array(values)


SETTABLE_S: Final[NDArray[np.float64]] = _settable()
"""All of them, in seconds; 4 % apart where they are long."""
SETTABLE_S.setflags(write=False)


def settable(low_s: float, high_s: float) -> NDArray[np.float64]:
    """Return the values to compare between two limits, in seconds; the upper one where none lies between."""
    inside = SETTABLE_S[np.searchsorted(SETTABLE_S, low_s) : np.searchsorted(SETTABLE_S, high_s, side="right")]
    return inside if inside.size else np.array([high_s])
