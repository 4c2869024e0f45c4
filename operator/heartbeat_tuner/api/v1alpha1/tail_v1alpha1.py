"""The tail that a fit finds in one quantity of a group, or why it finds none, as pydantic models.

Here are the types of numbers, too, that `models_v1alpha1` has of a quantity: they refuse what no fit can say, such as a
share above 1 or a time beyond the last bucket.
"""

import math
from datetime import date
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, model_validator

from heartbeat_tuner.api.v1alpha1.fields import Model, earlier_name, moment, rules
from heartbeat_tuner.tails.histogram import EDGES_S

LONGEST_S: Final = float(EDGES_S[-1])
"""Beyond the last bucket there are no times."""

_LOGS: Final = 20.0
"""Logarithms of what is a time or a share stay well within this."""

# What delays of programs can be like, and a fit can say of them; what lies beyond is a mistake, or made up.
_SHAPES: Final = (-1.0, 1.0)
_SCALES: Final = (-16.0, 16.0)
_SURE: Final = 3.0  # of a share's logarithm: a fit that knows less tells nothing (`tails.fit.tail_estimate.MOST_DOUBT`)


def _day(text: str) -> str:
    date.fromisoformat(text)
    return text


Day = Annotated[
    str,
    AfterValidator(_day),
    Field(
        max_length=10,
        json_schema_extra=rules(("self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}$')", "must be a day such as 2026-02-28")),
    ),
]

Moment = Annotated[str, AfterValidator(moment), Field(max_length=40, json_schema_extra={"format": "date-time"})]


def fit_time(description: str) -> Any:
    """Return the field of a fit's time; files of earlier versions have it under another name."""
    names = AliasChoices("fitTime", "fittedAt")
    return Field(validation_alias=names, serialization_alias="fitTime", description=description)


Distance = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1e15)]
Time = Annotated[float, Field(allow_inf_nan=False, ge=0, le=LONGEST_S)]
Share = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1)]
Count = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1e15)]
Variance = Annotated[float, Field(allow_inf_nan=False, ge=0, le=_LOGS**2)]

_POSITIVE_DEFINITE: Final = (
    (
        "double(self.shape) > 0.0 && "
        "double(self.shape) * double(self.logScale) > double(self.shapeLogScale) * double(self.shapeLogScale)"
    ),
    "must be a covariance: positive variances, and a covariance within them",
)


class Covariance(Model):
    """Covariance of shape and logarithm of the scale."""

    model_config = ConfigDict(json_schema_extra=rules(_POSITIVE_DEFINITE))

    shape: Annotated[Variance, Field(description="Variance of the shape.")]
    shape_log_scale: Annotated[
        float,
        Field(
            allow_inf_nan=False,
            ge=-(_LOGS**2),
            le=_LOGS**2,
            description="Covariance of the shape and the logarithm of the scale.",
        ),
    ]
    log_scale: Annotated[Variance, Field(description="Variance of the logarithm of the scale.")]

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        # As the Cholesky decomposition goes that every look-up makes.
        if not self.shape > 0 or not self.log_scale - (self.shape_log_scale / math.sqrt(self.shape)) ** 2 > 0:
            raise ValueError(_POSITIVE_DEFINITE[1])
        return self


_HAS_A_MEAN: Final = ("double(self.shape) < 1.0", "shape must be below 1: the mean would be infinite")
_POSITIVE: Final = (
    "double(self.thresholdSeconds) > 0.0 && double(self.share) > 0.0",
    "thresholdSeconds and share must be above 0",
)


class Tail(Model):
    """Tail of the rare values above the threshold (generalised Pareto)."""

    model_config = ConfigDict(json_schema_extra=rules(_POSITIVE, _HAS_A_MEAN))

    threshold_seconds: Annotated[Time, Field(description="Threshold of the tail.")]
    share: Annotated[Share, Field(description="Share of the values above the threshold.")]
    share_log_sd: Annotated[
        float,
        Field(allow_inf_nan=False, ge=0, le=_SURE, description="Standard deviation of the share's logarithm."),
    ]
    shape: Annotated[
        float,
        Field(
            allow_inf_nan=False,
            ge=_SHAPES[0],
            le=_SHAPES[1],
            description="Shape of the tail. Above 0 it is unbounded; below 1 it has a mean.",
        ),
    ]
    log_scale: Annotated[
        float,
        Field(allow_inf_nan=False, ge=_SCALES[0], le=_SCALES[1], description="Logarithm of the scale in seconds."),
    ]
    covariance: Covariance
    fraction: Annotated[Share, Field(description="Target share of values above the threshold in the fleet.")]
    source: Annotated[
        Literal["Own", "Fleet"],
        Field(description="Source of the threshold: the group or the fleet."),
    ]
    samples: Annotated[Count, Field(description="Weighted number of values; older ones have less weight.")]
    exceedances: Annotated[Count, Field(description="Number of values above the threshold.")]
    largest_seconds: Annotated[Time, Field(description="Largest value, up to the edge of its bucket.")]
    anderson_darling: Annotated[Distance, Field(description="Anderson-Darling statistic of the fit; small is good.")]
    distance: Annotated[Share, Field(description="Largest difference between observed and fitted share.")]

    @model_validator(mode="after")
    def _is_a_law(self) -> Self:
        if self.shape >= 1:
            raise ValueError(_HAS_A_MEAN[1])
        if not self.threshold_seconds > 0 or not self.share > 0:
            raise ValueError(_POSITIVE[1])
        return self


class RejectedSpec(Model):
    """Why there is no tail."""

    reason: Annotated[
        str, Field(max_length=64, description="NoValues, TooFewValues, NoTail, CutBelowThreshold, NotConverged, …")
    ]
    detail: Annotated[str, Field(max_length=1024, description="Figures behind the reason.")]


class EarlierTailSpec(Model):
    """Tail of an earlier fit, used for at most 28 days while the newest is rejected."""

    model_config = ConfigDict(json_schema_extra=earlier_name("fittedAt", "fitTime"))

    since: Annotated[Day, Field(description="First day of its data (UTC), such as 2026-02-15.")]
    until: Annotated[Day, Field(description="Last day of its data (UTC), such as 2026-02-28.")]
    fitted_at: Annotated[Moment, fit_time("When it was fitted.")]
    values_per_day: Annotated[Count, Field(description="Values a day at that time.")]
    tail: Tail
