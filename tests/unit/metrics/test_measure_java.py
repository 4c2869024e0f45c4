"""From JMX series to the record of a Java group: who was silent, and who only failed to poll."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from heartbeat_tuner.domain.evidence import MemberChange, Record, Unknown
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics import evictions
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, worlds
from tests.support.counters import JMX, Answers
from tests.support.worlds import NOW

SINCE = NOW - timedelta(minutes=10)
LONG_BEFORE = SINCE - timedelta(minutes=5)
ORDERS = ("shop", "orders")
PODS = worlds.pods()
LIMIT = timedelta(seconds=60)
MIDWAY = SINCE + timedelta(minutes=5)


def quiet(group: str = "orders") -> Answers:
    """Return what healthy Java consumers export: a beat every 5 s, a poll every half second."""
    values: dict[Quantity, Callable[[float], float]] = {
        Quantity.HEARTBEATS: lambda s: s // 5,
        Quantity.REBALANCES: lambda _: 1,
        Quantity.REBALANCE_TIME: lambda _: 3,
        Quantity.FAILED_REBALANCES: lambda _: 1,
        Quantity.JOIN_ANSWERS: lambda _: 1,
        Quantity.POLL_GAP_MAX: lambda _: 0.51,
        Quantity.POLL_AGE: lambda _: 0,
    }
    client = f"consumer-{group}-1"
    return {
        quantity: [counters.counter(pod, LONG_BEFORE, NOW, value, client_id=client) for pod in PODS]
        for quantity, value in values.items()
    }


def uncounted(found: Answers) -> Answers:
    """Return the series without the counters that show lost ids: the broker alone tells."""
    return {**found, **{item: [] for item in evictions.BY_LOST_IDS}}


def with_poll_gap(quantity: Quantity, pod: str, value: float, *, within: tuple[int, int] = (-10, 60)) -> Answers:
    """Return quiet series but for a poll gap of one pod, shown for some seconds around MIDWAY."""
    first, last = (MIDWAY.timestamp() + offset for offset in within)

    def changed(series: Series) -> Series:
        if series.labels["pod"] != pod:
            return series
        shown = ((at.time_s, value if first <= at.time_s <= last else at.value) for at in series.samples)
        return Series.from_raw(series.labels, shown)

    found = quiet()
    return {**found, quantity: [changed(item) for item in found[quantity]]}


def ask(found: Answers, *changes: MemberChange) -> Record | Unknown:
    """Measure group shop/orders over ten minutes."""
    return measured(found, RecordScope(worlds.java_policy(), PODS, LIMIT, changes, SINCE, NOW))


def measured(found: Answers, watched: RecordScope, convention: Convention = JMX) -> Record | Unknown:
    """Measure what was watched, by what an exporter gave."""
    sorted_ = resolver.by_group(counters.exported(found, JMX), [convention], {ORDERS})
    mine = sorted_.get(ORDERS, {}).get(convention, {})
    return records.measure(watched, mine, convention, query=lambda quantity: f"query of {quantity.camel}")


def recorded(found: Answers, *changes: MemberChange) -> Record:
    """Measure what must be measurable."""
    record = ask(found, *changes)
    assert isinstance(record, Record)
    return record


def changes(*pods: str) -> Sequence[MemberChange]:
    """Return changed member ids of these pods in the middle of the record."""
    return [MemberChange(MIDWAY, pod) for pod in pods]


def test_a_quiet_group_has_beats_and_no_evictions() -> None:
    """Milliseconds are not taken for seconds."""
    record = recorded(quiet())
    assert (record.evictions, record.poll_gap_evictions) == (0, 0)
    assert record.beat_period == worlds.seconds(5)
    assert record.rebalancing_share == 0.0
    assert record.longest_poll_gap == worlds.seconds(0.51)
    assert record.unobserved_pods == ()


def test_a_changed_member_id_is_a_removal_for_silence() -> None:
    """Nothing else explains it: the member polled all the while."""
    record = recorded(uncounted(quiet()), *changes("orders-0", "orders-1"))
    assert (record.evictions, record.poll_gap_evictions) == (2, 0)


@pytest.mark.parametrize(
    ("quantity", "value", "within"),
    [(Quantity.POLL_GAP_MAX, 61.0, (0, 60)), (Quantity.POLL_AGE, 60.0, (-20, -10))],
    ids=["longest-gap-after", "age-before"],
)
def test_a_member_that_did_not_poll_was_not_silent(quantity: Quantity, value: float, within: tuple[int, int]) -> None:
    """Its own pod's poll gap explains a change, another pod's does not."""
    record = recorded(
        uncounted(with_poll_gap(quantity, "orders-0", value, within=within)), *changes("orders-0", "orders-1")
    )
    assert (record.evictions, record.poll_gap_evictions) == (1, 1)
    assert (record.evicted_pods, record.poll_gap_pods) == (("orders-1",), ("orders-0",))
    assert record.longest_poll_gap == timedelta(seconds=max(60.0, value))


def test_a_gap_below_the_limit_explains_nothing() -> None:
    """A process that was frozen for 8 s did not poll for 8 s either; its limit of 60 s was not the reason."""
    record = recorded(uncounted(with_poll_gap(Quantity.POLL_GAP_MAX, "orders-0", 59.999)), *changes("orders-0"))
    assert (record.evictions, record.poll_gap_evictions) == (1, 0)


def test_a_gap_at_another_time_explains_nothing() -> None:
    """What happened minutes later is another story."""
    later = with_poll_gap(Quantity.POLL_GAP_MAX, "orders-0", 61.0, within=(100, 160))
    record = recorded(uncounted(later), *changes("orders-0"))
    assert (record.evictions, record.poll_gap_evictions) == (1, 0)


def counted(failed: Sequence[int], answers: Sequence[int], joins: Sequence[int]) -> Answers:
    """Return quiet series but for the joins of one pod: their counters before, in, and at the end of the record."""

    def steps(values: Sequence[int]) -> Series:
        before, midway = SINCE.timestamp(), MIDWAY.timestamp()
        times = [LONG_BEFORE.timestamp() + 5 * number for number in range(181)]
        shown = ((at, float(values[(at > before) + (at > midway)])) for at in times)
        return counters.series(shown, pod="orders-0", client_id="consumer-orders-1")

    found = quiet()
    others = {
        quantity: [item for item in group if item.labels["pod"] != "orders-0"] for quantity, group in found.items()
    }
    mine = {
        Quantity.FAILED_REBALANCES: steps(failed),
        Quantity.JOIN_ANSWERS: steps(answers),
        Quantity.REBALANCES: steps(joins),
    }
    return {**found, **{quantity: [item, *others[quantity]] for quantity, item in mine.items()}}


@pytest.mark.parametrize(
    ("failed", "answers", "joins", "evictions"),
    [
        ([1, 1, 1], [1, 4, 9], [1, 4, 9], 0),
        ([1, 2, 2], [2, 4, 4], [2, 3, 3], 0),
        ([1, 1, 2], [1, 2, 3], [1, 1, 2], 0),
        ([2, 2, 3], [2, 2, 3], [2, 2, 3], 1),
        ([1, 2, 3], [4, 5, 6], [4, 5, 6], 2),
        ([1, 8, 8], [1, 10, 10], [1, 10, 10], 7),
    ],
    ids=["planned", "overtaken", "between-join-and-sync", "evicted", "evicted-twice", "seven-leaves"],
)
def test_a_member_that_asked_for_a_new_id_had_lost_the_old_one(
    failed: Sequence[int], answers: Sequence[int], joins: Sequence[int], evictions: int
) -> None:
    """Counters see each eviction between two looks at the broker; attempts that a rebalance overtook are none."""
    assert recorded(counted(failed, answers, joins)).evictions == evictions


def test_a_new_member_id_that_no_counter_confirms_is_no_eviction() -> None:
    """A consumer that was closed and made again within its process has one too."""
    both = counted([1, 1, 3], [1, 1, 3], [1, 1, 3])
    assert recorded(both, *changes("orders-0", "orders-1")).evictions == 2
    assert recorded(quiet(), *changes("orders-0", "orders-0", "orders-0")).evictions == 0


def test_what_counters_show_is_told_apart_from_what_the_broker_shows() -> None:
    """Only the former proves that a member was removed."""
    mixed = recorded(counted([1, 2, 3], [4, 5, 6], [4, 5, 6]))
    assert (mixed.evictions, mixed.counted_evictions) == (2, 2)
    shown = recorded(uncounted(quiet()), *changes("orders-0", "orders-1"))
    assert (shown.evictions, shown.counted_evictions) == (2, 0)
    assert (mixed.evicted_pods, shown.evicted_pods) == (("orders-0",), ("orders-0", "orders-1"))


def test_the_consumers_of_a_pod_are_counted_where_it_has_most() -> None:
    """Each has a counter of its own; a pod has one at least."""
    found = quiet()
    assert recorded(found).consumers_per_pod == 1
    joins = found[Quantity.REBALANCES]
    second = counters.counter(PODS[0], LONG_BEFORE, NOW, lambda _: 1, client_id="consumer-orders-2")
    assert recorded({**found, Quantity.REBALANCES: [*joins, second]}).consumers_per_pod == 2


def test_without_these_counters_the_broker_alone_tells() -> None:
    """A member of the consumer protocol has no join counters."""
    assert recorded(uncounted(quiet()), *changes("orders-0")).evictions == 1


def test_a_change_that_the_scrapes_have_not_reached_is_neither_yet() -> None:
    """The poll gap that would explain it shows only in the next scrape: raising S too early is a wrong write."""
    record = recorded(
        uncounted(quiet()), MemberChange(NOW + timedelta(seconds=1), "orders-0"), MemberChange(NOW, "orders-1")
    )
    assert (record.evictions, record.poll_gap_evictions) == (1, 0)


def test_changes_before_the_record_do_not_count() -> None:
    """The record begins with our last change."""
    assert recorded(uncounted(quiet()), MemberChange(SINCE, "orders-0")).evictions == 0


def test_a_pod_without_metrics_has_unknown_changes() -> None:
    """Unknown is not silent."""
    found = {kind: [item for item in group if item.labels["pod"] != "orders-0"] for kind, group in quiet().items()}
    record = recorded(found, *changes("orders-0"))
    assert record.evictions == 0
    assert record.unobserved_pods == ("orders-0",)


@pytest.mark.parametrize("group", ["orders-eu", "order", "xorders", "orders-1-1"])
def test_series_of_similar_groups_are_not_ours(group: str) -> None:
    """The group is read from the client id, so its whole form counts."""
    answer = ask(quiet(group))
    assert isinstance(answer, Unknown)
    assert answer.reason is Reason.NO_SERIES


@pytest.mark.parametrize("quantity", JMX.needed, ids=lambda quantity: quantity.camel)
def test_a_missing_quantity_is_unknown(quantity: Quantity) -> None:
    """A rule file that drops one leaves nothing to say, and the query is named."""
    answer = ask({**quiet(), quantity: []})
    assert isinstance(answer, Unknown)
    assert answer.reason is Reason.NO_SERIES
    assert f"query of {quantity.camel}" in answer.message


def test_never_polled_is_no_gap() -> None:
    """-1 says that there was no poll yet; NaN that there was none in the window."""
    never = [counters.counter(pod, LONG_BEFORE, NOW, lambda _: -1.0, client_id="consumer-orders-1") for pod in PODS]
    assert recorded({**quiet(), Quantity.POLL_GAP_MAX: [], Quantity.POLL_AGE: never}).longest_poll_gap is None


def test_a_maximum_that_is_no_number_does_not_hold_counters_back() -> None:
    """While a handler hangs nobody polls, and the longest gap is NaN: what the counters show must not end with it."""
    found = counted([1, 1, 2], [1, 1, 2], [1, 1, 2])
    found[Quantity.POLL_GAP_MAX] = [item.until(SINCE.timestamp()) for item in found[Quantity.POLL_GAP_MAX]]
    record = recorded(found)
    assert (record.evictions, record.unobserved_pods) == (1, ())


def test_evictions_before_a_leave_of_the_same_member_are_not_taken_for_leaves() -> None:
    """Frozen at first, and 40 s later in a handler for too long: its gap explains the second, not the first."""
    found = counted([1, 1, 2], [1, 1, 2], [1, 1, 2])
    later = with_poll_gap(Quantity.POLL_GAP_MAX, "orders-0", 61.0, within=(40, 100))
    found[Quantity.POLL_GAP_MAX] = later[Quantity.POLL_GAP_MAX]
    assert (recorded(found).evictions, recorded(found).poll_gap_evictions) == (1, 0)


def test_a_gap_that_is_shown_still_explains_no_later_change() -> None:
    """The client's window shows the gap of one leave for a minute: an eviction in that minute is not another leave."""
    found = counted([1, 1, 2], [1, 1, 2], [1, 1, 2])
    earlier = with_poll_gap(Quantity.POLL_GAP_MAX, "orders-0", 61.0, within=(-60, 20))
    found[Quantity.POLL_GAP_MAX] = earlier[Quantity.POLL_GAP_MAX]
    assert (recorded(found).evictions, recorded(found).poll_gap_evictions) == (1, 0)


