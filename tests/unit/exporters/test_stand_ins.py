"""Our stand-ins write what the exporters they stand in for would write, habits and all."""

from typing import Any

from tests.exporters.python.exposition import Exposition
from tests.exporters.python.group_names import Group, kafka_exporter, kminion
from tests.exporters.python.kube_state import samples_of_pod
from tests.exporters.python.statistics_names import allsopp, confluent_dotnet, mcolomerc

_WINDOW = ("min", "max", "avg", "sum", "cnt", "stddev", "p50", "p75", "p90", "p95", "p99", "p99_99", "outofrange")
_OF_BROKER = (
    *("stateage", "waitresp_cnt", "tx", "txretries", "txerrs", "txidle", "req_timeouts", "rx", "rxerrs"),
    *("wakeups", "connects", "disconnects", "rxidle"),
)


def _statistics(*, reason: str = "", rebalances: int = 1, rtt_avg_us: int = 0) -> dict[str, Any]:
    window = dict.fromkeys(_WINDOW, 0)
    coordinator = {
        "name": "GroupCoordinator",
        "nodename": "broker:9092",
        "nodeid": -1,
        "source": "logical",
        "state": "UP",
        "req": {"Heartbeat": 7},
        **dict.fromkeys(_OF_BROKER, 0),
        **dict.fromkeys(("int_latency", "outbuf_latency", "throttle"), window),
        "rtt": window | {"avg": rtt_avg_us},
    }
    numbers = ("replyq", "msg_cnt", "msg_size", "metadata_cache_cnt", "age", "time", "tx", "rx", "txmsgs", "rxmsgs")
    group = {"state": "up", "join_state": "steady", "rebalance_reason": reason, "rebalance_cnt": rebalances}
    return {
        "name": "pod-a#consumer-1",
        "client_id": "pod-a",
        "type": "consumer",
        **dict.fromkeys(numbers, 0),
        "brokers": {"GroupCoordinator": coordinator},
        "topics": {},
        "cgrp": group | {"stateage": 1, "rebalance_age": 2, "assignment_size": 3},
    }


def _lines(exposition: Exposition, name: str) -> list[str]:
    return [line for line in exposition.text().splitlines() if line.startswith((f"{name}{{", f"{name} "))]


def test_a_new_reason_starts_another_series_at_the_whole_count() -> None:
    """A sum over such series counts rebalances twice: the trap is in the data."""
    exposition = Exposition()
    mcolomerc(exposition, _statistics(reason="", rebalances=2))
    mcolomerc(exposition, _statistics(reason="group is rebalancing", rebalances=3))
    values = [line.rpartition(" ")[2] for line in _lines(exposition, "librdkafka_consumergroups_rebalance_cnt")]
    assert values == ["2", "3"]


def test_series_without_a_client_are_one_for_all_clients() -> None:
    """Only the scrape's own labels tell members apart."""
    exposition = Exposition()
    allsopp(exposition, _statistics(rebalances=2))
    allsopp(exposition, _statistics(rebalances=4))
    assert _lines(exposition, "librdkafka_cgrp_rebalance_cnt") == ["librdkafka_cgrp_rebalance_cnt 4"]
    assert [line.rpartition(" ")[2] for line in _lines(exposition, "librdkafka_brokers_req")] == ["7"]


def test_what_is_called_milliseconds_is_microseconds() -> None:
    """The name lies, there as here."""
    exposition = Exposition()
    confluent_dotnet(exposition, _statistics(rtt_avg_us=1500))
    (line,) = _lines(exposition, "kafka_broker_latency_average_ms")
    assert line.endswith(" 1500")


def test_a_label_of_any_text_stays_one_label() -> None:
    """A reason is the broker's text, which may have quotes and lines."""
    exposition = Exposition()
    exposition.set("m", "gauge", {"reason": 'a "b"\\\nc'}, 1)
    assert exposition.text().splitlines()[1:] == ['m{reason="a \\"b\\"\\\\\\nc"} 1']


def test_a_partition_without_an_offset_has_a_lag_of_minus_one_with_one_exporter_only() -> None:
    """kafka_exporter says so on purpose, kminion never goes below zero."""
    group = Group("orders", "Stable", 2, 0, 1, "range", {("t", 0): -1, ("t", 1): 5}, {("t", 0): 9, ("t", 1): 8})
    first, second = Exposition(), Exposition()
    kafka_exporter(first, group)
    kminion(second, group)
    assert [line[-2:] for line in _lines(first, "kafka_consumergroup_lag")] == ["-1", " 3"]
    assert _lines(first, "kafka_consumergroup_lag_sum") == [
        'kafka_consumergroup_lag_sum{consumergroup="orders",topic="t"} 3'
    ]
    lags = [line.rpartition(" ")[2] for line in _lines(second, "kminion_kafka_consumer_group_topic_partition_lag")]
    assert lags == ["0", "3"]


def test_a_pod_that_is_to_end_and_is_not_ready_has_a_deletion_time_and_no_ready_time() -> None:
    """A ready time that stayed would be read as readiness."""
    pod = {
        "metadata": {
            "namespace": "shop",
            "name": "orders-1",
            "uid": "u",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionTimestamp": "2026-01-01T00:00:40Z",
        },
        "spec": {"nodeName": "n"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:30Z"}],
        },
    }
    found = {name: value for name, _, _, value in samples_of_pod(pod)}
    assert found["kube_pod_deletion_timestamp"] - found["kube_pod_created"] == 40
    assert "kube_pod_status_ready_time" not in found
