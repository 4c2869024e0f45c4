"""Reading all policies' metrics: what is new only, in pieces where it is too much, and never a hole.

Every answer goes through the adapter's reader, and what is kept is compared with what one whole read brings.
"""

import dataclasses
import json
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.domain.errors import MetricsCause
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.conventions.watched_groups import GROUP_WATCHER
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.series import reading_plan, reading_share
from heartbeat_tuner.reconcile.series.metrics_reading import MetricsReader
from heartbeat_tuner.reconcile.series.reading_plan import Need, Size
from heartbeat_tuner.reconcile.series.reading_share import REQUESTS
from heartbeat_tuner.reconcile.series.spans import Span
from tests.support import counters, told_prometheus, worlds
from tests.support.counters import KAFKAJS
from tests.support.told_prometheus import FAILURES, Request, ToldPrometheus
from tests.support.worlds import NOW, seconds

pytestmark = pytest.mark.no_cover  # reads hours of scrapes

SCRAPE_S: Final = 15.0
QUANTITIES: Final = len(KAFKAJS.metrics) + len(GROUP_WATCHER.needed)
MINUTE: Final = timedelta(minutes=1)

Seen = dict[Quantity, dict[tuple[tuple[str, str], ...], list[tuple[float, float]]]]


def policy_of(namespace: str, group: str = "orders") -> Policy:
    """Return a policy for a group of KafkaJS consumers in a namespace."""
    return worlds.policy(key=ObjectKey(namespace, group), group_id=group)


def exported(namespace: str, group: str = "orders", *, pods: int = 1, **life: Any) -> list[Series]:
    """Return everything that pods of a group export."""
    return [
        Series.from_raw(
            {
                **counters.labels(f"{group}-{number}", namespace=namespace, group=group),
                "__name__": metric.names[0],
                **dict(metric.matchers),
            },
            scrapes(number, **life),
        )
        for metric in KAFKAJS.metrics
        for number in range(pods)
    ]


def scrapes(
    number: int,
    *,
    begin: datetime = NOW - timedelta(hours=3),
    end: datetime = NOW + timedelta(hours=3),
    resets: Sequence[datetime] = (),
) -> list[tuple[float, float]]:
    """Return the scrapes of a counter that grows by one in 5 s and begins again at resets."""
    first = math.ceil(begin.timestamp() / SCRAPE_S)
    times = [SCRAPE_S * index + number for index in range(first, int(end.timestamp() / SCRAPE_S))]
    starts = [begin.timestamp(), *(reset.timestamp() for reset in resets)]
    return [(at, (at - max(start for start in starts if start <= at)) // 5.0) for at in times]


def seen(reader: MetricsReader, policy: Policy) -> Seen:
    """Return what a reader knows of a policy's group; it must know it."""
    found = reader.of(policy)
    assert not isinstance(found, Unknown), found.message
    return _plain(found.get(KAFKAJS, {}))


def whole(series: Sequence[Series], policy: Policy, *, at: datetime) -> Seen:
    """Return what one read of the whole window brings of a policy's group."""
    until_s = math.floor(at.timestamp())
    cut = [
        Series(series_.labels, series_.samples.between(until_s - reading_plan.WINDOW_S, until_s)) for series_ in series
    ]
    groups = {(policy.key.namespace, policy.group_id)}
    found = resolver.by_group([item for item in cut if item.samples], known_conventions.CONVENTIONS, groups)
    return _plain(found.get((policy.key.namespace, policy.group_id), {}).get(KAFKAJS, {}))


def _plain(observed: Any) -> Seen:
    return {
        quantity: {tuple(sorted(item.labels.items())): list(item.samples.pairs()) for item in group}
        for quantity, group in observed.items()
        if group
    }


def lengths_s(requests: Sequence[Request]) -> list[float]:
    """Return how far back requests reach."""
    return [request.asked.window_s for request in requests]


async def catch_up(
    reader: MetricsReader, prometheus: ToldPrometheus, policies: Sequence[Policy], now: datetime
) -> None:
    """Read without faults until a cycle asks for nothing."""
    prometheus.fault, prometheus.most_samples = None, None
    for _ in range(30):
        prometheus.requests.clear()
        await reader.read(policies, now=now)
        if not prometheus.requests:
            return
    pytest.fail("a reader that asks without end")


async def test_after_a_start_the_window_is_read_backwards_in_slices() -> None:
    """The newest comes first, four slices are an hour and five minutes, and all of it is one cycle's."""
    prometheus, policy = ToldPrometheus(exported("shop")), policy_of("shop")
    reader = MetricsReader(prometheus)
    await reader.read([policy], now=NOW)
    assert len(prometheus.requests) == 4 * QUANTITIES
    ends = [request.at for request in prometheus.requests[::QUANTITIES]]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] == NOW
    assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW)
    assert reader.since(policy) == NOW - timedelta(hours=1)


