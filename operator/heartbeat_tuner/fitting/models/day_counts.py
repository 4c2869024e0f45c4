"""The values of one quantity in numbers: a line for each group, its days weighed by their age, or left out.

Days before a new regime began (`tails.regime`) are left out: neither their values nor their time count any more. It is
looked for where values are absences or gaps between polls, which sessions and poll limits rest on.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.fitting.calendar_days import day_number, day_of
from heartbeat_tuner.fitting.models.day_series import Day, DaySeries, Place
from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.tails import day_weights, regime
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS, Weighted
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, dense_of_table
from heartbeat_tuner.tails.pool import EDGES
from heartbeat_tuner.tails.rates import DayScatter

_BLOCK_DAYS: Final = BLOCK_S / 86_400.0
_COUNTED: Final = 0.9
"""Of the time in which values showed: who was watched for those without an end for less hides some of them."""

_SINCE_EVER: Final = -1  # the number of no day


@dataclasses.dataclass(frozen=True, slots=True)
class Age:
    """What days are worth."""

    series: DaySeries
    on: date
    half_life_days: float


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DayCounts:
    """The values of one quantity, a line for each group.

    Attributes:
        weighed: with their days weighted by age.
        unended: how many of these are of values whose end nobody saw; None where there are none.
        whole: all alike.
        whole_unended: how many of these are of values whose end nobody saw.
        member_days: for how long its members were watched.
        group_days: for how long the group was.
        unended_days: for how long its members were watched for values whose end nobody saw.
        regimes: the first day of the regime that each group is in, where it began within these days.
        scatter: by how much what each group saw differs from day to day, at the times of a pool.
    """

    weighed: Weighted
    unended: Array | None
    whole: Array
    whole_unended: Array
    member_days: Array
    group_days: Array
    unended_days: Array
    regimes: Sequence[date | None]
    scatter: DayScatter

    @property
    def counts_unended(self) -> npt.NDArray[np.bool_]:
        """Of which groups values whose end nobody saw were counted all the time."""
        return np.asarray((self.unended_days >= _COUNTED * self.member_days) & (self.unended_days > 0))


def counted(groups: Mapping[Place, int], unended: Mapping[Place, int], aged: Age, *, has_regimes: bool) -> DayCounts:
    """Return the counts of one quantity.

    Args:
        groups: with the numbers of their series.
        unended: likewise, of values of this quantity whose end nobody saw.
        aged: what days are worth.
        has_regimes: whether it is asked if a new regime began.
    """
    rows = _Rows(groups, unended, len(aged.series.keys))
    since = _begun(aged.series.days, rows) if has_regimes else np.full(rows.height, _SINCE_EVER)
    whole, whole_unended = np.zeros((2, rows.height, BUCKETS))
    squares = np.zeros((rows.height, EDGES.size))
    member_blocks, group_blocks, open_blocks = (np.zeros(rows.height, dtype=np.int64) for _ in range(3))

    def days() -> Iterator[tuple[int, Array]]:
        """Yield the counts of each day by its age, the newest first, and add up what does not fade."""
        for day in reversed(aged.series.days):
            counts = np.where((day.number >= since)[:, None], rows.values(day), 0.0)
            np.add(whole, counts, out=whole)
            np.add(squares, _longer(counts) ** 2, out=squares)
            current = day.number >= since
            if unended:
                np.add(whole_unended, np.where(current[:, None], rows.open_values(day), 0.0), out=whole_unended)
                np.add(open_blocks, np.where(current, rows.open_watched(day), 0), out=open_blocks)
            for kind, blocks in ((MEMBER_BLOCKS, member_blocks), (GROUP_BLOCKS, group_blocks)):
                np.add(blocks, np.where(day.number >= since, rows.watched(day, kind), 0), out=blocks)
            yield day_number(aged.on) - day.number, counts

    def open_days() -> Iterator[tuple[int, Array]]:
        for day in reversed(aged.series.days):
            yield day_number(aged.on) - day.number, np.where((day.number >= since)[:, None], rows.open_values(day), 0.0)

    weighed = day_weights.weighted(days(), height=rows.height, half_life_days=aged.half_life_days)
    without_end: Array | None = None
    if unended:
        summed = day_weights.weighted(open_days(), height=rows.height, half_life_days=aged.half_life_days).counts
        without_end = np.minimum(summed, weighed.counts)  # sums of other terms, in the last bit
    return DayCounts(
        weighed,
        without_end,
        whole,
        whole_unended,
        member_blocks.astype(np.float64) * _BLOCK_DAYS,
        group_blocks.astype(np.float64) * _BLOCK_DAYS,
        open_blocks.astype(np.float64) * _BLOCK_DAYS,
        [None if number == _SINCE_EVER else day_of(number) for number in since.tolist()],
        DayScatter.of(_longer(whole), squares, _days_watched(aged.series.days, rows, since)),
    )


def _days_watched(days: Sequence[Day], rows: "_Rows", since: npt.NDArray[np.int64]) -> Array:
    """Return on how many days of its regime each group was watched."""
    watched = [(day.number >= since) & (rows.watched(day, GROUP_BLOCKS) > 0) for day in days]
    return np.asarray(sum(watched, np.zeros(rows.height)))


def _longer(counts: Array) -> Array:
    """Return how many values of each group are longer than each time of a pool."""
    return np.asarray(np.cumsum(counts[:, : EDGES[0] - 1 : -1], axis=1)[:, ::-1][:, EDGES - EDGES[0]])


class _Rows:
    """Which line of a matrix the series of a table belong to."""

    def __init__(self, groups: Mapping[Place, int], unended: Mapping[Place, int], size: int) -> None:
        self.height = len(groups)
        self._own, self._open = (_rows_of(groups, numbers, size) for numbers in (groups, unended))

    def values(self, day: Day) -> Array:
        """Return the values of a day, those without an end among them."""
        return _dense(day, self._own, self.height) + self.open_values(day)

    def open_values(self, day: Day) -> Array:
        """Return those without an end."""
        return _dense(day, self._open, self.height)

    def watched(self, day: Day, kind: int) -> npt.NDArray[np.int64]:
        """Return how many blocks were watched on a day: of members, or of the group."""
        return self._watched(day, kind, self._own[day.series])

    def open_watched(self, day: Day) -> npt.NDArray[np.int64]:
        """Return how many blocks of members were watched on a day for values whose end nobody saw."""
        return self._watched(day, MEMBER_BLOCKS, self._open[day.series])

    def _watched(self, day: Day, kind: int, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        marks = (rows >= 0) & (day.buckets == kind)
        blocks = np.zeros(self.height, dtype=np.int64)
        np.add.at(blocks, rows[marks], day.counts[marks])
        return blocks


def _begun(days: Sequence[Day], rows: _Rows) -> npt.NDArray[np.int64]:
    """Return the number of the day on which each group's regime began; `_SINCE_EVER` where that is not seen."""
    since = np.full(rows.height, _SINCE_EVER, dtype=np.int64)
    if len(days) < regime.LEAST_NEW + regime.LEAST_OLD:
        return since
    newest_first = days[::-1]
    whole = sum((rows.values(day) for day in newest_first), np.zeros((rows.height, BUCKETS)))
    above = np.cumsum(whole[:, ::-1], axis=1)[:, ::-1]
    edges = [np.minimum((above > share * above[:, :1]).sum(axis=1), BUCKETS - 1)[:, None] for share in regime.SHARES]
    exceeding = np.zeros((len(days), rows.height, len(edges)))
    for place, day in enumerate(newest_first):
        above = np.cumsum(rows.values(day)[:, ::-1], axis=1)[:, ::-1]
        exceeding[place] = np.concatenate([np.take_along_axis(above, edge, axis=1) for edge in edges], axis=1)
    watched = np.stack([rows.watched(day, MEMBER_BLOCKS) for day in newest_first]).astype(np.float64)
    newest = regime.newest_days(exceeding, watched)
    numbers = np.array([day.number for day in newest_first], dtype=np.int64)
    return np.where(newest > 0, numbers[np.maximum(newest, 1) - 1], since)


def _rows_of(groups: Mapping[Place, int], numbers: Mapping[Place, int], size: int) -> npt.NDArray[np.int64]:
    """Return the row of each series that is of one of the groups, -1 for any other."""
    rows = np.full(size, -1, dtype=np.int64)
    for row, group in enumerate(groups):
        if group in numbers:
            rows[numbers[group]] = row
    return rows


def _dense(day: Day, row_of: npt.NDArray[np.int64], height: int) -> Array:
    rows = row_of[day.series]
    seen = (rows >= 0) & (day.buckets >= 0)
    return dense_of_table(rows[seen], day.buckets[seen], day.counts[seen], height=height)
