"""What real exporters showed of one story each, through a real Prometheus: the same record, or why there is none.

The stories are alike: two evictions of one paused member, one member that leaves for want of a poll, clean joins and
ends. What the record must say is what the broker's own log says of the same minutes.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from heartbeat_tuner.adapters.prometheus.prometheus_source import PrometheusSource
from heartbeat_tuner.domain.evidence import Pod, Record, Unknown
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.metrics import record
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.raw import queries, resolver
from heartbeat_tuner.metrics.raw.resolver import NO_OWN_IDS, ClientKey, GroupKey
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity, Scope
from tests.exporters import recording
from tests.exporters.recording import Recording
from tests.exporters.replayed import Replayed
from tests.support import sources, worlds

pytestmark = pytest.mark.timeout(120)

MEASURED: Final[Mapping[str, str]] = {
    "jmx-0-default": "jmx-exporter",
    "jmx-0-gauges": "jmx-exporter",
    "jmx-1-bridge": "strimzi-bridge",
    "jmx-1-default": "jmx-exporter",
    "jmx-1-gauges": "jmx-exporter",
    "jmx-1-infer": "jmx-exporter",
    "jmx-1-lower-case": "strimzi",
    "jmx-1-streams": "jmx-exporter",
    "kafkajs-sandbox": "kafkajs",
    "micrometer-client": "micrometer",
    "otel-scraped": "opentelemetry",
    "spring-observed": "micrometer",
    "spring-timers": "micrometer",
    "strimzi-reporter": "jmx-exporter",
}
"""Recording to the convention that its series follow."""

EVICTIONS_UNCOUNTED: Final = {"jmx-1-kip848": "jmx-exporter", "jmx-1-streams-kip1071": "jmx-exporter"}
"""A member of these protocols counts neither lost ids nor leaves; each step of an assignment is a rebalance."""

REFUSED: Final[Mapping[str, str]] = {
    "franz-go-kprom": "have Prometheus scrape the operator",
    "group-exporters-stand-in": "add the counters of docs/how-to/install.md",
    "jmx-1-connect": "no series of group",  # by its client id: where the broker's word is known, it is measured
    "kafkajs-exporter": "add the counters of docs/how-to/install.md",
    "kafkajs-exporter-client-id": "add the counters of docs/how-to/install.md",
    "klag-exporter": "have Prometheus scrape the operator",
    "kip714-cumulative": "no series of group",
    "kip714-delta": "no series of group",
    "librdkafka-allsopp-kip848-stand-in": "have Prometheus scrape the operator",
    "librdkafka-allsopp-stand-in": "have Prometheus scrape the operator",
    "librdkafka-confluent-dotnet-stand-in": "have Prometheus scrape the operator",
    "librdkafka-mcolomerc-stand-in": "have Prometheus scrape the operator",
    "micrometer-jmx": "bind KafkaClientMetrics instead",
    "node-rdkafka-prometheus": "have Prometheus scrape the operator",
    "otel-otlp": "no series of group",
    "otel-otlp-untranslated": "no series of group",
    "otel-otlp-utf8": "no series of group",
    "prometheus-kafka-metrics": "have Prometheus scrape the operator",
}
"""Recording to what is said of why its group cannot be measured."""

NO_CONSUMERS: Final = {"kubernetes"}

BEATS_SHARE: Final = 0.12
"""The Java consumer counts refused beats as answered ones, and each rebalance and eviction refuses some."""


@pytest.fixture
def source(replayed: Replayed) -> Iterator[PrometheusSource]:
    """Read the Prometheus that has all recordings."""
    with sources.reading(replayed.prometheus.url, timeout_s=30, max_answer_bytes=2**24) as found:
        yield found


class Story:
    """The part of a recording between the end of the third member and that of the second.

    Attributes:
        since_s: its beginning, as the recording counts.
        now_s: its end.
        pods: who was there all the while.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        told_to_end = [event["at_s"] for event in recording.meta["events"] if event["event"] == "told to end"]
        self.since_s = next(event["at_s"] for event in recording.meta["events"] if event["event"] == "ended")
        self.now_s = told_to_end[1] - 0.5
        self.pods = [
            name
            for name, pod in recording.meta["pods"].items()
            if pod["started_s"] < self.since_s and (pod["ended_s"] is None or pod["ended_s"] > self.now_s)
        ]

    def within(self, at_s: float) -> bool:
        """Whether something happened in it."""
        return bool(self.since_s < at_s <= self.now_s)

    def counted(self, kind: str) -> int:
        """Return how many evictions, or leaves after a missed poll, the broker shows for pods that were not ended."""
        events = [item for item in self.recording.meta["truth"][kind] if item["pod"] in self.pods]
        return sum(1 for event in events if self.within(event["at_s"]))

    def beats(self) -> int:
        """Return how many heartbeats the broker accepted."""
        return sum(1 for pod in self.pods for at_s in self.recording.heartbeats_s.get(pod, ()) if self.within(at_s))

    def joins_a_member(self) -> float:
        """Return how often a member joined, settled as the record counts."""
        settled = self.since_s + record.SETTLING.total_seconds()
        pods = self.recording.meta["truth"]["pods"]
        joins = [join for name in self.pods for join in pods[name]["joins"] if settled < join["at_s"] <= self.now_s]
        return len(joins) / len(self.pods)