async def test_a_cycle_asks_only_for_what_is_new() -> None:
    """One query a quantity, over the last minute and what may have come late."""
    prometheus, policy = ToldPrometheus(exported("shop")), policy_of("shop")
    reader = MetricsReader(prometheus)
    await reader.read([policy], now=NOW)
    prometheus.requests.clear()
    await reader.read([policy], now=NOW + MINUTE)
    assert len(prometheus.requests) == QUANTITIES
    assert max(lengths_s(prometheus.requests)) <= 150
    assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW + MINUTE)


async def test_a_failed_cycle_leaves_no_hole() -> None:
    """The next one asks from the last good one on, of everything that was not read."""
    prometheus, policy = ToldPrometheus(exported("shop")), policy_of("shop")
    reader = MetricsReader(prometheus)
    await reader.read([policy], now=NOW)
    prometheus.fault = told_prometheus.raising(MetricsCause.UNREACHABLE)
    for minute in (1, 2, 3):
        await reader.read([policy], now=NOW + minute * MINUTE)
        assert isinstance(reader.of(policy), Unknown)
    prometheus.fault = None
    prometheus.requests.clear()
    await reader.read([policy], now=NOW + 4 * MINUTE)
    assert max(lengths_s(prometheus.requests)) <= 4 * 60 + 90
    assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW + 4 * MINUTE)


async def test_a_new_policy_is_backfilled_and_takes_nothing_from_the_others() -> None:
    """Its group's series were not kept before; the other group's record stays as long as it was."""
    prometheus = ToldPrometheus([*exported("shop", "orders"), *exported("shop", "bills")])
    orders, bills = policy_of("shop", "orders"), policy_of("shop", "bills")
    reader = MetricsReader(prometheus)
    await reader.read([orders], now=NOW)
    await reader.read([orders, bills], now=NOW + MINUTE)
    for policy in (orders, bills):
        assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW + MINUTE)
        assert reader.since(policy) == NOW + MINUTE - timedelta(hours=1)


async def test_what_nobody_asks_for_any_more_is_forgotten() -> None:
    """Memory is that of the policies that are there; a policy that comes back is read again."""
    prometheus = ToldPrometheus([*exported("shop", "orders"), *exported("shop", "bills")])
    orders, bills = policy_of("shop", "orders"), policy_of("shop", "bills")
    reader = MetricsReader(prometheus)
    await reader.read([orders, bills], now=NOW)
    both = reader.kept[0]
    await reader.read([orders], now=NOW + MINUTE)
    assert reader.kept[0] == both / 2
    await reader.read([orders, bills], now=NOW + 2 * MINUTE)
    assert seen(reader, bills) == whole(prometheus.series, bills, at=NOW + 2 * MINUTE)


async def test_only_series_of_the_policies_groups_are_kept() -> None:
    """A namespace may export a thousand groups that no policy names."""
    others = [item for number in range(20) for item in exported("shop", f"other-{number}")]
    prometheus = ToldPrometheus([*exported("shop"), *others])
    reader = MetricsReader(prometheus)
    await reader.read([policy_of("shop")], now=NOW)
    assert reader.kept[0] == len(KAFKAJS.metrics)


