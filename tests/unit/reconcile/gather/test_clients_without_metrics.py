"""Groups whose library has an exporter that nobody runs: their evictions are those that the broker shows."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import pytest

from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.kafka_groups import Member
from heartbeat_tuner.domain.policies import Naming, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.metrics.raw.samples import Series
from tests.support import counters, manifests, told_prometheus, worlds
from tests.support.counters import KAFKAJS
from tests.support.stages import MINUTE, Stage
from tests.support.told_prometheus import ToldPrometheus
from tests.support.worlds import HOUR, NOW
from tests.unit.reconcile.gather.test_gathering_faults import long_running

SAID = "no client metrics; evictions as the broker shows them"


def watched(*evictions_at: datetime) -> list[Series]:
    """Return what the group watcher exports of the pods: evictions of the first one."""
    found = []
    for pod in worlds.pods():
        for certainty in ("certain", "doubtful"):
            counts = evictions_at if (pod.name, certainty) == ("orders-0", "certain") else ()
            labels = {
                "__name__": "heartbeat_tuner_group_evictions_total",
                "namespace": "shop",
                "policy": "orders",
                "group": "orders",
                "pod": pod.name,
                "certainty": certainty,
            }
            times = [NOW - 3 * HOUR + number * MINUTE / 2 for number in range(480)]
            pairs = [(at.timestamp(), float(sum(1 for count in counts if count <= at))) for at in times]
            found.append(Series.from_raw(labels, pairs))
    return found


FOUR = tuple(NOW - minutes * MINUTE for minutes in (40, 30, 20, 10))


def exporter(*, since: datetime = NOW - 3 * HOUR, until: datetime = NOW + HOUR) -> list[Series]:
    """Return what the client's own exporter shows of a healthy group."""
    return counters.exported(counters.quiet(worlds.pods(), since, until), KAFKAJS)


def failing_before(at: datetime) -> told_prometheus.Fault:
    """Return a fault of answers whose samples are all older."""

    def fault(query: str, body: bytes) -> bytes:
        found = json.loads(body)["data"]["result"]
        newest_s = max((float(item["values"][-1][0]) for item in found), default=at.timestamp())
        return told_prometheus.FAILURES["failed"](query, body) if newest_s < at.timestamp() else body

    return fault


def stage_with(series: Sequence[Series]) -> Stage:
    """Return a group of KafkaJS consumers at a session of 10 s, under a policy in mode Apply."""
    stage = Stage([manifests.policy()], now=worlds.settings("10s", "3s"))
    long_running(stage)
    stage.prometheus = ToldPrometheus(series)  # type: ignore[assignment]  # it answers as the fake does
    stage.restart()
    return stage


async def record_of(series: Sequence[Series], policy: Policy | None = None) -> Record | Unknown:
    """Return what is recorded of the group."""
    asked = worlds.policy() if policy is None else policy
    stage = stage_with(series)
    found = (await stage.gatherer().gather([asked]))[asked.key]
    record = getattr(found, "record", None)
    assert isinstance(record, Record | Unknown)
    return record


async def test_three_evictions_raise_the_session() -> None:
    """As in a group whose library has no exporter; and it is said what they rest on."""
    stage = stage_with(watched(*FOUR))
    await stage.cycle()
    (write,) = stage.workloads.writes
    assert write.target.session_timeout > worlds.seconds(10)
    assert SAID in stage.message("Recommended")


async def test_no_eviction_proves_no_quiet() -> None:
    """Nothing is written, and the group is not called healthy."""
    stage = stage_with(watched())
    await stage.cycle()
    assert stage.condition("Recommended") == ("Unknown", Reason.TOO_LITTLE_DATA)
    assert stage.message("Recommended").startswith(SAID)
    assert stage.workloads.writes == []


async def test_what_the_client_shows_counts_as_soon_as_it_is_there() -> None:
    """Its own counters are exact, and it is quiet by them."""
    record = await record_of([*watched(*FOUR), *exporter()])
    assert isinstance(record, Record)
    assert (record.evictions, record.as_described) == (0, False)
    young = await record_of([*watched(*FOUR), *exporter(since=NOW - MINUTE)])
    assert isinstance(young, Record)
    assert not young.as_described


