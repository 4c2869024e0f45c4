"""The twelve traps of what reaches Prometheus: each test fails when its trap is stepped into.

They are asked of what a cycle asks: resolver, record and quantities; the modules' own tests have the details.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from heartbeat_tuner.domain.evidence import Pod, Record, Unknown
from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig, GroupState
from heartbeat_tuner.domain.liveness import Setting, ValueSource
from heartbeat_tuner.metrics import quantities, record
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, known_conventions, platform
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.measured import Measured, Quantities, Rebalances
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.resolver import Observed
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import worlds

ORDERS = ("shop", "orders")
EPOCH_S = worlds.NOW.timestamp()
SCRAPES = [EPOCH_S - 3_600.0 + 30.0 * number for number in range(121)]
"""An hour, every 30 s."""

JMX = {"client_id": "consumer-orders-1"}
COORDINATOR = "kafka_consumer_consumer_coordinator_metrics_"


def series(metric: str, values: Iterable[float], /, *later: Sequence[float], **labels: str) -> Series:
    """Return what Prometheus answers of a metric of pod `orders-0`, in all scrapes or in later ones."""
    whole = {"__name__": metric, "namespace": "shop", "pod": "orders-0", **labels}
    return Series.from_raw(whole, zip(next(iter(later), SCRAPES), values, strict=False))


def flat(metric: str, value: float, /, **labels: str) -> Series:
    """Return a series of an hour with one value."""
    return series(metric, [value] * len(SCRAPES), **labels)


def spiked(metric: str, usual: float, largest: float, scrapes: slice, /, **labels: str) -> Series:
    """Return a series of an hour with another value in some of its scrapes."""
    values = [usual] * len(SCRAPES)
    values[scrapes] = [largest] * len(values[scrapes])
    return series(metric, values, **labels)


def beating(period_s: float = 3.0, **labels: str) -> Series:
    """Return the count of heartbeats that were never missing."""
    return series(COORDINATOR + "heartbeat", [(at_s - SCRAPES[0]) // period_s for at_s in SCRAPES], **{**JMX, **labels})


def observe(*found: Series, convention: Convention = java_metrics.JMX_EXPORTER) -> Observed:
    """Return what is observed of group `orders` in one convention."""
    return resolver.by_group(found, known_conventions.CONVENTIONS, {ORDERS}).get(ORDERS, {}).get(convention, {})


def measure(*found: Series, cooperative: bool = False) -> Quantities:
    """Return the quantities of group `orders`."""
    pods = {(item.labels["namespace"], item.labels["pod"]) for item in found}
    around = resolver.by_pod(found, platform.CONVENTIONS, pods)
    return quantities.measured(observe(*found), around, cooperative=cooperative)


def known(found: Measured | Unknown) -> Measured:
    """Return what must be known."""
    assert isinstance(found, Measured), found
    return found


def events(found: Quantities) -> Rebalances:
    """Return the rebalances, which must be known."""
    assert isinstance(found.rebalances, Rebalances), found.rebalances
    return found.rebalances


def test_trap_1_a_name_alone_does_not_tell_the_exporter() -> None:
    """Three exporters have a `kafka_consumer_heartbeat_total`; the client's label is spelt in several ways."""
    name = "kafka_consumer_heartbeat_total"
    for labels, convention in (
        ({"client_id": "consumer-orders-1"}, java_metrics.OPENTELEMETRY),
        ({"group_id": "orders", "member_id": "m-1"}, kafkajs_metrics.EXPORTER),
        ({"group_id": "orders", "member_id": "m-1", "client_id": "consumer-orders-1"}, kafkajs_metrics.EXPORTER),
    ):
        assert list(
            resolver.by_group([flat(name, 1.0, **labels)], known_conventions.CONVENTIONS, {ORDERS})[ORDERS]
        ) == [convention]
    name = "kafka_consumer_coordinator_heartbeat_total"
    for spelling, convention in (
        ({"clientid": "consumer-orders-1"}, java_metrics.STRIMZI),
        ({"client_id": "consumer-orders-1", "kafka_version": "4.1.0"}, java_metrics.MICROMETER),
    ):
        assert observe(flat(name, 1.0, **spelling), convention=convention).keys() == {Quantity.HEARTBEATS}


@pytest.mark.parametrize("value", [0.4, 40.0, 250_000.0])
def test_trap_2_units_come_from_the_table_never_from_the_value(value: float) -> None:
    """Milliseconds are milliseconds, however few or many; seconds of another exporter stay seconds."""
    for name in ("commit_latency_max", "heartbeat_response_time_max", "rebalance_latency_max", "join_time_max"):
        (found,) = observe(flat(COORDINATOR + name, value, **JMX)).values()
        assert found[0].samples[0].value == value / 1_000
    age = observe(flat(COORDINATOR + "last_heartbeat_seconds_ago", value, **JMX))
    assert age[Quantity.HEARTBEAT_AGE][0].samples[0].value == value
    join = flat("kafkajs_consumer_group_join_seconds_sum", value, group_id="orders")
    spent = observe(join, convention=kafkajs_metrics.EXPORTER)[Quantity.REBALANCE_TIME]
    assert spent[0].samples[0].value == value


