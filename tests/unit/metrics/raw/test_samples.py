"""Counters: growth across resets, periods and standstills, from raw samples."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics.raw import counter_steps, samples
from heartbeat_tuner.metrics.raw.samples import Series
from tests.support import counters


def at(*values: float, step: float = 10.0) -> Series:
    """Return a series with a sample every `step` seconds from 0 on."""
    return counters.series((number * step, value) for number, value in enumerate(values))


@pytest.mark.parametrize(
    ("values", "since_s", "grown"),
    [
        ((5, 6, 9), 0.0, 4),  # the sample at `since` is the baseline
        ((5, 6, 9), 10.0, 3),
        ((5, 6, 9), 20.0, 0),  # nothing came after
        ((5, 6, 2, 3), 0.0, 4),  # 1, then a restart that counted to 2, then 1
        ((5, 0, 0), 0.0, 0),  # a restart that counted nothing
        ((5, 5, 5), 0.0, 0),
    ],
)
def test_growth_counts_on_across_resets(values: tuple[float, ...], since_s: float, grown: float) -> None:
    """A restarted process lost its counter, not its past."""
    assert counter_steps.increase(at(*values), since_s=since_s, born_at_zero=False) == grown


@pytest.mark.parametrize(("born_at_zero", "grown"), [(True, 9), (False, 4)])
def test_series_without_a_baseline(born_at_zero: bool, grown: float) -> None:  # noqa: FBT001 - a table's column
    """Only a series that is born with its first event has grown by its first value."""
    assert counter_steps.increase(at(5, 6, 9), since_s=-1.0, born_at_zero=born_at_zero) == grown


def test_growth_of_nothing_is_nothing() -> None:
    """A series whose samples were no numbers has none."""
    assert counter_steps.increase(at(math.nan), since_s=-1.0, born_at_zero=True) == 0


@given(st.lists(st.integers(min_value=0, max_value=1_000), min_size=1), st.integers(min_value=-10, max_value=300))
def test_growth_is_never_negative(values: list[int], since_s: int) -> None:
    """Whatever was scraped, events do not unhappen."""
    assert counter_steps.increase(at(*values), since_s=since_s, born_at_zero=False) >= 0


@given(st.lists(st.integers(min_value=0, max_value=9), min_size=1), st.lists(st.integers(min_value=0, max_value=9)))
def test_growth_of_an_unbroken_counter_is_its_difference(before: list[int], after: list[int]) -> None:
    """Without resets the sum of steps is the last value less the baseline."""
    running = [sum((before + after)[: end + 1]) for end in range(len(before) + len(after))]
    since_s = 10.0 * (len(before) - 1)
    grown = counter_steps.increase(at(*running), since_s=since_s, born_at_zero=False)
    assert grown == running[-1] - running[len(before) - 1]


def test_samples_that_are_no_number_are_dropped() -> None:
    """NaN and infinities are holes, not values."""
    series = at(1, math.nan, math.inf, -math.inf, 2)
    assert [(sample.time_s, sample.value) for sample in series.samples] == [(0.0, 1), (40.0, 2)]


def test_series_can_be_cut_off() -> None:
    """What came after the moment is gone; what came at it stays."""
    assert [sample.time_s for sample in at(1, 2, 3).until(10.0).samples] == [0.0, 10.0]


@pytest.mark.parametrize(
    ("values", "since_s", "period_s"),
    [
        ((0, 2, 4), 0.0, 5.0),
        ((9, 2, 4), 10.0, 5.0),  # what was before `since` does not count
        ((0, 1, 1), 0.0, None),  # one event has no period
        ((3, 3, 3), 0.0, None),
        ((0, 2), 30.0, None),
    ],
)
def test_mean_period(values: tuple[float, ...], since_s: float, period_s: float | None) -> None:
    """A period has two ends."""
    assert counter_steps.mean_period_s(at(*values), since_s=since_s) == period_s


@pytest.mark.parametrize(
    ("values", "since_s", "stood_s"),
    [
        ((1, 2, 3), 0.0, 0.0),
        ((1, 1, 1, 2), 0.0, 20.0),
        ((1, 1, 2, 2, 2, 2, 3, 3, 4), 0.0, 30.0),
        ((1, 1, 2, 3, 3, 3), 0.0, 10.0),  # the last stand has not ended: the member may be gone
        ((1, 1, 1, 2, 3), 20.0, 0.0),  # what was before `since` does not count
        ((1, 1, 1), 0.0, None),
        ((1,), 0.0, None),
        ((), 0.0, None),
    ],
)
def test_longest_silence_is_a_standstill(values: tuple[float, ...], since_s: float, stood_s: float | None) -> None:
    """Only a silence that ended was survived."""
    assert counter_steps.longest_silence_s(at(*values), since_s=since_s) == stood_s


def scraped(*pairs: tuple[float, float]) -> Series:
    """Return a series from times and values."""
    return counters.series(pairs)


BEATS = [(2.0 * number, float(number)) for number in range(20)]
FROZEN = [*BEATS, (50.0, 20.0), *((50.0 + 2 * number, 20.0 + number) for number in range(1, 20))]
"""A beat every 2 s; for 12 s the process stands still and is not scraped, then it beats once."""


def test_a_process_that_is_not_scraped_was_silent_as_well() -> None:
    """A frozen process exports no standstill: its beats are missing from a step between two scrapes."""
    silence_s = counter_steps.longest_silence_s(scraped(*FROZEN), since_s=0.0)
    assert silence_s == pytest.approx(12.0 - 88.0 / 39.0)


def test_a_gap_between_scrapes_with_all_its_beats_is_no_silence() -> None:
    """Prometheus was away, the member was not."""
    missed = [pair for pair in BEATS if not 10.0 < pair[0] < 30.0]
    assert counter_steps.longest_silence_s(scraped(*missed), since_s=0.0) == 0.0


def test_a_stretch_with_a_rejoin_is_no_silence_that_was_survived() -> None:
    """Who is joining does not beat, however long the group takes; raising S by that would help nobody."""
    joins = scraped(*((at_s, 1.0 if at_s < 50.0 else 2.0) for at_s, _ in FROZEN))
    assert counter_steps.longest_silence_s(scraped(*FROZEN), since_s=0.0, joins=joins) == 0.0


def test_a_reset_hides_nothing() -> None:
    """A counter that fell tells of no silence but the one before it."""
    reset = scraped((0.0, 7.0), (2.0, 8.0), (4.0, 8.0), (30.0, 1.0), (32.0, 2.0), (34.0, 3.0))
    assert counter_steps.longest_silence_s(reset, since_s=0.0) == 2.0


def test_newest_sample_of_several_series() -> None:
    """The group is as fresh as its freshest series."""
    assert samples.newest_s([at(1, 2), at(1, 2, 3), at()]) == 20.0
    assert samples.newest_s([at()]) is None
    assert samples.newest_s([]) is None


def test_scrape_interval_is_the_median() -> None:
    """One missed scrape does not make scrapes rare."""
    missed = counters.series([(0.0, 1), (10.0, 1), (20.0, 1), (50.0, 1)])
    assert samples.scrape_interval_s([missed, at(1)]) == 10.0
    assert samples.scrape_interval_s([at(1)]) is None


def test_series_of_the_same_scrapes_have_the_same_times() -> None:
    """Whether they share them, or hold their own."""
    beats = counters.series([(0.0, 1.0), (15.0, 2.0)]).samples
    assert beats.is_scraped_with(beats)
    assert beats.is_scraped_with(counters.series([(0.0, 7.0), (15.0, 7.0)]).samples)
    assert not beats.is_scraped_with(counters.series([(0.0, 1.0), (16.0, 2.0)]).samples)
    assert not beats.is_scraped_with(counters.series([(0.0, 1.0)]).samples)
