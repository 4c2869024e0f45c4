"""Groups whose clients show nothing: their fit rests on what the operator's group watcher counted."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Final

import pytest

from heartbeat_tuner.fitting.prometheus import counting
from heartbeat_tuner.fitting.prometheus.counting import Cell
from heartbeat_tuner.fitting.prometheus.slices import SliceWindow
from heartbeat_tuner.metrics.conventions import java_metrics, kafkajs_metrics, librdkafka_metrics
from heartbeat_tuner.metrics.measured import ABSENCE, EVICTION, OUTAGE, POLL_GAP, UNSEEN_REJOIN
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.tails import histogram
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS
from tests.support import histories

pytestmark = pytest.mark.no_cover  # counts weeks of samples

DAY = date(2026, 3, 1)
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
SCRAPE_S: Final = 60.0
SESSION_S: Final = 10.0


def counter(group: str, pod: str, at_s: list[float], *, certainty: str = "certain", days: int = 1) -> Series:
    """Return what the group watcher exported of a pod that was evicted at these seconds of the days."""
    labels = {
        "__name__": "heartbeat_tuner_group_evictions_total",
        "namespace": "shop",
        "policy": group,
        "group": group,
        "pod": pod,
        "certainty": certainty,
    }
    since_s, pairs, count, left = MIDNIGHT.timestamp(), [], 0, sorted(at_s)
    for number in range(int(days * 86_400 / SCRAPE_S)):
        scraped_s = number * SCRAPE_S
        while left and left[0] <= scraped_s:
            left.pop(0)
            count += 1
        pairs.append((since_s + scraped_s, float(count)))
    return Series.from_raw(labels, pairs)


def policies(group: str, *, client: str = "sarama", days: int = 1) -> list[Series]:
    """Return what the operator exported of a policy: the library, and the session that is set."""
    own = {"namespace": "shop", "policy": group}
    info = {"__name__": "heartbeat_tuner_policy_info", "group": group, "client": client, **own}
    session = {"__name__": "heartbeat_tuner_policy_session_timeout_seconds", "values": "set", **own}
    times = [MIDNIGHT.timestamp() + number * 300.0 for number in range(288 * days)]
    return [
        Series.from_raw(labels, [(at, value) for at in times]) for labels, value in ((info, 1.0), (session, SESSION_S))
    ]


def counted(series: list[Series], around: list[Series], window: SliceWindow | None = None) -> Counter[Cell]:
    """Return what is counted of a window; of the day, unless said otherwise."""
    whole = SliceWindow(MIDNIGHT, MIDNIGHT + timedelta(days=1)) if window is None else window
    return counting.counts(series, [], whole, around)


def test_certain_evictions_are_counted_with_the_session_that_they_outlasted() -> None:
    """Doubtful ones are read, and are none."""
    series = [
        counter("orders", "orders-0", [3_000.0, 50_000.0]),
        counter("orders", "orders-0", [9_000.0], certainty="doubtful"),
        counter("orders", "orders-1", []),
    ]
    found = counted(series, policies("orders"))
    bucket = int(histogram.bucket_of(SESSION_S))
    assert found == {
        Cell("shop", "orders", "sarama", EVICTION, bucket): 2,
        Cell("shop", "orders", "sarama", EVICTION, MEMBER_BLOCKS): 1920,
        Cell("shop", "orders", "sarama", EVICTION, GROUP_BLOCKS): 960,
    }


def test_new_ids_that_no_description_explains_are_rows_of_their_own() -> None:
    """How many evictions they stand for, the fit says."""
    series = [
        counter("orders", "orders-0", [3_000.0]),
        counter("orders", "orders-0", [9_000.0, 50_000.0], certainty="unseen"),
    ]
    found = counted(series, policies("orders"))
    assert found[Cell("shop", "orders", "sarama", EVICTION, int(histogram.bucket_of(SESSION_S)))] == 1
    assert found[Cell("shop", "orders", "sarama", UNSEEN_REJOIN, int(histogram.bucket_of(0.0)))] == 2
    assert found[Cell("shop", "orders", "sarama", UNSEEN_REJOIN, MEMBER_BLOCKS)] == 960


def test_what_was_counted_before_the_window_is_of_another_one() -> None:
    """A counter goes on, and a window begins anywhere."""
    series = counter("orders", "orders-0", [3_000.0, 50_000.0])
    noon = SliceWindow(MIDNIGHT + timedelta(hours=12), MIDNIGHT + timedelta(hours=18))
    cut = Series(series.labels, series.samples.between(noon.start.timestamp(), noon.end.timestamp()))
    found = counted([cut], policies("orders"), noon)
    assert found[Cell("shop", "orders", "sarama", EVICTION, int(histogram.bucket_of(SESSION_S)))] == 1


def test_consumers_of_spring_are_those_of_java() -> None:
    """As the models of those that export are."""
    found = counted([counter("orders", "orders-0", [3_000.0])], policies("orders", client="spring"))
    assert {cell.client for cell in found} == {"java"}


@pytest.mark.parametrize("around", [[], policies("others"), policies("orders", client="unheard-of")])
def test_a_group_of_no_known_library_is_left_out(around: list[Series]) -> None:
    """The group watcher does not say whose consumers it watches."""
    assert not counted([counter("orders", "orders-0", [3_000.0])], around)


def test_what_the_client_shows_counts_alone() -> None:
    """As in a record: its own counters are exact."""
    own = histories.of_days(DAY, DAY, members=1, convention=kafkajs_metrics.EXPORTER)
    both = [*own, counter("orders", "orders-0", [3_000.0])]
    assert counted(both, policies("orders", client="kafkajs")) == counted(own, policies("orders", client="kafkajs"))


@pytest.mark.parametrize(("library", "client"), [("rust-rdkafka", "rust-rdkafka"), ("", "confluent-kafka-python")])
def test_consumers_with_librdkafka_are_those_that_the_policy_names(library: str, client: str) -> None:
    """All of them are exported alike; where nobody says which it is, it is the library that the lines are for."""
    own = histories.of_days(DAY, DAY, members=1, convention=librdkafka_metrics.COUNTERS)
    found = counted(own, policies("orders", client=library) if library else [])
    assert {cell.client for cell in found} == {client}
    seen = {cell.quantity for cell in found if cell.bucket >= 0}
    assert {ABSENCE, POLL_GAP, OUTAGE} <= seen
    assert EVICTION not in seen  # nothing was lost, in the time that was watched
    assert found[Cell("shop", "orders", client, EVICTION, MEMBER_BLOCKS)] > 0


def test_what_they_lost_counts_alone_and_in_a_share_group_what_the_broker_shows() -> None:
    """Clients of a share group do not count what they lost: without the fencings their absences would look short."""
    own = histories.of_days(DAY, DAY, members=1, convention=librdkafka_metrics.COUNTERS)
    described, around = counter("orders", "orders-0", [3_000.0]), policies("orders", client="rust-rdkafka")
    sharing = [series for series in own if series.labels["__name__"] != "librdkafka_group_lost_total"]
    bucket = int(histogram.bucket_of(SESSION_S))
    found = [
        counted([*series, described], around)[Cell("shop", "orders", "rust-rdkafka", EVICTION, bucket)]
        for series in (own, sharing)
    ]
    assert found == [0, 1]


def test_share_consumers_of_java_are_measured_as_java() -> None:
    """They beat and poll as others do; their fencings are those that the broker shows."""
    own = histories.of_days(DAY, DAY, members=1, convention=java_metrics.SHARE_CONSUMER)
    found = counted([*own, counter("orders", "orders-0", [3_000.0])], policies("orders", client="java"))
    assert {cell.client for cell in found} == {"java"}
    assert {ABSENCE, POLL_GAP, OUTAGE} <= {cell.quantity for cell in found if cell.bucket >= 0}
    assert found[Cell("shop", "orders", "java", EVICTION, int(histogram.bucket_of(SESSION_S)))] == 1