@pytest.mark.parametrize("minutes", [5, 55])
async def test_an_exporter_that_went_away_leaves_the_group_unknown(minutes: int) -> None:
    """It was there within the window, so something is broken that a person should see."""
    record = await record_of([*watched(*FOUR), *exporter(until=NOW - minutes * MINUTE)])
    assert isinstance(record, Unknown)
    assert record.reason is Reason.METRICS_STALE


async def test_an_exporter_that_is_gone_for_longer_than_the_window_counts_as_none() -> None:
    """Nothing can be decided by it any more, and what the broker shows can only lengthen a session."""
    record = await record_of([*watched(*FOUR), *exporter(until=NOW - 80 * MINUTE)])
    assert isinstance(record, Record)
    assert (record.evictions, record.as_described) == (4, True)


async def test_a_window_that_was_not_read_whole_shows_no_absence() -> None:
    """The exporter may have been there in the part that was not read."""
    stage = stage_with([*watched(*FOUR), *exporter(until=NOW - 40 * MINUTE)])
    stage.prometheus.fault = failing_before(NOW - 10 * MINUTE)  # type: ignore[attr-defined]
    found = (await stage.gatherer().gather([worlds.policy()]))[worlds.policy().key]
    record = getattr(found, "record", None)
    assert isinstance(record, Unknown)
    assert record.reason is Reason.NO_SERIES


@pytest.mark.parametrize(
    "policy",
    [
        dataclasses.replace(worlds.policy(), library="streams"),
        dataclasses.replace(worlds.policy(), naming=Naming(convention="kafkajs")),
    ],
    ids=["streams", "named-exporter"],
)
async def test_who_is_expected_to_export_is_unknown_without_it(policy: Policy) -> None:
    """Threads of Kafka Streams look evicted when they fail; who names an exporter has one."""
    record = await record_of(watched(*FOUR), policy)
    assert isinstance(record, Unknown)
    assert record.reason is Reason.NO_SERIES


async def record_at_broker(series: Sequence[Series], kind: str, policy: Policy | None = None) -> Record | Unknown:
    """Return what is recorded of a group of another protocol than the classic one."""
    asked = worlds.policy() if policy is None else policy
    stage = stage_with(series)
    stage.groups.groups["main"]["orders"] = dataclasses.replace(worlds.group(), consumer_protocol=True, kind=kind)
    found = (await stage.gatherer().gather([asked]))[asked.key]
    record = getattr(found, "record", None)
    assert isinstance(record, Record | Unknown)
    return record


@pytest.mark.parametrize("kind", ["consumer", "share"])
async def test_fencings_that_the_broker_shows_are_a_lower_bound(kind: str) -> None:
    """Who is back before the next description was not seen missing, so none is no proof."""
    record = await record_at_broker(watched(*FOUR), kind)
    assert isinstance(record, Record)
    assert (record.evictions, record.as_described) == (4, kind == "consumer")
    assert record.hidden is not None
    assert record.hidden.lasts


async def test_no_exporter_shows_what_happens_in_a_share_group() -> None:
    """A consumer beside it in the same process may be a member of another group."""
    record = await record_at_broker([*watched(*FOUR), *exporter()], "share")
    assert isinstance(record, Record)
    assert record.evictions == 4
    assert record.hidden is not None
    record = await record_at_broker(exporter(), "share")
    assert isinstance(record, Unknown)
    assert "heartbeat_tuner_group_evictions_total" in record.message


COUNTERS: Final = {
    "confluent-kafka-python": "librdkafka_group_{}s_total",
    "java": "kafka_consumer_consumer_share_coordinator_metrics_{}",
}
"""What members of a share group name their counters, by library."""


