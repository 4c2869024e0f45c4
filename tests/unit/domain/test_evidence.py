"""Rates follow from counts and times."""

from datetime import timedelta

from tests.support import worlds


def test_evictions_are_put_into_the_objectives_unit() -> None:
    """Three in an hour are 2160 in 30 days."""
    assert worlds.record(evictions=3).evictions_per_month == 2_160


def test_an_empty_span_has_no_rate() -> None:
    """A record that began this moment divides nothing by zero."""
    assert worlds.record(evictions=3, span=timedelta(0)).evictions_per_month == 0.0
