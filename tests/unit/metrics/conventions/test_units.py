"""A client's metrics mean the same whatever exports them."""

from typing import Final

import pytest

from heartbeat_tuner.metrics.conventions import java_metrics, known_conventions, librdkafka_metrics
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.vocabulary import Quantity, ValueKind

CONVENTIONS: Final = [
    convention for convention in known_conventions.of_library("java") if "java" in convention.libraries
]
TIMES: Final = {ValueKind.WINDOWED_MAX, ValueKind.WINDOWED_MEAN}


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda convention: convention.name)
def test_times_are_milliseconds_but_for_those_whose_name_says_seconds(convention: Convention) -> None:
    """Counts are counts; the time that rebalances took is a counter of milliseconds."""
    for metric in convention.metrics:
        is_time = metric.quantity.kind in TIMES or metric.quantity is Quantity.REBALANCE_TIME
        in_ms = is_time and not any("seconds" in name for name in metric.names)
        assert metric.unit_s == (0.001 if in_ms else 1.0), metric


def test_rules_that_drop_every_maximum_withhold_those_and_no_other() -> None:
    """Strimzi's for Connect: what is withheld is explained to whoever misses it."""
    metrics = [metric for metric in java_metrics.JMX_EXPORTER.metrics if not metric.thread_label]
    maxima = {metric.quantity for metric in metrics if metric.quantity.name.endswith("_MAX")}
    assert set(java_metrics.STRIMZI.withheld) == maxima


def test_statistics_of_librdkafka_are_read_in_their_own_units() -> None:
    """Its documentation says milliseconds of the age of a rebalance, and microseconds of a round trip."""
    (convention,) = librdkafka_metrics.CONVENTIONS
    assert convention.by_quantity[Quantity.REBALANCE_AGE].unit_s == 0.001
    assert convention.by_quantity[Quantity.COORDINATOR_ROUND_TRIP_MAX].unit_s == 0.000_001
    assert convention.by_quantity[Quantity.ASSIGNMENT_CHANGES].unit_s == 1.0