def sharing(library: str, *, joined_at: datetime) -> list[Series]:
    """Return what members of a share group export of themselves: beats, and assignments."""
    counts: dict[str, Callable[[datetime], float]] = {
        "heartbeat": lambda at: (at - NOW + 3 * HOUR).total_seconds() // 5,
        "rebalance": lambda at: 1 + (at >= joined_at),
    }
    times = [NOW - 3 * HOUR + number * MINUTE / 4 for number in range(720)]
    return [
        Series.from_raw(
            {
                "__name__": COUNTERS[library].format(name),
                "namespace": "shop",
                "pod": pod.name,
                "client_id": "consumer-orders-1",
                **({} if library == "java" else {"group_id": "orders"}),
            },
            [(at.timestamp(), float(count(at))) for at in times],
        )
        for pod in worlds.pods()
        for name, count in counts.items()
    ]


@pytest.mark.parametrize("library", COUNTERS)
async def test_members_of_a_share_group_that_joined_once_were_not_fenced(library: str) -> None:
    """Their own counters prove it, beside what the broker shows; of another group's members nothing is read."""
    policy = dataclasses.replace(worlds.policy(), library=library)
    calm = await record_at_broker([*watched(), *sharing(library, joined_at=NOW - 2 * HOUR)], "share", policy)
    assert isinstance(calm, Record)
    assert (calm.evictions, calm.hidden, calm.as_described) == (0, None, False)
    assert calm.beat_period == worlds.seconds(5)
    moved = await record_at_broker([*watched(*FOUR), *sharing(library, joined_at=NOW - 10 * MINUTE)], "share", policy)
    assert isinstance(moved, Record)
    assert moved.evictions == 4
    assert moved.hidden is not None
    assert "took part in a rebalance" in moved.hidden.message


@pytest.mark.parametrize("lacks", ["pod", "samples", "beats"])
async def test_what_the_broker_shows_of_a_share_group_counts_whatever_its_pods_export(lacks: str) -> None:
    """An agent in some pods only, or one that has failed, hides no eviction, and proves no calm."""
    series = sharing("java", joined_at=NOW - 2 * HOUR)
    if lacks == "pod":
        series = [each for each in series if each.labels["pod"] != "orders-0"]
    elif lacks == "samples":
        series = [each.until((NOW - 20 * MINUTE).timestamp()) for each in series]
    else:
        series = [each for each in series if "rebalance" in each.labels["__name__"]]
    policy = dataclasses.replace(worlds.policy(), library="java")
    for times, evictions in ((FOUR, 4), ((), 0)):
        record = await record_at_broker([*watched(*times), *series], "share", policy)
        assert isinstance(record, Record)
        assert record.evictions == evictions
        assert record.hidden is not None


async def test_a_poll_of_any_age_ends_no_record() -> None:
    """What is exported may be any number."""
    record = await record_at_broker([*watched(*FOUR), share_polls("last_poll_seconds_ago", 1e300)], "share", JAVA)
    assert isinstance(record, Record)
    assert record.evictions == 4
    assert record.longest_poll_gap == timedelta(seconds=1e9)


async def test_a_member_that_exports_nothing_beside_those_that_do_is_no_proof() -> None:
    """The broker shows two members in a pod that exports one: what became of the other is not known."""
    policy = dataclasses.replace(worlds.policy(), library="confluent-kafka-python")
    stage = stage_with([*watched(), *sharing("confluent-kafka-python", joined_at=NOW - 2 * HOUR)])
    members = tuple(Member(f"member-{number}", worlds.pods()[0].ip) for number in range(2))
    group = dataclasses.replace(worlds.group(), consumer_protocol=True, kind="share", members=members)
    stage.groups.groups["main"]["orders"] = group
    record = getattr((await stage.gatherer().gather([policy]))[policy.key], "record", None)
    assert isinstance(record, Record)
    assert record.hidden is not None
    assert not record.hidden.lasts  # a container that restarted leaves a member behind until its session ends
    assert "2 members at the address of one pod, and at most 1" in record.hidden.message