async def measured(
    source: PrometheusSource, replayed: Replayed, name: str, own_ids: Mapping[ClientKey, GroupKey] = NO_OWN_IDS
) -> tuple[Record | Unknown, Convention]:
    """Return what is said of a recording's group, and the convention that was found."""
    recording = replayed.recordings[name]
    story, began_s = Story(recording), replayed.began_s(name)
    since, now = (datetime.fromtimestamp(began_s + at_s, UTC) for at_s in (story.since_s, story.now_s))
    conventions = known_conventions.of_library(recording.meta["client"]["library"]) or known_conventions.CONVENTIONS
    found: list[Series] = []
    for quantity in (item for item in Quantity if item.scope is Scope.MEMBER):
        if names := known_conventions.names(conventions, quantity):
            asked = queries.raw(names, namespaces=[name], window=timedelta(seconds=story.now_s))
            found += await source.instant(asked, at=now)
    group = (name, recording.meta["group"])
    placed = [(resolver.place_of(item.labels, known_conventions.CONVENTIONS, {group}, own_ids), item) for item in found]
    known = [(place, item.in_unit(place.metric.unit_s)) for place, item in placed if place is not None]
    by_convention = resolver.sorted_out(known).get(group, {})
    convention, observed = resolver.followed(by_convention, conventions)
    limit_s = recording.meta["settings"].get("max_poll_interval_s")
    watched = RecordScope(
        policy=worlds.policy(key=ObjectKey(name, "recorded"), group_id=recording.meta["group"]),
        pods=[
            Pod(pod, pod, recording.meta["pods"][pod]["ip"], datetime.fromtimestamp(began_s + story.since_s, UTC), 0)
            for pod in story.pods
        ],
        poll_limit=None if limit_s is None else timedelta(seconds=limit_s),
        changes=(),
        since=since,
        now=now,
        consumer_protocol=recording.meta["broker"]["protocol"] == "streams",
    )
    return record.measure(watched, observed, convention, query=lambda quantity: quantity.camel), convention


def test_every_recording_is_either_measured_or_refused() -> None:
    """A new one says which of them it is."""
    report = [*MEASURED, *EVICTIONS_UNCOUNTED, *REFUSED, *NO_CONSUMERS]
    assert sorted(report) == recording.names()


@pytest.mark.parametrize("name", [*MEASURED, *EVICTIONS_UNCOUNTED])
async def test_a_group_is_measured_as_the_broker_saw_it(
    source: PrometheusSource, replayed: Replayed, name: str
) -> None:
    """Whatever the exporter: its name for things is found, and the same happened."""
    found, convention = await measured(source, replayed, name)
    story = Story(replayed.recordings[name])
    assert isinstance(found, Record), found
    assert convention.name == {**MEASURED, **EVICTIONS_UNCOUNTED}[name]
    assert found.unobserved_pods == ()
    if name in MEASURED:
        assert found.evictions == story.counted("evictions") == 2
        assert found.poll_gap_evictions == story.counted("poll_gap_leaves")
        # Streams follow each rebalance up with another one.
        edges = 2.0 if name == "jmx-1-streams" else 1.0
        assert found.rebalances == pytest.approx(story.joins_a_member(), abs=edges)
    assert found.accepted_beats == pytest.approx(story.beats(), rel=BEATS_SHARE)
    if found.longest_poll_gap is not None:
        assert found.longest_poll_gap >= timedelta(seconds=12)


async def test_fencings_of_stream_threads_are_counted(source: PrometheusSource, replayed: Replayed) -> None:
    """Two of one member half a minute apart may be one by what is shown; the other member did not poll, and left."""
    found, _ = await measured(source, replayed, "jmx-1-streams-kip1071")
    assert isinstance(found, Record), found
    assert (found.evictions, found.poll_gap_evictions, found.evicted_pods) == (1, 1, ("consumer-a",))
    assert found.hidden is None


async def test_a_connect_worker_is_measured_where_its_client_id_is_known(
    source: PrometheusSource, replayed: Replayed
) -> None:
    """It counts lost ids as a consumer does; its own client id says nothing of the group."""
    name = "jmx-1-connect"
    recording = replayed.recordings[name]
    beats = "kafka_connect_connect_coordinator_metrics_heartbeat"
    workers = [series_.labels for series_ in recording.series if series_.labels["__name__"] == beats]
    own_ids = {
        (name, labels["pod"], resolver.unquoted(labels["client_id"])): (name, recording.meta["group"])
        for labels in workers
    }
    found, convention = await measured(source, replayed, name, own_ids)
    assert isinstance(found, Record), found
    assert convention.name == "connect-worker"
    assert found.evictions == Story(recording).counted("evictions") == 2
    assert found.accepted_beats == pytest.approx(Story(recording).beats(), rel=BEATS_SHARE)


@pytest.mark.parametrize("name", REFUSED)
async def test_a_group_that_cannot_be_measured_is_unknown_and_says_why(
    source: PrometheusSource, replayed: Replayed, name: str
) -> None:
    """Exporters that tell too little, or not whose it is."""
    found, _ = await measured(source, replayed, name)
    assert isinstance(found, Unknown), found
    assert re.search(REFUSED[name], found.message)
