"""The queries of `doctor` and `recommend`: bounded in number, and nothing breaks out of them."""

import re
from datetime import timedelta

import pytest

from heartbeat_tuner.doctor import discovery
from heartbeat_tuner.doctor.uses import USES
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support.inventories import CONVENTIONS

HOUR = timedelta(hours=1)


def test_kinds_are_counted_by_all_that_tells_exporter_group_and_client() -> None:
    """A label that is not asked for is not there: the exporter would be taken for another."""
    asked = discovery.kinds(CONVENTIONS, (), lookback=HOUR)
    by = re.split(r", ", asked.partition("count by (")[2].partition(")")[0])
    assert {"__name__", "namespace", "job", "client_id", "clientid", "group_id", "kafka_version", "api_name"} <= set(by)
    assert asked.endswith("[3600s]))")
    assert "namespace=~" not in asked


def test_stream_threads_are_asked_for_by_their_own_label() -> None:
    """They have no client id; exporters that tell nothing of them are not asked."""
    jmx, kafkajs = (
        discovery.threads_of_group(convention, namespace="shop", group="orders.eu", window=HOUR)
        for convention in (java_metrics.JMX_EXPORTER, kafkajs_metrics.EXPORTER)
    )
    assert 'thread_id=~"\\"?orders\\\\.eu-.*-StreamThread-.*"' in jmx
    assert "tasks_lost_latency_max" in jmx
    assert jmx.endswith('namespace=~"shop"}[3600s]')
    assert kafkajs == ""


@pytest.mark.parametrize("hostile", ['x"} or up{a="', "a.b", "a|b"])
def test_namespaces_are_quoted(hostile: str) -> None:
    """They come from a command line that may be a script's."""
    for asked in (
        discovery.kinds(CONVENTIONS, [hostile], lookback=HOUR),
        discovery.members(CONVENTIONS, [hostile]),
        discovery.strangers(CONVENTIONS, [hostile]),
        discovery.around(CONVENTIONS, [hostile]),
    ):
        escaped = re.escape(hostile).replace("\\", "\\\\").replace('"', '\\"')
        assert f'namespace=~"{escaped}"' in asked


def test_each_exporter_has_a_metric_that_tells_its_members() -> None:
    """Without one, pods and scrapes of its groups would never be seen."""
    asked = discovery.members(CONVENTIONS, ())
    for convention in CONVENTIONS:
        names = [re.escape(metric.names[0]).replace("\\", "\\\\") for metric in discovery.telling(convention)]
        assert not convention.needed or any(name in asked for name in names)


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("app_time_between_poll_max", Quantity.POLL_GAP_MAX),
        ("app_time_between_poll_max_seconds", Quantity.POLL_GAP_MAX),
        ("kafka.consumer.time-between-poll-max", Quantity.POLL_GAP_MAX),
        ("app_last_poll_seconds_ago", Quantity.POLL_AGE),
        ("kafka_consumer_coordinator_metrics_rebalance_total", Quantity.REBALANCES),
        ("kafka_consumer_coordinator_metrics_failed_rebalance_total", Quantity.FAILED_REBALANCES),
        ("my_consumer_join_total", Quantity.JOIN_ANSWERS),
        ("my_consumer_heartbeats", Quantity.HEARTBEATS),
        ("x_rebalance_latency_ms_total", Quantity.REBALANCE_TIME),
        ("node_heartbeat_total", None),
        ("kafka_consumer_heartbeat_rate", None),
        ("kafka_consumer_rebalance_rate_per_hour", None),
        ("kafka_consumer_rebalance_latency_max", None),
    ],
)
def test_an_unknown_name_is_likely_what_its_end_says(name: str, quantity: Quantity | None) -> None:
    """Rates and means are nothing that can be measured with; other programs beat, too."""
    assert discovery.likely(name) is quantity


def test_every_guess_is_of_something_that_is_used() -> None:
    """Nobody is asked to map what nothing reads."""
    assert set(discovery.LOOKS_LIKE) <= set(USES)


def test_strangers_are_no_known_names_and_no_brokers() -> None:
    """The broker counts rebalances, too, of all groups together."""
    asked = discovery.strangers(CONVENTIONS, ())
    unwanted = asked.partition('__name__!~"')[2].partition('"')[0].replace("\\\\", "\\")
    for name in (
        "kafka_consumer_heartbeat_total",
        "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count",
        "kafka_connect_worker_rebalance_completed_rebalances_total",
    ):
        assert re.fullmatch(unwanted, name)
    # The last is of an exporter that tells neither group nor client: it is known, and shows no group.
    for name in ("app_kafka_rebalance_total", "rdkafka_cgrp_rebalance_cnt"):
        assert not re.fullmatch(unwanted, name)


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("rdkafka_cgrp_rebalance_cnt", discovery.STATISTICS, True),
        ("cgrp_assignment_size", discovery.STATISTICS, True),
        ("app_librdkafka_cgrp_rebalance_age_milliseconds", discovery.STATISTICS, True),
        ("kafka.cgrp.rebalance.cnt", discovery.STATISTICS, True),
        ("cgroup_rebalance_cnt", discovery.STATISTICS, False),
        ("kafka_consumer_heartbeat_rate", discovery.RATES, True),
        ("kafka_consumer_rebalance_rate_per_hour", discovery.RATES, True),
        ("kafka_consumer_fetch_rate", discovery.RATES, False),
        ("node_heartbeat_rate", discovery.RATES, False),
    ],
)
def test_statistics_and_rates_are_told_by_their_names(name: str, pattern: str, *, fits: bool) -> None:
    """Whatever an exporter puts before them."""
    assert bool(re.fullmatch(pattern, name)) is fits
    assert discovery.likely(name) is None


def test_a_group_is_read_by_its_label_or_by_its_client_ids() -> None:
    """One group's series only, however its name looks."""
    ours = discovery.of_group(kafkajs_metrics.EXPORTER, USES, namespace="shop", group="a.b", window=HOUR)
    assert 'group_id=~"a\\\\.b"' in ours
    assert 'namespace=~"shop"' in ours
    java_s = discovery.of_group(java_metrics.JMX_EXPORTER, USES, namespace="shop", group="a.b", window=HOUR)
    pattern = java_s.partition('client_id=~"')[2].partition('",namespace')[0].replace('\\"', '"').replace("\\\\", "\\")
    assert re.fullmatch(pattern, "consumer-a.b-1")
    assert re.fullmatch(pattern, '"consumer-a.b-1"')
    assert not re.fullmatch(pattern, "consumer-axb-1")
    assert not re.fullmatch(pattern, "consumer-a.bc-1")


def test_what_has_no_pod_is_around_none() -> None:
    """Pushed series may lack it: those of a process beside a consumer's would look like a job that lost its pods."""
    consumers = discovery.around(CONVENTIONS, ()).partition(" and on (namespace, pod) ")[2]
    assert 'pod!=""' in consumers.partition(" or on (job) ")[0]


def test_consumers_of_each_namespace_are_counted_with_those_that_ended() -> None:
    """A namespace is as large as its largest metric says, however many metrics each of its consumers has."""
    query = discovery.members_of_namespaces([java_metrics.JMX_EXPORTER], ["shop"], lookback=timedelta(hours=2))
    counted, looked_at = query.split("(last_over_time(")
    assert counted == "max by (namespace) (count by (__name__, namespace) "
    assert 'namespace=~"shop"' in looked_at
    assert looked_at.endswith("}[7200s])))")