def share_polls(metric: str, value: float, *, pod: str = "orders-0", group: str = "orders") -> Series:
    """Return what the JMX exporter shows of a share consumer's polls, once a quarter of a minute."""
    labels = {
        "__name__": f"kafka_consumer_consumer_share_metrics_{metric}",
        "namespace": "shop",
        "pod": pod,
        "client_id": f"consumer-{group}-1",
    }
    times = [NOW - 3 * HOUR + number * MINUTE / 4 for number in range(720)]
    return Series.from_raw(labels, [(at.timestamp(), value) for at in times])


JAVA = dataclasses.replace(worlds.policy(), library="java")


async def test_java_shows_how_far_apart_members_of_a_share_group_poll() -> None:
    """In milliseconds, and of a poll that is not over in seconds; of other groups and pods nothing counts."""
    short, others = share_polls("time_between_poll_max", 105.0), share_polls("time_between_poll_max", 9e6, pod="gone-0")
    foreign = share_polls("time_between_poll_max", 9e6, group="other")
    never = share_polls("time_between_poll_avg", 9e6)
    shown = [*watched(), short, others, foreign, never]
    for more, gap_s in (([], 0.105), ([share_polls("last_poll_seconds_ago", 42.0, pod="orders-1")], 42.0)):
        record = await record_at_broker([*shown, *more], "share", JAVA)
        assert isinstance(record, Record)
        assert record.longest_poll_gap == worlds.seconds(gap_s)
        assert (record.evictions, record.as_described) == (0, False)
        assert record.hidden is not None


async def test_a_share_group_without_polls_shows_no_gap() -> None:
    """Unknown stays unknown, and a consumer of another kind in the same pod tells nothing."""
    own = {"__name__": "kafka_consumer_consumer_metrics_time_between_poll_max"}
    beside = share_polls("time_between_poll_max", 9e6)
    beside = Series({**beside.labels, **own}, beside.samples)
    for shown in ([], [beside]):
        record = await record_at_broker([*watched(*FOUR), *shown], "share", JAVA)
        assert isinstance(record, Record)
        assert (record.evictions, record.longest_poll_gap) == (4, None)


async def test_polls_alone_make_no_record() -> None:
    """They show no fencing: what the broker shows is missing, and that is said."""
    polls = share_polls("last_poll_seconds_ago", 42.0)
    for kind in ("share", "consumer"):
        record = await record_at_broker([polls], kind, JAVA)
        assert isinstance(record, Unknown)
        assert record.reason is Reason.NO_SERIES


async def test_members_on_librdkafka_show_how_far_apart_they_poll() -> None:
    """By the counters of their own, whichever language they are written in."""
    policy = dataclasses.replace(worlds.policy(), library="confluent-kafka-python")
    polls = share_polls("last_poll_seconds_ago", 42.0)
    own = {"__name__": "librdkafka_group_poll_gap_max_seconds", "group_id": "orders"}
    polls = Series({**polls.labels, **own}, polls.samples)
    for counted in ([], sharing("confluent-kafka-python", joined_at=NOW - 2 * HOUR)):
        record = await record_at_broker([*watched(), *counted, polls], "share", policy)
        assert isinstance(record, Record)
        assert record.longest_poll_gap == worlds.seconds(42)


async def test_metrics_that_a_policy_names_are_no_word_on_a_share_group() -> None:
    """A client's counters that stand still prove nothing there, by whatever name."""
    named = dataclasses.replace(worlds.policy(), naming=Naming(labels={"pod": "pod"}))
    record = await record_at_broker([*watched(*FOUR), *exporter()], "share", named)
    assert isinstance(record, Unknown)
    assert record.reason is Reason.NO_SERIES
    assert "leave names and labels out of spec.metrics" in record.message


async def test_a_group_of_kafka_streams_protocol_shows_its_fencings_itself() -> None:
    """A policy of another library reads nothing of it."""
    record = await record_at_broker(watched(*FOUR), "streams")
    assert isinstance(record, Unknown)
    assert record.reason is Reason.NO_SERIES
