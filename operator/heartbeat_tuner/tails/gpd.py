"""The generalised Pareto distribution: the law of what exceeds a high threshold.

An excess over the threshold is larger than `y` with probability S(y) = (1 + shape * y / scale) ** (-1 / shape), and
exp(-y / scale) where the shape is 0. A negative shape has an end, a shape of 1 or more no mean. All functions take
arrays that broadcast; excess and scale are in one unit, whichever. A tail is such a law with the share of values that
exceed the threshold.

Two kinds of samples are no draws, and have tails that follow from those of the draws: ages, and windowed maxima.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Values = float | Array

_SMALLEST_SHAPE: Final = 1e-7
"""Nearer to zero the law is that of the exponential distribution, to 1e-5 of the logarithm at 10 scales."""

_NEAR_THE_END: Final = 1.0 - 1e-12
"""Where a law with an end is cut, as part of its length, so that no logarithm is infinite."""


def _nonzero(shape: Values) -> Array:
    array = np.asarray(shape, dtype=np.float64)
    return np.where(np.abs(array) < _SMALLEST_SHAPE, _SMALLEST_SHAPE, array)


def exponent(excess: Values, shape: Values, scale: Values) -> tuple[Array, Array, Array]:
    """Return t = -log S, and its derivatives by the shape and by the logarithm of the scale."""
    shapes = _nonzero(shape)
    ends = np.where(shapes < 0, _NEAR_THE_END / np.abs(shapes), np.inf)
    scaled = np.minimum(np.asarray(excess, dtype=np.float64) / scale, ends)
    stretch = 1.0 + shapes * scaled
    t = np.log1p(shapes * scaled) / shapes
    slope = scaled / stretch
    return t, (slope - t) / shapes, -slope


def survival(excess: Values, shape: Values, scale: Values) -> Array:
    """Return the probability that an excess is larger; 0 beyond the end of a law that has one."""
    shapes = _nonzero(shape)
    scaled = np.asarray(excess, dtype=np.float64) / scale
    beyond = shapes * scaled <= -1.0
    t = np.log1p(np.where(beyond, 0.0, shapes * scaled)) / shapes
    return np.where(beyond, 0.0, np.exp(-t))


def excess_at(probability: Values, shape: Values, scale: Values) -> Array:
    """Return the excess that is exceeded with a probability in (0, 1]."""
    shapes = _nonzero(shape)
    return np.asarray(scale * np.expm1(-shapes * np.log(probability)) / shapes)
