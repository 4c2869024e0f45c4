"""A table of the contract's rows in numbers, day by day: as many of them as weeks of a large fleet have.

A series is what one quantity of one group and client library was, all days together. Each line keeps the number of its
series, its bucket and its count, each as narrow as it may be: 10 bytes where the table has 34. Series are numbered in
the order of their names, so that nothing depends on the order of the rows.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heartbeat_tuner.fitting import arrays, contract
from heartbeat_tuner.fitting.calendar_days import day_of
from heartbeat_tuner.fitting.lake.cells import ranked
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS

Whole = npt.NDArray[np.integer]
Place = tuple[str, str, str]
"""Cluster, namespace and group."""

_NARROW: Final = np.iinfo(np.int32).max


@dataclasses.dataclass(frozen=True, slots=True)
class Day:
    """The lines of a day; arrays are of one length.

    Attributes:
        number: days since the first of 1970.
        series: index into `Series.keys`.
        buckets: of the histogram, or what was watched.
        counts: how many.
    """

    number: int
    series: Whole
    buckets: Whole
    counts: Whole


@dataclasses.dataclass(frozen=True, slots=True)
class DaySeries:
    """A table's lines.

    Attributes:
        days: ascending.
        keys: cluster, namespace, group, client and quantity of each series, ascending.
    """

    days: tuple[Day, ...]
    keys: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, table: pa.Table) -> "DaySeries":
        """Return a table of the contract's rows; the columns of text may be dictionaries."""
        numbers: dict[tuple[str, ...], int] = {}
        days = [_day(number, some, numbers) for number, some in _by_day(table)]
        keys = sorted(numbers)
        rank = np.empty(len(keys), dtype=np.int32)
        rank[[numbers[key] for key in keys]] = np.arange(len(keys))
        return cls(tuple(dataclasses.replace(day, series=rank[day.series]) for day in days), tuple(keys))

    def spans(self) -> "dict[Place, LineSpan]":
        """Return what each group rests on, in the order of the groups: its newest client library, and its days.

        While one library replaces another, a day has both; the one that came later is the newest. Where several came
        and stayed together, it is the one with the most values.
        """
        clients = sorted({key[:-1] for key in self.keys})
        number = {client: place for place, client in enumerate(clients)}
        of_client = np.array([number[key[:-1]] for key in self.keys], dtype=np.int64)
        seen = np.zeros((len(self.days), len(clients)), dtype=np.bool_)
        values = np.zeros(len(clients), dtype=np.int64)
        for place, day in enumerate(self.days):
            mine = of_client[day.series]
            seen[place, mine] = True
            weights = np.where(day.buckets >= 0, day.counts, 0)
            values += np.bincount(mine, weights=weights, minlength=len(clients)).astype(np.int64)
        newest: dict[Place, tuple[tuple[int, int, int, str], LineSpan]] = {}
        for place, (cluster, namespace, group, client) in enumerate(clients):
            held = np.flatnonzero(seen[:, place])
            first, last = self.days[held[0]].number, self.days[held[-1]].number
            newness = (last, first, int(values[place]), client)
            span = LineSpan(day_of(first), day_of(last), int(held.size), client)
            other = newest.get((cluster, namespace, group))
            if other is None or other[0] < newness:
                newest[cluster, namespace, group] = (newness, span)
        return {group: span for group, (_, span) in newest.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class LineSpan:
    """What a group's lines are of.

    Attributes:
        first: day.
        last: day.
        days: how many there are between the two that have lines.
        client: the library.
    """

    first: date
    last: date
    days: int
    client: str


class Counts:
    """The values of every series, all days together, by whose it is."""

    def __init__(self, series: DaySeries) -> None:
        """Sort the lines, so that each series is a slice."""
        nothing = np.zeros(0, dtype=np.int32)
        numbers = np.concatenate([nothing, *(day.series for day in series.days)])
        order = np.argsort(numbers, kind="stable")
        self._buckets = np.concatenate([nothing, *(day.buckets for day in series.days)])[order]
        self._counts = np.concatenate([nothing, *(day.counts for day in series.days)])[order]
        ends = np.searchsorted(numbers[order], np.arange(len(series.keys) + 1)).tolist()
        self._slices = {key: slice(*some) for key, some in zip(series.keys, itertools.pairwise(ends), strict=True)}

    def of(self, cluster: str, namespace: str, group: str, client: str, quantity: str) -> Array | None:
        """Return how many values lie in each bucket; None if there are none."""
        lines = self._slices.get((cluster, namespace, group, client, quantity), slice(0))
        seen = self._buckets[lines] >= 0
        if not seen.any():
            return None
        buckets, counts = self._buckets[lines][seen], self._counts[lines][seen]
        return np.bincount(buckets, weights=counts, minlength=BUCKETS).astype(np.float64)


def _by_day(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the days of a table, ascending; a history's chunks are of one day each, and not copied."""
    chunks: dict[int, list[pa.RecordBatch]] = {}
    for chunk in table.select(contract.ROWS.names).to_batches():
        numbers = arrays.plain(chunk.column("day").cast(pa.int32()))
        held: Sequence[int] = np.unique(numbers).tolist() if numbers.size else []
        for number in held:
            some = chunk if len(held) == 1 else chunk.filter(pc.equal(chunk.column("day"), day_of(number)))
            chunks.setdefault(number, []).append(some)
    for number in sorted(chunks):
        yield number, pa.Table.from_batches(chunks[number])


def _day(number: int, some: pa.Table, numbers: dict[tuple[str, ...], int]) -> Day:
    """Return the lines of a day, and number series that were not met before."""
    texts = [arrays.coded(some[name]) for name in contract.NAMES]
    sample, local = ranked(*arrays.numbered((codes, len(names)) for codes, names in texts))
    keys = zip(*([names[code] for code in codes[sample].tolist()] for codes, names in texts), strict=True)
    own: npt.NDArray[np.int32] = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)
    counts = arrays.flat(some["n"])
    if counts.max(initial=0) <= _NARROW:
        counts = counts.astype(np.int32)
    return Day(number, own[local], arrays.flat(some["bucket"]), counts)
