"""Stand-ins: librdkafka's statistics under the names that three exporters give them.

None of the three can be installed here, so this is ours: names, labels, types and units are as their sources have them,
and so are the two habits that matter to who reads the series, namely which of them outlive their labels.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.exporters.python.exposition import Exposition

Statistics = Mapping[str, Any]
Names = Callable[[Exposition, Statistics], None]

_QUANTILES: Final = {"p50": "0.5", "p75": "0.75", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p99_99": "0.9999"}
_WINDOW: Final = ("min", "max", "avg", "sum", "cnt", "stddev", *_QUANTILES, "outofrange")
_GAUGES_OF_GROUP: Final = ("rebalance_age", "assignment_size")
_GAUGES_OF_PARTITION: Final = ("fetchq_cnt", "committed_offset", "stored_offset", "consumer_lag", "consumer_lag_stored")
_GAUGES_OF_BROKER: Final = (
    "stateage",
    "waitresp_cnt",
    "tx",
    "txretries",
    "txerrs",
    "txidle",
    "req_timeouts",
    "rx",
    "rxerrs",
)
_COUNTERS_OF_BROKER: Final = (
    "tx",
    "txerrs",
    "txretries",
    "req_timeouts",
    "rx",
    "rxerrs",
    "wakeups",
    "connects",
    "disconnects",
    "txidle",  # an age in microseconds, whatever it is called
    "rxidle",
)
_WINDOWS_OF_BROKER: Final = ("int_latency", "outbuf_latency", "rtt", "throttle")


def mcolomerc(exposition: Exposition, statistics: Statistics) -> None:
    """Write them as mcolomerc/librdkafka-prometheus-exporter does: states and reasons are labels, and nothing goes."""
    root = {name: statistics[name] for name in ("client_id", "name", "type")}
    for name in ("msg_cnt", "msg_size", "metadata_cache_cnt"):
        exposition.set(f"librdkafka_{name}", "gauge", root, statistics[name])
    for name in ("tx", "rx", "txmsgs", "rxmsgs"):
        _count(exposition, f"librdkafka_{name}", root, statistics[name])
    for broker in statistics["brokers"].values():
        labels = {**root, "broker": broker["name"]}
        labels |= {name: broker[name] for name in ("nodeid", "nodename", "source", "state")}
        _set_all(exposition, "librdkafka_brokers_", "gauge", labels, {name: broker[name] for name in _GAUGES_OF_BROKER})
        for window in _WINDOWS_OF_BROKER:
            values = {name: broker[window][name] for name in _WINDOW}
            _set_all(exposition, f"librdkafka_brokers_{window}_", "gauge", labels, values)
    for topic, number, partition in _partitions(statistics):
        labels = {**root, "topic": topic, "partition": number}
        labels |= {name: partition[name] for name in ("broker", "leader")}
        values = {name: partition[name] for name in _GAUGES_OF_PARTITION}
        _set_all(exposition, "librdkafka_topics_partitions_", "gauge", labels, values)
        _count(exposition, "librdkafka_topics_partitions_rxmsgs", labels, partition["rxmsgs"])
    if (group := statistics.get("cgrp")) is not None:
        labels = {**root, **{name: group[name] for name in ("state", "join_state", "rebalance_reason")}}
        values = {name: group[name] for name in ("stateage", *_GAUGES_OF_GROUP)}
        _set_all(exposition, "librdkafka_consumergroups_", "gauge", labels, values)
        _count(exposition, "librdkafka_consumergroups_rebalance_cnt", labels, group["rebalance_cnt"])


def _count(exposition: Exposition, name: str, labels: Mapping[str, object], value: float) -> None:
    """Set a counter by adding what it grew by: one that never grew is not there at all."""
    if value > 0:
        exposition.set(name, "counter", labels, value)


def allsopp(exposition: Exposition, statistics: Statistics) -> None:
    """Write them as allsopp/librdkafka-exporter does: only the client's own series say whose they are."""
    now = Exposition()
    root = {name: statistics[name] for name in ("client_id", "type")}
    for name in ("replyq", "msg_cnt", "metadata_cache_cnt"):
        now.set(f"librdkafka_{name}", "gauge", root, statistics[name])
    for name in ("age", "time", "tx", "rx", "rxmsgs"):
        now.set(f"librdkafka_{name}", "counter", root, statistics[name])
    for broker in statistics["brokers"].values():
        labels = {name: broker[name] for name in ("name", "nodename", "source")}
        now.set("librdkafka_brokers_waitresp_cnt", "gauge", labels, broker["waitresp_cnt"])
        values = {name: broker[name] for name in _COUNTERS_OF_BROKER}
        _set_all(now, "librdkafka_brokers_", "counter", labels, values)
        for request, count in broker["req"].items():
            now.set("librdkafka_brokers_req", "counter", {**labels, "req": request}, count)
        for window in _WINDOWS_OF_BROKER:
            _summary(now, f"librdkafka_brokers_{window}", labels, broker[window])
    for topic, number, partition in _partitions(statistics):
        labels = {"partition": number, "topic": topic}
        values = {name: partition[name] for name in _GAUGES_OF_PARTITION}
        _set_all(now, "librdkafka_partitions_", "gauge", labels, values)
        now.set("librdkafka_partitions_rxmsgs", "counter", labels, partition["rxmsgs"])
    if (group := statistics.get("cgrp")) is not None:
        _set_all(now, "librdkafka_cgrp_", "gauge", {}, {name: group[name] for name in _GAUGES_OF_GROUP})
        now.set("librdkafka_cgrp_rebalance_cnt", "counter", {}, group["rebalance_cnt"])
    exposition.become(now)


