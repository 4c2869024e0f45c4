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
    def likeliest(self) -> Array:
        """How many false evictions a month each S is as likely to have more of as fewer, if rates are lognormal.

        Where little is known the mean lies far above that: a few groups in which it happens often make it.
        """
        wide = np.log(np.maximum(self.upper, _LEAST) / np.maximum(self.expected, _LEAST))
        sd = Z_95 - np.sqrt(np.maximum(Z_95**2 - 2.0 * wide, 0.0))
        return np.asarray(self.expected * np.exp(-(sd**2) / 2.0))

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
    """No values are sure to meet the objective, at 95 %, though some are expected to; the sentence says why."""
