"""Windowed maxima in blocks that hold a spike once or twice, and ages turned into gaps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics.absence import blocks
from heartbeat_tuner.metrics.absence.blocks import Gap
from heartbeat_tuner.metrics.raw.samples import Sample
from tests.support import counters

TIMES = st.floats(min_value=0, max_value=2e9, allow_nan=False)
VALUES = st.floats(min_value=0, max_value=1e6, allow_nan=False)
SAMPLES = st.lists(st.builds(Sample, TIMES, VALUES), max_size=40)
WIDTHS = st.sampled_from([90.0, 180.0, 300.0])


@given(SAMPLES, WIDTHS)
def test_a_blocks_maximum_is_the_largest_of_its_values(found: list[Sample], width_s: float) -> None:
    """Never below any value of its block, and always one of them."""
    by_block: dict[float, list[float]] = {}
    for sample in found:
        block_s = blocks.start_s(sample.time_s, width_s=width_s)
        assert block_s <= sample.time_s < block_s + width_s
        by_block.setdefault(block_s, []).append(sample.value)
    reduced = blocks.maxima(found, width_s=width_s)
    assert [item.time_s for item in reduced] == sorted(by_block)
    assert all(item.value == max(by_block[item.time_s]) for item in reduced)


@given(SAMPLES, WIDTHS)
def test_blocks_of_blocks_are_the_same_blocks(found: list[Sample], width_s: float) -> None:
    """Who reduces twice has not lost anything, and not moved anything."""
    once = blocks.maxima(found, width_s=width_s)
    assert blocks.maxima(once, width_s=width_s) == once


@given(SAMPLES)
def test_order_and_repetition_do_not_matter(found: list[Sample]) -> None:
    """Slices overlap at their edges, and members come in any order."""
    assert blocks.maxima([*reversed(found), *found]) == blocks.maxima(found)


def test_blocks_shorter_than_the_window_are_refused() -> None:
    """One spike would count in each of them."""
    with pytest.raises(ValueError, match="width_s is 30: blocks shorter than 90 s count one spike several times"):
        blocks.maxima([], width_s=30.0)


def test_a_value_that_stands_is_no_news() -> None:
    """A rise is another spike; a fall shows a smaller one that was behind it; standing is neither."""
    series = counters.series(enumerate([1.0, 5.0, 5.0, 5.0, 2.0, 2.0, 5.0]))
    news = blocks.news(series)
    assert [(sample.time_s, sample.value) for sample in news.samples] == [(0, 1.0), (1, 5.0), (4, 2.0), (6, 5.0)]
    assert news.labels == series.labels
    assert blocks.news(news) == news


def test_a_value_that_stands_for_longer_than_a_spike_is_shown_is_another_spike() -> None:
    """The window has forgotten the first one by then."""
    series = counters.series((30.0 * number, 5.0) for number in range(8))
    assert [sample.time_s for sample in blocks.news(series).samples] == [0, 90, 180]
    assert [sample.time_s for sample in blocks.news(series, shown_s=180.0).samples] == [0, 180]


@pytest.mark.parametrize(("interval_s", "rare"), [(15, None), (60, None), (90, None), (120, 120.0), (300, 300.0)])
def test_scrapes_more_rare_than_the_window_miss_spikes(interval_s: int, rare: float | None) -> None:
    """What is pushed every five minutes shows one spike in four."""
    group = [counters.series((number * interval_s, 1.0) for number in range(5))]
    assert blocks.undersampled_s(group) == rare
    assert blocks.undersampled_s([]) is None


def test_an_age_is_a_gap_of_at_least_so_much() -> None:
    """It ended between two scrapes: later than the first of them showed, earlier than the second one says."""
    ages = counters.series([(0, 3.0), (10, 13.0), (20, 2.0), (30, 12.0)])
    assert blocks.gaps(ages) == [Gap(20, 13.0, 22.0), Gap(30, 12.0, None)]


def test_what_never_happened_has_no_gap() -> None:
    """-1 says `never`: it is no age, and no end of one."""
    assert blocks.gaps(counters.series([(0, -1.0), (10, -1.0)])) == []
    assert blocks.gaps(counters.series([(0, 5.0), (10, -1.0), (20, 25.0)])) == [Gap(20, 25.0, None)]


def test_an_age_that_only_grows_is_one_gap() -> None:
    """Whole seconds, cut off, make the origin of an age waver by less than one."""
    ages = counters.series([(0.0, 0.0), (10.4, 10.0), (20.9, 20.0), (31.3, 31.0)])
    assert blocks.gaps(ages) == [Gap(31.3, 31.0, None)]


EVENTS = st.lists(st.floats(min_value=1.5, max_value=60.0), min_size=1, max_size=20)


@given(EVENTS, st.floats(min_value=1.0, max_value=30.0))
def test_no_gap_is_claimed_that_was_not_there(between: list[float], scrape_s: float) -> None:
    """Of real events, scraped as whole seconds, each gap that is shown has its length within its bounds."""
    events = [0.0]
    for item in between:
        events.append(events[-1] + item)
    scrapes = [number * scrape_s + 0.3 for number in range(int(events[-1] / scrape_s))]
    ages = counters.series(
        (at_s, float(int(at_s - max(event for event in events if event <= at_s)))) for at_s in scrapes
    )
    for gap in blocks.gaps(ages):
        assert gap.at_least_s <= max(between)
        if gap.at_most_s is not None:
            assert any(gap.at_least_s <= item for item in between)
            assert gap.at_most_s >= gap.at_least_s
