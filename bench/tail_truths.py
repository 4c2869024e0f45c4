"""Fleets whose true tails are known: what the estimators of `bench.tails` are tried on.

Two truths, both in seconds. *Exact*: a lognormal body and an exact generalised Pareto tail above its 98 % quantile,
independent values. *Hard*: a lognormal body with 1 % of slow values ten times as long (no Pareto tail at all, and a
kink near 1 %), a load that changes over the day, and neighbouring values of a member that depend on each other.
"""

import dataclasses
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import optimize, special, stats

from heartbeat_tuner.tails.gpd import Array

PER_DAY: Final = 2_880
"""Values of a member in a day, one each 30 s."""

TAIL_SHARE: Final = 0.02
"""Part of the values that lie in the tail, on the exact truth."""

LAW_MEAN: Final = (0.15, float(np.log(0.5)))
"""Of shape and logarithm of the scale (in thresholds) over the groups of the exact truth, which are normal."""

LAW_SD: Final = (0.10, 0.3)

_CORRELATION: Final = 0.7
_SLOW_SHARE: Final = 0.01


@dataclasses.dataclass(frozen=True)
class Group:
    """One group of the fleet.

    Attributes:
        values_s: what was measured, member after member, each in order of time.
        exceedance: the true probability of a value above a time in seconds, over a whole day.
    """

    values_s: Array
    sf: Callable[[float], float]

    def quantile(self, exceeded: float) -> float:
        """Return the true time in seconds that is exceeded with a probability."""
        found = optimize.brentq(lambda x: np.log(self.sf(np.exp(x)) + 1e-300) - np.log(exceeded), -12.0, 12.0)
        return float(np.exp(found))


def exact(rng: np.random.Generator, size: int) -> Group:
    """Return a group of the first truth with `size` values."""
    median, spread = np.exp(rng.normal(np.log(0.1), 1.0)), rng.uniform(0.3, 0.7)
    shape, log_scale = rng.normal(LAW_MEAN[0], LAW_SD[0]), rng.normal(LAW_MEAN[1], LAW_SD[1])
    threshold = median * np.exp(spread * special.ndtri(1 - TAIL_SHARE))
    tail = stats.genpareto(shape, scale=np.exp(log_scale) * threshold)
    uniform = rng.random(size)
    body = median * np.exp(spread * special.ndtri(np.minimum(uniform, 1 - TAIL_SHARE)))
    excess = tail.isf(np.clip((1 - uniform) / TAIL_SHARE, 1e-12, 1))

    def exceedance(time_s: float) -> float:
        if time_s > threshold:
            return float(TAIL_SHARE * tail.sf(time_s - threshold))
        return float(special.ndtr(-np.log(time_s / median) / spread))

    return Group(np.where(uniform > 1 - TAIL_SHARE, threshold + excess, body), exceedance)


def hard(rng: np.random.Generator, size: int) -> Group:
    """Return a group of the second truth: members of a day each, or one of less."""
    median, spread = np.exp(rng.normal(np.log(0.1), 1.0)), rng.uniform(0.3, 0.7)
    slow, slow_spread = median * np.exp(rng.normal(np.log(10), 0.2)), np.exp(rng.normal(np.log(0.5), 0.2))
    swing = rng.uniform(0.0, 0.5)
    members = max(1, size // PER_DAY)
    steps = size // members
    noise = rng.standard_normal((steps, members)) * np.sqrt(1 - _CORRELATION**2)
    state, hidden = rng.standard_normal(members), np.empty((steps, members))
    for step in range(steps):
        state = _CORRELATION * state + noise[step]
        hidden[step] = state
    hour = np.cos(2 * np.pi * np.arange(steps) / PER_DAY)[:, None]

    def stationary(time_s: Array) -> Array:
        usual = special.ndtr(-np.log(time_s / median) / spread)
        rare = special.ndtr(-np.log(time_s / slow) / slow_spread)
        return np.asarray((1 - _SLOW_SHARE) * usual + _SLOW_SHARE * rare)

    grid = np.exp(np.linspace(np.log(median) - 7, np.log(slow) + 9, 4_000))
    values = np.exp(np.interp(hidden, -special.ndtri(stationary(grid)), np.log(grid))) * np.exp(swing * hour)
    of_a_day = np.exp(swing * np.cos(2 * np.pi * np.arange(96) / 96))

    def exceedance(time_s: float) -> float:
        return float(stationary(time_s / of_a_day).mean())

    return Group(values.T.ravel(), exceedance)


TRUTHS: Final[dict[str, Callable[[np.random.Generator, int], Group]]] = {"exact": exact, "hard": hard}
