"""What is kept between cycles, and how small it is."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.raw.counter_steps import increase, mean_period_s
from heartbeat_tuner.metrics.raw.samples import Course, Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.reconcile.series.series_store import KeptSeries
from heartbeat_tuner.reconcile.series.spans import Span
from tests.support import counters
from tests.support.counters import KAFKAJS

GROUP: Final = ("shop", "orders")
JOINS: Final = KAFKAJS.by_quantity[Quantity.REBALANCES].names[0]
TIMES: Final = KAFKAJS.by_quantity[Quantity.REBALANCE_TIME].names[0]


def keeping() -> KeptSeries:
    """Return an empty memory of one group."""
    stored = KeptSeries(known_conventions.CONVENTIONS)
    stored.keep_only({GROUP})
    return stored


def scraped(name: str, pairs: list[tuple[float, float]], *, pod: str = "orders-0") -> Series:
    """Return a series as Prometheus answers it."""
    return Series.from_raw({**counters.labels(pod), "__name__": name}, pairs)


def samples(store: KeptSeries, quantity: Quantity = Quantity.REBALANCES) -> list[tuple[float, float]]:
    """Return the samples of the only series of a quantity; none if there is none."""
    found = store.of_group(GROUP).get(KAFKAJS, {}).get(quantity, ())
    return [pair for item in found for pair in item.samples.pairs()]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 15)), min_size=1), st.integers(0, 10))
def test_whatever_is_read_in_whatever_order_each_sample_is_there_once(
    reads: list[tuple[int, int]], keep_after: int
) -> None:
    """What is read twice counts once, what is older than asked for is gone, and time goes forward."""
    all_pairs = [(float(at), float(at * at)) for at in range(50)]
    stored, read = keeping(), set()
    for after, length in reads:
        span = Span(float(after), float(after + length))
        found = [pair for pair in all_pairs if span.after_s < pair[0] <= span.until_s]
        stored.take([scraped(JOINS, found)], span, keep_after_s=keep_after)
        read |= set(found)
    stored.forget_until(keep_after)
    assert samples(stored) == sorted(pair for pair in read if pair[0] > keep_after)


def test_scrapes_of_one_pod_share_their_times_and_still_counters_their_values() -> None:
    """Twenty million samples would not fit otherwise."""
    stored, pairs = keeping(), [(float(at), 2.0) for at in range(10)]
    for name in (JOINS, TIMES):
        for pod in ("orders-0", "orders-1"):
            stored.take([scraped(name, pairs, pod=pod)], Span(-1.0, 9.0), keep_after_s=-1.0)
    found = stored.of_group(GROUP)[KAFKAJS]
    joins, times = found[Quantity.REBALANCES], found[Quantity.REBALANCE_TIME]
    assert joins[0].samples.times_s is times[0].samples.times_s
    assert len({id(join.samples.values) for join in (*joins, *times)}) == 1


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 30), st.integers(1, 15)), min_size=1, max_size=8
    )
)
def test_what_is_shared_is_what_each_series_would_have_alone(reads: list[tuple[int, int, int, int]]) -> None:
    """Two quantities of two pods, read in any order and in any pieces: one moves, and one stands still for a while."""
    truth = {
        (name, pod): [(float(at * 15), float(max(at, 20) if name == JOINS else at * at)) for at in range(50)]
        for name in (JOINS, TIMES)
        for pod in ("orders-0", "orders-1")
    }
    together = keeping()
    alone = {which: keeping() for which in truth}
    for first, second, after, length in reads:
        which = ((JOINS, TIMES)[first], ("orders-0", "orders-1")[second])
        span = Span(after * 15.0, (after + length) * 15.0)
        found = scraped(
            which[0], [pair for pair in truth[which] if span.after_s < pair[0] <= span.until_s], pod=which[1]
        )
        for stored in (together, alone[which]):
            stored.take([found], span, keep_after_s=45.0)
    shown = together.of_group(GROUP).get(KAFKAJS, {})
    for (name, pod), stored in alone.items():
        quantity = Quantity.REBALANCES if name == JOINS else Quantity.REBALANCE_TIME
        mine = [item.samples for item in shown.get(quantity, ()) if item.labels["pod"] == pod]
        assert [pair for item in mine for pair in item.pairs()] == samples(stored, quantity)


def test_a_group_that_goes_takes_its_series_and_comes_back_empty() -> None:
    """Series of others that were passed over are looked at again once their group is asked for."""
    stored, span = keeping(), Span(0.0, 10.0)
    stored.keep_only({("shop", "bills")})
    stored.take([scraped(JOINS, [(5.0, 1.0)])], span, keep_after_s=0.0)
    stored.keep_only({GROUP})
    assert stored.sizes() == (0, 0)
    stored.take([scraped(JOINS, [(5.0, 1.0)])], span, keep_after_s=0.0)
    assert samples(stored) == [(5.0, 1.0)]
    stored.keep_only(set())
    stored.keep_only({GROUP})
    assert stored.sizes() == (0, 0)


def test_what_changes_later_does_not_change_those_that_shared_it() -> None:
    """The second pod's counter goes on; the first one's stays what it was."""
    stored, pairs = keeping(), [(float(at), 2.0) for at in range(10)]
    for pod in ("orders-0", "orders-1"):
        stored.take([scraped(JOINS, pairs, pod=pod)], Span(-1.0, 9.0), keep_after_s=-1.0)
    stored.take([scraped(JOINS, [(10.0, 3.0)], pod="orders-1")], Span(9.0, 10.0), keep_after_s=-1.0)
    assert samples(stored) == [*pairs, *pairs, (10.0, 3.0)]


def test_a_series_without_a_number_is_known_to_be_there() -> None:
    """That nothing was measured is another thing to tell than that there is no series."""
    stored = keeping()
    stored.take([scraped(JOINS, [])], Span(0.0, 10.0), keep_after_s=0.0)
    stored.forget_until(5.0)
    assert stored.sizes() == (1, 0)
    stored.forget_until(10.0)
    assert stored.sizes() == (0, 0)


def test_samples_that_begin_where_nothing_was_are_late() -> None:
    """Others may have come before them: the span's beginning had been read, and held nothing."""
    span = Span(100.0, 220.0)
    late = [(105.0, 1.0), (120.0, 1.0)]
    for before, found, expected in (
        ([], late, {GROUP}),
        ([(20.0, 1.0)], late, {GROUP}),
        ([], [(150.0, 1.0), (210.0, 1.0)], {GROUP}),  # each minute
        ([(95.0, 1.0)], late, set()),  # goes on
        ([(20.0, 1.0)], [(180.0, 1.0)], set()),  # began again
        ([(20.0, 1.0)], [], set()),
    ):
        stored = keeping()
        stored.take([scraped(JOINS, before)], Span(0.0, 100.0), keep_after_s=0.0)
        assert stored.take([scraped(JOINS, found)], span, keep_after_s=0.0) == expected


