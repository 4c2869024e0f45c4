"""From what the operator's group watcher exported to the record of a group whose library exports nothing."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta

from heartbeat_tuner.domain.evidence import MemberChange, Pod, Record, Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.conventions.java_metrics import CONNECT_WORKER
from heartbeat_tuner.metrics.conventions.librdkafka_metrics import COUNTERS
from heartbeat_tuner.metrics.conventions.watched_groups import GROUP_WATCHER, LIBRARIES
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import worlds
from tests.support.worlds import NOW

SINCE = NOW - timedelta(minutes=10)
PODS = worlds.pods(2)
ORDERS = ("shop", "orders")


def exported(
    pod: str, *steps: tuple[float, float], certainty: str = "certain", policy: str = "orders", instance: str = "a"
) -> Series:
    """Return a counter of one pod, by the seconds before now at which it had each value."""
    labels = {
        "__name__": "heartbeat_tuner_group_evictions_total",
        "namespace": "shop",
        "policy": policy,
        "group": "orders",
        "pod": pod,
        "certainty": certainty,
        "instance": instance,
    }
    return Series.from_raw(labels, [(NOW.timestamp() - age, value) for age, value in steps])


def quiet(pod: str) -> list[Series]:
    """Return the counters of a pod that was never evicted."""
    return [exported(pod, (700, 0), (300, 0), (5, 0), certainty=certainty) for certainty in ("certain", "doubtful")]


def measured(series: Sequence[Series], *, pods: Sequence[Pod] = PODS, at_broker: bool = False) -> Record | Unknown:
    """Return the record of ten minutes; what the operator itself saw of member ids does not count beside it."""
    policy = dataclasses.replace(worlds.policy(), library="kafka-python")
    changes = [MemberChange(NOW, "orders-0")]
    scope = RecordScope(policy, pods, timedelta(minutes=5), changes, SINCE, NOW, consumer_protocol=at_broker)
    found = resolver.by_group(series, known_conventions.of_library("kafka-python"), {ORDERS})
    mine = found.get(ORDERS, {}).get(GROUP_WATCHER, {})
    return records.measure(scope, mine, GROUP_WATCHER, query=lambda quantity: f"query of {quantity.camel}")


def recorded(series: Sequence[Series], *, pods: Sequence[Pod] = PODS) -> Record:
    """Return what must be measurable."""
    record = measured(series, pods=pods)
    assert isinstance(record, Record)
    return record


def test_certain_evictions_are_counted_and_doubtful_ones_are_not() -> None:
    """A new id that something else may explain is no eviction."""
    certain = exported("orders-0", (700, 4), (300, 5), (5, 7))
    doubtful = exported("orders-0", (700, 0), (300, 9), (5, 9), certainty="doubtful")
    record = recorded([certain, doubtful, *quiet("orders-1")])
    assert (record.evictions, record.evicted_pods) == (3, ("orders-0",))
    assert record.evicted_at_s == (NOW.timestamp() - 300, NOW.timestamp() - 5, NOW.timestamp() - 5)


def test_nothing_else_is_known() -> None:
    """No beats and no share of time, so that no count of none is taken for quiet."""
    record = recorded([*quiet("orders-0"), *quiet("orders-1")])
    assert (record.evictions, record.accepted_beats, record.rebalancing_share) == (0, 0, None)
    assert record.unobserved_pods == ()


def test_a_pod_without_series_is_unobserved() -> None:
    """It began a moment ago, or the operator does not see its members."""
    assert recorded(quiet("orders-0")).unobserved_pods == ("orders-1",)


def test_two_policies_of_one_group_count_an_eviction_once() -> None:
    """Each shows the pod's series, with its own name."""
    both = [exported("orders-0", (700, 0), (5, 1), policy=policy) for policy in ("orders", "twin")]
    doubtful = exported("orders-0", (700, 0), (5, 0), certainty="doubtful")
    assert recorded([*both, doubtful]).evictions == 1


def test_a_new_leader_counts_on_from_zero() -> None:
    """Its series are of another instance, and begin when the others end."""
    before, after = exported("orders-0", (700, 6), (400, 7)), exported("orders-0", (300, 0), (5, 1), instance="b")
    doubtful = exported("orders-0", (700, 0), (5, 0), certainty="doubtful")
    assert recorded([before, after, doubtful]).evictions == 2


def test_the_first_sample_of_an_old_pod_is_no_eviction() -> None:
    """What it counted before Prometheus scraped it is of any time; of a pod that began since it is of this time."""
    series = [exported("orders-0", (300, 7), (5, 7)), exported("orders-0", (300, 0), (5, 0), certainty="doubtful")]
    assert recorded(series).evictions == 0
    young = dataclasses.replace(PODS[0], started=SINCE)
    assert recorded(series, pods=[young]).evictions == 7


def test_an_operator_that_is_not_scraped_is_named() -> None:
    """With what to do about it."""
    unknown = measured([])
    assert isinstance(unknown, Unknown)
    assert unknown.reason is Reason.NO_SERIES
    assert "have Prometheus scrape the operator" in unknown.message


def test_an_operator_that_stopped_counting_makes_the_record_stale() -> None:
    """A group that is not described any more has no counters."""
    scrapes = [(float(age), 0.0) for age in range(700, 280, -20)]
    unknown = measured([exported("orders-0", *scrapes, certainty=certainty) for certainty in ("certain", "doubtful")])
    assert isinstance(unknown, Unknown)
    assert unknown.reason is Reason.METRICS_STALE


def test_policies_name_every_library_of_classic_groups() -> None:
    """With what their own consumers can export first."""
    assert set(known_conventions.IN_POLICIES) == {*known_conventions.LIBRARIES, *LIBRARIES, "connect"}
    assert known_conventions.measured_as("connect") == "connect"
    for library in LIBRARIES:
        own = [COUNTERS] if library in COUNTERS.libraries else []
        assert known_conventions.of_library(library)[: len(own) + 1] == (*own, GROUP_WATCHER)
        assert known_conventions.measured_as(library) == library
        assert Quantity.EVICTIONS_SEEN in GROUP_WATCHER.needed


def test_the_watcher_comes_last_for_libraries_that_have_an_exporter() -> None:
    """It stands in for an exporter that nobody runs; where a library has none, it is all there is."""
    for library in ("connect", "java", "kafkajs", "spring"):
        *own, last = known_conventions.read_for(library)
        assert last is GROUP_WATCHER
        assert tuple(own) == known_conventions.of_library(library)
    assert known_conventions.read_for("sarama") == (GROUP_WATCHER,)
    assert known_conventions.read_for("connect") == (CONNECT_WORKER, GROUP_WATCHER)  # and nothing of consumers
    assert GROUP_WATCHER not in known_conventions.read_for("streams")


def test_the_operators_own_counts_show_no_library() -> None:
    """It counts those of every group, so that a group's library must not be inferred from them."""
    assert GROUP_WATCHER not in known_conventions.OF_GROUPS


def test_where_members_keep_their_ids_some_fencings_may_be_hidden() -> None:
    """Who is back before the next description is not seen missing; in a classic group that is asked of nobody."""
    series = [*quiet("orders-0"), *quiet("orders-1")]
    at_broker = measured(series, at_broker=True)
    assert isinstance(at_broker, Record)
    assert at_broker.hidden is not None
    assert at_broker.hidden.lasts
    assert recorded(series).hidden is None
