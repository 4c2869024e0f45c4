"""What is exported around a consumer: which of it is a pod's, and which series are the same."""

from collections.abc import Mapping

import pytest

from heartbeat_tuner.metrics.conventions import known_conventions, platform
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity

PODS = {("shop", "orders-0"), ("shop", "orders-1")}
MINE = ("shop", "orders-0")


def series(metric: str, /, *values: float, **labels: str) -> Series:
    """Return a series of pod `orders-0` in namespace `shop`, a sample every ten seconds."""
    whole = {"__name__": metric, "namespace": "shop", "pod": "orders-0", **labels}
    return Series.from_raw(whole, ((10.0 * number, value) for number, value in enumerate(values or (1.0,))))


def around(*found: Series) -> dict[Quantity, list[Series]]:
    """Return what is known around pod `orders-0`."""
    return resolver.by_pod(found, platform.CONVENTIONS, PODS).get(MINE, {})


KSM = {"uid": "u-1", "job": "kube-state-metrics", "instance": "10.0.0.9:8080"}
KUBELET = {"container": "app", "id": "/kubepods/x", "image": "app:1", "name": "c1", "job": "kubelet", "node": "n-1"}


@pytest.mark.parametrize(
    ("name", "labels", "quantity"),
    [
        ("kube_pod_start_time", KSM, Quantity.POD_STARTED),
        ("kube_pod_status_ready_time", KSM, Quantity.POD_READY),
        ("kube_pod_deletion_timestamp", KSM, Quantity.POD_DELETED),
        ("kube_pod_container_state_started", {**KSM, "container": "app"}, Quantity.CONTAINER_STARTED),
        ("kube_pod_container_status_last_terminated_timestamp", {**KSM, "container": "app"}, Quantity.CONTAINER_ENDED),
        ("kube_pod_container_status_restarts_total", {**KSM, "container": "app"}, Quantity.CONTAINER_RESTARTS),
        ("container_cpu_cfs_periods_total", KUBELET, Quantity.CPU_PERIODS),
        ("container_cpu_cfs_throttled_periods_total", KUBELET, Quantity.CPU_THROTTLED_PERIODS),
        ("container_cpu_cfs_throttled_seconds_total", KUBELET, Quantity.CPU_THROTTLED_TIME),
        ("container_pressure_cpu_stalled_seconds_total", KUBELET, Quantity.CPU_STALLED_TIME),
        ("jvm_gc_pause_seconds_max", {"action": "a", "cause": "c", "gc": "G1"}, Quantity.GC_PAUSE_MAX),
        ("jvm_gc_collection_seconds_sum", {"gc": "G1"}, Quantity.GC_TIME),
        ("jvm_gc_collection_seconds_count", {"gc": "G1"}, Quantity.GC_COUNT),
        ("jvm_gc_duration_seconds_sum", {"jvm_gc_name": "G1"}, Quantity.GC_TIME),
        ("jvm_gc_duration_seconds_count", {"jvm_gc_name": "G1"}, Quantity.GC_COUNT),
        ("jvm_gc_duration_seconds_bucket", {"jvm_gc_name": "G1", "le": "1"}, Quantity.GC_BUCKETS),
        ("nodejs_eventloop_lag_max_seconds", {}, Quantity.EVENT_LOOP_LAG_MAX),
        ("up", {"job": "orders", "instance": "10.0.0.1:9090"}, Quantity.SCRAPED),
        ("scrape_duration_seconds", {"job": "orders", "instance": "10.0.0.1:9090"}, Quantity.SCRAPE_TIME),
    ],
)
def test_each_metric_is_what_its_exporter_means(name: str, labels: Mapping[str, str], quantity: Quantity) -> None:
    """In seconds, all of them."""
    found = around(series(name, 3.0, **labels))
    assert list(found) == [quantity]
    assert [sample.value for sample in found[quantity][0].samples] == [3.0]


def test_other_names_and_other_pods_are_left_out() -> None:
    """One delay of the event loop is none of its maxima, and a pod of another tenant is nobody's business."""
    assert around(series("nodejs_eventloop_lag_seconds", 9.0)) == {}
    assert resolver.by_pod([series("up", job="a", instance="b", pod="bank-0")], platform.CONVENTIONS, PODS) == {}
    assert resolver.by_pod([series("up", job="a", instance="b", namespace="bank")], platform.CONVENTIONS, PODS) == {}


