"""Whole cycles over groups of the consumer protocol, whose session and heartbeat are set at the broker."""

import dataclasses
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.kafka_groups import ConsumerBounds, Group, GroupOverrides
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, manifests, worlds
from tests.support.counters import Answers
from tests.support.stages import MINUTE, ORDERS, Stage
from tests.support.worlds import NOW, seconds

PODS = worlds.pods()
SHORT, LONG, THEIRS = GroupOverrides(seconds(20)), GroupOverrides(seconds(45)), GroupOverrides(seconds(30))
BOUNDS = ConsumerBounds(seconds(1), seconds(60), seconds(1), seconds(15))
LOST_EVERY_S, SHOWN_S = 300.0, 60.0
BEGINS, ENDS = NOW - 2 * worlds.HOUR, NOW + 6 * worlds.HOUR


def fencing(until_s: float = ENDS.timestamp()) -> Answers:
    """Return what Java consumers export that lose their partitions now and then, up to a time in Unix seconds."""

    def series_of(pod: Pod, value: Any) -> Series:
        times_s = (BEGINS.timestamp() + 15 * number for number in range(int((ENDS - BEGINS).total_seconds() / 15)))
        labels = counters.labels(pod.name, client_id="consumer-orders-1")
        return Series.from_raw(labels, ((at, value(at - BEGINS.timestamp())) for at in times_s))

    def lost(age_s: float) -> float:
        is_shown = age_s % LOST_EVERY_S < SHOWN_S and BEGINS.timestamp() + age_s < until_s
        return 0.0 if is_shown else float("nan")

    values: dict[Quantity, Any] = {
        Quantity.HEARTBEATS: lambda age_s: age_s // 5,
        Quantity.REBALANCES: lambda _: 1.0,
        Quantity.REBALANCE_TIME: lambda _: 1.0,
        Quantity.POLL_AGE: lambda _: 0.0,
        Quantity.PARTITIONS_LOST_LATENCY_MAX: lost,
    }
    return {quantity: [series_of(pod, value) for pod in PODS] for quantity, value in values.items()}


def modern(*, alters: bool = True, until_s: float = ENDS.timestamp(), **spec: Any) -> Stage:
    """Return a Java group of the consumer protocol in danger, whose session of 20 s somebody set at the broker."""
    stage = Stage(
        [manifests.policy(spec={"client": {"library": "java"}, **spec})],
        now=worlds.java_settings(),
        answers=fencing(until_s),
    )
    stage.prometheus.convention = counters.JMX
    stage.groups.groups["main"]["orders"] = worlds.group([worlds.member(pod) for pod in PODS])
    stage.groups.override("main", "orders", SHORT)
    stage.groups.bounds = dataclasses.replace(worlds.cluster(), consumer=BOUNDS, alters_groups=alters)
    return stage


DANGEROUS: Final = 5
"""Cycles of a minute until each member was seen to be fenced once since the first look, and values are written."""


async def cycles(stage: Stage, count: int = DANGEROUS, after: timedelta = MINUTE) -> None:
    """Run cycles."""
    for _ in range(count):
        await stage.cycle(after)


def noted(stage: Stage) -> dict[str, Any]:
    """Return what the status notes of the last write."""
    found: dict[str, Any] = stage.policies.status_of(ORDERS).get("groupConfig", {})
    return found


def unread(stage: Stage) -> None:
    """Let the broker refuse to say what it prescribes to the group."""
    described = stage.groups.groups["main"]["orders"]
    assert isinstance(described, Group)
    stage.groups.groups["main"]["orders"] = dataclasses.replace(described, config=None)
