"""Rates of happenings as tables, looked up for many sessions at once.

A row is how often a day something lasts longer than each of `tails.law.TIMES_S`: a rate and a law in one. Where a time
lies in the table is found once and serves every row, since all rows share their times; that search is most of the work.
"""

import dataclasses
import math
from typing import Final, Self

import numpy as np

from heartbeat_tuner.tails.gpd import Array, Values
from heartbeat_tuner.tails.law import TIMES_S

ALL: Final = slice(None)
"""Every row of a table: the first axis of what is looked up."""

_WIDTHS: Final = np.diff(TIMES_S)
_LEAST_S: Final = float(TIMES_S[1])
_LAST: Final = _WIDTHS.size - 1
_STEPS: Final = (TIMES_S.size - 2) / math.log(TIMES_S[-1] / _LEAST_S)
_FIRST: Final = 1.0 - math.log(_LEAST_S) * _STEPS


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TableCells:
    """Where times lie in the tables.

    Attributes:
        cells: the last of `TIMES_S` that is not later; the first one for a time below 0.
        offsets: seconds from there; below 0 for a time below 0.
    """

    cells: np.ndarray
    offsets: Array

    @classmethod
    def of(cls, times_s: Values) -> Self:
        """Return where times lie; of any shape, in seconds."""
        times = np.asarray(times_s, dtype=np.float64)
        # The times grow by one factor: a logarithm finds the cell, faster than a search.
        steps = np.log(np.maximum(times, _LEAST_S)) * _STEPS + _FIRST
        cells = np.minimum(steps, _LAST).astype(np.intp) - (times < _LEAST_S)
        return cls(cells, times - TIMES_S.take(cells))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RateTable:
    """Rows of rates a day.

    Attributes:
        rates: how often a day it lasts longer than each of `TIMES_S`; shape (rows, times).
        slopes: how fast that falls from each to the next.
        integrals: the integral of that from 0, in seconds a day.
    """

    rates: Array
    slopes: Array
    integrals: Array

    @classmethod
    def of(cls, rows: list[Array]) -> Self:
        """Return a table of some rows, one at least."""
        rates = np.stack(rows)
        integrals = np.zeros_like(rates)
        np.cumsum((rates[:, 1:] + rates[:, :-1]) * (0.5 * _WIDTHS), axis=1, out=integrals[:, 1:])
        return cls(rates, (rates[:, 1:] - rates[:, :-1]) / _WIDTHS, integrals)

    def longer(self, row: int | slice, at: TableCells) -> Array:
        """Return how often a day it lasts longer than the times at some places; all of it than one below 0."""
        return np.asarray(
            self.rates[row].take(at.cells, -1) + self.slopes[row].take(at.cells, -1) * np.maximum(at.offsets, 0.0)
        )

    def seconds(self, row: int | slice, at: TableCells) -> Array:
        """Return the seconds a day that it lasts, each up to the times at some places."""
        halves = 0.5 * self.slopes[row].take(at.cells, -1) * np.maximum(at.offsets, 0.0)
        until = at.offsets * (self.rates[row].take(at.cells, -1) + halves)
        return np.asarray(self.integrals[row].take(at.cells, -1) + until)

    def whole(self, row: int) -> float:
        """Return the seconds a day that it lasts, however long."""
        return float(self.integrals[row, -1])

    def often(self, row: int) -> float:
        """Return how often a day it happens."""
        return float(self.rates[row, 0])

    def moments(self, row: int, times_s: Array) -> Array:
        """Return half the mean square of what it lasts up to some times, times the rate: square seconds a day."""
        heights = TIMES_S * self.rates[row]
        sums = np.concatenate(([0.0], np.cumsum((heights[1:] + heights[:-1]) * (0.5 * _WIDTHS))))
        return np.interp(times_s, TIMES_S, sums)
