"""Would the models of then have foreseen what came: fit on the first days, count on the later ones.

A model says how many of the later values lie beyond a time. It is asked at the times that, it says, 1 value in 100, in
1,000 and in 10,000 exceeds, at the mean and at its 95 % upper bound; the next edge of a bucket from there on is where
values can be counted. Nothing is fitted to the later days.
"""

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heartbeat_tuner.fitting import estimate
from heartbeat_tuner.fitting.series import Counts, Series
from heartbeat_tuner.tails import drift, gamma
from heartbeat_tuner.tails.drift import Drift
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import EDGES_S
from heartbeat_tuner.tails.model import Rejected, TailModel

RARE: Final = (1e-2, 1e-3, 1e-4)
"""Shares of the values at which models are asked."""

_CHANCE: Final = 0.05
_TELLING: Final = 3.0
"""Predicted exceedances of all groups together from which on their sum says something."""

_BOUNDS_KEPT: Final = 0.9
_OFF_BY: Final = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
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


class Verdict(enum.Enum):
    """Whether to trust models that are fitted so."""

    HOLDS = "the models foresaw the later days"
    TOO_LOW = "more long delays came than the models allow"
    TOO_HIGH = "far fewer long delays came than the models say: settings will be larger than need be"
    UNKNOWN = "too little data to tell"


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
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

    subject: Subject
    values: int
    asked: tuple[Asked, ...]
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
    drifted: Mapping[drift.Verdict, int]
    verdict: Verdict
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


def run(rows: pa.Table, *, fit_until: date) -> Backtest:
    """Fit on the days up to one, and count on those after it.

    Args:
        rows: of the contract; the columns of text may be dictionaries.
        fit_until: the last day that models may know.

    Raises:
        ContractError: rows that are not of the contract.
        ValueError: no day up to that one, or none after it.
    """
    early = rows.filter(pc.less_equal(rows["day"], fit_until))
    late = rows.filter(pc.greater(rows["day"], fit_until))
    if not early.num_rows or not late.num_rows:
        raise ValueError(f"fit_until {fit_until}: there must be days up to it, and days after it")
    fitted_at = datetime.combine(fit_until, time(), UTC)  # of no consequence, and the same for the same rows
    models = estimate.models(early, on=fit_until, fitted_at=fitted_at, job="backtest")
    later = Counts(Series.of(late))
    scored, rejected = [], Counter[str]()
    for model in models:
        for quantity, fitted in model.quantities.items():
            if isinstance(fitted.tail, Rejected):
                rejected[fitted.tail.reason.value] += 1
                continue
            came = later.of(model.cluster, model.namespace, model.group, model.client, quantity)
            if came is not None:
                subject = Subject(model.cluster, model.namespace, model.group, quantity)
                scored.append(score(subject, fitted.tail, came))
    first, last = pc.min_max(early["day"]).as_py(), pc.min_max(late["day"]).as_py()
    quantities = sorted({one.subject.quantity for one in scored})
    return Backtest(
        fitted_since=first["min"],
        fitted_until=first["max"],
        scored_since=last["min"],
        scored_until=last["max"],
        groups=tuple(scored),
        rejected=dict(rejected),
        fleet=tuple(_fleet(name, [one for one in scored if one.subject.quantity == name]) for name in quantities),
    )


def score(subject: Subject, model: TailModel, came: Array) -> Scored:
    """Return what one model says of values that came later, and what they say of it.

    Args:
        subject: of which quantity of which group.
        model: fitted without them.
        came: how many of them lie in each bucket.
    """
    total = float(came.sum())
    asked = []
    for exceeded in RARE:
        if exceeded > model.share:
            continue
        edge, upper_edge = (
            min(int(np.searchsorted(EDGES_S, time_s)), len(EDGES_S) - 1)
            for time_s in (model.quantile_s(exceeded), model.quantile_upper_s(exceeded))
        )
        asked.append(
            Asked(
                exceeded=exceeded,
                time_s=float(EDGES_S[edge]),
                predicted=total * float(model.exceedance(EDGES_S[edge])[0]),
                seen=int(came[edge:].sum()),
                upper_time_s=float(EDGES_S[upper_edge]),
                upper_predicted=total * float(model.exceedance_upper(EDGES_S[upper_edge])[0]),
                upper_seen=int(came[upper_edge:].sum()),
            )
        )
    return Scored(subject, int(total), tuple(asked), drift.of(model, came))


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


def _fleet(quantity: str, scored: Sequence[Scored]) -> FleetScore:
    levels = tuple(
        _level(exceeded, asked)
        for exceeded in RARE
        if (asked := [one for group in scored for one in group.asked if one.exceeded == exceeded])
    )
    verdict, because = judged(levels)
    drifted = Counter(group.drift.verdict for group in scored)
    return FleetScore(quantity, levels, dict(drifted), verdict, because)


def _level(exceeded: float, asked: Sequence[Asked]) -> Level:
    seen, predicted = _arrays((one.seen, one.predicted) for one in asked)
    upper_seen, upper_predicted = _arrays((one.upper_seen, one.upper_predicted) for one in asked)
    return Level(
        exceeded=exceeded,
        groups=len(asked),
        predicted=float(predicted.sum()),
        seen=int(seen.sum()),
        within=float(within_chance(seen, predicted).mean()),
        kept=float(1.0 - beyond_chance(upper_seen, upper_predicted).mean()),
    )


def judged(levels: Sequence[Level]) -> tuple[Verdict, str]:
    """Return whether to trust the models of one quantity, by the rarest share that says something, and why."""
    telling = [one for one in levels if one.ratio is not None]
    if not telling:
        return Verdict.UNKNOWN, "fewer than 3 long delays were predicted: score more days, or more groups"
    at = telling[-1]
    ratio = at.seen / at.predicted
    because = (
        f"{at.seen} delays were longer than the time that 1 in {1 / at.exceeded:,.0f} exceeds, {at.predicted:.1f} were "
        f"predicted; the bound held for {at.kept:.0%} of {at.groups} groups"
    )
    doubt = 2.0 / np.sqrt(at.predicted)  # of so few events a ratio says little
    if at.kept < _BOUNDS_KEPT or ratio > _OFF_BY * (1.0 + doubt):
        return Verdict.TOO_LOW, because
    if ratio < 1.0 / (_OFF_BY * (1.0 + doubt)):
        return Verdict.TOO_HIGH, because
    return Verdict.HOLDS, because


def _arrays(pairs: Iterable[tuple[float, float]]) -> tuple[Array, Array]:
    first, second = np.array(list(pairs), dtype=np.float64).reshape(-1, 2).T
    return first, second