def test_a_joining_member_is_not_silent() -> None:
    """A rebalance that took 40 s stopped the beats; it tells nothing of pauses."""

    def value(s: float) -> float:
        return s // 5 if s < 600 else max(s // 5 - 8, 120)

    found = quiet()
    found[Quantity.HEARTBEATS] = [
        counters.counter(pod, LONG_BEFORE, NOW, value, client_id="consumer-orders-1") for pod in PODS
    ]
    frozen = recorded(found)
    found[Quantity.REBALANCES] = [
        counters.counter(pod, LONG_BEFORE, NOW, lambda s: 1 + (s >= 630), client_id="consumer-orders-1") for pod in PODS
    ]
    rejoined = recorded(found)
    assert frozen.longest_silence is not None
    assert rejoined.longest_silence is not None
    assert frozen.longest_silence >= timedelta(seconds=35)
    assert rejoined.longest_silence <= timedelta(seconds=5)


def test_the_shares_are_in_seconds() -> None:
    """A rebalance time in milliseconds, read as seconds, would make every group unstable."""
    found = quiet()
    found[Quantity.REBALANCE_TIME] = [
        counters.counter(pod, LONG_BEFORE, NOW, lambda s: 0.1 * s, client_id="consumer-orders-1") for pod in PODS
    ]
    assert recorded(found).rebalancing_share == pytest.approx(0.1, rel=0.05)


