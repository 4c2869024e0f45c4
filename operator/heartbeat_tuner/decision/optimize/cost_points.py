"""What one set of values costs, all sessions of one beat, and the choice among them."""

import dataclasses
from datetime import timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from heartbeat_tuner.decision.cost.cost_model import Costs
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.limits.allowed_values import Infeasible
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.model import Z_95

Mask = NDArray[np.bool_]

_LEAST: Final = 1e-300


@dataclasses.dataclass(frozen=True, slots=True)
class CostPoint:
    """What one set of values is expected to cost.

    Attributes:
        settings: the values.
        net_per_day: stalled partition-seconds, beyond what no setting can change.
        floor_per_day: stalled partition-seconds that no setting can change.
        evictions_per_month: false ones of the whole group.
        evictions_upper: the same at most, at 95 %.
        detection_s: from a crash to the removal, on average.
        rebalancing_share: of the day.
        stalled_per_eviction: partition-seconds.
        crash_doubt_per_day: stalled partition-seconds more, if members crash as often as they may, at 95 %.
    """

    settings: LivenessSettings
    net_per_day: float
    floor_per_day: float
    evictions_per_month: float
    evictions_upper: float
    detection_s: float
    rebalancing_share: float
    stalled_per_eviction: float
    crash_doubt_per_day: float

    @property
    def likeliest_per_month(self) -> float:
        """How many false evictions a month it is as likely to have more of as fewer (`_quantile`)."""
        return float(_quantile(np.array(self.evictions_per_month), np.array(self.evictions_upper), 0.0))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SessionTable:
    """All S that may be set with one beat and one M.

    Attributes:
        beat: H, W and M; its S means nothing.
        costs: of each S.
        net: stalled partition-seconds a day of each S, beyond what no setting can change.
        expected: false evictions a month at each S, on average, of causes that are measured.
        upper: the same at most, at 95 %.
        within: which S the rules allow.
    """

    beat: LivenessSettings
    costs: Costs
    net: Array
    expected: Array
    upper: Array
    within: Mask

    @property
    def least(self) -> Array:
        """How many false evictions a month each S has at least, at 95 % (`_quantile`)."""
        return _quantile(self.expected, self.upper, -Z_95)

    def point(self, index: int) -> CostPoint:
        """Return one of them."""
        session = timedelta(milliseconds=round(self.costs.sessions_s[index] * 1000))
        return CostPoint(
            dataclasses.replace(self.beat, session_timeout=session),
            float(self.net[index]),
            self.costs.floor_per_day,
            float(self.costs.evictions_per_month[index]),
            float(self.upper[index]),
            float(self.costs.detection_s[index]),
            float(self.costs.rebalancing_share[index]),
            float(self.costs.stalled_per_eviction[index]),
            float(self.costs.crash_doubt_per_day[index]),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The values that cost least.

    Attributes:
        point: they, and what they cost.
        lower: the least S that costs about the same.
        upper: the greatest.
    """

    point: CostPoint
    lower: timedelta
    upper: timedelta


@dataclasses.dataclass(frozen=True, slots=True)
class Unsure(Infeasible):
    """No values are sure to meet the objective, at 95 %, and some are not sure to miss it; the sentence says why."""


def _quantile(expected: Array, upper: Array, deviations: float) -> Array:
    """Return quantiles of rates that are lognormal, from their means and what they are at most at 95 %.

    Where little is known the mean lies far above the median: a few groups in which it happens often make it.

    Args:
        expected: the means.
        upper: the quantiles of 95 %.
        deviations: how many standard deviations of the logarithm from the median.
    """
    wide = np.log(np.maximum(upper, np.maximum(expected, _LEAST)) / np.maximum(expected, _LEAST))
    sd = Z_95 - np.sqrt(np.maximum(Z_95**2 - 2.0 * wide, 0.0))
    return np.asarray(expected * np.exp(deviations * sd - sd**2 / 2.0))
