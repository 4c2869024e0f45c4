"""What a count of rare events says of their rate: Garwood's exact bounds.

Garwood's bounds are quantiles of gamma laws: with n events in a time T the rate is at most the quantile at 1 - a/2 of
shape n + 1, over T, and at least that at a/2 of shape n. Where days scatter more than chance makes them, n events are
worth n / phi independent ones in T / phi.

`tails.gamma` has the quantile for arrays and shapes up to 10,000; here one number is wanted, for up to millions of
episodes, and thousands of times in a cycle: Newton's method, started at Wilson and Hilferty's approximation.
"""

import math
from statistics import NormalDist
from typing import Final, NamedTuple

_STEPS: Final = 100
_TERMS: Final = 100_000  # a million episodes take a few thousand
_NEAR: Final = 1e-12
_ENOUGH: Final = 1e-16
_CLOSE: Final = 1e-14
_LEAST_LOG: Final = -700.0


class RateBounds(NamedTuple):
    """Of a rate per day, two-sided."""

    lower: float
    upper: float


def garwood(count: float, days: float, *, alpha: float, dispersion: float = 1.0) -> RateBounds:
    """Return the bounds of the rate of events that happened so often; (0, inf) without any exposure.

    Args:
        count: how many were seen.
        days: in which exposure.
        alpha: the probability that the rate is outside, at most; half of it on each side.
        dispersion: how much more days scatter than chance makes them; 1 or more.
    """
    if not days > 0.0:
        return RateBounds(0.0, math.inf)
    events, exposure = count / dispersion, days / dispersion
    lower = gamma_quantile(events, 0.5 * alpha) / exposure if events > 0.0 else 0.0
    return RateBounds(lower, gamma_quantile(events + 1.0, 1.0 - 0.5 * alpha) / exposure)


def gamma_quantile(shape: float, probability: float) -> float:
    """Return what a gamma variable of some shape > 0 and of rate 1 is at most with a probability in (0, 1).

    Newton's steps are taken in the logarithm, and halve what is left where they would leave it.
    """
    low, high = _LEAST_LOG, math.log(shape + 40.0 * math.sqrt(shape + 1.0) + 40.0)
    at = min(max(_first_guess(shape, probability), low), high)
    moved, steps = math.inf, 0
    while moved > _NEAR and steps < _STEPS:
        apart = gamma_cumulative(shape, math.exp(at)) - probability
        low, high = (low, at) if apart > 0.0 else (at, high)
        slope = math.exp(shape * at - math.exp(at) - math.lgamma(shape))
        nearer = at - apart / slope if slope > 0.0 else math.nan
        if not low <= nearer <= high:
            nearer = 0.5 * (low + high)
        moved, at, steps = abs(nearer - at), nearer, steps + 1
    return math.exp(at)


def gamma_cumulative(shape: float, x: float) -> float:
    """Return the probability that a gamma variable of some shape > 0 and of rate 1 is at most x > 0."""
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    return front * _series(shape, x) if x < shape + 1.0 else 1.0 - front * _fraction(shape, x)


def _first_guess(shape: float, probability: float) -> float:
    """Return a logarithm near the quantile's: Wilson and Hilferty's, and the law's first term where that is none."""
    ninth = 1.0 / (9.0 * shape)
    cube = 1.0 - ninth + NormalDist().inv_cdf(probability) * math.sqrt(ninth)
    if cube > 0.3:  # noqa: PLR2004 - below, the approximation is far off
        return math.log(shape * cube**3)
    return (math.log(probability) + math.lgamma(shape + 1.0)) / shape


def _series(shape: float, x: float) -> float:
    """Return the sum of x^n / (shape (shape + 1) ... (shape + n)) (DLMF 8.11.4)."""
    term = total = 1.0 / shape
    n = 0
    while term > _ENOUGH * total and n < _TERMS:  # x < shape + 1, so terms fall from the first on
        n += 1
        term *= x / (shape + n)
        total += term
    return total


def _fraction(shape: float, x: float) -> float:
    """Return the continued fraction of the upper function (DLMF 8.9.2), by Lentz' method."""
    b = x + 1.0 - shape
    c, d = 1e300, 1.0 / b
    value = d
    n, step = 0, 0.0
    while abs(step - 1.0) > _CLOSE and n < _TERMS:
        n += 1
        a = -n * (n - shape)
        b += 2.0
        d = 1.0 / (a * d + b)
        c = b + a / c
        step = d * c
        value *= step
    return value
