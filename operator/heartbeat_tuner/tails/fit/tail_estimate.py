"""From histograms to models: all groups of one quantity at once.

A group with enough values over a threshold gets one of its own, another one what its stratum shares. Candidate shares
are fitted for the whole fleet, the largest first, until each stratum of each namespace has chosen one. A group with
very many values, or whose law does not fit there or is as heavy as a kink makes it, is tried at smaller shares; what
fits nowhere, or is no law that costs could be computed with, is rejected with the reason: no number from a bad fit.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails.fit import growth, threshold
from heartbeat_tuner.tails.fit.threshold import Candidate
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S
from heartbeat_tuner.tails.model import HEAVIEST, Rejected, RejectionReason, TailModel, ThresholdSource

_LEAST_EXCEEDANCES: Final = 5.0
"""Independent values that a threshold of a group's own leaves over itself; who has fewer there takes the fleet's."""

_OVER_UNENDED: Final = 3.0
_MOST_OVER: Final = 0.75
"""Values over a threshold for each one without a known end, and the largest part of all values over it."""

_ELSEWHERE: Final = (RejectionReason.BAD_FIT, RejectionReason.NOT_CONVERGED, RejectionReason.TOO_HEAVY)
"""What another threshold may cure."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fleet:
    """What was seen of one quantity in many groups; use `of` to leave out what is not known.

    Attributes:
        counts: values in each bucket, groups x `BUCKETS`; weighted by their age or not.
        strata: a number for each group from 0; groups with the same one (client family, cluster) are alike.
        cut: the bucket of each group from whose lower edge on a value is only known to be larger, since the timeout
            removes the member; evictions are counted in it. `BUCKETS` where there is none.
        homes: a number for each group from 0; groups with the same one are of one namespace.
        weight: how much a value of each group tells, as part of an independent one (`dependence`).
        unended: how many of `counts` are only known to be larger than the lower edge of their bucket; None for none.
    """

    counts: Array
    strata: npt.NDArray[np.int64]
    cut: npt.NDArray[np.int64]
    weight: Array
    homes: npt.NDArray[np.int64]
    unended: Array | None = None

    @classmethod
    def of(
        cls,
        counts: Array,
        *,
        strata: npt.NDArray[np.int64] | None = None,
        cut: npt.NDArray[np.int64] | None = None,
        weight: Array | None = None,
        homes: npt.NDArray[np.int64] | None = None,
        unended: Array | None = None,
    ) -> "Fleet":
        """Return a fleet of one stratum and namespace, nothing cut, all values independent, but for what is given.

        Raises:
            ValueError: arrays that do not belong together, counts that are none, weights that are not positive.
        """
        if counts.ndim != 2 or counts.shape[1] != BUCKETS:  # noqa: PLR2004 - rows and columns
            raise ValueError(f"counts of shape {counts.shape}: must be groups x {BUCKETS}")
        if not np.all(np.isfinite(counts) & (counts >= 0)):
            raise ValueError("counts: must be finite and not negative")
        size = len(counts)
        fleet = cls(
            counts,
            np.zeros(size, dtype=np.int64) if strata is None else strata,
            np.full(size, BUCKETS, dtype=np.int64) if cut is None else cut,
            np.ones(size) if weight is None else weight,
            np.zeros(size, dtype=np.int64) if homes is None else homes,
            unended,
        )
        if unended is not None and (unended.shape != counts.shape or not np.all((unended >= 0) & (unended <= counts))):
            raise ValueError("unended: must be a part of counts, bucket by bucket")
        for name in ("strata", "cut", "weight", "homes"):
            array = getattr(fleet, name)
            if array.shape != (size,):
                raise ValueError(f"{name} of shape {array.shape}: must be one for each of {size} groups")
        if not np.all(np.isfinite(fleet.weight) & (fleet.weight > 0)):
            raise ValueError("weight: must be finite and positive")
        return fleet


MOST_DOUBT: Final = 3.0
"""A share of exceedances that may as well be 20 times as large (the logarithm's standard deviation) is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Fitted:
    """A candidate, what is known of the shares over its thresholds, and which groups' laws are refuted."""

    candidate: Candidate
    refuted: npt.NDArray[np.bool_]
    share: Array
    share_log_sd: Array
    pooled: npt.NDArray[np.bool_]


