"""A policy's own names, laid over its library's conventions: for it alone, and in no unit that nobody said."""

from datetime import timedelta

import pytest

from heartbeat_tuner.domain.policies import Naming
from heartbeat_tuner.metrics.conventions import custom, java_metrics, kafkajs_metrics, known_conventions
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

MINUTE = timedelta(minutes=1)


def test_without_names_of_its_own_a_policy_has_its_librarys_conventions() -> None:
    """The very same objects: what is read for all is sorted by them."""
    assert custom.of_policy(Naming(), "java") == known_conventions.of_library("java")
    assert custom.of_policy(Naming("micrometer"), "java") == (java_metrics.MICROMETER,)
    assert custom.of_policy(Naming("micrometer"), "kafkajs") == ()


@pytest.mark.parametrize(
    ("name", "hint"), [("micro-meter", "did you mean micrometer?"), ("zzz", "; known are auto, jmx-exporter")]
)
def test_an_unknown_convention_names_the_nearest(name: str, hint: str) -> None:
    """A typo is repaired without the manual."""
    with pytest.raises(ValueError, match=r"convention '.*' is unknown") as caught:
        custom.known(name)
    assert hint in str(caught.value)


def test_no_policy_names_what_can_only_be_unknown() -> None:
    """The statistics of librdkafka lack heartbeats and evictions, whatever names a policy gives to the rest."""
    with pytest.raises(ValueError, match="convention 'node-rdkafka-prometheus' is unknown"):
        custom.known("node-rdkafka-prometheus")
    assert "group-watcher" in {convention.name for convention in custom.CONVENTIONS}


def test_an_own_name_stands_for_the_exporters() -> None:
    """For what is not named, the exporter's name holds; matchers are the exporter's own."""
    (adapted,) = custom.of_policy(Naming(names={"heartbeatRequests": "site_beats"}), "kafkajs")
    assert adapted.by_quantity[Quantity.HEARTBEAT_REQUESTS].names == ("site_beats",)
    assert adapted.by_quantity[Quantity.HEARTBEAT_REQUESTS].matchers == ()
    assert adapted.by_quantity[Quantity.REBALANCES] == kafkajs_metrics.EXPORTER.by_quantity[Quantity.REBALANCES]
    assert adapted.needed == kafkajs_metrics.EXPORTER.needed


@pytest.mark.parametrize(
    ("library", "quantity", "name", "unit_s"),
    [
        ("java", "pollGapMax", "site_poll_gap", 0.001),
        ("java", "pollGapMax", "site_poll_gap_seconds", 1.0),
        ("java", "pollGapMax", "site.poll.gap.ms", 0.001),
        ("java", "pollGapMax", "site_items_seen", 0.001),
        ("java", "pollAge", "last_poll_seconds_ago", 1.0),
        ("java", "rebalanceTime", "site_join_time", 0.001),
        ("java", "rebalanceTime", "site_join_microseconds_total", 0.000_001),
        ("java", "rebalanceTime", "site_join_us_total", 0.000_001),
        ("java", "rebalanceTime", "site.join.millis", 0.001),
        ("java", "rebalanceTime", "site_join_ns", 0.000_000_001),
        ("java", "rebalances", "site_joins_ms", 1.0),
        ("kafkajs", "rebalanceTime", "site_join_time", 1.0),
        ("kafkajs", "pollGapMax", "site_poll_gap", 1.0),
    ],
)
def test_the_unit_is_the_names_or_else_the_exporters(library: str, quantity: str, name: str, unit_s: float) -> None:
    """Milliseconds read as seconds would make every poll gap dangerous."""
    for adapted in custom.of_policy(Naming(names={quantity: name}), library):
        assert adapted.by_quantity[custom.QUANTITIES[quantity]].unit_s == unit_s


def test_own_labels_tell_client_group_namespace_and_pod() -> None:
    """A relabelled series is one of the group's as an untouched one is."""
    naming = Naming(labels={"clientId": "client", "namespace": "k8s_ns", "pod": "k8s_pod"})
    labels = {
        "__name__": java_metrics.JMX_EXPORTER.by_quantity[Quantity.HEARTBEATS].names[0],
        "client": "consumer-orders-1",
    }
    raw = Series.from_raw({**labels, "k8s_ns": "shop", "k8s_pod": "orders-0"}, [(1.0, 1.0)])
    (usual,) = custom.usual([raw], naming)
    assert (usual.labels["namespace"], usual.labels["pod"]) == ("shop", "orders-0")
    found = resolver.by_convention([usual], custom.of_policy(naming, "java"), ("shop", "orders"))
    assert [list(item) for item in found.values() if item] == [[Quantity.HEARTBEATS]]


@pytest.mark.parametrize(
    ("labels", "library", "series"),
    [
        ({"group": "team_group"}, "java", {"team_group": "orders", "client_id": "billing"}),
        ({"group": "team_group"}, "kafkajs", {"team_group": "orders"}),
        ({"clientId": "client"}, "kafkajs", {"client": "consumer-orders-1", "group_id": "other"}),
    ],
)
def test_the_group_is_read_from_the_label_that_the_policy_names(
    labels: dict[str, str], library: str, series: dict[str, str]
) -> None:
    """The way out for consumers with a client.id of their own."""
    conventions = custom.of_policy(Naming(labels=labels), library)
    name = conventions[0].by_quantity[Quantity.REBALANCES].names[0]
    beats = Series.from_raw({"__name__": name, "namespace": "shop", "pod": "p", **series}, [(1.0, 1.0)])
    assert resolver.by_convention([beats], conventions, ("shop", "orders"))[conventions[0]] == {
        Quantity.REBALANCES: [beats]
    }


def test_the_query_is_bound_to_the_namespace_whatever_the_policy_calls_its_label() -> None:
    """A label that a tenant names must not open another's series, which say their namespace in the usual one."""
    conventions = custom.of_policy(Naming(names={"heartbeats": "own"}), "kafkajs")
    usual = custom.query(conventions[:1], Naming(), namespace="shop", window=MINUTE)
    assert ',namespace=~"shop"}[60s]' in usual
    assert '|own",' in usual
    renamed = custom.query(conventions, Naming(labels={"namespace": "team.ns"}), namespace="shop", window=MINUTE)
    assert ',"team.ns"=~"shop",namespace=~"|shop"}[60s]' in renamed


def test_names_cannot_break_out_of_the_query() -> None:
    """The boundary refuses such names; the query would hold them all the same."""
    hostile = 'a"} or {b=~".*'
    conventions = custom.of_policy(Naming(names={"heartbeats": hostile}), "kafkajs")
    asked = custom.query(conventions, Naming(labels={"namespace": hostile}), namespace="shop", window=MINUTE)
    assert asked.count("}") - asked.count("\\\\}") == 2  # the selector's own, and one within a quoted label
    assert '"a\\"} or {b=~\\".*"=~"shop"' in asked
