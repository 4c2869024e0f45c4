"""How the days to be read are cut: windows of time x shards of namespaces, shared out over as many tasks as requests.

What is measured depends on the time that is looked at: a member's beat period, what poll gaps are usual, which
rebalances are one. So that a day's content depends on nothing else (not on when it is read, in which order, how large
the answers are, nor who else has consumers), *windows* are the same for everybody: six hours from midnight UTC, each
measured by itself, with a margin before and after, of which nothing is counted. How a window's samples come, in one
answer or in many, makes no difference. Six hours are whole blocks, enough beats to know a period, and little enough to
hold in memory.
"""

import dataclasses
import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

WINDOW: Final = timedelta(hours=6)

BEFORE: Final = timedelta(minutes=15)
"""A counter needs a sample to grow from, a silence its beginning, and a rebalance the pod that caused it."""

AFTER: Final = timedelta(minutes=30)
"""Who was restarted at a window's end may come back after it; a longer downtime than this may be missed there."""

MEMBERS: Final = 250
"""Of so many at a time all samples of a window are in memory: a task of 170 MiB at a scrape a minute (measured)."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class SliceWindow:
    """A stretch of time that is measured by itself, from `start` up to `end`."""

    start: datetime
    end: datetime

    @property
    def read_since(self) -> datetime:
        """From when on samples are read."""
        return self.start - BEFORE

    @property
    def read_until(self) -> datetime:
        """Up to when."""
        return self.end + AFTER

    @property
    def day(self) -> date:
        """On which day it lies, in UTC."""
        return self.start.date()


@dataclasses.dataclass(frozen=True, slots=True)
class Slice:
    """What is read at once, and counted or told as failed.

    Attributes:
        window: when.
        namespaces: where.
        members: how many consumers are expected.
    """

    window: SliceWindow
    namespaces: tuple[str, ...]
    members: int


def windows_of(day: date) -> list[SliceWindow]:
    """Return the windows of a day, in order of time."""
    midnight = datetime.combine(day, time(), UTC)
    starts = [midnight + number * WINDOW for number in range(timedelta(days=1) // WINDOW)]
    return [SliceWindow(start, start + WINDOW) for start in starts]


def days(since: date, until: date) -> list[date]:
    """Return the days from one to another, both included."""
    return [since + timedelta(days=number) for number in range((until - since).days + 1)]


def slices_of(day: date, members: Mapping[str, int], *, most: int = MEMBERS) -> list[Slice]:
    """Return the slices of a day: each window with lots of namespaces, of which no two have more members than `most`.

    A namespace with more is a lot of its own: groups are not cut.
    """
    return [
        Slice(window, names, sum(members[name] for name in names))
        for window in windows_of(day)
        for names in _lots(members, most)
    ]


def shared_out(every: Sequence[Slice], tasks: int) -> list[list[Slice]]:
    """Return the slices in at most so many lots of like weight, each in order of time; none is empty."""
    lots: list[list[Slice]] = [[] for _ in range(min(tasks, len(every)))]
    heap = [(0, number) for number in range(len(lots))]
    for time_slice in sorted(every, key=lambda entry: (-entry.members, entry.window, entry.namespaces)):
        weight, number = heapq.heappop(heap)
        lots[number].append(time_slice)
        heapq.heappush(heap, (weight + max(1, time_slice.members), number))
    return [sorted(lot, key=lambda time_slice: (time_slice.window, time_slice.namespaces)) for lot in lots]


def _lots(members: Mapping[str, int], most: int) -> Iterable[tuple[str, ...]]:
    """Return namespaces in lots, neighbours by name together."""
    lot: list[str] = []
    held = math.inf
    for name in sorted(members):
        if held + members[name] > most:
            if lot:
                yield tuple(lot)
            lot, held = [], 0
        lot.append(name)
        held += members[name]
    if lot:
        yield tuple(lot)
