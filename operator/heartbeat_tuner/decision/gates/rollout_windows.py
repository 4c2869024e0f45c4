"""When do a policy's windows open, and is one open now?

A schedule is read on the clock of its own zone. What its opening lasts is time that passes, whatever that clock does
meanwhile. Where the clock jumps forward over an opening, the window opens when it has jumped; where an hour comes
twice, a window that names an hour opens in the first of them. These are the rules of Debian's cron, which `cronsim`
keeps.
"""

import functools
from collections.abc import Iterable
from datetime import UTC, datetime

from cronsim import CronSim

from heartbeat_tuner.domain.policies import Window


def is_open(window: Window, now: datetime) -> bool:
    """Whether the window opened at or before `now` and has not closed."""
    return first_opening(window, after=now - window.duration) <= now


def next_opening(windows: Iterable[Window], now: datetime) -> tuple[datetime, Window]:
    """Return when the first of the windows opens after `now`, in its own zone, and which that is.

    Raises:
        ValueError: there is no window.
    """
    return min(
        ((first_opening(window, after=now), window) for window in windows), key=lambda first: first[0].astimezone(UTC)
    )


def first_opening(window: Window, *, after: datetime) -> datetime:
    """Return the window's first opening after a moment, in its own zone."""
    return _opening(window, after.replace(second=0, microsecond=0))


@functools.lru_cache(maxsize=1024)
def _opening(window: Window, after: datetime) -> datetime:
    """Return the first opening after a whole minute: openings are whole minutes, and policies share their windows."""
    # In the second of two equal hours the library begins in the first, and so behind the moment.
    openings = CronSim(window.schedule, after.astimezone(window.zone))
    return next(opening for opening in openings if opening.astimezone(UTC) > after)
