"""Whose a series is, which convention it follows, and what it means: names alone do not tell."""

import itertools
from collections.abc import Mapping

import pytest

from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, known_conventions
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

TASKS_LOST = "kafka_streams_stream_thread_metrics_tasks_lost_latency_max"
PROCESS = "11bc6d45-9af3-47e7-bfc1-2ee82cbcf12d"
JMX_BEATS = "kafka_consumer_consumer_coordinator_metrics_heartbeat"
GROUPS = {("shop", "orders"), ("shop", "orders-eu"), ("shop", "x-orders"), ("shop", "x")}


def series(name: str, *values: float, **labels: str) -> Series:
    """Return a series of pod `orders-0` in namespace `shop`."""
    whole = {"__name__": name, "namespace": "shop", "pod": "orders-0", **labels}
    return Series.from_raw(whole, ((float(number), value) for number, value in enumerate(values or (1.0,))))


def conventions_of(*found: Series) -> dict[str, set[str]]:
    """Return which conventions were seen, by group."""
    by_group = resolver.by_group(found, known_conventions.CONVENTIONS, GROUPS)
    return {place[1]: {convention.name for convention in by_convention} for place, by_convention in by_group.items()}


@pytest.mark.parametrize(
    ("name", "labels", "convention"),
    [
        (JMX_BEATS, {"client_id": "consumer-orders-1"}, java_metrics.JMX_EXPORTER),
        (f"{JMX_BEATS}_total", {"client_id": "consumer-orders-1"}, java_metrics.JMX_EXPORTER),
        (
            "kafka_consumer_coordinator_heartbeat_total",
            {"client_id": "consumer-orders-1", "kafka_version": "4.4.0"},
            java_metrics.MICROMETER,
        ),
        ("kafka_consumer_coordinator_heartbeat_total", {"clientid": "consumer-orders-1"}, java_metrics.STRIMZI),
        ("kafka_consumer_heartbeat_total", {"client_id": "consumer-orders-1"}, java_metrics.OPENTELEMETRY),
        ("kafka_consumer_heartbeat_total", {"group_id": "orders", "member_id": "m-1"}, kafkajs_metrics.EXPORTER),
        (
            "kafka_consumer_heartbeat_total",
            {"group_id": "orders", "member_id": "m-1", "client_id": "mine"},
            kafkajs_metrics.EXPORTER,
        ),
    ],
)
def test_name_and_labels_together_tell_the_exporter(
    name: str, labels: Mapping[str, str], convention: Convention
) -> None:
    """Three exporters have one name for two things."""
    assert conventions_of(series(name, **labels)) == {"orders": {convention.name}}


@pytest.mark.parametrize(
    ("client_id", "pod", "group"),
    [
        ("consumer-orders-1", "orders-0", "orders"),
        ('"consumer-orders-1"', "orders-0", "orders"),
        ("consumer-orders-eu-1", "orders-0", "orders-eu"),
        ("consumer-orders-orders-0", "orders-0", "orders"),
        ("consumer-x-orders-1", "orders-1", "x-orders"),
        ("consumer-orders-1", "orders-1", "orders"),
        (f"orders-{PROCESS}-StreamThread-1-consumer", "orders-0", "orders"),
        (f"orders-eu-{PROCESS}-StreamThread-12-consumer", "orders-0", "orders-eu"),
        (f"orders-{PROCESS}-StateUpdater-1-restore-consumer", "orders-0", None),
        ("orders-StreamThread-1-consumer", "orders-0", None),
        ("billing", "orders-0", None),
        ("consumer-", "orders-0", None),
        ("consumer--1", "orders-0", None),
        ("consumer-other-1", "orders-0", None),
        ("consumer-orders-eu", "orders-0", None),
    ],
)
def test_the_group_is_read_from_the_consumers_own_client_id(client_id: str, pod: str, group: str | None) -> None:
    """A number goes before an instance id, and only the pod's name is taken for one: a guess would be another's."""
    found = conventions_of(series(JMX_BEATS, client_id=client_id, pod=pod))
    assert found == ({} if group is None else {group: {"jmx-exporter"}})