def test_a_whole_pods_series_do_not_count_its_containers_again() -> None:
    """The kubelet has the pod's own group and its holder beside each container."""
    found = around(
        series("container_cpu_cfs_periods_total", 9.0, **{**KUBELET, "container": ""}),
        series("container_cpu_cfs_periods_total", 1.0, **{**KUBELET, "container": "POD"}),
        series("container_cpu_cfs_periods_total", 5.0, **KUBELET),
        series("container_cpu_cfs_periods_total", 4.0, **{**KUBELET, "container": "proxy", "name": "c2"}),
    )
    assert [item.samples[0].value for item in found[Quantity.CPU_PERIODS]] == [5.0, 4.0]


def test_a_container_that_was_made_anew_has_a_series_of_its_own() -> None:
    """Its counters begin at zero, under another id."""
    found = around(
        series("container_cpu_cfs_periods_total", 5.0, **KUBELET),
        series("container_cpu_cfs_periods_total", 1.0, **{**KUBELET, "name": "c1-anew"}),
    )
    assert len(found[Quantity.CPU_PERIODS]) == 2


def test_of_two_replicas_the_fuller_one_stays() -> None:
    """A counter that two replicas scraped is one counter, whichever answered first."""
    first = series("jvm_gc_collection_seconds_sum", 1.0, 2.0, gc="G1", prometheus_replica="a")
    other = series("jvm_gc_collection_seconds_sum", 1.0, 2.0, 3.0, gc="G1", prometheus_replica="b")
    for found in ((first, other), (other, first)):
        assert around(*found)[Quantity.GC_TIME] == [other]
    same = series("jvm_gc_collection_seconds_sum", 1.0, 2.0, 4.0, gc="G1", prometheus_replica="c")
    assert around(other, same) == around(same, other)


def test_a_pod_that_came_back_at_another_address_keeps_both_lives() -> None:
    """As one of a StatefulSet does."""
    first = series("jvm_gc_collection_seconds_sum", 1.0, 2.0, gc="G1", instance="10.0.0.1:9404")
    later = Series.from_raw(
        {**first.labels, "instance": "10.0.0.2:9404"},
        ((sample.time_s + 60.0, sample.value) for sample in first.samples),
    )
    for found in ((first, later), (later, first)):
        (both,) = around(*found)[Quantity.GC_TIME]
        assert both.samples == first.samples + later.samples


def test_a_maximum_that_scrapes_reset_is_joined_from_both_replicas() -> None:
    """Whoever scrapes first takes the spike; the other one never sees it."""
    first = series("nodejs_eventloop_lag_max_seconds", 0.01, 7.0, prometheus_replica="a")
    later = series("nodejs_eventloop_lag_max_seconds", 0.01, 0.01, prometheus_replica="b")
    other = Series.from_raw(later.labels, ((sample.time_s + 5.0, sample.value) for sample in later.samples))
    (both,) = around(first, other)[Quantity.EVENT_LOOP_LAG_MAX]
    assert [(sample.time_s, sample.value) for sample in both.samples] == [(0, 0.01), (5, 0.01), (10, 7.0), (15, 0.01)]


def test_each_target_of_a_pod_is_kept() -> None:
    """That one of a pod's ports never answers says nothing of the other."""
    found = around(
        series("up", 1.0, job="app", instance="10.0.0.1:9090"), series("up", 0.0, job="app", instance="10.0.0.1:8080")
    )
    assert len(found[Quantity.SCRAPED]) == 2


def test_no_series_is_both_a_consumers_and_a_pods() -> None:
    """The two kinds of conventions have no name in common, and no two of a kind claim the same series."""
    consumers = {name for convention in known_conventions.CONVENTIONS for name in convention.by_name}
    for convention in platform.CONVENTIONS:
        assert consumers.isdisjoint(convention.by_name)
        for metric in convention.metrics:
            for name in metric.names:
                labels = {"__name__": name, **dict.fromkeys(convention.with_labels, "x")}
                assert [convention.name for convention in platform.CONVENTIONS if convention.metric_of(labels)] == [
                    convention.name
                ]