@pytest.mark.parametrize("ending", ["", "_total"])
def test_trap_3_a_counter_is_one_by_its_name_and_its_resets_are_found_in_raw_samples(ending: str) -> None:
    """The exporter's release decides of `_total`, and its type says `gauge`; a new process begins at zero."""
    values = [5.0 if at < 60 else 1.0 if at < 90 else 2.0 for at in range(121)]
    found = events(measure(series(f"{COORDINATOR}rebalance{ending}", values, **JMX)))
    assert found.unplanned == 2


def test_trap_4_nan_and_minus_one_are_no_values() -> None:
    """An idle window has no maximum, and what never happened has no age: neither is a zero, nor the smallest value."""
    gaps = series("kafka_consumer_consumer_metrics_time_between_poll_max", [math.nan, -1.0, math.inf] * 40, **JMX)
    ages = flat("kafka_consumer_consumer_metrics_last_poll_seconds_ago", -1.0, **JMX)
    observed = observe(gaps, ages)
    assert [list(item.samples) for group in observed.values() for item in group] == [[], []]
    assert isinstance(measure(gaps, ages).poll_gaps, Unknown)


def test_trap_5_a_spike_that_fills_three_scrapes_is_not_three() -> None:
    """A windowed maximum shows a spike for 59 to 86 s: samples are not independent."""
    answer = spiked(COORDINATOR + "heartbeat_response_time_max", 5.0, 9_000.0, slice(61, 64), **JMX)
    assert sum(sample.value > 1_000 for sample in answer.samples) == 3
    outages = known(measure(answer).outages).observations
    assert sum(outage.value_s > 1 for outage in outages) == 1
    pause = spiked("jvm_gc_pause_seconds_max", 0.1, 9.0, slice(60, 66), action="end of major GC", cause="x", gc="G1")
    absences = known(measure(beating(), pause).absences).observations
    assert sum(absence.value_s > 1 for absence in absences) == 1


