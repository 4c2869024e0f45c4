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


def integral(low: Values, high: Values, shape: Values, scale: Values) -> Array:
    """Return the integral of the survival between two excesses: the mean of what of an excess lies between them.

    `high` may be infinite. The shape has to be under 1, else there is no mean.
    """
    shapes = _nonzero(shape)
    left, right = (survival(end, shapes, scale) ** (1.0 - shapes) for end in (low, high))
    return np.asarray(scale / (1.0 - shapes) * (left - right))


def gap_law_of_ages(shape: Values, scale: Values) -> tuple[Array, Array]:
    """Return shape and scale of the tail of gaps whose *ages* at a random time have this tail.

    Who asks at a random time how long ago something happened meets long gaps more often (inspection paradox), and
    meets them half-way: the density of an age is S / mean gap (renewal theory; Cox, Renewal Theory, 1962, section 5.2).
    The integral of S above is a GPD again: shape' = shape / (1 - shape), scale' = scale / (1 - shape).
    """
    shapes, scales = np.asarray(shape, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    return shapes / (1.0 + shapes), scales / (1.0 + shapes)


def age_law_of_gaps(shape: Values, scale: Values) -> tuple[Array, Array]:
    """Return shape and scale of the tail of ages at a random time, from that of gaps; their shape is under 1."""
    shapes, scales = np.asarray(shape, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    return shapes / (1.0 - shapes), scales / (1.0 - shapes)


def gap_share_of_ages(age_share: Values, mean_gap: Values, scale: Values) -> Array:
    """Return the share of gaps over a threshold, from the share of *ages* over it and the scale of the *age* tail.

    P(age > u) = integral of S above u / mean gap = share * scale' / mean gap, scale' being that of the ages.
    """
    return np.asarray(np.asarray(age_share) * mean_gap / scale)


def draw_share_of_maxima(window_share: Values, draws: Values) -> Array:
    """Return the share of single draws over a threshold, from the share of windows whose *maximum* is over it.

    A maximum of m draws is under x if all of them are: 1 - share' = (1 - share) ** m (Coles, An Introduction to
    Statistical Modeling of Extreme Values, 2001, section 3.1). Far out that is m times the share of a draw, so maxima
    have the shape and scale of the draws: a rate per window needs no `draws`.
    """
    return np.asarray(-np.expm1(np.log1p(-np.asarray(window_share, dtype=np.float64)) / draws))


def window_share_of_draws(draw_share: Values, draws: Values) -> Array:
    """Return the share of windows whose maximum is over a threshold, from the share of single draws over it."""
    return np.asarray(-np.expm1(np.log1p(-np.asarray(draw_share, dtype=np.float64)) * draws))