@given(steps=st.lists(st.integers(0, 3), min_size=1, max_size=12), since=st.integers(0, 12), born_at_zero=st.booleans())
def test_what_is_known_of_a_counter_changes_nothing_of_what_it_tells(
    steps: list[int], since: int, *, born_at_zero: bool
) -> None:
    """A short way past a counter that stands still, or never falls, ends where the long one does."""
    stored, pairs = keeping(), [(float(at), float(sum(steps[: at + 1]))) for at in range(len(steps))]
    stored.take([scraped(JOINS, pairs)], Span(-1.0, 20.0), keep_after_s=-1.0)
    (known,) = stored.of_group(GROUP)[KAFKAJS][Quantity.REBALANCES]
    plain = Series.from_raw(known.labels, known.samples.pairs())
    assert known.samples.course is not Course.UNKNOWN
    assert known.samples.stands_still == plain.samples.stands_still
    growth = [increase(series, since_s=since, born_at_zero=born_at_zero) for series in (known, plain)]
    assert growth[0] == growth[1]
    periods = [mean_period_s(series, since_s=since) for series in (known, plain)]
    assert periods[0] == periods[1]


def test_a_counter_that_fell_is_not_said_to_rise() -> None:
    """A restart is no course of its own: whoever asks looks at the values."""
    stored = keeping()
    stored.take([scraped(JOINS, [(1.0, 5.0), (2.0, 6.0), (3.0, 0.0), (4.0, 2.0)])], Span(0.0, 4.0), keep_after_s=0.0)
    (series,) = stored.of_group(GROUP)[KAFKAJS][Quantity.REBALANCES]
    assert not series.samples.never_falls
    assert increase(series, since_s=1.0, born_at_zero=False) == 1.0 + 0.0 + 2.0