def test_without_a_limit_every_change_is_a_silence() -> None:
    """Pods that differ have no limit to compare with; nothing is decided for them anyway."""
    watched = RecordScope(worlds.java_policy(), PODS, None, changes("orders-0"), SINCE, NOW)
    record = measured(uncounted(quiet()), watched)
    assert isinstance(record, Record)
    assert (record.evictions, record.longest_poll_gap) == (1, None)


def test_quoted_client_ids_belong_to_their_group() -> None:
    """JMX quotes names with characters of its own."""
    found = quiet()
    quoted = {
        kind: [dataclasses.replace(item, labels={**item.labels, "client_id": '"consumer-orders-1"'}) for item in group]
        for kind, group in found.items()
    }
    assert recorded(quoted).accepted_beats > 0


def test_a_client_id_of_one_s_own_names_no_group() -> None:
    """Nothing ties its series to a group: unknown, and nobody else's."""
    own = {
        kind: [dataclasses.replace(item, labels={**item.labels, "client_id": "billing"}) for item in group]
        for kind, group in quiet().items()
    }
    assert resolver.by_group(counters.exported(own, JMX), [JMX], {ORDERS}) == {}
    answer = ask(own)
    assert isinstance(answer, Unknown)
    assert answer.reason is Reason.NO_SERIES


