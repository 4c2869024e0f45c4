"""KafkaJS: kafkajs-prometheus-exporter, and what it leaves out.

The exporter counts accepted heartbeats by member id and knows neither joins nor rebalances. Four counters of KafkaJS'
instrumentation events `consumer.network.request`, `consumer.rebalancing` and `consumer.group_join` tell the rest
(`docs/how-to/install.md` has them ready to paste).
"""

from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.vocabulary import Quantity

_NOT_COUNTED: Final = (
    "kafkajs-prometheus-exporter does not count it; add the counters of docs/how-to/install.md to the consumer"
)

EXPORTER: Final = Convention(
    name="kafkajs",
    title="kafkajs-prometheus-exporter",
    libraries=("kafkajs",),
    group_label="group_id",
    with_labels=frozenset({"group_id"}),
    metrics=(
        Metric(Quantity.HEARTBEATS, ("kafka_consumer_heartbeat_total",)),
        Metric(
            Quantity.HEARTBEAT_REQUESTS,
            ("kafkajs_consumer_requests_total",),
            matchers=(("api_name", "Heartbeat"),),
        ),
        Metric(Quantity.REBALANCE_NOTICES, ("kafkajs_consumer_rebalancing_total",)),
        Metric(Quantity.REBALANCES, ("kafkajs_consumer_group_join_seconds_count",)),
        Metric(Quantity.REBALANCE_TIME, ("kafkajs_consumer_group_join_seconds_sum",)),
    ),
    # Accepted heartbeats are not among them: their series are born with a member's first, and a storm may have none.
    needed=(
        Quantity.HEARTBEAT_REQUESTS,
        Quantity.REBALANCE_NOTICES,
        Quantity.REBALANCES,
        Quantity.REBALANCE_TIME,
    ),
    withheld=MappingProxyType(
        dict.fromkeys(
            (
                Quantity.HEARTBEAT_REQUESTS,
                Quantity.REBALANCE_NOTICES,
                Quantity.REBALANCES,
                Quantity.REBALANCE_TIME,
            ),
            _NOT_COUNTED,
        )
    ),
)

CONVENTIONS: Final = (EXPORTER,)
