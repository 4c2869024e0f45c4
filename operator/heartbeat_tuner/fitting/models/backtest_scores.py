"""What a backtest comes to: nouns, and the verdict over them."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails import drift, gamma
from heartbeat_tuner.tails.drift import Drift
from heartbeat_tuner.tails.gpd import Array

RARE: Final = (1e-2, 1e-3, 1e-4)
"""Shares of the values at which models are asked."""

_CHANCE: Final = 0.05

_TELLING: Final = 3.0
"""Predicted exceedances of all groups together from which on their sum says something."""

_BOUNDS_KEPT: Final = 0.9

_OFF_BY: Final = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class ShareForecast:
    """One model, asked at one share.

    Attributes:
        exceeded: the share.
        time_s: the time that the model says this share exceeds; an edge of a bucket.
        predicted: how many of the later values it says are longer.
        seen: how many were.
        upper_time_s: the same at the model's 95 % bound.
        upper_predicted: how many at most, it says with 95 %, are longer than that.
        upper_seen: how many were.
    """

    exceeded: float
    time_s: float
    predicted: float
    seen: int
    upper_time_s: float
    upper_predicted: float
    upper_seen: int

    @property
    def within(self) -> bool:
        """Whether as many were seen as chance allows around what was predicted: the Poisson law's 95 % range."""
        return bool(within_chance(np.array([float(self.seen)]), np.array([self.predicted]))[0])

    @property
    def kept(self) -> bool:
        """Whether the bound held: no more were seen than chance allows over it."""
        return not bool(beyond_chance(np.array([float(self.upper_seen)]), np.array([self.upper_predicted]))[0])


class BacktestVerdict(enum.Enum):
    """Whether to trust models that are fitted so."""

    HOLDS = "the models foresaw the later days"
    TOO_LOW = "more long delays came than the models allow"
    TOO_HIGH = "far fewer long delays came than the models say: settings will be larger than need be"
    UNKNOWN = "too little data to tell"


@dataclasses.dataclass(frozen=True, slots=True)
class BacktestSubject:
    """One quantity of one group.

    Attributes:
        cluster: of the group.
        namespace: of its pods.
        group: its id.
        quantity: what was measured.
    """

    cluster: str
    namespace: str
    group: str
    quantity: str


@dataclasses.dataclass(frozen=True, slots=True)
class Scored:
    """One quantity of one group.

    Attributes:
        subject: which.
        values: how many there were on the later days.
        asked: at each share that lies beyond the model's threshold.
        drift: whether the later days are as the model says.
    """

    subject: BacktestSubject
    values: int
    asked: tuple[ShareForecast, ...]
    drift: Drift


@dataclasses.dataclass(frozen=True, slots=True)
class Level:
    """One quantity of the whole fleet, at one share.

    Attributes:
        exceeded: the share.
        groups: that were asked.
        predicted: exceedances of them all.
        seen: how many there were.
        within: the share of groups that saw as many as chance allows.
        kept: the share of groups whose bound held.
    """

    exceeded: float
    groups: int
    predicted: float
    seen: int
    within: float
    kept: float

    @property
    def ratio(self) -> float | None:
        """Seen over predicted; None where too few were predicted to tell."""
        return self.seen / self.predicted if self.predicted >= _TELLING else None


@dataclasses.dataclass(frozen=True, slots=True)
class FleetScore:
    """One quantity of the whole fleet.

    Attributes:
        quantity: what was measured.
        levels: at each share at which any group could be asked.
        drifted: how many groups became what, by `drift.Verdict`.
        verdict: whether to trust such models.
        because: why, as a sentence with its numbers.
    """

    quantity: str
    levels: tuple[Level, ...]
    drifted: Mapping[drift.DriftVerdict, int]
    verdict: BacktestVerdict
    because: str


@dataclasses.dataclass(frozen=True, slots=True)
class Backtest:
    """What came of asking models of the first days about the later ones.

    Attributes:
        fitted_since: first day that the models rest on.
        fitted_until: last one.
        scored_since: first day after them.
        scored_until: last one.
        groups: one for each quantity of a group that had a model and later values.
        rejected: quantities of groups that had no model, by its reason.
        fleet: one for each quantity.
    """

    fitted_since: date
    fitted_until: date
    scored_since: date
    scored_until: date
    groups: tuple[Scored, ...]
    rejected: Mapping[str, int]
    fleet: tuple[FleetScore, ...]


def within_chance(seen: Array, predicted: Array) -> npt.NDArray[np.bool_]:
    """Return whether counts lie in the 95 % range of Poisson laws of some means."""
    few = predicted > gamma.quantile(seen + 1.0, 1 - _CHANCE / 2)
    return ~(beyond_chance(seen, predicted) | few)


def beyond_chance(seen: Array, predicted: Array) -> npt.NDArray[np.bool_]:
    """Return whether a Poisson law reaches a count in fewer than 1 case of 40.

    At least k events come in a time if the k-th comes within it, and the time of the k-th is a gamma variable.
    """
    some = seen > 0
    least = np.zeros(seen.shape)
    if some.any():
        least[some] = gamma.quantile(seen[some], _CHANCE / 2)
    return some & (predicted < least)


def judged(levels: Sequence[Level]) -> tuple[BacktestVerdict, str]:
    """Return whether to trust the models of one quantity, by the rarest share that says something, and why."""
    telling = [level for level in levels if level.ratio is not None]
    if not telling:
        return BacktestVerdict.UNKNOWN, "fewer than 3 long delays were predicted: score more days, or more groups"
    at = telling[-1]
    ratio = at.seen / at.predicted
    because = (
        f"{at.seen} delays were longer than the time that 1 in {1 / at.exceeded:,.0f} exceeds, {at.predicted:.1f} were "
        f"predicted; the bound held for {at.kept:.0%} of {at.groups} groups"
    )
    doubt = 2.0 / np.sqrt(at.predicted)  # of so few events a ratio says little
    if at.kept < _BOUNDS_KEPT or ratio > _OFF_BY * (1.0 + doubt):
        return BacktestVerdict.TOO_LOW, because
    if ratio < 1.0 / (_OFF_BY * (1.0 + doubt)):
        return BacktestVerdict.TOO_HIGH, because
    return BacktestVerdict.HOLDS, because
