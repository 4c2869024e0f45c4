"""Groups to compute with: nothing happens to them unless a test says so."""

import math
from typing import Any, Final

import numpy as np

from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails.law import Law

NEVER: Final = FailureProcess(0.0, Law.constant(1.0))


def calm(**changes: Any) -> Profile:
    """Return six Java members with 24 partitions that poll every second or so, and what `changes` say."""
    usual: dict[str, Any] = {
        "client": "java",
        "rebalancing": Rebalancing.EAGER,
        "members": 6,
        "partitions": 24,
        "static": False,
        "pauses": NEVER,
        "node_pauses": NEVER,
        "node_members": 1,
        "outages": NEVER,
        "delivery": Delivery.LATE,
        "crashes": NEVER,
        "restarts": NEVER,
        "surge": False,
        "hangs": NEVER,
        "handlers": Law.lognormal(1.0, 0.5),
        "slow_handlers": None,
        "settle_s": 0.5,
    }
    return Profile(**{**usual, **changes})


def often(per_day: float, median_s: float, sigma: float) -> FailureProcess:
    """Return something that lasts a lognormal time."""
    return FailureProcess(per_day, Law.lognormal(median_s, sigma))


def pareto(per_day: float, above_s: float, scale_s: float, shape: float) -> FailureProcess:
    """Return something whose times follow a generalised Pareto law above a time that all reach."""

    def exceedance(times: np.ndarray) -> np.ndarray:
        beyond = np.maximum(times - above_s, 0.0)
        return np.asarray(np.exp(-np.log1p(shape * beyond / scale_s) / shape))

    return FailureProcess(per_day, Law.of(exceedance))


def shares(ratio: float) -> float:
    """Return how far apart two numbers of a ratio are, the same in both directions."""
    return abs(math.log(ratio))
