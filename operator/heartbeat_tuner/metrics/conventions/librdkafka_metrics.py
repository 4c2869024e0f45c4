"""librdkafka's statistics (`statistics.interval.ms`, off by default), as several exporters name them.

Their metrics have no group label and no heartbeats: what they tell is assignments, and how long the coordinator took to
answer. A round trip is in microseconds, whatever a name says. Every gauge of the statistics is of one interval.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.vocabulary import Quantity

LIBRARIES: Final = ("node-rdkafka", "confluent-kafka-python", "confluent-kafka-javascript")

_MS: Final = 0.001
_US: Final = 0.000_001

_WITHHELD: Final[Mapping[Quantity, str]] = MappingProxyType(
    {
        Quantity.HEARTBEATS: "librdkafka's statistics count no accepted heartbeats; the broker's membership tells",
        Quantity.POLL_GAP_MAX: "librdkafka's statistics have no time between polls; measure your handlers",
    }
)
_NEEDED: Final = (Quantity.HEARTBEATS, Quantity.ASSIGNMENT_CHANGES)

NODE_RDKAFKA: Final = Convention(
    name="node-rdkafka-prometheus",
    title="node-rdkafka-prometheus",
    libraries=LIBRARIES,
    with_labels=frozenset({"handle", "type"}),
    metrics=(
        Metric(Quantity.ASSIGNMENT_CHANGES, ("rdkafka_cgrp_rebalance_cnt",)),
        Metric(Quantity.REBALANCE_AGE, ("rdkafka_cgrp_rebalance_age",), unit_s=_MS),
        Metric(Quantity.ASSIGNED_PARTITIONS, ("rdkafka_cgrp_assignment_size",)),
        Metric(
            Quantity.COORDINATOR_ROUND_TRIP_MAX,
            ("rdkafka_broker_rtt_max",),
            unit_s=_US,
            matchers=(("name", "GroupCoordinator"),),
        ),
    ),
    needed=_NEEDED,
    withheld=_WITHHELD,
)

CONVENTIONS: Final = (NODE_RDKAFKA,)
