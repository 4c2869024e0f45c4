"""How far apart members of a share group poll, by what their clients export."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics import share_polls
from heartbeat_tuner.metrics.conventions import share_groups
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.conventions.java_metrics import JMX_EXPORTER, SHARE_CONSUMER
from heartbeat_tuner.metrics.conventions.librdkafka_metrics import COUNTERS
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from tests.support import counters, worlds
from tests.support.worlds import NOW

PODS = worlds.pods(2)
SINCE = NOW - timedelta(minutes=10)


def seen(pod: str, ages_s: list[float], value_s: float) -> Series:
    """Return a series of a pod that has one value at so many seconds before now."""
    return counters.series(((NOW.timestamp() - age_s, value_s) for age_s in sorted(ages_s, reverse=True)), pod=pod)


def test_a_share_consumer_is_known_by_its_own_metrics_alone() -> None:
    """As the JMX exporter names them, in milliseconds and in seconds; the group is in the default client id."""
    labels = {"namespace": "shop", "pod": "orders-0", "client_id": "consumer-orders-1"}
    shown = {"share_metrics_time_between_poll_max": 20_039.0, "share_metrics_last_poll_seconds_ago": 15.0}
    others = {"metrics_time_between_poll_max": 9e6, "share_metrics_time_between_poll_avg": 20_000.0}
    series = [
        Series.from_raw({**labels, "__name__": f"kafka_consumer_consumer_{name}"}, [(NOW.timestamp(), value)])
        for name, value in (shown | others).items()
    ]
    read = resolver.by_group(series, [SHARE_CONSUMER], {("shop", "orders")})["shop", "orders"]
    assert {quantity: group[0].samples.values[0] for quantity, group in read[SHARE_CONSUMER].items()} == {
        Quantity.POLL_GAP_MAX: 20.039,
        Quantity.POLL_GAP_MEAN: 20.0,
        Quantity.POLL_AGE: 15.0,
    }
    assert share_polls.longest_gap(read, PODS, since=SINCE) == timedelta(seconds=20.039)


def test_a_consumer_of_another_kind_shows_no_gap_of_a_share_group() -> None:
    """Nor does a pod that is gone, or a time before the record."""
    gap = {Quantity.POLL_GAP_MAX: [seen("orders-0", [60.0], 42.0)]}
    assert share_polls.longest_gap({JMX_EXPORTER: gap}, PODS, since=SINCE) is None
    assert share_polls.longest_gap({SHARE_CONSUMER: gap}, PODS[1:], since=SINCE) is None
    assert share_polls.longest_gap({SHARE_CONSUMER: gap}, PODS, since=NOW) is None
    assert share_polls.longest_gap({}, PODS, since=SINCE) is None
    assert share_polls.longest_gap({COUNTERS: gap}, PODS, since=SINCE) == worlds.seconds(42)


_SHOWN = st.tuples(
    st.sampled_from(list(share_groups.RECORDS)),
    st.sampled_from([Quantity.POLL_GAP_MAX, Quantity.POLL_AGE]),
    st.sampled_from(["orders-0", "orders-1", "gone-0"]),
    st.integers(0, 3_600).filter(lambda age_s: age_s != 600),
    st.floats(0.0, 1e5),
)


@given(st.lists(_SHOWN, max_size=8))
def test_the_longest_gap_is_the_longest_that_any_running_pod_shows_in_the_record(
    shown: list[tuple[Convention, Quantity, str, int, float]],
) -> None:
    """Never one that nobody exports, and never an average of several."""
    read: dict[Convention, dict[Quantity, list[Series]]] = {}
    for convention, quantity, pod, age_s, value_s in shown:
        read.setdefault(convention, {}).setdefault(quantity, []).append(seen(pod, [age_s], value_s))
    running = [value_s for _, _, pod, age_s, value_s in shown if pod != "gone-0" and age_s < 600]
    found = share_polls.longest_gap(read, PODS, since=SINCE)
    assert found == (timedelta(seconds=max(running)) if running else None)