async def test_old_samples_are_forgotten_and_ended_series_too() -> None:
    """What is older than the window would be history of another group, and memory without end."""
    ending = exported("shop", end=NOW + MINUTE)
    prometheus, policy = ToldPrometheus(ending), policy_of("shop")
    reader = MetricsReader(prometheus)
    for minute in range(0, 80, 10):
        await reader.read([policy], now=NOW + minute * MINUTE)
        assert seen(reader, policy) == whole(ending, policy, at=NOW + minute * MINUTE)
    assert reader.kept == (0, 0)


async def test_a_clock_that_goes_back_forgets_what_it_read_of_the_future() -> None:
    """Else the time up to the old now would be taken for read, though nobody has read it."""
    prometheus, policy = ToldPrometheus(exported("shop")), policy_of("shop")
    reader = MetricsReader(prometheus)
    await reader.read([policy], now=NOW + 30 * MINUTE)
    await reader.read([policy], now=NOW)
    assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW)


async def test_samples_that_come_late_are_read() -> None:
    """A scrape is stored when it ends, and remote write sends it later."""
    prometheus = ToldPrometheus(exported("shop", pods=2), visible_s=lambda _, time_s: time_s + 40.0)
    reader, policy = MetricsReader(prometheus), policy_of("shop")
    for minute in range(5):
        prometheus.now_s = (NOW + minute * MINUTE).timestamp()
        await reader.read([policy], now=NOW + minute * MINUTE)
    visible = [series_.until((NOW + 4 * MINUTE).timestamp() - 40.0) for series_ in prometheus.series]
    assert seen(reader, policy) == whole(visible, policy, at=NOW + 4 * MINUTE)


async def test_samples_that_come_very_late_are_read_too() -> None:
    """One node's agent was cut off for ten minutes and sends what it has kept: the other pods' samples hide that."""
    cut_s, back_s = (NOW + 2 * MINUTE).timestamp(), (NOW + 12 * MINUTE).timestamp()

    def visible_s(series: Series, time_s: float) -> float:
        late = series.labels["pod"] == "orders-1" and cut_s < time_s <= back_s
        return back_s if late else time_s

    prometheus = ToldPrometheus(exported("shop", pods=2), visible_s=visible_s)
    reader, policy = MetricsReader(prometheus), policy_of("shop")
    for minute in range(15):
        prometheus.now_s = (NOW + minute * MINUTE).timestamp()
        await reader.read([policy], now=NOW + minute * MINUTE)
    assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW + 14 * MINUTE)


async def test_what_is_too_much_is_split_and_never_asked_again_as_it_was() -> None:
    """By namespaces first, then by time."""
    names = [f"team{number}" for number in range(8)]
    prometheus = ToldPrometheus([item for name in names for item in exported(name)])
    prometheus.most_samples = 150
    reader, policies = MetricsReader(prometheus), [policy_of(name) for name in names]
    for _ in range(12):
        asked = len(prometheus.requests)
        await reader.read(policies, now=NOW)
        queries = [(request.query, request.at) for request in prometheus.requests[asked:]]
        assert len(queries) == len(set(queries))
    for policy in policies:
        assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW)


async def test_one_namespaces_flood_costs_only_that_namespace() -> None:
    """Its policies say which namespace has too many series; the others are read as ever, in every cycle."""
    names = [f"team{number}" for number in range(8)]
    flood = [item for number in range(100) for item in exported("team3", f"flood-{number}", begin=NOW - MINUTE)]
    prometheus = ToldPrometheus([*(item for name in names for item in exported(name)), *flood])
    reader, policies = MetricsReader(prometheus), [policy_of(name) for name in names]
    await reader.read(policies, now=NOW - MINUTE)
    prometheus.most_samples = 100
    for minute in range(4):
        prometheus.requests.clear()
        await reader.read(policies, now=NOW + minute * MINUTE)
        assert len(prometheus.requests) <= REQUESTS
    for policy in policies:
        if policy.key.namespace == "team3":
            report = reader.of(policy)
            assert isinstance(report, Unknown)
            assert report.reason is Reason.TOO_MANY_SERIES
            assert "namespace team3 has more series" in report.message
            assert "team4" not in report.message
        else:
            assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW + 3 * MINUTE)
    assert len([request for request in prometheus.requests if "team3" in request.asked.namespaces]) == 1


