"""What a counter did between scrapes, and which series belong together."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.metrics.raw import counter_steps, samples
from heartbeat_tuner.metrics.raw.counter_steps import Step
from tests.support import counters

LIVES = st.lists(st.lists(st.integers(min_value=0, max_value=50), min_size=1, max_size=6), min_size=1, max_size=5)
"""For each life of a process, how much it counted between scrapes."""


def test_a_reset_is_told_and_what_came_after_it_counts() -> None:
    """The new process' count is growth; what the old one did since its last scrape nobody knows."""
    series = counters.series([(0.0, 5.0), (10.0, 7.0), (20.0, 2.0)])
    assert counter_steps.steps(series) == [Step(0.0, 10.0, 2.0, reset=False), Step(10.0, 20.0, 2.0, reset=True)]


def test_a_sample_that_comes_twice_counts_once() -> None:
    """Prometheus 2 gives the sample at a slice's edge with both slices; a second of no length is no step."""
    series = counters.series([(0.0, 5.0), (10.0, 7.0), (10.0, 7.0), (9.0, 1.0), (20.0, 8.0)])
    assert [(step.since_s, step.until_s, step.grown) for step in counter_steps.steps(series)] == [
        (0.0, 10.0, 2.0),
        (10.0, 20.0, 1.0),
    ]


@given(LIVES)
def test_growth_is_never_more_than_what_happened(lives: list[list[int]]) -> None:
    """Across resets a counter shows at most what was counted, and all of it if each reset shows as a fall."""
    values = [value for life in lives for value in itertools.accumulate(life)]
    series = counters.series((10.0 * number, float(value)) for number, value in enumerate(values))
    grown = sum(step.grown for step in counter_steps.steps(series))
    happened = sum(sum(life) for life in lives) - lives[0][0]
    starts = list(itertools.accumulate(len(life) for life in lives[:-1]))
    assert 0 <= grown <= happened
    if all(values[start] < values[start - 1] for start in starts):
        assert grown == happened
        assert sum(step.reset for step in counter_steps.steps(series)) == len(starts)


@given(
    st.lists(st.floats(0.1, 40.0), min_size=2, max_size=30),
    st.sampled_from([2.0, 5.0, 30.0]),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_no_silence_was_longer_than_possible(between: list[float], scrape_s: float, begin: float, end: float) -> None:
    """Whatever beats and scrapes, and whatever part of the time is asked for."""
    beats = list(itertools.accumulate(between))
    scrapes = [scrape_s * number for number in range(int(beats[-1] / scrape_s) + 2)]
    counted = counters.series((at_s, float(sum(beat <= at_s for beat in beats))) for at_s in scrapes)
    since_s, until_s = sorted((begin * scrapes[-1], end * scrapes[-1]))
    possible_s = counter_steps.longest_possible_silence_s(counted, since_s=since_s, until_s=until_s)
    for first, second in itertools.pairwise(beats):
        assert min(second, until_s) - max(first, since_s) <= possible_s


def test_twins_differ_in_their_name_only() -> None:
    """Sum and count of one collector belong together; another collector's do not."""
    total = counters.series([], gc="G1 Young Generation", __name__="sum")
    count = counters.series([], gc="G1 Young Generation", __name__="count")
    other = counters.series([], gc="G1 Old Generation", __name__="count")
    assert samples.twins(total, [count, other]) == [count]
    bucket = counters.series([], gc="G1 Young Generation", le="0.1", __name__="bucket")
    assert samples.twins(total, [bucket, count]) == [count]
    assert samples.twins(total, [bucket, count], but="le") == [bucket, count]


def test_a_silence_that_was_under_way_when_a_time_began_counts_from_its_begin() -> None:
    """Several scrapes before the time had shown the same: the counter may have stood since before the first."""
    series = counters.series([(0.0, 5.0), (10.0, 7.0), (20.0, 7.0), (30.0, 7.0), (40.0, 8.0), (50.0, 9.0)])
    assert counter_steps.longest_possible_silence_s(series, since_s=25.0, until_s=50.0) == 40.0