def test_trap_6_lost_heartbeats_show_only_as_a_deficit_and_a_join_is_none() -> None:
    """The slowest answer is that of answered heartbeats; who joins does not beat."""
    lost_s = 60.0
    gone = EPOCH_S - 1_800.0
    beats = [(at_s - SCRAPES[0]) // 3.0 - (lost_s // 3.0 if at_s >= gone + lost_s else 0.0) for at_s in SCRAPES]
    beats = [
        min(beat, (gone - SCRAPES[0]) // 3.0) if gone <= at_s < gone + lost_s else beat
        for at_s, beat in zip(SCRAPES, beats, strict=True)
    ]
    counted = series(COORDINATOR + "heartbeat", beats, **JMX)
    answers = flat(COORDINATOR + "heartbeat_response_time_max", 4.0, **JMX)
    found = measure(counted, answers)
    assert known(found.outages).largest_s == pytest.approx(0.004)
    (missing,) = [observation for observation in known(found.missing_beats).observations if observation.value_s > 0]
    assert missing.value_s <= lost_s <= missing.at_most_s
    joins = series(COORDINATOR + "rebalance", [1.0 if at_s < gone + lost_s else 2.0 for at_s in SCRAPES], **JMX)
    assert known(measure(counted, joins).missing_beats).largest_s == 0.0


def test_trap_7_members_are_never_summed_and_a_new_clients_first_join_counts() -> None:
    """One rebalance of three members is one; near a pod's start it is planned; growth hides a first join."""
    members = [
        series(
            COORDINATOR + "rebalance",
            [1.0 if at < 40 + late % 2 else 2.0 for at in range(121)],
            **JMX,
            pod=f"orders-{late}",
        )
        for late in range(3)
    ]
    assert (events(measure(*members)).unplanned, events(measure(*members)).planned) == (1, 0)
    new = series(COORDINATOR + "rebalance", [1.0] * 40, SCRAPES[80:], **JMX, pod="orders-9")
    assert events(measure(*members, new)).unplanned == 2
    started = flat("kube_pod_start_time", SCRAPES[79], uid="u", pod="orders-9")
    assert (events(measure(*members, new, started)).unplanned, events(measure(*members, new, started)).planned) == (
        1,
        1,
    )


def test_trap_8_the_longest_poll_gap_is_not_made_of_an_average() -> None:
    """Where only the mean is exported the quantity is withheld, and the message says what to add."""
    mean = flat("kafka_consumer_poll_idle_ratio_avg", 0.1, clientid="consumer-orders-1")
    gaps = flat("kafka_consumer_time_between_poll_avg", 400.0, clientid="consumer-orders-1")
    observed = observe(mean, gaps, convention=java_metrics.STRIMZI)
    assert observed.keys() == {Quantity.POLL_GAP_MEAN}
    found = quantities.measured(observed, {}).poll_gaps
    assert isinstance(found, Unknown)
    assert "only the mean" in found.message
    assert "time-between-poll-max" in found.message


def test_trap_9_without_the_heartbeats_maximum_other_delays_speak_or_nothing_does() -> None:
    """Commit latency is the other probe of the coordinator; a push every 5 minutes is none."""
    commits = spiked(COORDINATOR + "commit_latency_max", 10.0, 8_000.0, slice(60, 63), **JMX)
    assert known(measure(commits).outages).largest_s == 8.0
    assert isinstance(measure(beating()).outages, Unknown)
    pushed = Series(commits.labels, commits.samples[::10])
    assert isinstance(measure(pushed).outages, Unknown)
    pause = spiked("jvm_gc_pause_seconds_max", 0.1, 9.0, slice(60, 63), action="a", cause="c", gc="G1")
    assert known(measure(beating(), pause).absences).largest_s == 9.0


CONSUMER_PROTOCOL = (
    beating(),
    flat(COORDINATOR + "rebalance", 1.0, **JMX),
    flat(COORDINATOR + "rebalance_latency", 20.0, **JMX),
    flat(COORDINATOR + "rebalance_latency_max", 20.0, **JMX),
    flat("kafka_consumer_consumer_metrics_last_poll_seconds_ago", 0.0, **JMX),
    flat("kafka_consumer_consumer_metrics_time_between_poll_max", 300.0, **JMX),
    flat(COORDINATOR + "commit_latency_max", 10.0, **JMX),
)
"""What a member of a KIP-848 group exports: no join and no sync metrics, by design."""


def test_trap_10_a_group_of_the_consumer_protocol_lacks_nothing() -> None:
    """Its joins and syncs are not missing data; its session and heartbeat are the broker's, not the client's."""
    watched = RecordScope(
        policy=worlds.policy(),
        pods=(Pod("orders-0", "u", "10.0.0.1", datetime.fromtimestamp(SCRAPES[0], UTC), 0),),
        poll_limit=timedelta(minutes=5),
        changes=(),
        since=worlds.NOW - timedelta(minutes=50),
        now=worlds.NOW,
    )
    found = record.measure(
        watched, observe(*CONSUMER_PROTOCOL), java_metrics.JMX_EXPORTER, query=lambda quantity: quantity.camel
    )
    assert isinstance(found, Record), found
    assert found.unobserved_pods == ()
    stored = measure(*CONSUMER_PROTOCOL)
    for item in (stored.absences, stored.poll_gaps, stored.outages, stored.rebalance_latencies):
        assert isinstance(item, Measured), item
    config = GroupConfig(timedelta(seconds=45), timedelta(seconds=5))
    prescribed = Group("orders", GroupState.STABLE, (), consumer_protocol=True, config=config).prescribed(
        worlds.situation().workload.current or pytest.fail("the world has settings")
    )
    assert prescribed.settings.heartbeat_interval == timedelta(seconds=5)
    assert prescribed.sources[Setting.SESSION_TIMEOUT] is ValueSource.GROUP


def test_trap_11_two_replicas_of_prometheus_do_not_count_twice() -> None:
    """Nor do they cut a member's counter in two, nor hide what only one of them saw."""
    values = [1.0 if at < 40 else 2.0 for at in range(121)]
    joins = [series(COORDINATOR + "rebalance", values, **JMX, prometheus_replica=item) for item in "ab"]
    observed = observe(*joins)
    assert len(observed[Quantity.REBALANCES]) == 1
    assert events(measure(*joins)).unplanned == 1
    lag = "nodejs_eventloop_lag_max_seconds"
    seen = [spiked(lag, 0.01, 6.0, slice(50, 51), prometheus_replica="a"), flat(lag, 0.01, prometheus_replica="b")]
    for both in (seen, seen[::-1]):
        absences = known(measure(beating(), *both).absences).observations
        assert [absence.value_s for absence in absences if absence.value_s > 1] == [6.0]


def test_trap_12_a_rollout_makes_new_series_and_no_new_members() -> None:
    """Client ids and pods change; the group's history goes on, and none of it is counted again."""

    def of_pod(pod: str, scrapes: slice) -> list[Series]:
        times = SCRAPES[scrapes]
        return [
            series(COORDINATOR + "rebalance", [1.0] * len(times), times, **JMX, pod=pod),
            series(COORDINATOR + "heartbeat", [(at_s - times[0]) // 3.0 for at_s in times], times, **JMX, pod=pod),
            series(COORDINATOR + "commit_latency_max", [10.0] * len(times), times, **JMX, pod=pod),
        ]

    rollout = [*of_pod("orders-a", slice(40)), *of_pod("orders-b", slice(40, 80)), *of_pod("orders-c", slice(80, 121))]
    found = measure(*rollout)
    assert known(found.outages).count <= len(set(known(found.outages).watched)) == 41
    assert known(found.missing_beats).largest_s == 0.0
    assert len(events(found).events) == 2
    assert all(event.members == 1 for event in events(found).events)
