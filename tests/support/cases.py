"""Groups as `recommend`, `explain` and `simulate` know them: by metrics, by a model, or by both."""

import dataclasses
import math
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.cli.group import group_case
from heartbeat_tuner.cli.group.group_case import Case
from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.decision import from_metrics
from heartbeat_tuner.decision.from_metrics import MetricsView, StatedFacts
from heartbeat_tuner.domain.liveness import LivenessSettings, ValueSource
from heartbeat_tuner.domain.policies import Objective
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics
from heartbeat_tuner.models.group_model import Fitted, GroupModel, Unfitted
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from heartbeat_tuner.tails.rates import Duration, Rate
from tests.support import fitted, worlds
from tests.support.counters import Answers
from tests.support.worlds import HOUR, NOW

MODEL: Final = fitted.model(
    client="java",
    quantities={
        "absence": fitted.quantity(median_s=0.2),
        "pollGap": fitted.quantity(
            median_s=1.1,
            largest_s=14.0,
            tail=fitted.tail(threshold_s=4.0, share=0.005, shape=0.15, log_scale=math.log(1.2), largest_s=14.0),
        ),
        "restartDowntime": fitted.quantity(
            values=12,
            largest_s=30.0,
            tail=Rejected(RejectionReason.TOO_FEW_VALUES, "12"),
            rate=Rate(0.28, 0.42),
            duration=Duration(math.log(18.0), 0.3, 15.0),
        ),
    },
)
"""Three Java members with 12 partitions, watched for two weeks; no crash was seen, and no outage can be."""


def stated(
    now: LivenessSettings | None = None, source: ValueSource = ValueSource.POLICY, **changes: Any
) -> StatedFacts:
    """Return what is said of group shop/orders of three Java members, but for what is said otherwise."""
    base = StatedFacts(
        namespace="shop",
        group="orders",
        client=catalogue.client("java"),
        current=worlds.current(now or worlds.java_settings(), source),
        brokers=1,
        objective=Objective(timedelta(seconds=60), 1.0),
        members=3,
        partitions=12,
        model=Fitted("orders", MODEL),
    )
    return dataclasses.replace(base, **changes)


def by_model(facts: StatedFacts | None = None, **changes: Any) -> Case:
    """Return what follows of a group that nobody watches."""
    group = stated(**changes) if facts is None else facts
    return group_case.case_of(group, from_metrics.unwatched(group, NOW))


def watched(found: Answers, facts: StatedFacts, **changes: Any) -> Case:
    """Return what follows of a group from its series; `changes` are fields of what is seen of it."""
    convention = kafkajs_metrics.EXPORTER if facts.client.name == "kafkajs" else java_metrics.JMX_EXPORTER
    seen = dataclasses.replace(MetricsView(facts, convention, found, HOUR, NOW), **changes)
    return group_case.case_of(facts, from_metrics.watched(seen), seen=seen)


def unmodelled(
    now: LivenessSettings = worlds.STORM, source: ValueSource = ValueSource.POLICY, **changes: Any
) -> StatedFacts:
    """Return what is said of the KafkaJS group of the storm, of which there is no model."""
    plain = {"client": catalogue.client("kafkajs"), "members": None, "partitions": None}
    none = Unfitted(f"no --models FOLDER was given; {group_case.MAKE_A_MODEL}")
    return stated(now, source, **{**plain, "model": none, **changes})


def model(**changes: Any) -> GroupModel:
    """Return the model with other fields."""
    return dataclasses.replace(MODEL, **changes)
