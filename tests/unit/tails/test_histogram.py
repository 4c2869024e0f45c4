"""The histogram contract: nothing is lost, and nothing is invented."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.tails import histogram
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, NO_BUCKET, Histogram

LONGEST_S = float(EDGES_S[-1])

times = st.floats(min_value=0, max_value=LONGEST_S)
stored = st.dictionaries(st.integers(0, BUCKETS - 1), st.integers(0, 2**40), max_size=8)


@given(st.lists(times, min_size=1))
def test_a_bucket_contains_its_value(values_s: list[float]) -> None:
    """Whatever the time, it lies between the edges of its bucket."""
    buckets = histogram.bucket_of(values_s)
    assert np.all(EDGES_S[buckets + 1] >= values_s)
    assert np.all((EDGES_S[buckets] < values_s) | ((buckets == 0) & (np.array(values_s) >= 0)))


def test_an_edge_belongs_to_the_bucket_below() -> None:
    """Rounding does not move a value that lies on an edge, nor the next number after it."""
    assert histogram.bucket_of(EDGES_S[1:]).tolist() == list(range(BUCKETS))
    assert histogram.bucket_of(np.nextafter(EDGES_S[1:-1], math.inf)).tolist() == list(range(1, BUCKETS))


def test_edges_are_those_of_the_contract() -> None:
    """Half milliseconds, then powers of 2^(1/32): other edges would be another schema."""
    assert histogram.SCHEMA == 1
    assert EDGES_S[1:4].tolist() == [0.0005, 0.0015, 0.0025]
    assert EDGES_S[48] == 0.0475
    exponential = EDGES_S[49:]
    assert np.log2(exponential) * 32 == pytest.approx(np.arange(-140, 673), abs=1e-9)
    assert exponential[-1] == 2**21


def test_no_bucket_is_wider_than_the_schema_says() -> None:
    """From a bucket's number its time is known to 2.2 %, or to half a millisecond."""
    widths = np.diff(EDGES_S)
    assert np.all(widths <= np.maximum(0.001, EDGES_S[:-1] * (2 ** (1 / 32) - 1)) * (1 + 1e-9))
    assert np.all(widths > 0)


def test_whole_milliseconds_lie_in_the_middle_of_their_buckets() -> None:
    """JMX rounds to whole milliseconds; an edge there would split what was one value."""
    assert histogram.bucket_of(np.arange(48) / 1000).tolist() == list(range(48))


@pytest.mark.parametrize("value_s", [-1.0, -1e-300, math.nan, math.inf, -math.inf, math.nextafter(LONGEST_S, math.inf)])
def test_what_is_no_time_lands_in_no_bucket(value_s: float) -> None:
    """It is refused and counted; the times beside it are kept."""
    assert histogram.bucket_of(value_s) == NO_BUCKET
    made = Histogram.of([value_s, 1.0, 1.0])
    assert (made.total, made.refused) == (2, 1)


def test_an_empty_histogram_has_no_largest_value() -> None:
    """Nothing seen is not zero seen."""
    assert (Histogram.of([]).largest_s, Histogram.of([]).total) == (None, 0)
    assert Histogram.of([0.001, 0.002]).largest_s == 0.0025


@given(st.lists(stored, max_size=4))
def test_a_table_becomes_a_row_for_each_group(tables: list[dict[int, int]]) -> None:
    """Each count stands in its group's row and its bucket's column."""
    lines = [(row, bucket, count) for row, table in enumerate(tables) for bucket, count in table.items()]
    rows, buckets, counts = np.array(lines, dtype=np.int64).reshape(-1, 3).T
    from_table = histogram.dense_of_table(rows, buckets, counts, height=len(tables))
    expected = np.zeros((len(tables), BUCKETS))
    for row, table in enumerate(tables):
        expected[row, list(table)] = list(table.values())
    assert from_table.shape == expected.shape
    assert np.array_equal(from_table, expected)


def test_lines_of_one_bucket_are_added_up() -> None:
    """Weighted days of one group become one row."""
    matrix = histogram.dense_of_table(np.array([0, 0, 1]), np.array([5, 5, 7]), np.array([1.0, 0.5, 2.0]), height=2)
    assert (matrix[0, 5], matrix[1, 7], matrix.sum()) == (1.5, 2.0, 3.5)


@pytest.mark.parametrize("bucket", [-1, BUCKETS])
def test_a_table_of_another_schema_is_refused(bucket: int) -> None:
    """A bucket out of range would land in another group's row."""
    with pytest.raises(ValueError, match=f"must be 0..{BUCKETS - 1} in schema 1"):
        histogram.dense_of_table(np.array([0]), np.array([bucket]), np.array([1]), height=1)


def test_a_median_is_in_the_bucket_of_the_middle_value() -> None:
    """Weights may be parts of one; a row without values has none."""
    counts = histogram.dense([Histogram.of([0.1, 0.2, 0.4, 8.0, 9.0]), Histogram.of([]), Histogram.of([0.0])])
    counts[0] *= 0.1
    middle, nothing, none_at_all = histogram.medians_s(counts)
    assert middle == pytest.approx(0.4, rel=0.012)
    assert nothing is None
    assert none_at_all is not None
    assert 0 < none_at_all < 5e-4
