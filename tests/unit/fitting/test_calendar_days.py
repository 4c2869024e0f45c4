"""Which days a run asks for, and which are kept without data."""

import itertools
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.fitting import calendar_days
from heartbeat_tuner.fitting.calendar_days import DAY
from heartbeat_tuner.fitting.prometheus import slices

D = date(2026, 11, 20)
DAYS = st.sets(st.integers(0, 30).map(lambda age: D - DAY * age))


@pytest.mark.parametrize(
    ("now", "newest"),
    [
        (datetime(2026, 11, 21, 1, 0, tzinfo=UTC), date(2026, 11, 20)),
        (datetime(2026, 11, 21, 0, 59, 59, tzinfo=UTC), date(2026, 11, 19)),
        (datetime(2026, 11, 21, 23, 0, tzinfo=UTC), date(2026, 11, 20)),
        (datetime(2026, 11, 21, 1, 30, tzinfo=timezone(timedelta(hours=2))), date(2026, 11, 19)),
    ],
)
def test_a_day_is_read_when_it_has_settled(now: datetime, newest: date) -> None:
    """In UTC, whatever the clock's zone; samples of its last minutes may still be on their way."""
    assert calendar_days.newest_whole_day(now) == newest


def test_a_settled_day_is_over_for_the_source() -> None:
    """It looks beyond a day's end, and refuses one of which that is not over."""
    assert calendar_days.SETTLING > slices.AFTER


@pytest.mark.parametrize(("hours", "days"), [(336, 14), (24, 1), (47, 1), (48, 2), (1, 1)])
def test_the_window_has_whole_days(hours: int, days: int) -> None:
    """Its last one is `until`."""
    window = calendar_days.window(D, timedelta(hours=hours))
    assert len(window) == days
    assert window[-1] == D
    assert list(window) == sorted(window)


@given(present=DAYS)
def test_what_is_not_kept_is_missing_newest_first(present: set[date]) -> None:
    """Nothing is asked for twice, and nothing outside the window."""
    window = calendar_days.window(D, timedelta(days=14))
    missing = calendar_days.missing(window, present)
    assert set(missing) | (present & set(window)) == set(window)
    assert not set(missing) & present
    assert list(missing) == sorted(missing, reverse=True)


@given(empty=DAYS, data=DAYS)
def test_a_day_without_data_settles_once_a_later_one_has_some(empty: set[date], data: set[date]) -> None:
    """Until then nobody knows whether there was nothing, or nothing reached us."""
    settled = calendar_days.settled(empty - data, data)
    for day in empty - data:
        assert (day in settled) == any(later > day for later in data)


def test_nothing_at_all_settles_nothing() -> None:
    """A wrong tenant must not make two weeks empty for ever."""
    assert calendar_days.settled({D, D - DAY}, set()) == ()


@given(days=DAYS)
def test_spans_hold_the_days_and_touch_nowhere(days: set[date]) -> None:
    """So many days are told in few words."""
    spans = calendar_days.spans(days)
    held = [first + DAY * number for first, last in spans for number in range((last - first).days + 1)]
    assert held == sorted(days)
    assert all(after[0] - before[1] > DAY for before, after in itertools.pairwise(spans))


@pytest.mark.parametrize(("days", "known"), [(0, None), (1, None), (2, 1), (3, 2), (14, 9)])
def test_a_backtest_asks_about_the_last_third(days: int, known: int | None) -> None:
    """With two days at least."""
    found = [D + DAY * number for number in range(days)]
    assert calendar_days.last_known(found[::-1]) == (None if known is None else found[known - 1])
