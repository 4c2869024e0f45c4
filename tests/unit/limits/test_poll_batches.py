"""Fewer messages with each poll: the way out of slow handlers that costs no detection time."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.limits import poll_batches
from heartbeat_tuner.limits.allowed_values import LONGEST, POLL_GAP_MARGIN
from tests.support import worlds

times = st.timedeltas(timedelta(milliseconds=1), LONGEST)
counts = st.integers(1, 2**31 - 1)


@pytest.mark.parametrize(
    ("records", "longest_s", "limit_s", "most"),
    [(500, 360, 300, 320), (500, 300, 300, 384), (1, 360, 300, None), (500, 100, 300, None), (3, 3_600, 300, None)],
)
def test_so_many_messages_fit(records: int, longest_s: float, limit_s: float, most: int | None) -> None:
    """None where not even one does, and where all do."""
    assert poll_batches.most_records(records, worlds.seconds(longest_s), worlds.seconds(limit_s)) == most


@given(counts, times, times)
def test_what_is_advised_is_handled_in_time(records: int, longest: timedelta, limit: timedelta) -> None:
    """With the margin of a poll limit, and one message more would break it."""
    most = poll_batches.most_records(records, longest, limit)
    if most is None:
        return
    assert 1 <= most < records
    slack = limit * 1e-6 + timedelta(microseconds=2)
    assert POLL_GAP_MARGIN * poll_batches.handling(most, records, longest) <= limit + slack
    assert POLL_GAP_MARGIN * poll_batches.handling(most + 1, records, longest) >= limit - slack
