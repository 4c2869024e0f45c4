"""From series to the record of one group; what cannot be measured is unknown and names its query."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from heartbeat_tuner.domain.evidence import MemberChange, Pod, Record, Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, worlds
from tests.support.counters import Answers
from tests.support.worlds import NOW

SINCE = NOW - timedelta(minutes=10)
ORDERS = ("shop", "orders")
PODS = worlds.pods()


def ask(found: Answers, *, pods: tuple[Pod, ...] = PODS, changed: int = 0) -> Record | Unknown:
    """Measure group shop/orders over ten minutes."""
    return measured(found, pods=pods, changed=changed)


def measured(
    found: Answers, *, pods: Sequence[Pod] = PODS, since: datetime = SINCE, now: datetime = NOW, changed: int = 0
) -> Record | Unknown:
    """Measure group shop/orders between two moments, with so many changed member ids."""
    changes = [MemberChange(now, "orders-0")] * changed
    watched = RecordScope(worlds.policy(), pods, None, changes, since, now)
    sorted_ = resolver.by_group(counters.exported(found, counters.KAFKAJS), [counters.KAFKAJS], {ORDERS})
    mine = sorted_.get(ORDERS, {}).get(counters.KAFKAJS, {})
    return records.measure(watched, mine, counters.KAFKAJS, query=lambda quantity: f"query of {quantity.camel}")


def recorded(found: Answers, *, pods: tuple[Pod, ...] = PODS, changed: int = 0) -> Record:
    """Measure what must be measurable."""
    record = ask(found, pods=pods, changed=changed)
    assert isinstance(record, Record)
    return record


def quiet(pods: tuple[Pod, ...] = PODS) -> Answers:
    """Return a healthy group's series from before the record on."""
    return counters.quiet(pods, SINCE - timedelta(minutes=5), NOW)


def stormy(pods: tuple[Pod, ...] = PODS) -> Answers:
    """Return a storm's series from before the record on."""
    return counters.stormy(pods, SINCE - timedelta(minutes=5), NOW)


def flat(pod: str, value: float) -> Series:
    """Return a fresh counter that stands still."""
    return counters.series(((NOW.timestamp() - age, value) for age in (700, 300, 5)), pod=pod)


def test_a_quiet_group_has_beats_and_no_evictions() -> None:
    """Every request was accepted: the difference is zero, not noise."""
    record = recorded(quiet())
    assert record.evictions == 0
    assert record.accepted_beats == 3 * 120
    assert record.beat_period == worlds.seconds(5)
    assert record.longest_silence == timedelta(0)
    assert (record.rebalances, record.rebalancing_share) == (0, 0.0)
    assert record.unobserved_pods == ()


def test_a_storm_counts_each_refused_beat() -> None:
    """No beat was ever accepted, so that each request but those before the record is an eviction."""
    record = recorded(stormy())
    assert record.evictions == 3 * 120
    assert (record.accepted_beats, record.beat_period, record.longest_silence) == (0, None, None)
    assert record.rebalances == 108  # nine settled minutes, one join in five seconds
    assert record.rebalancing_share == pytest.approx(0.6)


