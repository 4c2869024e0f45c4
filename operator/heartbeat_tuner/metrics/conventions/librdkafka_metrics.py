"""librdkafka's statistics (`statistics.interval.ms`, off by default), as exporters name them.

`COUNTERS` is what an application exports itself, with the few lines that `doctor` has for it. Heartbeats are all
requests to the coordinator that the statistics do not name otherwise: they leave out those of KIP-848. The callback for
lost partitions says when a membership ended, calls of poll() how far apart they are (measured: docs/design/0040). A
share group calls nobody back.

Other exporters have no group label and no heartbeats: what they tell is assignments, and how long the coordinator took
to answer. A round trip is in microseconds, whatever a name says. Every gauge of the statistics is of one interval.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.vocabulary import Quantity

LIBRARIES: Final = (
    "confluent-kafka-python",
    "confluent-kafka-dotnet",
    "confluent-kafka-go",
    "confluent-kafka-javascript",
    "node-rdkafka",
    "rust-rdkafka",
)

_MS: Final = 0.001
_US: Final = 0.000_001

_WITHHELD: Final[Mapping[Quantity, str]] = MappingProxyType(
    {
        Quantity.HEARTBEATS: "librdkafka's statistics count no accepted heartbeats; the broker's membership tells",
        Quantity.POLL_GAP_MAX: "librdkafka's statistics have no time between polls; measure your handlers",
    }
)
_NEEDED: Final = (Quantity.HEARTBEATS, Quantity.ASSIGNMENT_CHANGES)

_LOST: Final = ("librdkafka_group_lost_total",)
_NOT_COUNTED: Final = (
    "count it in the application (docs/how-to/install.md), or have Prometheus scrape the operator with honor_labels: "
    "true, which counts evictions by the broker's descriptions of the group"
)
COUNTERS: Final = Convention(
    name="librdkafka",
    title="counters of its own from librdkafka's statistics",
    libraries=LIBRARIES,
    group_label="group_id",
    with_labels=frozenset({"group_id", "client_id"}),
    metrics=(
        Metric(Quantity.HEARTBEATS, ("librdkafka_group_heartbeats_total",)),
        Metric(Quantity.REBALANCES, ("librdkafka_group_rebalances_total",)),
        Metric(Quantity.LOST_FOR_SILENCE, _LOST, matchers=(("reason", "silence"),)),
        Metric(Quantity.LOST_FOR_POLLS, _LOST, matchers=(("reason", "poll"),)),
        Metric(Quantity.POLL_AGE, ("librdkafka_group_poll_age_seconds",)),
        Metric(Quantity.POLL_GAP_MAX, ("librdkafka_group_poll_gap_max_seconds",)),
        Metric(Quantity.COORDINATOR_ROUND_TRIP_MAX, ("librdkafka_group_answer_max_seconds",)),
    ),
    needed=(Quantity.HEARTBEATS, Quantity.REBALANCES, Quantity.LOST_FOR_SILENCE, Quantity.LOST_FOR_POLLS),
    withheld=MappingProxyType(dict.fromkeys((Quantity.LOST_FOR_SILENCE, Quantity.LOST_FOR_POLLS), _NOT_COUNTED)),
)

NODE_RDKAFKA: Final = Convention(
    name="node-rdkafka-prometheus",
    title="node-rdkafka-prometheus",
    libraries=("node-rdkafka", "confluent-kafka-python", "confluent-kafka-javascript"),
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
"""Those that tell neither heartbeats nor what became of a membership."""