async def test_a_flood_that_is_over_is_read_again() -> None:
    """What was skipped is asked for, and the record is whole."""
    prometheus, policy = ToldPrometheus(exported("shop")), policy_of("shop")
    reader = MetricsReader(prometheus)
    await reader.read([policy], now=NOW)
    prometheus.most_samples = 1
    for minute in (1, 2):
        await reader.read([policy], now=NOW + minute * MINUTE)
        assert isinstance(reader.of(policy), Unknown)
    prometheus.most_samples = None
    await reader.read([policy], now=NOW + 3 * MINUTE)
    assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW + 3 * MINUTE)


@pytest.mark.parametrize(
    "cause",
    [
        MetricsCause.UNREACHABLE,
        MetricsCause.TIMEOUT,
        MetricsCause.OVERLOADED,
        MetricsCause.REFUSED,
        MetricsCause.CLOCK,
    ],
)
async def test_who_does_not_answer_is_asked_once_a_cycle(cause: MetricsCause) -> None:
    """A Prometheus that is down or overloaded gets no more to do, and a cycle does not wait for each query."""
    prometheus, policy = ToldPrometheus(exported("shop")), policy_of("shop")
    prometheus.fault = told_prometheus.raising(cause)
    reader = MetricsReader(prometheus)
    await reader.read([policy], now=NOW)
    assert len(prometheus.requests) == 1
    report = reader.of(policy)
    assert isinstance(report, Unknown)
    assert report.reason is Reason.PROMETHEUS_UNREACHABLE


async def test_an_answer_that_is_bad_for_one_quantity_does_not_keep_the_others_from_being_read() -> None:
    """Policies of another library may not need it."""

    def partial(query: str, body: bytes) -> bytes:
        name = KAFKAJS.by_quantity[Quantity.HEARTBEATS].names[0]
        return FAILURES["warned"](query, body) if name in counters.names_in(query) else body

    prometheus, policy = ToldPrometheus(exported("shop")), policy_of("shop")
    prometheus.fault = partial
    reader = MetricsReader(prometheus)
    await reader.read([policy], now=NOW)
    report = reader.of(policy)
    assert isinstance(report, Unknown)
    assert report.reason is Reason.PARTIAL_DATA
    prometheus.fault = None
    await reader.read([policy], now=NOW + MINUTE)
    assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW + MINUTE)


async def test_a_shorter_record_is_told_where_not_all_was_read() -> None:
    """After the first slice a record reaches back as far as that, less the margin for the counters' baseline."""
    prometheus, policy = ToldPrometheus(exported("shop")), policy_of("shop")
    reader = MetricsReader(prometheus)
    prometheus.fault = _older_than(NOW - 10 * MINUTE, FAILURES["failed"])
    await reader.read([policy], now=NOW)
    since = reader.since(policy)
    assert since == NOW - seconds(reading_plan.LONGEST_S) + reading_plan.BASELINE_MARGIN
    assert seen(reader, policy).keys() == whole(prometheus.series, policy, at=NOW).keys()


async def test_requests_of_a_cycle_are_bounded_and_who_was_left_comes_first() -> None:
    """Namespaces of which each needs requests of its own are read in turns, each with all its quantities."""
    names = [f"team{number:02}" for number in range(14)]
    prometheus = ToldPrometheus([item for name in names for item in exported(name, pods=4)])
    reader, policies = MetricsReader(prometheus), [policy_of(name) for name in names]
    await reader.read(policies, now=NOW)
    prometheus.most_samples = 100  # one namespace's six minutes, or three namespaces' two
    known: list[set[str]] = []
    for minute in range(1, 11):
        prometheus.requests.clear()
        now = NOW + minute * MINUTE
        await reader.read(policies, now=now)
        assert len([request for request in prometheus.requests if request.at == now]) <= reading_share.MARGIN * REQUESTS
        known.append({policy.key.namespace for policy in policies if not isinstance(reader.of(policy), Unknown)})
    report = next(found for policy in policies if isinstance(found := reader.of(policy), Unknown))
    assert report.reason is Reason.NOT_READ_YET
    assert "was spent before namespace team" in report.message
    assert set().union(*known) == set(names)