def test_a_stream_thread_is_its_consumer_s() -> None:
    """Kafka Streams' own metrics have the thread's name; the admin client and the consumer's metrics have more."""
    thread = f"orders-{PROCESS}-StreamThread-1"
    assert conventions_of(series(TASKS_LOST, thread_id=thread)) == {"orders": {"jmx-exporter"}}
    assert conventions_of(series(TASKS_LOST, thread_id="")) == {}
    assert conventions_of(series(TASKS_LOST, client_id=f"{thread}-consumer")) == {}
    owners = {("shop", "orders-0", "mine-StreamThread-1-consumer"): ("shop", "orders")}
    labels = series(TASKS_LOST, thread_id="mine-StreamThread-1").labels
    place = resolver.place_of(labels, known_conventions.CONVENTIONS, GROUPS, owners)
    assert place is not None
    assert place.metric.quantity is Quantity.TASKS_LOST_LATENCY_MAX


def test_series_of_another_namespace_are_another_group() -> None:
    """A group's name says nothing of whose it is."""
    assert conventions_of(series(JMX_BEATS, client_id="consumer-orders-1", namespace="bank")) == {}


def test_values_are_seconds_and_never_below_zero() -> None:
    """Milliseconds become seconds by the name's unit, whatever the value; -1 says `never`."""
    found = [
        series("kafka_consumer_consumer_metrics_time_between_poll_max", 0.5, 5_000.0, client_id="consumer-orders-1"),
        series("kafka_consumer_consumer_metrics_last_poll_seconds_ago", -1.0, 7.0, client_id="consumer-orders-1"),
    ]
    mine = resolver.by_group(found, known_conventions.CONVENTIONS, GROUPS)["shop", "orders"][java_metrics.JMX_EXPORTER]
    assert [sample.value for sample in mine[Quantity.POLL_GAP_MAX][0].samples] == [0.0005, 5.0]
    assert [(sample.time_s, sample.value) for sample in mine[Quantity.POLL_AGE][0].samples] == [(1.0, 7.0)]


def test_other_requests_are_no_heartbeats() -> None:
    """KafkaJS' counter of requests has all of them under one name."""
    found = [
        series("kafkajs_consumer_requests_total", 3.0, group_id="orders", api_name="Heartbeat"),
        series("kafkajs_consumer_requests_total", 99.0, group_id="orders", api_name="Fetch"),
    ]
    mine = resolver.by_group(found, known_conventions.CONVENTIONS, GROUPS)["shop", "orders"][kafkajs_metrics.EXPORTER]
    assert [item.samples[0].value for item in mine[Quantity.HEARTBEAT_REQUESTS]] == [3.0]


def test_twins_count_once_and_the_fuller_one_stays() -> None:
    """Two replicas of Prometheus, or two jobs, scrape each pod twice."""
    first, second = (
        series(JMX_BEATS, *values, client_id="consumer-orders-1", prometheus_replica=replica)
        for replica, values in (("a", (1.0, 2.0)), ("b", (1.0, 2.0, 3.0, 4.0, 5.0)))
    )
    for found in ([first, second], [second, first]):
        mine = resolver.by_group(found, known_conventions.CONVENTIONS, GROUPS)["shop", "orders"][
            java_metrics.JMX_EXPORTER
        ]
        assert [len(item.samples) for item in mine[Quantity.HEARTBEATS]] == [5]


def test_of_twins_without_samples_it_makes_no_difference_which_stays() -> None:
    """One of them was cut before its first sample."""
    first = series(JMX_BEATS, 1.0, client_id="consumer-orders-1", prometheus_replica="a")
    empty = Series.from_raw({**first.labels, "prometheus_replica": "b"}, ())
    for found in ([first, empty], [empty, first]):
        mine = resolver.by_group(found, known_conventions.CONVENTIONS, GROUPS)["shop", "orders"][
            java_metrics.JMX_EXPORTER
        ]
        assert [len(each.samples) for each in mine[Quantity.HEARTBEATS]] == [1]


