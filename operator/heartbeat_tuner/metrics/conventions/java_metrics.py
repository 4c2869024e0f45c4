"""The Java consumer, whose metrics reach Prometheus by many ways that differ in names, units and what they drop.

All of them export the same attributes of the same MBeans; a rule makes a name of group and attribute:

| way | name of `heartbeat-total` | the client's label |
|---|---|---|
| the JMX exporter's default rule | `kafka_consumer_consumer_coordinator_metrics_heartbeat` | `client_id` |
| Strimzi's rules for Connect | `kafka_consumer_coordinator_heartbeat_total` | `clientid` |
| Micrometer, and with it Spring | the same | `client_id`, and `kafka_version` |
| OpenTelemetry's agent | `kafka_consumer_heartbeat_total`, or with dots | `client_id`, `client-id` |
| Strimzi's rules for its Bridge | `strimzi_bridge_kafka_consumer_heartbeat_total` | `clientId` |

Confluent's rules follow the first, whose counters end in `_total` before the exporter's release 1.0. Times are
milliseconds in all of them, but for those whose name says seconds. The group is no label of any: it is read from the
default `client.id`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.metrics.conventions.convention import Convention, Metric
from heartbeat_tuner.metrics.vocabulary import Quantity, ValueKind

LIBRARIES: Final = ("java", "java-kip848", "spring", "streams", "streams-kip1071")
"""Libraries that run the Java consumer. A Connect worker is no consumer, though its sink tasks run consumers."""

_COORDINATOR: Final = "consumer-coordinator-metrics"
_CONSUMER: Final = "consumer-metrics"
_MS: Final = 0.001

_ATTRIBUTES: Final[Mapping[Quantity, tuple[str, str, float]]] = MappingProxyType(
    {
        Quantity.HEARTBEATS: (_COORDINATOR, "heartbeat", 1.0),
        Quantity.HEARTBEAT_RESPONSE_TIME_MAX: (_COORDINATOR, "heartbeat_response_time_max", _MS),
        Quantity.HEARTBEAT_AGE: (_COORDINATOR, "last_heartbeat_seconds_ago", 1.0),
        Quantity.REBALANCES: (_COORDINATOR, "rebalance", 1.0),
        Quantity.REBALANCE_TIME: (_COORDINATOR, "rebalance_latency", _MS),
        Quantity.REBALANCE_LATENCY_MAX: (_COORDINATOR, "rebalance_latency_max", _MS),
        Quantity.REBALANCE_AGE: (_COORDINATOR, "last_rebalance_seconds_ago", 1.0),
        Quantity.FAILED_REBALANCES: (_COORDINATOR, "failed_rebalance", 1.0),
        Quantity.JOIN_ANSWERS: (_COORDINATOR, "join", 1.0),
        Quantity.JOIN_TIME_MAX: (_COORDINATOR, "join_time_max", _MS),
        Quantity.SYNC_TIME_MAX: (_COORDINATOR, "sync_time_max", _MS),
        Quantity.PARTITIONS_LOST_LATENCY_MAX: (_COORDINATOR, "partition_lost_latency_max", _MS),
        Quantity.PARTITIONS_ASSIGNED_LATENCY_MAX: (_COORDINATOR, "partition_assigned_latency_max", _MS),
        Quantity.ASSIGNED_PARTITIONS: (_COORDINATOR, "assigned_partitions", 1.0),
        Quantity.COMMIT_LATENCY_MAX: (_COORDINATOR, "commit_latency_max", _MS),
        Quantity.POLL_GAP_MAX: (_CONSUMER, "time_between_poll_max", _MS),
        Quantity.POLL_GAP_MEAN: (_CONSUMER, "time_between_poll_avg", _MS),
        Quantity.POLL_AGE: (_CONSUMER, "last_poll_seconds_ago", 1.0),
    }
)
"""Quantity to MBean group, attribute (a counter's without `-total`), and unit."""

# The longest poll gap is not among them: it is no number while nobody polls. Nor are lost ids: a member of the consumer
# protocol has no such counters, and what the broker shows of them is less, but enough.
_NEEDED: Final = (Quantity.HEARTBEATS, Quantity.REBALANCES, Quantity.REBALANCE_TIME, Quantity.POLL_AGE)

_WINDOWED: Final = tuple(attribute for attribute in _ATTRIBUTES if attribute.kind is ValueKind.WINDOWED_MAX)


def _metrics(name: Callable[[str, str], str], endings: tuple[str, ...]) -> tuple[Metric, ...]:
    """Return the consumer's metrics; `endings` are those that a counter's name may have."""
    return tuple(
        Metric(
            quantity,
            tuple(
                name(group, attribute) + ending for ending in (endings if quantity.kind is ValueKind.COUNTER else ("",))
            ),
            unit_s=unit_s,
        )
        for quantity, (group, attribute, unit_s) in _ATTRIBUTES.items()
    )


_OF_THREADS: Final = tuple(
    Metric(
        quantity,
        (f"kafka_streams_stream_thread_metrics_tasks_{happened}_latency_max",),
        unit_s=_MS,
        thread_label="thread_id",
    )
    for quantity, happened in (
        (Quantity.TASKS_ASSIGNED_LATENCY_MAX, "assigned"),
        (Quantity.TASKS_LOST_LATENCY_MAX, "lost"),
    )
)
"""Of Kafka Streams in a group of the streams protocol, since 4.2; the thread's consumer shows no lost partitions."""

_OF_POLLS: Final = frozenset({Quantity.POLL_GAP_MAX, Quantity.POLL_GAP_MEAN, Quantity.POLL_AGE})
_OF_ASSIGNMENT: Final = frozenset(
    {Quantity.PARTITIONS_LOST_LATENCY_MAX, Quantity.ASSIGNED_PARTITIONS, Quantity.COMMIT_LATENCY_MAX}
)
"""What a worker of Connect does not tell: its group distributes no partitions, and it polls for no messages."""


def _of_worker(_group: str, attribute: str) -> str:
    return f"kafka_connect_connect_coordinator_metrics_{attribute}"


def _whole_group(group: str, attribute: str) -> str:
    return f"kafka_consumer_{group.replace('-', '_')}_{attribute}"


def _short_group(group: str, attribute: str) -> str:
    return f"kafka_{group.removesuffix('-metrics').replace('-', '_')}_{attribute}"


def _no_group(_group: str, attribute: str) -> str:
    return f"kafka_consumer_{attribute}"


def _dotted(_group: str, attribute: str) -> str:
    return f"kafka.consumer.{attribute}"


def _of_bridge(_group: str, attribute: str) -> str:
    return f"strimzi_bridge_kafka_consumer_{attribute}"


def _telemetry(group: str, attribute: str) -> str:
    return f"org_apache_kafka_{group.removesuffix('-metrics').replace('-', '_')}_{attribute}"


_TOLD_LATER: Final = frozenset({"messaging_kafka_cluster_id", "messaging.kafka.cluster.id"})
"""The agent adds the cluster's id to every series once the client knows it."""

JMX_EXPORTER: Final = Convention(
    name="jmx-exporter",
    title="the JMX exporter with its default rule",
    libraries=LIBRARIES,
    client_label="client_id",
    with_labels=frozenset({"client_id"}),
    metrics=(*_metrics(_whole_group, ("", "_total")), *_OF_THREADS),
    needed=_NEEDED,
)

CONNECT_WORKER: Final = Convention(
    name="connect-worker",
    title="the JMX exporter with its default rule, on a Connect worker",
    libraries=("connect",),
    client_label="client_id",
    with_labels=frozenset({"client_id"}),
    metrics=tuple(
        metric for metric in _metrics(_of_worker, ("", "_total")) if metric.quantity not in _OF_ASSIGNMENT | _OF_POLLS
    ),
    needed=tuple(quantity for quantity in _NEEDED if quantity not in _OF_POLLS),
)

STRIMZI: Final = Convention(
    name="strimzi",
    title="the JMX exporter with Strimzi's rules for Connect and MirrorMaker",
    libraries=LIBRARIES,
    client_label="clientid",
    with_labels=frozenset({"clientid"}),
    metrics=_metrics(_short_group, ("_total",)),  # those that are withheld too: a rule of the site's may keep them
    needed=_NEEDED,
    withheld=MappingProxyType(
        dict.fromkeys(
            _WINDOWED,
            "these rules drop every maximum; add a rule that keeps the `-max` attributes of consumer-metrics and "
            "consumer-coordinator-metrics",
        )
    ),
)

MICROMETER: Final = Convention(
    name="micrometer",
    title="Micrometer",
    libraries=LIBRARIES,
    client_label="client_id",
    with_labels=frozenset({"client_id", "kafka_version"}),
    metrics=_metrics(_short_group, ("_total",)),
    needed=_NEEDED,
)

OPENTELEMETRY: Final = Convention(
    name="opentelemetry",
    title="the OpenTelemetry Java agent",
    libraries=LIBRARIES,
    client_label="client_id",
    with_labels=frozenset({"client_id"}),
    without_labels=frozenset({"kafka_version", "group_id"}),
    passing_labels=_TOLD_LATER,
    metrics=_metrics(_no_group, ("_total",)),
    needed=_NEEDED,
    lingers=True,
)

OPENTELEMETRY_DOTTED: Final = Convention(
    name="opentelemetry-dotted",
    title="the OpenTelemetry Java agent, with names that Prometheus is configured to leave unchanged",
    libraries=LIBRARIES,
    client_label="client-id",
    with_labels=frozenset({"client-id"}),
    passing_labels=_TOLD_LATER,
    metrics=_metrics(_dotted, ("_total",)),
    needed=_NEEDED,
    lingers=True,
)

STRIMZI_BRIDGE: Final = Convention(
    name="strimzi-bridge",
    title="the JMX exporter with the rules of Strimzi's Bridge",
    libraries=LIBRARIES,
    client_label="clientId",
    with_labels=frozenset({"clientId"}),
    metrics=_metrics(_of_bridge, ("_total",)),
    needed=_NEEDED,
)

_NO_COUNTERS: Final = "this binder has no counters; bind KafkaClientMetrics instead, which replaced it"

MICROMETER_JMX: Final = Convention(
    name="micrometer-jmx",
    title="Micrometer's deprecated KafkaConsumerMetrics",
    libraries=LIBRARIES,
    client_label="client_id",
    with_labels=frozenset({"client_id"}),
    metrics=(
        Metric(Quantity.HEARTBEAT_RESPONSE_TIME_MAX, ("kafka_consumer_heartbeat_response_time_max_seconds",)),
        Metric(Quantity.HEARTBEAT_AGE, ("kafka_consumer_last_heartbeat_seconds",)),
        Metric(Quantity.JOIN_TIME_MAX, ("kafka_consumer_join_time_max_seconds",)),
    ),
    needed=_NEEDED,
    withheld=MappingProxyType(dict.fromkeys(_NEEDED, _NO_COUNTERS)),
)

KIP714: Final = Convention(
    name="kip714",
    title="the client's own telemetry (KIP-714), pushed through the broker",
    libraries=LIBRARIES,
    group_label="group_id",
    with_labels=frozenset({"group_id"}),
    metrics=_metrics(_telemetry, ("_total",)),
    needed=_NEEDED,
    lingers=True,
)

_OF_SHARE_CONSUMERS: Final = frozenset(
    {
        Quantity.HEARTBEATS,
        Quantity.HEARTBEAT_RESPONSE_TIME_MAX,
        Quantity.HEARTBEAT_AGE,
        Quantity.REBALANCES,
        Quantity.POLL_GAP_MAX,
        Quantity.POLL_GAP_MEAN,
        Quantity.POLL_AGE,
    }
)


def _share_group(group: str, attribute: str) -> str:
    return f"kafka_consumer_{group.replace('consumer', 'consumer_share', 1).replace('-', '_')}_{attribute}"


SHARE_CONSUMER: Final = Convention(
    name="jmx-exporter-share",
    title="the JMX exporter with its default rule, on a share consumer",
    libraries=("java", "spring"),
    client_label="client_id",
    with_labels=frozenset({"client_id"}),
    metrics=tuple(
        metric for metric in _metrics(_share_group, ("", "_total")) if metric.quantity in _OF_SHARE_CONSUMERS
    ),
    needed=(Quantity.HEARTBEATS, Quantity.REBALANCES),
)
"""It beats, joins and polls as a consumer does, and shows no fencing (docs/design/0019)."""

CONVENTIONS: Final = (
    JMX_EXPORTER,
    CONNECT_WORKER,
    MICROMETER,
    STRIMZI,
    OPENTELEMETRY,
    OPENTELEMETRY_DOTTED,
    STRIMZI_BRIDGE,
    MICROMETER_JMX,
    KIP714,
)
