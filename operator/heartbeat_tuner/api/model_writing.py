"""From a group's model to the document of a `ConsumerGroupModel`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from heartbeat_tuner.models.group_model import GroupModel, QuantityModel
from heartbeat_tuner.tails import model
from heartbeat_tuner.tails.model import TailModel, ThresholdSource
from heartbeat_tuner.tails.pool import Pool

REASONS: Final = {
    "".join(word.capitalize() for word in reason.name.split("_")): reason for reason in model.RejectionReason
}

_REASON_NAMES: Final = {reason: name for name, reason in REASONS.items()}

SOURCES: Final[Mapping[str, ThresholdSource]] = {"Own": ThresholdSource.OWN, "Fleet": ThresholdSource.FLEET}

_SOURCE_NAMES: Final = {source: name for name, source in SOURCES.items()}

_LONGEST_DETAIL: Final = 1024


def spec_of(group_model: GroupModel) -> dict[str, Any]:
    """Return the spec as it is to be checked: as a whole, so that what is wrong is told with its place."""
    fitted = sum(1 for quantity in group_model.quantities.values() if isinstance(quantity.tail, TailModel))
    return {
        "groupId": group_model.group,
        "cluster": group_model.cluster,
        "client": group_model.client,
        "histogramSchema": group_model.schema,
        "since": group_model.since.isoformat(),
        "until": group_model.until.isoformat(),
        "days": group_model.days,
        "fitTime": _moment_of(group_model.fitted_at),
        "job": group_model.job,
        "fitted": fitted,
        "rejected": len(group_model.quantities) - fitted,
        "quantities": [_quantity_of(name, quantity) for name, quantity in sorted(group_model.quantities.items())],
    }


def _quantity_of(name: str, quantity_model: QuantityModel) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": name,
        "values": quantity_model.values,
        "memberDays": quantity_model.member_days,
        "groupDays": quantity_model.group_days,
        "largestSeconds": quantity_model.largest_s,
        "medianSeconds": quantity_model.median_s,
    }
    if quantity_model.regime_since is not None:
        document["regimeSince"] = quantity_model.regime_since.isoformat()
    if quantity_model.rate is not None:
        document["rate"] = {"mean": quantity_model.rate.mean, "upper": quantity_model.rate.upper}
    if quantity_model.duration is not None:
        lasts = quantity_model.duration
        document["duration"] = {"meanLog": lasts.mean_log, "sdLog": lasts.sd_log, "worth": lasts.worth}
    if quantity_model.pool is not None:
        document["pool"] = _pool_of(quantity_model.pool)
    if isinstance(quantity_model.tail, TailModel):
        document["tail"] = _tail_of(quantity_model.tail)
    else:
        document["rejected"] = {
            "reason": _REASON_NAMES[quantity_model.tail.reason],
            "detail": quantity_model.tail.detail[:_LONGEST_DETAIL],
        }
    if quantity_model.kept is not None:
        document["kept"] = {
            "since": quantity_model.kept.since.isoformat(),
            "until": quantity_model.kept.until.isoformat(),
            "fitTime": _moment_of(quantity_model.kept.fitted_at),
            "valuesPerDay": quantity_model.kept.per_day,
            "tail": _tail_of(quantity_model.kept.tail),
        }
    return document


def _tail_of(tail: TailModel) -> dict[str, Any]:
    shape, between, log_scale = tail.covariance
    return {
        "thresholdSeconds": tail.threshold_s,
        "share": tail.share,
        "shareLogSd": tail.share_log_sd,
        "shape": tail.shape,
        "logScale": tail.log_scale,
        "covariance": {"shape": shape, "shapeLogScale": between, "logScale": log_scale},
        "fraction": tail.fraction,
        "source": _SOURCE_NAMES[tail.source],
        "samples": tail.samples,
        "exceedances": tail.exceedances,
        "largestSeconds": tail.largest_s,
        "andersonDarling": tail.anderson_darling,
        "distance": tail.distance,
    }


def _moment_of(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _pool_of(pool: Pool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "days": pool.days,
        "groups": pool.groups,
        "timesSeconds": list(pool.times_s),
        "perDay": list(pool.per_day),
        "spreads": list(pool.spreads),
    }
    hides = {} if pool.hides_from_s is None else {"hidesFromSeconds": pool.hides_from_s}
    return {**document, **hides, **({} if pool.clumps is None else {"clumps": list(pool.clumps)})}
