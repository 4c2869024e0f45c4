"""From histograms to models: all groups of one quantity at once.

A group with enough values gets a threshold of its own, a smaller one the fleet's growth curve's. Every candidate share
is fitted for the whole fleet, which chooses one. A group whose law does not fit there is tried at smaller shares; what
fits nowhere, or is no law that costs could be reckoned with, is rejected with the reason: no number comes from a bad
fit.
"""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.tails import growth, threshold
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S
from heartbeat_tuner.tails.model import HEAVIEST, Reason, Rejected, Source, TailModel
from heartbeat_tuner.tails.threshold import Candidate

_LEAST_EXCEEDANCES: Final = 5.0
"""Values that a threshold of a group's own leaves over itself, even if that is more than the share."""

_ELSEWHERE: Final = (Reason.BAD_FIT, Reason.NOT_CONVERGED, Reason.TOO_HEAVY)
"""What another threshold may cure."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fleet:
    """What was seen of one quantity in many groups; use `of` to leave out what is not known.

    Attributes:
        counts: values in each bucket, groups x `BUCKETS`; weighted by their age or not.
        strata: a number for each group from 0; groups with the same one (client family, cluster) are alike.
        cut: the bucket of each group from whose lower edge on a value is only known to be larger, since the timeout
            removes the member; evictions are counted in it. `BUCKETS` where there is none.
        weight: how much a value of each group tells, as part of an independent one (`dependence`).
    """

    counts: Array
    strata: npt.NDArray[np.int64]
    cut: npt.NDArray[np.int64]
    weight: Array

    @classmethod
    def of(
        cls,
        counts: Array,
        *,
        strata: npt.NDArray[np.int64] | None = None,
        cut: npt.NDArray[np.int64] | None = None,
        weight: Array | None = None,
    ) -> "Fleet":
        """Return a fleet of one stratum, nothing cut, all values independent, but for what is given.

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
        )
        for name, array in (("strata", fleet.strata), ("cut", fleet.cut), ("weight", fleet.weight)):
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


def models(fleet: Fleet) -> list[TailModel | Rejected]:
    """Return a model of each group's tail, or why there is none, in the order of the groups."""
    if not len(fleet.counts):
        return []
    fitted = [_fit(fleet, fraction) for fraction in threshold.FRACTIONS]
    chosen = next((number for number, one in enumerate(fitted) if one.candidate.holds), len(fitted) - 1)
    tried = fitted[chosen:]
    return [_model_of(fleet, group, tried) for group in range(len(fleet.counts))]


def _fit(fleet: Fleet, fraction: float) -> _Fitted:
    """Return the whole fleet fitted at one share of its values."""
    totals = fleet.counts.sum(axis=1)
    exceed = np.maximum(totals * fraction, _LEAST_EXCEEDANCES / fleet.weight)
    first = threshold.edges_over(fleet.counts, exceed)
    grown = growth.thresholds(fleet.counts, fraction, fleet.weight)
    first = np.where(grown.small, grown.first, first)
    candidate = threshold.candidate(
        fraction, fleet.counts, first, strata=fleet.strata, cut=fleet.cut, weight=fleet.weight
    )
    prior = np.where(grown.small, grown.certainty, 0.0)
    told = candidate.exceedances.totals * fleet.weight + prior
    share = told / np.maximum(totals * fleet.weight + prior / fraction, 1e-300)
    refuted = candidate.fitness.refuted(fleet.weight)
    return _Fitted(candidate, refuted, share, 1.0 / np.sqrt(np.maximum(told, 1e-300)), grown.small)


def _model_of(fleet: Fleet, group: int, tried: list[_Fitted]) -> TailModel | Rejected:
    """Return the model of one group at the first of the candidates that fits, or why there is none."""
    total = float(fleet.counts[group].sum())
    effective = total * float(fleet.weight[group])
    if total == 0:
        return Rejected(Reason.NO_VALUES, "no value in any bucket")
    if effective < growth.LEAST:
        return Rejected(
            Reason.TOO_FEW_VALUES, f"{effective:.3g} independent values, at least {growth.LEAST:.0f} wanted"
        )
    if np.count_nonzero(fleet.counts[group]) == 1:
        return Rejected(Reason.NO_TAIL, f"all of {total:.3g} values lie in one bucket")
    refused: list[Rejected] = []
    for fitted in tried:
        found = _at(fleet, group, fitted)
        if isinstance(found, TailModel):
            return found
        refused.append(found)
        if found.reason not in _ELSEWHERE:
            break
    return max(refused, key=lambda one: one.reason is Reason.BAD_FIT)  # the first of those that tell most


def _at(fleet: Fleet, group: int, fitted: _Fitted) -> TailModel | Rejected:
    candidate = fitted.candidate
    exceedances = float(candidate.exceedances.totals[group])
    first = int(candidate.exceedances.first[group])
    counts = fleet.counts[group]
    threshold_s = float(EDGES_S[first])
    if fleet.cut[group] <= first:
        return Rejected(
            Reason.CUT_BELOW_THRESHOLD,
            f"values above {EDGES_S[fleet.cut[group]]:.3g} s are cut off, the tail begins at {threshold_s:.3g} s",
        )
    if fitted.share_log_sd[group] > MOST_DOUBT:
        return Rejected(
            Reason.NO_TAIL,
            f"{exceedances:.3g} of {counts.sum():.3g} values lie above {threshold_s:.3g} s, and neither they nor the "
            "fleet say how many do",
        )
    if not candidate.fits.converged[group]:
        return Rejected(Reason.NOT_CONVERGED, f"{exceedances:.3g} exceedances of {threshold_s:.3g} s")
    shape, log_scale = candidate.fits.theta[group]
    if shape >= HEAVIEST:
        return Rejected(Reason.TOO_HEAVY, f"shape {shape:.2f}, {exceedances:.3g} exceedances of {threshold_s:.3g} s")
    fitness = candidate.fitness
    anderson_darling = float(fitness.anderson_darling[group] * fleet.weight[group])
    if fitted.refuted[group]:
        return Rejected(
            Reason.BAD_FIT,
            f"Anderson-Darling {anderson_darling:.2g}, distance {fitness.distance[group]:.2f}, "
            f"{exceedances:.3g} exceedances of {threshold_s:.3g} s",
        )
    covariance = candidate.fits.covariance[group]
    return TailModel(
        threshold_s=threshold_s,
        share=float(fitted.share[group]),
        share_log_sd=float(fitted.share_log_sd[group]),
        shape=float(shape),
        log_scale=float(log_scale + np.log(threshold_s)),
        covariance=(float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])),
        fraction=candidate.fraction,
        source=Source.FLEET if fitted.pooled[group] else Source.OWN,
        samples=float(counts.sum()),
        exceedances=exceedances,
        largest_s=float(EDGES_S[int(np.flatnonzero(counts)[-1]) + 1]),
        anderson_darling=anderson_darling,
        distance=float(fitness.distance[group]),
    )