def models(fleet: Fleet, *, few_values: npt.ArrayLike = False) -> list[TailModel | Rejected]:
    """Return each group's tail, or why it has none; `few_values` are groups fitted to a few of their values only."""
    if not len(fleet.counts):
        return []
    fits = _Fits(fleet)
    few = threshold.places_of_few(fleet.counts.sum(axis=1) * fleet.weight * np.asarray(few_values))
    models: list[TailModel | Rejected] = []
    chosen: dict[tuple[int, int], int] = {}
    for group, family in enumerate(zip(fleet.homes.tolist(), fleet.strata.tolist(), strict=True)):
        if family not in chosen:
            home = fleet.homes == family[0]
            chosen[family] = fits.chosen_by(home & (fleet.strata == family[1]), home)
        models.append(_model_of(fleet, group, fits.smaller(max(chosen[family], few[group]))))
    return models


class _Fits:
    """The whole fleet fitted at each candidate share, once it is asked for."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._fitted: list[_Fitted] = []

    def smaller(self, place: int) -> Iterator[_Fitted]:
        """Yield the candidates from a place on, each of a smaller share than the one before."""
        for number in range(place, len(threshold.FRACTIONS)):
            while len(self._fitted) <= number:
                self._fitted.append(_fit(self._fleet, threshold.FRACTIONS[len(self._fitted)]))
            yield self._fitted[number]

    def chosen_by(self, stratum: npt.NDArray[np.bool_], home: npt.NDArray[np.bool_]) -> int:
        """Return the place of the candidate that a stratum has; a small one has that of all its namespace.

        It is the first that holds, or else, of those whose far end does, the one that lies closest to its laws.
        """
        members = stratum if np.count_nonzero(stratum) >= growth.OF_ITS_OWN else home
        far: dict[int, float] = {}
        for place, fitted in enumerate(self.smaller(0)):
            if fitted.candidate.holds(members):
                return place
            if fitted.candidate.holds_far(members):
                far[place] = fitted.candidate.fitness.pooled_distance(members)
        return min(far, key=far.__getitem__, default=len(threshold.FRACTIONS) - 1)


def _fit(fleet: Fleet, fraction: float) -> _Fitted:
    """Return the whole fleet fitted at one share of its values."""
    totals = fleet.counts.sum(axis=1)
    ended = _over_unended(fleet, totals)
    first = threshold.edges_over(fleet.counts, np.maximum(totals * fraction, ended))
    grown = growth.thresholds(
        fleet.counts,
        fraction,
        strata=fleet.strata,
        homes=fleet.homes,
        weight=fleet.weight,
        least=_LEAST_EXCEEDANCES,
    )
    small = grown.small & ~_beyond_all(fleet, grown.first)
    own = threshold.edges_over(fleet.counts, np.maximum(_LEAST_EXCEEDANCES / fleet.weight, ended))
    first = np.where(small, grown.first, np.where(grown.small, own, first))
    candidate = threshold.candidate(
        fraction,
        fleet.counts,
        first,
        strata=fleet.strata,
        homes=fleet.homes,
        cut=fleet.cut,
        weight=fleet.weight,
        unended=fleet.unended,
    )
    prior = np.where(small, grown.certainty, 0.0)
    weighted = candidate.exceedances.totals * fleet.weight + prior
    share = weighted / np.maximum(totals * fleet.weight + prior / fraction, 1e-300)
    refuted = candidate.fitness.refuted(fleet.weight)
    return _Fitted(candidate, refuted, share, 1.0 / np.sqrt(np.maximum(weighted, 1e-300)), small)


def _beyond_all(fleet: Fleet, first: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return of which groups a threshold lies beyond every value, of enough for one of their own.

    Nothing is known of such a group between its largest value and there, where sessions lie, and a straight line up to
    it is no law: it has the absences of groups with far longer ones.
    """
    beyond = fleet.counts.sum(axis=1, where=np.arange(BUCKETS) >= first[:, None])
    enough = _LEAST_EXCEEDANCES / threshold.FRACTIONS[0]
    return np.asarray((beyond <= 0) & (fleet.counts.sum(axis=1) * fleet.weight >= enough))


def _over_unended(fleet: Fleet, totals: Array) -> Array:
    """Return how many of the largest values a threshold leaves over itself at least, where some have no known end.

    A law rests on ends that were seen: of those there are as many again over the threshold, as far as there are any.
    """
    if fleet.unended is None:
        return np.zeros_like(totals)
    return np.asarray(np.minimum(_OVER_UNENDED * fleet.unended.sum(axis=1), _MOST_OVER * totals))