def test_a_pod_that_came_back_at_another_address_has_one_series() -> None:
    """As one of a StatefulSet: its counter begins again, and neither of its lives is lost; replicas tell it twice."""

    def life(address: str, replica: str, *pairs: tuple[float, float]) -> Series:
        labels = {"__name__": JMX_BEATS, "namespace": "shop", "pod": "orders-0", "client_id": "consumer-orders-1"}
        return Series.from_raw({**labels, "instance": address, "prometheus_replica": replica}, pairs)

    lives = [
        life(address, replica, *pairs)
        for replica in "ab"
        for address, pairs in (
            ("10.0.0.1:9404", ((0.0, 7.0), (30.0, 17.0), (60.0, 27.0))),
            ("10.0.0.9:9404", ((120.0, 3.0), (150.0, 13.0))),
        )
    ]
    for found in itertools.permutations(lives):
        mine = resolver.by_group(found, known_conventions.CONVENTIONS, GROUPS)["shop", "orders"][
            java_metrics.JMX_EXPORTER
        ]
        (beats,) = mine[Quantity.HEARTBEATS]
        assert list(beats.samples.pairs()) == [(0.0, 7.0), (30.0, 17.0), (60.0, 27.0), (120.0, 3.0), (150.0, 13.0)]
        assert beats.labels["instance"] == "10.0.0.9:9404"
    silent = life("10.0.0.2:9404", "c")
    for some in ([silent, *lives[:2]], [*lives[:2], silent]):
        mine = resolver.by_group(some, known_conventions.CONVENTIONS, GROUPS)["shop", "orders"][
            java_metrics.JMX_EXPORTER
        ]
        assert [len(item.samples) for item in mine[Quantity.HEARTBEATS]] == [5]


def test_the_convention_that_tells_most_is_followed() -> None:
    """A pod may be scraped in two: half of what is needed by one of them, all of it by the other."""
    client = {"client_id": "consumer-orders-1"}
    jmx = [
        series(name, **client)
        for item in java_metrics.JMX_EXPORTER.needed
        for name in _names(java_metrics.JMX_EXPORTER, item)
    ]
    micrometer = [series(_names(java_metrics.MICROMETER, Quantity.HEARTBEATS)[0], **client, kafka_version="4.4.0")]
    of_java = known_conventions.of_library("java")
    found = resolver.by_group([*micrometer, *jmx], known_conventions.CONVENTIONS, GROUPS)["shop", "orders"]
    assert resolver.followed(found, of_java)[0] is java_metrics.JMX_EXPORTER
    found = resolver.by_group(micrometer, known_conventions.CONVENTIONS, GROUPS)["shop", "orders"]
    assert resolver.followed(found, of_java)[0] is java_metrics.MICROMETER
    assert resolver.followed({}, of_java) == (of_java[0], {})


def _names(convention: Convention, quantity: Quantity) -> tuple[str, ...]:
    return convention.by_quantity[quantity].names[:1]


def test_no_two_conventions_claim_one_series() -> None:
    """Whatever the order of the catalogue, a series that an exporter would give is of one convention."""
    for convention in known_conventions.CONVENTIONS:
        for metric in convention.metrics:
            for name in metric.names:
                report = {metric.thread_label} if metric.thread_label else convention.with_labels
                labels = {"__name__": name, **dict.fromkeys(report, "x"), **dict(metric.matchers)}
                assert convention.metric_of(labels) is metric
                claims = [
                    convention.name
                    for convention in known_conventions.CONVENTIONS
                    if convention.metric_of(labels) is not None
                ]
                assert claims == [convention.name], name
