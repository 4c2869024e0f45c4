"""Fencings of members of the consumer protocol, as far as the Java consumer's metrics show them: a lower bound."""

from collections.abc import Iterable
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.evidence import MemberChange, Pod, Record
from heartbeat_tuner.metrics import lost_partitions
from heartbeat_tuner.metrics import record as records
from heartbeat_tuner.metrics.conventions import java_metrics
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.record import RecordScope
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, worlds
from tests.support.counters import JMX, Answers
from tests.support.worlds import NOW

SCRAPE_S = 15
SINCE = NOW - timedelta(minutes=30)
OLD = worlds.pod(started=NOW - worlds.HOUR)
YOUNG = worlds.pod(started=SINCE)
LIMIT = timedelta(minutes=5)
WINDOW_S = 60.0
"""For so long a loss shows here; the client's window holds 59 to 86 s."""


def losing(*ages_s: float, poll_gap: float = 0.5, window_s: float = WINDOW_S) -> Answers:
    """Return what a pod exports that lost its partitions so many seconds after the record's beginning.

    Args:
        ages_s: of each loss.
        poll_gap: the longest time between two polls that shows with the first loss, in seconds.
        window_s: for so long a loss shows.
    """
    begins_s = SINCE.timestamp() - 595  # no scrape is at the very beginning of the record
    times_s = [begins_s + SCRAPE_S * number for number in range(int((NOW.timestamp() - begins_s) / SCRAPE_S) + 1)]
    losses_s = [SINCE.timestamp() + age_s for age_s in ages_s]

    def shown(at: float) -> float:
        return 0.0 if any(lost <= at < lost + window_s for lost in losses_s) else float("nan")

    labels = counters.labels("orders-0", client_id="consumer-orders-1")

    def series_of(values: Iterable[float]) -> list[Series]:
        return [Series.from_raw(labels, zip(times_s, values, strict=True))]

    return {
        Quantity.HEARTBEATS: series_of((at - begins_s) // 5 for at in times_s),
        Quantity.REBALANCES: series_of(1.0 for _ in times_s),
        Quantity.REBALANCE_TIME: series_of(1.0 for _ in times_s),
        Quantity.POLL_AGE: series_of(0.0 for _ in times_s),
        Quantity.POLL_GAP_MAX: series_of(poll_gap if losses_s and at >= losses_s[0] else 0.5 for at in times_s),
        Quantity.PARTITIONS_LOST_LATENCY_MAX: series_of(shown(at) for at in times_s),
    }


def counted(answers: Answers, pod: Pod = OLD) -> int:
    """Return how many losses are counted in the record."""
    return len(lost_partitions.losses([pod], answers, since_s=SINCE.timestamp()))


def recorded(answers: Answers, *changes: MemberChange, consumer_protocol: bool = True) -> Record:
    """Return the record of a group of one pod."""
    scope = RecordScope(worlds.java_policy(), [OLD], LIMIT, changes, SINCE, NOW, consumer_protocol=consumer_protocol)
    group = ("shop", "orders")
    found = resolver.by_group(counters.exported(answers, JMX), [JMX], {group})[group][JMX]
    record = records.measure(scope, found, JMX, query=lambda quantity: quantity.camel)
    assert isinstance(record, Record)
    return record


def test_losses_that_are_a_window_apart_are_each_counted() -> None:
    """The number is the listener's time: 0 is a loss, too."""
    assert counted(losing()) == 0
    assert counted(losing(100)) == 1
    assert counted(losing(100, 300, 900)) == 3


def test_a_stream_thread_that_lost_its_tasks_was_fenced() -> None:
    """In a group of the streams protocol the consumer's own metric shows nothing."""
    shown = losing(100, 300)
    tasks = {Quantity.TASKS_LOST_LATENCY_MAX: shown[Quantity.PARTITIONS_LOST_LATENCY_MAX]}
    assert counted({**losing(), **tasks}) == 2


def test_losses_within_a_window_may_be_one_and_count_as_one() -> None:
    """The second only keeps the number there for longer."""
    assert counted(losing(100, 120)) == 1


def test_a_number_that_a_collector_goes_on_showing_is_one_loss() -> None:
    """What is no number is not pushed: the last one is shown for minutes, and would be a storm by itself."""
    for ages_s, count in (((100,), 1), ((100, 700), 2), ((-100,), 0), ((16,), 1)):
        answers = losing(*ages_s, window_s=WINDOW_S + 300)
        assert len(lost_partitions.losses([OLD], answers, since_s=SINCE.timestamp(), lingers=True)) == count
    young = lost_partitions.losses([YOUNG], losing(1, window_s=360), since_s=SINCE.timestamp(), lingers=True)
    assert len(young) == 1


def test_pushed_metrics_linger() -> None:
    """Those of OpenTelemetry and of KIP-714; who is scraped says at once that there is no number."""
    lingering = {convention.name for convention in java_metrics.CONVENTIONS if convention.lingers}
    assert lingering == {"opentelemetry", "opentelemetry-dotted", "kip714"}


def test_a_loss_that_may_have_been_before_the_record_does_not_count() -> None:
    """One that shows at the first scrape may be older; one after a scrape that showed none is not."""
    assert counted(losing(-20)) == 0
    assert counted(losing(-3)) == 0  # shown for the first time after the beginning
    assert counted(losing(-85, -10)) == 0  # the second is another one, and shows until long after the beginning
    assert counted(losing(16)) == 1


def test_a_pod_that_started_with_the_record_lost_nothing_before() -> None:
    """Its first scrape may show a loss already."""
    assert counted(losing(1), YOUNG) == 1


@given(st.lists(st.floats(0, 1_700), max_size=12))
def test_no_more_are_counted_than_there_were(ages_s: list[float]) -> None:
    """However they lie: what is counted is a lower bound."""
    assert counted(losing(*ages_s)) <= len(ages_s)


def test_the_record_of_a_consumer_group_counts_losses_and_no_changed_ids() -> None:
    """A member keeps its id through a fencing: another id is a consumer that was closed and made again."""
    change = MemberChange(SINCE + timedelta(minutes=5), OLD.name)
    record = recorded(losing(100, 300), change)
    assert (record.evictions, record.counted_evictions, record.poll_gap_evictions) == (2, 2, 0)
    assert record.evicted_pods == (OLD.name,)
    assert recorded(losing(100, 300), change, consumer_protocol=False).evictions == 1


def test_a_member_that_did_not_poll_left_of_its_own_accord() -> None:
    """It lost its partitions by that, too, and no session would have kept them."""
    record = recorded(losing(100, poll_gap=301.0))
    assert (record.evictions, record.poll_gap_evictions) == (0, 1)
