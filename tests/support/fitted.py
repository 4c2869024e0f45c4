"""Fitted models as a fit could give them; every builder takes only what a test cares about."""

import dataclasses
import math
from datetime import UTC, date, datetime
from typing import Any, Final

from heartbeat_tuner.models.group_model import Fitted, GroupModel, QuantityModel
from heartbeat_tuner.tails.histogram import EDGES_S, SCHEMA
from heartbeat_tuner.tails.model import TailModel, ThresholdSource

UNTIL: Final = date(2026, 3, 1)
"""The day before `worlds.NOW`."""

TAIL: Final = TailModel(
    threshold_s=float(EDGES_S[200]),  # 1.27 s
    share=0.01,
    share_log_sd=0.05,
    shape=0.1,
    log_scale=math.log(0.5),
    covariance=(0.0025, -0.0005, 0.004),
    fraction=0.01,
    source=ThresholdSource.OWN,
    samples=20_160.0,
    exceedances=201.5,
    largest_s=6.0,
    anderson_darling=0.4,
    distance=0.03,
)


def tail(**changes: Any) -> TailModel:
    """Return a tail that begins at 1.27 s, but for what is said."""
    return dataclasses.replace(TAIL, **changes)


def quantity(**changes: Any) -> QuantityModel:
    """Return a quantity of three members, watched for 14 days without a hole, but for what is said."""
    base = QuantityModel(values=40_320, member_days=42.0, group_days=14.0, largest_s=6.0, tail=TAIL)
    return dataclasses.replace(base, **changes)


def model(**changes: Any) -> GroupModel:
    """Return the model of group `orders` with its absences, fitted last night, but for what is said."""
    base = GroupModel(
        namespace="shop",
        group="orders",
        client="kafkajs",
        cluster="",
        schema=SCHEMA,
        since=date(2026, 2, 16),
        until=UNTIL,
        days=14,
        fitted_at=datetime(2026, 3, 2, 2, 11, 7, 123456, tzinfo=UTC),
        job="fit-29046131",
        quantities={"absence": quantity()},
    )
    return dataclasses.replace(base, **changes)


def fitted(**changes: Any) -> Fitted:
    """Return the same model with the name of its object."""
    return Fitted("orders", model(**changes))
