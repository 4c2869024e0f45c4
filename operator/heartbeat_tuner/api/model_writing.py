"""From a group's model to the document of a `ConsumerGroupModel`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from heartbeat_tuner.tails import model
from heartbeat_tuner.tails.group_model import GroupModel, QuantityModel
from heartbeat_tuner.tails.model import Source, TailModel

REASONS: Final = {"".join(word.capitalize() for word in reason.name.split("_")): reason for reason in model.Reason}

_REASON_NAMES: Final = {reason: name for name, reason in REASONS.items()}

SOURCES: Final[Mapping[str, Source]] = {"Own": Source.OWN, "Fleet": Source.FLEET}

_SOURCE_NAMES: Final = {source: name for name, source in SOURCES.items()}

_LONGEST_DETAIL: Final = 1024


def spec_of(one: GroupModel) -> dict[str, Any]:
    """Return the spec as it is to be checked: as a whole, so that what is wrong is told with its place."""
    fitted = sum(1 for quantity in one.quantities.values() if isinstance(quantity.tail, TailModel))
    return {
        "groupId": one.group,
        "cluster": one.cluster,
        "client": one.client,
        "histogramSchema": one.schema,
        "since": one.since.isoformat(),
        "until": one.until.isoformat(),
        "days": one.days,
        "fittedAt": _moment_of(one.fitted_at),
        "job": one.job,
        "fitted": fitted,
        "rejected": len(one.quantities) - fitted,
        "quantities": [_quantity_of(name, quantity) for name, quantity in sorted(one.quantities.items())],
    }


def _quantity_of(name: str, one: QuantityModel) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name,
        "values": one.values,
        "memberDays": one.member_days,
        "groupDays": one.group_days,
        "largestSeconds": one.largest_s,
        "medianSeconds": one.median_s,
    }
    if one.rate is not None:
        found["rate"] = {"mean": one.rate.mean, "upper": one.rate.upper}
    if one.duration is not None:
        lasts = one.duration
        found["duration"] = {"meanLog": lasts.mean_log, "sdLog": lasts.sd_log, "worth": lasts.worth}
    if one.pool is not None:
        found["pool"] = {
            "days": one.pool.days,
            "groups": one.pool.groups,
            "timesSeconds": list(one.pool.times_s),
            "perDay": list(one.pool.per_day),
            "spreads": list(one.pool.spreads),
        }
    if isinstance(one.tail, TailModel):
        found["tail"] = _tail_of(one.tail)
    else:
        found["rejected"] = {"reason": _REASON_NAMES[one.tail.reason], "detail": one.tail.detail[:_LONGEST_DETAIL]}
    if one.kept is not None:
        found["kept"] = {
            "since": one.kept.since.isoformat(),
            "until": one.kept.until.isoformat(),
            "fittedAt": _moment_of(one.kept.fitted_at),
            "valuesPerDay": one.kept.per_day,
            "tail": _tail_of(one.kept.tail),
        }
    return found


def _tail_of(one: TailModel) -> dict[str, Any]:
    shape, between, log_scale = one.covariance
    return {
        "thresholdSeconds": one.threshold_s,
        "share": one.share,
        "shareLogSd": one.share_log_sd,
        "shape": one.shape,
        "logScale": one.log_scale,
        "covariance": {"shape": shape, "shapeLogScale": between, "logScale": log_scale},
        "fraction": one.fraction,
        "source": _SOURCE_NAMES[one.source],
        "samples": one.samples,
        "exceedances": one.exceedances,
        "largestSeconds": one.largest_s,
        "andersonDarling": one.anderson_darling,
        "distance": one.distance,
    }


def _moment_of(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
