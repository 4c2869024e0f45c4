"""Which days a run asks for, and what becomes of days without data: functions of values, no clock.

A day is a whole day in UTC. It is read once, when it is over, and kept; what is missing is what the window has and
the history has not, whatever the reason. So a run that ended early, a day that failed and a file that was lost need
nothing of their own: the next run finds them missing.

A day without any data is kept as an empty one as soon as a later day has data: metrics reach us, so there was nothing
on that day, and it will not be asked for again. Until then it stays missing and is asked for in each run, since
nothing at all may as well mean a wrong address, tenant or name. An empty day has no watched blocks either: the fit
takes it for not watched, never for silence.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

SETTLING: Final = timedelta(hours=1)
"""How long after its end a day is not yet read: the source looks half an hour beyond it, samples come late, and clocks
are apart."""

DAY: Final = timedelta(days=1)

_EPOCH: Final = date(1970, 1, 1)


def newest_whole_day(now: datetime) -> date:
    """Return the last day that is over for long enough to be read.

    Args:
        now: the time, with a time zone.
    """
    return (now - SETTLING).astimezone(UTC).date() - DAY


def window(until: date, length: timedelta) -> tuple[date, ...]:
    """Return the days of a window, ascending; parts of a day count as none, but one day is the least.

    Args:
        until: the last of them.
        length: of the window.
    """
    return tuple(until - DAY * age for age in reversed(range(max(length // DAY, 1))))


def missing(window: Sequence[date], days: Collection[date]) -> tuple[date, ...]:
    """Return the days that are to be read, the newest first: they tell most, should the run not come to its end."""
    return tuple(sorted(set(window) - set(days), reverse=True))


def settled(without_data: Collection[date], with_data: Collection[date]) -> tuple[date, ...]:
    """Return the days without data that are to be kept as empty ones, ascending.

    Args:
        without_data: days that were read, and had none.
        with_data: days that have data, of the history and of this run.
    """
    newest = max(with_data, default=date.min)
    return tuple(sorted(day for day in without_data if day < newest))


def spans(days: Collection[date]) -> list[tuple[date, date]]:
    """Return days as runs of neighbours (first, last), ascending: what a sentence says of many."""
    spans: list[tuple[date, date]] = []
    for day in sorted(days):
        if spans and day - spans[-1][1] == DAY:
            spans[-1] = (spans[-1][0], day)
        else:
            spans.append((day, day))
    return spans


def last_known(with_data: Collection[date]) -> date | None:
    """Return the last day that models may know which are then asked about the later ones: of three days, two.

    Args:
        with_data: days that have data.

    Returns:
        None with fewer than two days.
    """
    days = sorted(set(with_data))
    return days[max(len(days) * 2 // 3, 1) - 1] if len(days) > 1 else None


def day_number(day: date) -> int:
    """Return how many days a day lies after the first of 1970."""
    return (day - _EPOCH).days


def day_of(number: int) -> date:
    """Return the day that lies so many days after the first of 1970."""
    return _EPOCH + timedelta(days=int(number))