def _model_of(fleet: Fleet, group: int, tried: Iterable[_Fitted]) -> TailModel | Rejected:
    """Return the model of one group at the first of the candidates that fits, or why there is none."""
    total = float(fleet.counts[group].sum())
    effective = total * float(fleet.weight[group])
    if total == 0:
        return Rejected(RejectionReason.NO_VALUES, "no value in any bucket")
    if effective < growth.LEAST:
        return Rejected(
            RejectionReason.TOO_FEW_VALUES, f"{effective:.3g} independent values, at least {growth.LEAST:.0f} wanted"
        )
    if np.count_nonzero(fleet.counts[group]) == 1:
        return Rejected(RejectionReason.NO_TAIL, f"all of {total:.3g} values lie in one bucket")
    refused: list[Rejected] = []
    heavy: list[TailModel] = []
    for fitted in tried:
        tail = _at(fleet, group, fitted)
        if isinstance(tail, TailModel):
            if not threshold.lies_below_a_kink(tail, float(fleet.weight[group])):
                return tail
            heavy.append(tail)
            continue
        refused.append(tail)
        if tail.reason not in _ELSEWHERE:
            break
    if heavy:  # as heavy wherever it begins
        return heavy[0]
    return max(
        refused, key=lambda rejected: rejected.reason is RejectionReason.BAD_FIT
    )  # the first of those that tell most


def _at(fleet: Fleet, group: int, fitted: _Fitted) -> TailModel | Rejected:
    """Return the model of one group at one candidate, or why there is none."""
    refused = _refusal(fleet, group, fitted)
    if refused is not None:
        return refused
    candidate, counts = fitted.candidate, fleet.counts[group]
    threshold_s = float(EDGES_S[int(candidate.exceedances.first[group])])
    shape, log_scale = candidate.fits.theta[group]
    covariance = candidate.fits.covariance[group]
    return TailModel(
        threshold_s=threshold_s,
        share=float(fitted.share[group]),
        share_log_sd=float(fitted.share_log_sd[group]),
        shape=float(shape),
        log_scale=float(log_scale + np.log(threshold_s)),
        covariance=(float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])),
        fraction=candidate.fraction,
        source=ThresholdSource.FLEET if fitted.pooled[group] else ThresholdSource.OWN,
        samples=float(counts.sum()),
        exceedances=float(candidate.exceedances.totals[group]),
        largest_s=float(EDGES_S[int(np.flatnonzero(counts)[-1]) + 1]),
        anderson_darling=_anderson_darling(fleet, group, fitted),
        distance=float(candidate.fitness.distance[group]),
    )


def _refusal(fleet: Fleet, group: int, fitted: _Fitted) -> Rejected | None:
    """Return why a group has no model at one candidate; None where it has one."""
    candidate = fitted.candidate
    exceedances = float(candidate.exceedances.totals[group])
    first = int(candidate.exceedances.first[group])
    threshold_s = float(EDGES_S[first])
    if fleet.cut[group] <= first:
        return Rejected(
            RejectionReason.CUT_BELOW_THRESHOLD,
            f"values above {EDGES_S[fleet.cut[group]]:.3g} s are cut off, the tail begins at {threshold_s:.3g} s",
        )
    if fitted.share_log_sd[group] > MOST_DOUBT:
        return Rejected(
            RejectionReason.NO_TAIL,
            f"{exceedances:.3g} of {fleet.counts[group].sum():.3g} values lie above {threshold_s:.3g} s, and neither "
            "they nor the fleet say how many do",
        )
    if not candidate.fits.converged[group]:
        return Rejected(RejectionReason.NOT_CONVERGED, f"{exceedances:.3g} exceedances of {threshold_s:.3g} s")
    shape, _ = candidate.fits.theta[group]
    if shape >= HEAVIEST:
        return Rejected(
            RejectionReason.TOO_HEAVY, f"shape {shape:.2f}, {exceedances:.3g} exceedances of {threshold_s:.3g} s"
        )
    if fitted.refuted[group]:
        return Rejected(
            RejectionReason.BAD_FIT,
            f"Anderson-Darling {_anderson_darling(fleet, group, fitted):.2g}, distance "
            f"{candidate.fitness.distance[group]:.2f}, {exceedances:.3g} exceedances of {threshold_s:.3g} s",
        )
    return None


def _anderson_darling(fleet: Fleet, group: int, fitted: _Fitted) -> float:
    """Return the distance of a fit that counts its tail most, as of independent values."""
    return float(fitted.candidate.fitness.anderson_darling[group] * fleet.weight[group])
