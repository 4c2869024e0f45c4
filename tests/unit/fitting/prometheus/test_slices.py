"""How days are cut: the same for everybody, nothing twice, nothing left out."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.fitting.prometheus import slices
from heartbeat_tuner.metrics.absence import blocks

DAY = date(2026, 3, 1)
MEMBERS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 400), max_size=12)


def test_windows_fill_a_day_from_midnight_utc() -> None:
    """And each holds whole blocks, or one would be counted in two of them, or in none."""
    windows = slices.windows_of(DAY)
    assert [window.start.hour for window in windows] == [0, 6, 12, 18]
    assert windows[0].start == datetime(2026, 3, 1, tzinfo=UTC)
    assert [window.end for window in windows[:-1]] == [window.start for window in windows[1:]]
    assert windows[-1].end == windows[0].start + timedelta(days=1)
    assert {window.day for window in windows} == {DAY}
    for window in windows:
        assert blocks.start_s(window.start.timestamp()) == window.start.timestamp()


def test_days_are_told_with_both_ends() -> None:
    """Over the end of a month."""
    assert slices.days(date(2026, 2, 28), date(2026, 3, 2)) == [date(2026, 2, 28), DAY, date(2026, 3, 2)]


@given(MEMBERS)
def test_every_namespace_is_in_one_slice_of_each_window(members: dict[str, int]) -> None:
    """And slices are no larger than they must be: one namespace alone may be."""
    found = slices.slices_of(DAY, members, most=500)
    assert Counter((item.window, name) for item in found for name in item.namespaces) == Counter(
        (window, name) for window in slices.windows_of(DAY) for name in members
    )
    for item in found:
        assert item.members == sum(members[name] for name in item.namespaces)
        assert item.members <= 500 or len(item.namespaces) == 1


@given(MEMBERS, st.integers(1, 9))
def test_slices_are_shared_out_over_no_more_tasks_than_requests(members: dict[str, int], tasks: int) -> None:
    """Each slice once, and the work about even."""
    every = slices.slices_of(DAY, members, most=300)
    lots = slices.shared_out(every, tasks)
    assert len(lots) == min(tasks, len(every))
    assert all(lots)
    assert Counter(item for lot in lots for item in lot) == Counter(every)
    weights = [sum(item.members for item in lot) for lot in lots]
    assert max(weights, default=0) - min(weights, default=0) <= max((item.members for item in every), default=0)
    for lot in lots:
        assert lot == sorted(lot, key=lambda item: (item.window, item.namespaces))