def _summary(exposition: Exposition, name: str, labels: Mapping[str, object], window: Mapping[str, float]) -> None:
    """Write a window as a summary; its sum and count begin again with every window, unlike a real summary's."""
    for percentile, quantile in _QUANTILES.items():
        exposition.set(name, "summary", {**labels, "quantile": quantile}, window[percentile])
    exposition.set(f"{name}_sum", "summary", labels, window["sum"], family=name)
    exposition.set(f"{name}_count", "summary", labels, window["cnt"], family=name)


def confluent_dotnet(exposition: Exposition, statistics: Statistics) -> None:
    """Write them as the .NET handler of Confluent's monitoring stacks does: all gauges, and µs that are called ms."""
    client = {"client_id": statistics["client_id"]}
    stack = {"librdkafka_type": statistics["type"], "application": "recorded"}
    group = statistics.get("cgrp", {})
    values = {
        "kafka_consumed_total": statistics["rxmsgs"],
        "kafka_ops_waiting_queue_total": statistics["replyq"],
        "kafka_responses_received_total": statistics["rx"],
        # Its model of the group is there from the start, with zeros.
        "kafka_rebalance_age": group.get("rebalance_age", 0),
        "kafka_rebalance_total": group.get("rebalance_cnt", 0),
    }
    _set_all(exposition, "", "gauge", {**client, **stack}, values)
    for broker in statistics["brokers"].values():
        labels = {**client, "broker_id": broker["nodeid"], **stack}
        values = {
            "kafka_broker_responses_total": broker["rx"],
            "kafka_broker_error_total": broker["rxerrs"],
            "kafka_broker_connection_total": broker["connects"],
            "kafka_broker_disconnection_total": broker["disconnects"],
            "kafka_broker_latency_average_ms": broker["rtt"]["avg"],
        }
        _set_all(exposition, "", "gauge", labels, values)
    for topic, number, partition in _partitions(statistics):
        labels = {**client, "broker_id": partition["broker"], "topic": topic, "partition_id": number, **stack}
        exposition.set("kafka_partition_lag", "gauge", labels, partition["consumer_lag"])
        exposition.set("kafka_partition_message_consumed_total", "gauge", labels, partition["rxmsgs"])


def _set_all(
    exposition: Exposition, prefix: str, kind: str, labels: Mapping[str, object], values: Mapping[str, float]
) -> None:
    """Set series of one kind that have the same labels."""
    for name, value in values.items():
        exposition.set(f"{prefix}{name}", kind, labels, value)


def _partitions(statistics: Statistics) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Yield topic, number and statistics of each partition; -1 is librdkafka's own, of messages without one."""
    for topic in statistics["topics"].values():
        for partition in topic["partitions"].values():
            yield topic["topic"], partition["partition"], partition


NAMES: Final[Mapping[str, Names]] = {
    "mcolomerc": mcolomerc,
    "allsopp": allsopp,
    "confluent-dotnet": confluent_dotnet,
}
