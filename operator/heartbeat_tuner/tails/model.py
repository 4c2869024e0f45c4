"""A fitted tail, and what it says of a time: how often it is exceeded, and at most how often.

A model is a few numbers; any timeout is looked up in it at once. Means are over the posterior of share, shape and
scale; bounds are its 95 % quantile, and never under the mean, which a heavy tail can pull beyond it.
"""

import dataclasses
import enum
from typing import Final

import numpy as np

from heartbeat_tuner.tails import gpd
from heartbeat_tuner.tails.gpd import Array, Values

Z_95: Final = 1.6448536269514722
"""The 95 % quantile of the normal distribution."""

_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_PLACES: Final = np.stack(np.meshgrid(_NODES, _NODES), axis=-1).reshape(-1, 2)
_WEIGHTS: Final = np.outer(_NODE_WEIGHTS, _NODE_WEIGHTS).ravel() / _NODE_WEIGHTS.sum() ** 2


def _half_sphere(radius: float, points: int) -> Array:
    """Return points that lie evenly on the half of a sphere where the first coordinate is positive (a spiral)."""
    number = np.arange(points) + 0.5
    height = number / points
    angle = np.pi * (1 + np.sqrt(5)) * number
    across = np.sqrt(1 - height**2)
    return np.asarray(radius * np.stack([height, across * np.cos(angle), across * np.sin(angle)], axis=1))


_RIM: Final = _half_sphere(Z_95, 96)

HEAVIEST: Final = 0.95
"""The largest shape that is computed with: at 1 the mean delay is infinite, and so is every cost."""


class ThresholdSource(enum.Enum):
    """Where a threshold came from."""

    OWN = "the group's own values"
    FLEET = "the fleet's growth curve, scaled by the group's usual delay"


class RejectionReason(enum.Enum):
    """Why there is no model."""

    NO_VALUES = "no values"
    TOO_FEW_VALUES = "too few values for a reference"
    NO_TAIL = "no value lies beyond the bucket of the threshold: all are alike"
    CUT_BELOW_THRESHOLD = "the timeout cuts values off below the threshold: too many of them are evictions"
    NOT_CONVERGED = "no most likely tail was found"
    TOO_HEAVY = "the tail is so heavy that its mean is infinite"
    BAD_FIT = "no threshold gives a tail that fits"


@dataclasses.dataclass(frozen=True, slots=True)
class Rejected:
    """A group without a model: its numbers were not good enough to be told.

    Attributes:
        reason: why.
        detail: the figures that decided.
    """

    reason: RejectionReason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason.value} ({self.detail})"


@dataclasses.dataclass(frozen=True, slots=True)
class TailModel:
    """The tail of one group's quantity. Times are in seconds, shares are of all values.

    Attributes:
        threshold_s: from here on the law holds.
        share: part of the values that exceed the threshold, posterior mean.
        share_log_sd: standard deviation of its logarithm.
        shape: of the generalised Pareto law, posterior mean.
        log_scale: logarithm of its scale in seconds, posterior mean.
        covariance: of shape and log scale: variance, covariance, variance.
        fraction: the share of values that the fleet's thresholds aimed at.
        source: where the threshold came from.
        samples: values that it rests on (decayed ones count as part of one).
        exceedances: those over the threshold.
        largest_s: upper edge of the bucket of the largest value.
        anderson_darling: how well the law fits, small is good.
        distance: largest difference between seen and fitted share of the exceedances.
    """

    threshold_s: float
    share: float
    share_log_sd: float
    shape: float
    log_scale: float
    covariance: tuple[float, float, float]
    fraction: float
    source: ThresholdSource
    samples: float
    exceedances: float
    largest_s: float
    anderson_darling: float
    distance: float

    @property
    def scale_s(self) -> float:
        """The scale in seconds."""
        return float(np.exp(self.log_scale))

    def sf(self, time_s: Values) -> Array:
        """Return the posterior mean of the share of values that exceed times at or above the threshold.

        Raises:
            ValueError: a time below the threshold, of which a tail knows nothing.
        """
        shapes, scales = self._likely()
        survivals = gpd.survival(self._excess(time_s), shapes[:, None], scales[:, None])
        return np.asarray(self._mean_share * (_WEIGHTS @ survivals))

    def exceedance_upper(self, time_s: Values) -> Array:
        """Return the 95 % upper bound of the share of values that exceed times at or above the threshold.

        Raises:
            ValueError: a time below the threshold.
        """
        log_shares, shapes, scales = self._worst()
        shares = np.exp(log_shares)[:, None] * gpd.survival(self._excess(time_s), shapes[:, None], scales[:, None])
        return np.asarray(np.minimum(np.maximum(shares.max(axis=0), self.sf(time_s)), 1.0))

    def quantile_s(self, exceeded: float) -> float:
        """Return the time in seconds that is exceeded by a share of values, at the means of the parameters.

        Raises:
            ValueError: a share that is not below that of the threshold.
        """
        self._check_share(exceeded)
        return self.threshold_s + float(gpd.excess_at(exceeded / self.share, self.shape, self.scale_s))

    def quantile_upper_s(self, exceeded: float) -> float:
        """Return the time in seconds that, at 95 %, no more than a share of values exceeds.

        Raises:
            ValueError: a share that is not below that of the threshold.
        """
        self._check_share(exceeded)
        log_shares, shapes, scales = self._worst()
        return self.threshold_s + float(gpd.excess_at(np.exp(np.log(exceeded) - log_shares), shapes, scales).max())

    @property
    def _mean_share(self) -> float:
        return float(min(self.share * np.exp(0.5 * self.share_log_sd**2), 1.0))

    def _law(self, places: Array) -> tuple[Array, Array]:
        """Return shapes and scales at places of the standard normal plane."""
        root = np.linalg.cholesky(np.array([self.covariance[:2], self.covariance[1:]]))
        theta = np.array([self.shape, self.log_scale]) + places @ root.T
        return np.minimum(theta[:, 0], HEAVIEST), np.exp(theta[:, 1])

    def _likely(self) -> tuple[Array, Array]:
        return self._law(_PLACES)

    def _worst(self) -> tuple[Array, Array, Array]:
        """Return logarithms of shares, shapes and scales on the rim of what is likely: the worst of them is the bound.

        To the first order the 95 % quantile of a function is its largest value at 1.64 standard deviations (FORM, the
        method of reliability analysis); a maximum of falling curves falls too.
        """
        return (np.log(self.share) + self.share_log_sd * _RIM[:, 0], *self._law(_RIM[:, 1:]))

    def _excess(self, time_s: Values) -> Array:
        excess = np.atleast_1d(np.asarray(time_s, dtype=np.float64)) - self.threshold_s
        if np.any(excess < 0):
            raise ValueError(f"time {time_s} s: a tail knows nothing below its threshold, {self.threshold_s} s")
        return excess

    def _check_share(self, exceeded: float) -> None:
        if not 0 < exceeded <= self.share:
            raise ValueError(f"exceeded {exceeded}: must lie between 0 and the threshold's share, {self.share}")