def announced_to_the_first() -> list[Series]:
    """Rebalances that only the first pod was told of, one in five seconds."""
    never = [counters.counter(pod, SINCE, NOW, lambda _: 0) for pod in PODS[1:]]
    return [counters.counter(PODS[0], SINCE, NOW, lambda s: s // 5), *never]


def test_beats_answered_with_a_rebalance_are_no_evictions() -> None:
    """Who is told to rejoin is a member still: refused = neither its beats nor its joins count."""
    record = recorded({**stormy(), Quantity.REBALANCE_NOTICES: announced_to_the_first()})
    assert (record.evictions, record.evicted_pods) == (3 * 120 - 120, ("orders-1", "orders-2"))


def test_an_eviction_counts_once_however_many_beats_it_refuses() -> None:
    """A member beats once for each of its partitions, and all of them are refused when it is evicted."""
    found = stormy()
    found[Quantity.HEARTBEAT_REQUESTS] = [counters.counter(pod, SINCE, NOW, lambda s: 3 * (s // 5)) for pod in PODS]
    assert recorded(found).evictions == 3 * 120


def test_a_rejoin_without_a_refused_beat_is_no_eviction() -> None:
    """A client that restarts within its process joins again, though nobody removed it."""
    rejoins = {Quantity.REBALANCES: [counters.counter(pod, SINCE, NOW, lambda s: s // 5) for pod in PODS]}
    assert recorded({**quiet(), **rejoins}).evictions == 0


def test_more_rebalancings_than_beats_are_not_less_than_no_eviction() -> None:
    """Commits are told of rebalances too, so the difference may fall below zero."""
    assert recorded({**quiet(), Quantity.REBALANCE_NOTICES: announced_to_the_first()}).evictions == 0


@pytest.mark.parametrize("quantity", counters.KAFKAJS.needed, ids=lambda quantity: quantity.camel)
def test_what_is_not_exported_is_unknown_and_not_zero(quantity: Quantity) -> None:
    """Without the count of announced rebalances, say, two planned ones would look like evictions of everybody."""
    found = stormy()
    del found[quantity]
    answer = ask(found)
    assert isinstance(answer, Unknown)
    assert answer.reason is Reason.NO_SERIES
    name = counters.KAFKAJS.by_quantity[quantity].names[0]
    assert f"no series {name} of group orders found: kafkajs-prometheus-exporter does not count it" in answer.message
    assert f"tried query of {quantity.camel}" in answer.message


@pytest.mark.parametrize("quantity", counters.KAFKAJS.needed, ids=lambda quantity: quantity.camel)
def test_a_pod_that_lacks_a_quantity_is_not_observed(quantity: Quantity) -> None:
    """Half of a pod's counters tell nothing of it: it is named, and adds no eviction."""
    found = stormy()
    found[quantity] = [item for item in found[quantity] if item.labels["pod"] != PODS[0].name]
    record = recorded(found)
    assert record.unobserved_pods == (PODS[0].name,)
    assert record.evictions == 2 * 120


@pytest.mark.parametrize("twin", [{"job": "other"}, {"prometheus_replica": "b"}, {"instance": "x", "job": "y"}])
def test_series_that_are_scraped_twice_count_once(twin: dict[str, str]) -> None:
    """Two jobs, or two replicas of Prometheus, do not make two evictions of one."""
    again = counters.stormy(PODS, SINCE, NOW, **twin)
    assert recorded(counters.together(stormy(), again)).evictions == recorded(stormy()).evictions


@pytest.mark.parametrize("late", [Quantity.HEARTBEAT_REQUESTS, Quantity.REBALANCE_NOTICES, Quantity.REBALANCES])
def test_of_two_scrapes_of_a_pod_all_counters_are_of_one(late: Quantity) -> None:
    """One of the first job's samples is missing: counters of two jobs are of no common moment, and show no eviction."""
    other = counters.stormy(PODS, SINCE - timedelta(minutes=5, seconds=3), NOW - timedelta(seconds=3), job="other")
    found = counters.together(stormy(), other)
    found[late] = [item if "job" in item.labels else item.until(NOW.timestamp() - 1.0) for item in found[late]]
    assert recorded(found).evictions >= recorded(stormy()).evictions - len(PODS)


def test_accepted_beats_that_nobody_counts_invent_no_eviction() -> None:
    """An exporter that does not count accepted beats makes every request look refused; but nobody had to rejoin."""
    found = quiet()
    del found[Quantity.HEARTBEATS]
    assert recorded(found).evictions == 0


def test_a_new_member_id_alone_is_no_eviction() -> None:
    """A consumer that was closed and made again within its process has one too; its counters know of no refusal."""
    assert recorded(quiet(), changed=4).evictions == 0
    assert recorded(stormy(), changed=4).evictions == 3 * 120


@pytest.mark.parametrize("late", [Quantity.HEARTBEATS, Quantity.REBALANCE_NOTICES, Quantity.REBALANCES])
def test_a_scrape_between_two_reads_invents_no_eviction(late: Quantity) -> None:
    """Requests read one scrape later than the rest are not refused ones, though clients rejoin by themselves."""
    restarts = {Quantity.REBALANCES: [counters.counter(pod, SINCE, NOW, lambda s: s // 60) for pod in PODS]}
    found = counters.together(quiet(), restarts, {Quantity.REBALANCE_NOTICES: [flat("orders-0", 0)]})
    newest_s = NOW.timestamp()
    found[late] = [series.until(newest_s - 1) for series in found[late]]
    found[Quantity.HEARTBEAT_REQUESTS] = [
        counters.series(
            [
                *((sample.time_s, sample.value) for sample in series.samples),
                (newest_s + 5, series.samples[-1].value + 3),
            ],
            pod=series.labels["pod"],
        )
        for series in found[Quantity.HEARTBEAT_REQUESTS]
    ]
    assert recorded(found).evictions == 0


def test_a_beat_series_that_ended_with_its_member_does_not_hide_the_present() -> None:
    """Each membership has its own series: the newest of a pod says where its scrape ended."""
    found = quiet()
    found[Quantity.HEARTBEATS].append(flat("orders-0", 7).until(SINCE.timestamp()))
    assert recorded(found).accepted_beats == 3 * 120
    assert recorded(found).unobserved_pods == ()


@pytest.mark.parametrize(("rejoined", "silence_s"), [(0, 40), (1, 0)], ids=["another pod", "its own"])
def test_a_silence_is_excused_by_the_members_own_rejoin_alone(rejoined: int, silence_s: float) -> None:
    """Not by that of whoever stands first in the answer."""
    found, began = quiet(), SINCE - timedelta(minutes=5)
    joins, beats = found[Quantity.REBALANCES], found[Quantity.HEARTBEATS]
    beats[1] = counters.counter(PODS[1], began, NOW, lambda s: (min(s, 600) + max(0, s - 640)) // 5)
    joins[rejoined] = counters.counter(PODS[rejoined], began, NOW, lambda s: 1 if s < 620 else 2)
    silence = recorded(found).longest_silence
    assert silence is not None
    assert silence.total_seconds() == pytest.approx(silence_s, abs=10)


@pytest.mark.parametrize("more", [{"namespace": "bank"}, {"group": "payments"}])
def test_series_of_others_are_not_ours(more: dict[str, str]) -> None:
    """Queries serve all tenants at once; a storm next door is not this group's."""
    others = counters.stormy(PODS, SINCE, NOW, **more)
    assert recorded(counters.together(quiet(), others)) == recorded(quiet())
    alone = ask(others)
    assert isinstance(alone, Unknown)
    assert alone.reason is Reason.NO_SERIES


def test_pods_that_are_gone_do_not_count() -> None:
    """The evictions of a pod that was replaced are history."""
    gone = (worlds.pod(7),)
    assert recorded(counters.together(quiet(), stormy(gone))).evictions == 0


def test_a_running_pod_without_samples_is_named() -> None:
    """Nothing is known of a pod that Prometheus does not scrape."""
    assert recorded(quiet(PODS[:2])).unobserved_pods == ("orders-2",)


def test_a_pod_whose_samples_ended_is_named() -> None:
    """A pod whose last scrape is older than the others' is as good as not scraped."""
    old = counters.quiet(PODS[2:], SINCE, NOW - timedelta(seconds=120))
    assert recorded(counters.together(quiet(PODS[:2]), old)).unobserved_pods == ("orders-2",)


def test_a_workload_without_pods_divides_by_nothing() -> None:
    """Series of the last pods outlive them by minutes."""
    record = recorded(stormy(), pods=())
    assert (record.evictions, record.rebalances, record.unobserved_pods) == (0, 0, ())


@pytest.mark.parametrize("found", [{}, {Quantity.REBALANCES: []}])
def test_no_series_is_unknown_and_names_the_query(found: Answers) -> None:
    """Who reads the condition can try the query."""
    assert ask(found) == Unknown(
        Reason.NO_SERIES,
        "no series of group orders found among the metrics of kafkajs consumers; tried query of rebalances",
    )


def test_samples_that_are_no_numbers_are_unknown() -> None:
    """NaN is no value."""
    answer = ask({Quantity.REBALANCES: [counters.series([(NOW.timestamp(), math.nan)])]})
    assert isinstance(answer, Unknown)
    assert answer.reason is Reason.NOT_A_NUMBER
    assert "tried query of" in answer.message


def test_one_series_without_numbers_does_not_spoil_the_rest() -> None:
    """It has no end that the others would have to be cut to."""
    holes = {Quantity.REBALANCE_NOTICES: [counters.series([(NOW.timestamp(), math.nan)], pod=pod.name) for pod in PODS]}
    assert recorded(counters.together(quiet(), holes)) == recorded(quiet())


@pytest.mark.parametrize(("age_s", "stale"), [(90, False), (91, True)])
def test_old_samples_are_unknown(age_s: int, stale: bool) -> None:  # noqa: FBT001 - a table's column
    """An instant value would repeat the old sample for five minutes; the raw sample tells its age."""
    answer = ask(counters.quiet(PODS, SINCE, NOW - timedelta(seconds=age_s)))
    assert isinstance(answer, Unknown) is stale
    if isinstance(answer, Unknown):
        assert answer.reason is Reason.METRICS_STALE
        assert "is from 2026-03-02T11:58:25Z, older than 90 s; tried query of" in answer.message


def test_samples_of_the_future_are_unknown() -> None:
    """One of two clocks is wrong, and nobody knows which."""
    answer = ask(counters.quiet(PODS, SINCE, NOW + timedelta(hours=1)))
    assert isinstance(answer, Unknown)
    assert answer.reason is Reason.METRICS_STALE
    assert "ahead of the operator's clock by more than 90 s" in answer.message


def test_rare_scrapes_are_not_stale_at_once() -> None:
    """With a scrape a minute, three of them may be missing."""
    sparse = counters.series([(NOW.timestamp() - 170 - 60 * number, 1) for number in (3, 2, 1, 0)])
    assert isinstance(ask({item: [sparse] for item in counters.KAFKAJS.needed}), Record)


def test_a_single_sample_has_no_interval() -> None:
    """The first scrape of a group is fresh, and no more than that."""
    single = counters.series([(NOW.timestamp(), 1)])
    record = recorded({item: [single] for item in counters.KAFKAJS.needed})
    assert record.accepted_beats == 0


def test_a_short_record_has_no_share() -> None:
    """A group that just started is still settling: its planned joins are no instability."""
    record = measured(stormy(), since=NOW - timedelta(seconds=119))
    assert isinstance(record, Record)
    assert record.rebalancing_share is None


def test_a_share_is_at_most_the_whole() -> None:
    """A join that began before the settled time may count more seconds than there were."""
    long_joins = {Quantity.REBALANCE_TIME: [counters.counter(pod, SINCE, NOW, lambda s: 9 * s) for pod in PODS]}
    assert recorded({**quiet(), **long_joins}).rebalancing_share == 1.0


def _lives(joins: list[int], announced: list[int]) -> dict[Quantity, list[Series]]:
    """A member of several partitions from its start: before every rejoin three of its beats are refused."""
    times = [SINCE.timestamp() + 5 * number for number in range(len(joins))]
    pod = PODS[0].name
    requests = [
        10 * number + 3 * max(joined, item) for number, (joined, item) in enumerate(zip(joins, announced, strict=True))
    ]
    accepted = [10 * number for number in range(len(joins))]
    return {
        Quantity.HEARTBEAT_REQUESTS: [counters.series(zip(times, requests, strict=True), pod=pod)],
        Quantity.HEARTBEATS: [counters.series(zip(times, accepted, strict=True), pod=pod, member_id="m")],
        Quantity.REBALANCE_NOTICES: [counters.series(zip(times, announced, strict=True), pod=pod)],
        Quantity.REBALANCES: [counters.series(zip(times, joins, strict=True), pod=pod)],
        Quantity.REBALANCE_TIME: [counters.series(zip(times, [0] * len(times), strict=True), pod=pod)],
    }


@pytest.mark.parametrize(
    ("joins", "announced", "evictions"),
    [
        ([0, 1, 1, 1], [0, 0, 0, 0], 0),
        ([0, 1, 2, 3], [0, 0, 1, 2], 0),
        ([1, 1, 1, 2], [0, 1, 1, 1], 0),
        ([2, 3, 3, 3], [2, 2, 2, 2], 0),
        ([0, 1, 2, 2], [0, 1, 1, 1], 0),
        ([1, 2, 3, 3], [0, 0, 1, 1], 1),
        ([1, 2, 3, 4], [0, 0, 0, 1], 2),
    ],
    ids=["first", "rolling", "pending", "cut-through", "told-early", "one-evicted", "two-evicted"],
)
def test_planned_joins_of_a_young_pod_are_no_evictions(joins: list[int], announced: list[int], evictions: int) -> None:
    """Three pods that start together, and rebalance with each other, have not lost three members."""
    young = worlds.pod(0, started=SINCE)
    now = SINCE + timedelta(seconds=60)
    found = measured(_lives(joins, announced), pods=[young], since=SINCE + timedelta(seconds=1), now=now)
    assert isinstance(found, Record)
    assert found.evictions == evictions


def test_a_pod_whose_scrapes_all_failed_so_far_is_unobserved() -> None:
    """A series without a sample is no series of counters at zero."""
    holes = {
        quantity: [*group, counters.series([(NOW.timestamp(), math.nan)], pod="orders-0")]
        for quantity, group in quiet(PODS[1:]).items()
    }
    assert recorded(holes).unobserved_pods == ("orders-0",)


def test_joins_and_announcements_of_different_moments_prove_nothing() -> None:
    """Counters that were never scraped together cannot be set against each other."""
    apart = _lives([1, 2, 3, 4], [0, 0, 0, 0])
    shifted = (
        (sample.time_s + 1.0, sample.value) for series in apart[Quantity.REBALANCE_NOTICES] for sample in series.samples
    )
    apart[Quantity.REBALANCE_NOTICES] = [counters.series(shifted, pod=PODS[0].name)]
    found = measured(apart, pods=[worlds.pod(0, started=SINCE)], now=SINCE + timedelta(seconds=60))
    assert isinstance(found, Record)
    assert found.evictions == 0
