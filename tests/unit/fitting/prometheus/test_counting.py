"""From a window's samples to counts: only what begins within it, by bucket, with the time that was watched."""

import random
from collections import Counter
from datetime import UTC, date, datetime

import pytest

from heartbeat_tuner.fitting.prometheus import counting, slices
from heartbeat_tuner.fitting.prometheus.counting import Cell
from heartbeat_tuner.fitting.prometheus.slices import SliceWindow
from heartbeat_tuner.metrics import quantities
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics
from heartbeat_tuner.metrics.measured import UNSEEN_REJOIN
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.tails import histogram
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS
from tests.support import counters, histories, java_days, kafkajs_days
from tests.support.java_days import Stop
from tests.support.kafkajs_days import Absence

pytestmark = pytest.mark.no_cover  # counts days of samples

DAY = date(2026, 3, 1)
WHOLE_DAY = SliceWindow(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
BLOCKS = 960


def within(found: list[Series], window: SliceWindow) -> list[Series]:
    """Return what is read for a window."""
    since_s, until_s = window.read_since.timestamp(), window.read_until.timestamp()
    cut = (Series(item.labels, item.samples.between(since_s, until_s)) for item in found)
    return [item for item in cut if item.samples]


def counted(found: list[Series], window: SliceWindow) -> Counter[Cell]:
    """Count a window; the platform's series and the consumers' come as they are asked for, apart."""
    read = within(found, window)
    around = [item for item in read if not counting.pods_in([item])]
    return counting.counts([item for item in read if counting.pods_in([item])], around, window)


@pytest.fixture(scope="module")
def orders() -> list[Series]:
    """A group of the Java consumer, of two members."""
    return histories.of_days(DAY, DAY)


def counts_of(found: Counter[Cell], quantity: str) -> dict[int, int]:
    """Return the buckets of one quantity."""
    return {name.bucket: count for name, count in found.items() if name.quantity == quantity}


def test_a_day_is_the_sum_of_its_windows(orders: list[Series]) -> None:
    """What is watched, and every maximum and event, is counted once, as if the day were read whole.

    Absences are judged by what is usual in their window, so that their buckets may differ a little, not their blocks.
    """
    apart: Counter[Cell] = Counter()
    for window in slices.windows_of(DAY):
        apart.update(counted(orders, window))
    whole = counted(orders, WHOLE_DAY)
    for quantity in ("pollGap", "outage", "rebalanceLatency", "restartDowntime", "plannedRebalance"):
        assert counts_of(apart, quantity) == counts_of(whole, quantity), quantity
        assert sum(count for bucket, count in counts_of(whole, quantity).items() if bucket >= 0) > 0, quantity
    apart_absent, whole_absent = counts_of(apart, "absence"), counts_of(whole, "absence")
    for blocks in (MEMBER_BLOCKS, GROUP_BLOCKS):
        assert apart_absent[blocks] == whole_absent[blocks]
    assert sum(apart_absent.values()) == pytest.approx(sum(whole_absent.values()), rel=0.01)


def test_watched_blocks_are_those_of_members_and_of_the_group(orders: list[Series]) -> None:
    """All day both members were there, but for the time between two pods; for the group that is no gap."""
    found = counted(orders, WHOLE_DAY)
    assert counts_of(found, "outage")[GROUP_BLOCKS] == BLOCKS
    assert 2 * BLOCKS <= counts_of(found, "pollGap")[MEMBER_BLOCKS] <= 2 * BLOCKS + 2


def test_values_are_in_the_bucket_of_the_contract(orders: list[Series]) -> None:
    """Those that were measured, whatever their number."""
    found = counts_of(counted(orders, WHOLE_DAY), "pollGap")
    stalls = int(histogram.bucket_of(20.0))
    assert stalls in found
    assert max(found) == stalls


def test_events_are_told_planned_or_not(orders: list[Series]) -> None:
    """A pod that was replaced is a plan, what happened at noon is none; each took 2.5 s."""
    found = counted(orders, WHOLE_DAY)
    took = int(histogram.bucket_of(2.5))
    assert counts_of(found, "unplannedRebalance")[took] >= 1
    assert counts_of(found, "plannedRebalance")[took] >= 1


def test_the_client_is_that_of_the_convention() -> None:
    """Two groups of one namespace, in two libraries; KafkaJS exports no poll gaps: neither values nor blocks."""
    series = [
        *histories.of_days(DAY, DAY, members=1),
        *histories.of_days(DAY, DAY, members=1, group="payments", convention=kafkajs_metrics.EXPORTER),
    ]
    found = counted(series, slices.windows_of(DAY)[1])
    assert {(item.namespace, item.group, item.client) for item in found} == {
        ("shop", "orders", "java"),
        ("shop", "payments", "kafkajs"),
    }
    of_kafkajs = {item.quantity for item in found if item.client == "kafkajs"}
    assert "absence" in of_kafkajs
    assert "pollGap" not in of_kafkajs


def test_the_order_of_the_series_makes_no_difference(orders: list[Series]) -> None:
    """Servers give them in any."""
    window = slices.windows_of(DAY)[0]
    mixed = list(orders)
    random.Random(1).shuffle(mixed)  # noqa: S311 - disorder, no secret
    assert counted(mixed, window) == counted(orders, window)


def test_series_that_name_no_group_or_no_place_are_passed_over() -> None:
    """A client id of somebody's own, one of a consumer without a group, and one without a pod."""
    name = java_metrics.JMX_EXPORTER.metrics[0].names[0]
    place = {"__name__": name, "namespace": "shop", "pod": "a"}
    times = [(DAY_S + 60.0 * number, float(number)) for number in range(60)]
    strangers = [
        {**place, "client_id": "my-consumer"},
        {**place, "client_id": "consumer-null-1"},
        {**place, "client_id": "consumer-orders-1", "pod": ""},
        {**place, "client_id": "consumer-orders-1", "namespace": ""},
        {**place, "client_id": "consumer-orders-1", "__name__": "up"},
    ]
    found = [Series.from_raw(labels, times) for labels in strangers]
    assert counting.pods_in(found) == set()
    assert counting.counts(found, [], slices.windows_of(DAY)[0]) == Counter()


def evicted_twice(session_s: float | None) -> Counter[Cell]:
    """Count a window in which a KafkaJS member was evicted twice, by absences of 60 s; who knows S says so."""
    window = slices.windows_of(DAY)[0]
    begin_s = window.start.timestamp()
    away = [Absence(5_000.0, 60.0), Absence(11_000.0, 60.0)]
    found = counters.exported(kafkajs_days.member(away, hours=5.5), kafkajs_metrics.EXPORTER)
    series = [
        Series.from_raw(item.labels, [(begin_s + at_s, value) for at_s, value in item.samples.pairs()])
        for item in found
    ]
    if session_s is None:
        return counting.counts(series, [], window)
    times = [begin_s + 30.0 * number for number in range(700)]
    policy = {"namespace": "shop", "policy": "orders"}
    report = [
        Series.from_raw({**policy, "__name__": "heartbeat_tuner_policy_info", "group": "orders"}, [(times[0], 1.0)]),
        *(
            Series.from_raw(
                {**policy, "__name__": "heartbeat_tuner_policy_session_timeout_seconds", "values": values},
                [(at_s, number) for at_s in times],
            )
            for values, number in (("set", session_s), ("recommended", 300.0))
        ),
    ]
    return counting.counts(series, [], window, report)


def test_an_eviction_outlasted_the_session_that_was_set_then() -> None:
    """Less half a period: the operator's own metrics say which session that was, and what is recommended is none."""
    shown, hidden = (counts_of(evicted_twice(session_s=session_s), "eviction") for session_s in (59.0, None))
    least = int(histogram.bucket_of(56.0))
    assert sum(count for bucket, count in shown.items() if bucket >= least) == 2
    assert sum(count for bucket, count in hidden.items() if bucket >= 0) == 2
    assert sum(count for bucket, count in hidden.items() if bucket >= least) < 2
    wrong = counts_of(evicted_twice(session_s=290.0), "eviction")
    assert wrong == hidden


def test_an_eviction_of_java_is_counted() -> None:
    """All that it takes is read: lost ids, answered joins, gaps between polls."""
    window = slices.windows_of(DAY)[0]
    observed = java_days.member([Stop(7_000.0, 70.0)], hours=5.5)
    series = [
        Series.from_raw(
            {**item.labels, "client_id": "consumer-orders-1"},
            [(window.start.timestamp() + at_s, value) for at_s, value in item.samples.pairs()],
        )
        for item in counters.exported(
            {of_it: observed[of_it] for of_it in counting.OF_MEMBERS if of_it in observed}, counters.JMX
        )
    ]
    found = counts_of(counting.counts(series, [], window), "eviction")
    assert sum(count for bucket, count in found.items() if bucket >= 0) == 1


def test_all_quantities_of_the_rows_are_read() -> None:
    """What measuring needs and is not asked for would be unknown for ever."""
    java = {item.quantity for item in counted(histories.of_days(DAY, DAY), WHOLE_DAY)}
    found = java | {item.quantity for item in evicted_twice(session_s=None)}
    names = {value for name, value in vars(quantities).items() if name.isupper() and isinstance(value, str)}
    assert found == names - {UNSEEN_REJOIN}  # of the group watcher, whose rows are in `test_watched_counting`


DAY_S = histories.midnight_s(DAY)