def test_an_exporter_that_withholds_what_is_needed_is_named() -> None:
    """No name of a metric can be given then: the exporter has none."""
    has = tuple(metric for metric in JMX.metrics if metric.quantity is not Quantity.HEARTBEATS)
    bare = dataclasses.replace(JMX, metrics=has, withheld={Quantity.HEARTBEATS: "let it export them"})
    silent = quiet()
    del silent[Quantity.HEARTBEATS]
    answer = measured(silent, RecordScope(worlds.java_policy(), PODS, LIMIT, (), SINCE, NOW), bare)
    assert isinstance(answer, Unknown)
    wanted = f"{JMX.title} does not tell {Quantity.HEARTBEATS.title} of group orders: let it export them; tried "
    assert answer.message.startswith(wanted)


def test_where_no_counter_shows_lost_ids_the_broker_alone_tells() -> None:
    """A convention need not have such counters at all."""
    stored = tuple(metric for metric in JMX.metrics if metric.quantity not in evictions.BY_LOST_IDS)
    bare = dataclasses.replace(JMX, metrics=stored)
    watched = RecordScope(worlds.java_policy(), PODS, LIMIT, changes("orders-0"), SINCE, NOW)
    record = measured(quiet(), watched, bare)
    assert isinstance(record, Record)
    assert record.evictions == 1