def test_a_fleet_s_need_is_what_its_queries_weigh() -> None:
    """Ten thousand policies of three KafkaJS pods in twenty namespaces: ten requests after a minute, twenty after five.

    Each of the twenty namespaces has 1,500 series of a quantity, scraped every 15 s.
    """
    names = [f"team{number:02}" for number in range(20)]
    quantities = [metric.quantity for metric in KAFKAJS.metrics]
    sizes = {(quantity, name): Size(1500, 1500 / SCRAPE_S) for quantity in quantities for name in names}
    for length_s, requests, weight in ((120.0, 10, 3.6e6), (360.0, 20, 6e6), (600.0, 25, 8.4e6)):
        missing = {name: dict.fromkeys(quantities, Span(0.0, length_s)) for name in names}
        assert reading_plan.needed(missing, sizes) == Need(requests, weight)


async def test_after_a_long_cycle_a_large_fleet_is_read_whole() -> None:
    """What was left unread would be unknown, and its statuses would make the next cycle longer still."""
    names = [f"team{number:02}" for number in range(30)]
    prometheus = ToldPrometheus([item for name in names for item in exported(name)])
    reader, policies = MetricsReader(prometheus), [policy_of(name) for name in names]
    await catch_up(reader, prometheus, policies, NOW)
    for place, size in list(reader._sizes.items()):  # as if there were two thousand pods in each
        reader._sizes[place] = Size(2000 * size.series, 2000 * size.samples_per_s)
    await reader.read(policies, now=NOW + 6 * MINUTE)
    assert len(prometheus.requests) > REQUESTS
    assert not [policy for policy in policies if isinstance(reader.of(policy), Unknown)]


def _older_than(at: datetime, fault: told_prometheus.Fault) -> told_prometheus.Fault:
    """Return a fault of answers whose samples are all older; one without samples is none of them."""

    def older(query: str, body: bytes) -> bytes:
        newest_s = max((float(item["values"][-1][0]) for item in _result(body)), default=math.inf)
        return fault(query, body) if newest_s < at.timestamp() else body

    return older


def _result(body: bytes) -> Any:
    return json.loads(body)["data"]["result"]


@dataclasses.dataclass(frozen=True)
class Cycle:
    """One cycle of a run: how long after the last one, what goes wrong with which of its requests, and the limit."""

    after_s: int
    faults: dict[int, str]
    most_samples: int | None


cycles = st.builds(
    Cycle,
    after_s=st.sampled_from([1, 20, 60, 61, 180, 1000, 4000]),
    faults=st.dictionaries(st.integers(0, 30), st.sampled_from(sorted(FAILURES)), max_size=4),
    most_samples=st.sampled_from([None, None, 5, 40, 400]),
)


@settings(max_examples=40)
@given(st.lists(cycles, max_size=6))
async def test_once_caught_up_what_is_kept_is_what_one_whole_read_brings(run: list[Cycle]) -> None:
    """Whatever failed in between, in whatever order: with resets, series that end, and series that are born."""
    series = [
        *exported("shop", pods=2, resets=[NOW + 7 * MINUTE, NOW + 40 * MINUTE]),
        *exported("shop", "bills", end=NOW + 9 * MINUTE),
        *exported("mall", "orders", begin=NOW + 3 * MINUTE),
    ]
    policies = [policy_of("shop"), policy_of("shop", "bills"), policy_of("mall")]
    prometheus, now = ToldPrometheus(series), NOW
    reader = MetricsReader(prometheus)
    for cycle in run:
        now += seconds(cycle.after_s)
        left = dict(cycle.faults)
        begun = len(prometheus.requests)

        def fault(query: str, body: bytes, left: dict[int, str] = left, begun: int = begun) -> bytes:
            name = left.get(len(prometheus.requests) - 1 - begun)
            return body if name is None else FAILURES[name](query, body)

        prometheus.fault, prometheus.most_samples = fault, cycle.most_samples
        await reader.read(policies, now=now)
        for policy in policies:
            if not isinstance(reader.of(policy), Unknown):
                _assert_honest(reader, policy, series, now)
    now += MINUTE
    await catch_up(reader, prometheus, policies, now)
    for policy in policies:
        assert seen(reader, policy) == whole(series, policy, at=now)
        assert reader.since(policy) <= now - timedelta(hours=1) + seconds(1)


def _assert_honest(reader: MetricsReader, policy: Policy, series: Sequence[Series], now: datetime) -> None:
    """Hold a reader to it: from its record's beginning less the margin on, it has exactly what is there."""
    from_s = (reader.since(policy) - reading_plan.BASELINE_MARGIN).timestamp()

    def later(found: Seen) -> Seen:
        cut = {
            quantity: {labels: [pair for pair in pairs if pair[0] > from_s] for labels, pairs in group.items()}
            for quantity, group in found.items()
        }
        return {
            quantity: stored
            for quantity, group in cut.items()
            if (stored := {labels: pairs for labels, pairs in group.items() if pairs})
        }

    assert later(seen(reader, policy)) == later(whole(series, policy, at=now))


def test_the_shares_are_those_of_the_design() -> None:
    """At most twenty requests a cycle, however many policies; whatever the record is made of fits into them."""
    assert REQUESTS <= 20
    assert len(reading_plan.READ) <= REQUESTS
    assert len(reading_plan.READ) * reading_plan.REQUEST_WEIGHT <= reading_share.WEIGHT


async def test_an_early_look_reads_what_is_new_up_to_the_last_cycle() -> None:
    """The hour of a group that nobody named before; of others, and of the time since, nothing."""
    prometheus = ToldPrometheus([*exported("shop"), *exported("team"), *exported("shop", "bills")])
    known, new = [policy_of("shop"), policy_of("team")], policy_of("shop", "bills")
    reader = MetricsReader(prometheus)
    await reader.read(known, now=NOW)
    prometheus.requests.clear()
    await reader.read_early([known[0]])
    assert prometheus.requests == []
    await reader.read_early([new])
    assert len(prometheus.requests) == 4 * QUANTITIES
    assert {name for request in prometheus.requests for name in request.asked.namespaces} == {"shop"}
    assert max(request.at for request in prometheus.requests) == NOW
    for policy in [*known, new]:
        assert seen(reader, policy) == whole(prometheus.series, policy, at=NOW)
    prometheus.requests.clear()
    await reader.read([*known, new], now=NOW + MINUTE)
    assert len(prometheus.requests) == QUANTITIES
    assert seen(reader, new) == whole(prometheus.series, new, at=NOW + MINUTE)


async def test_an_early_look_does_not_try_again_what_failed() -> None:
    """A Prometheus that was down in the cycle is not waited for, and a group that it did not tell of is unknown."""
    prometheus = ToldPrometheus([*exported("shop"), *exported("shop", "bills")])
    known, new = policy_of("shop"), policy_of("shop", "bills")
    reader = MetricsReader(prometheus)
    await reader.read([known], now=NOW)
    prometheus.fault = FAILURES["timeout"]
    await reader.read([known], now=NOW + MINUTE)
    prometheus.fault = None
    prometheus.requests.clear()
    await reader.read_early([known, new])
    assert prometheus.requests == []
    for policy in (known, new):
        unknown = reader.of(policy)
        assert isinstance(unknown, Unknown)
        assert unknown.reason is Reason.PROMETHEUS_UNREACHABLE


async def test_what_is_too_much_for_an_early_look_is_the_namespaces_own() -> None:
    """The others' records stand."""
    prometheus = ToldPrometheus([*exported("shop"), *exported("flood", pods=40)])
    known, new = policy_of("shop"), policy_of("flood")
    reader = MetricsReader(prometheus)
    await reader.read([known], now=NOW)
    prometheus.most_samples = 60
    await reader.read_early([new])
    unknown = reader.of(new)
    assert isinstance(unknown, Unknown)
    assert unknown.reason is Reason.TOO_MANY_SERIES
    assert seen(reader, known) == whole(prometheus.series, known, at=NOW)
