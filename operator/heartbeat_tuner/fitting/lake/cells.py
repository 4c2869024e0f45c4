"""Values of a lake become counts, in NumPy: what a task does with each batch that it has read.

A batch is columns of numbers already: times, values, and for each name its place in a dictionary of the batch. Whose
value it is, on which day, becomes one number, and with the bucket the number of a cell; counting is counting numbers.
Names are looked at once for each batch and dictionary, never for each line.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.tails.histogram import BUCKETS, NO_BUCKET, bucket_of

Whole = npt.NDArray[np.integer]
Marks = npt.NDArray[np.bool_]
Key = tuple[int, tuple[str, ...]]
"""A day, by its number since 1970, and names in the order of the contract."""

PARTS: Final = 64
"""Parts of a day: as many as a whole number has bits."""

PART_S: Final = 86_400 // PARTS
BLOCKS_A_PART: Final = int(PART_S / BLOCK_S)

_STRIDE: Final = 1024  # the power of 2 above BUCKETS
_DENSE: Final = 16
"""Numbers are counted in a table of at most so many places for each line of a batch; beyond, they are sorted."""

_LARGEST: Final = 1 << 62
"""Numbers beyond do not fit into 64 bits."""

_UNMERGED: Final = 1 << 20
"""Cells of single batches that are kept before they are added up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """Lines of a lake; arrays are of one length.

    Attributes:
        parts: the part of a day that a line is of, counted from the beginning of 1970.
        values_s: NaN where there is none.
        names: for each name of the contract the place of each line's name, and the names there are; places are left out
            if there is one name only.
        complete: whether a line has a time and all names; None if all have.
    """

    parts: Whole
    values_s: npt.NDArray[np.float64]
    names: Sequence[tuple[Whole, Sequence[str]]]
    complete: Marks | None = None

    def keys(self, places: Whole) -> Iterator[Key]:
        """Return whose values some lines are."""
        named = (
            [names[place] for place in codes[places].tolist()] if len(names) > 1 else [names[0]] * places.size
            for codes, names in self.names
        )
        return zip((self.parts[places] // PARTS).tolist(), zip(*named, strict=True), strict=True)

    def where(self, marks: Marks) -> "Batch":
        """Return some of the lines."""
        return Batch(
            self.parts[marks],
            self.values_s[marks],
            [(codes[marks], names) if len(names) > 1 else (codes, names) for codes, names in self.names],
            None if self.complete is None else self.complete[marks],
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Counted:
    """Cells that hold something; `parts` has the length of `keys`, the last three arrays are of one length.

    Attributes:
        keys: whose values there are.
        parts: for each of them, a bit for each part of the day with a value.
        of_key: index into `keys`, ascending.
        buckets: of the histogram.
        counts: how many values.
    """

    keys: Sequence[Key]
    parts: npt.NDArray[np.uint64]
    of_key: Whole
    buckets: Whole
    counts: Whole


class Cells:
    """Adds up batches.

    Attributes:
        refused: lines without a usable time, value or name.
    """

    def __init__(self) -> None:
        self.refused = 0
        self._keys: dict[Key, int] = {}
        self._parts: list[int] = []
        self._cells: list[Whole] = []
        self._counts: list[Whole] = []
        self._pending = 0

    def __len__(self) -> int:
        """Return how many cells there are, after adding up those that may be of the same place."""
        if self._pending > _UNMERGED:
            self._merge()
        return sum(map(len, self._cells))

    def add(self, batch: Batch) -> None:
        """Count the lines of a batch."""
        buckets = bucket_of(batch.values_s)
        usable = buckets != NO_BUCKET
        if batch.complete is not None:
            usable &= batch.complete
        lines = int(np.count_nonzero(usable))
        self.refused += usable.size - lines
        if lines == 0:
            return
        if lines < usable.size:
            batch, buckets = batch.where(usable), buckets[usable]
        sample, local = _told_apart(batch)
        seen = np.zeros(sample.size * PARTS, dtype=np.bool_)
        seen[local * PARTS + batch.parts % PARTS] = True
        parts = np.packbits(seen.reshape(-1, PARTS), axis=1, bitorder="little").view("<u8").ravel()
        numbers = self._numbered(batch.keys(sample), parts)
        cells, counts = _counted(local * BUCKETS + buckets, sample.size * BUCKETS)
        local, buckets = np.divmod(cells, BUCKETS)
        self._append(numbers[local], buckets, counts)

    def put(self, counted: Counted) -> None:
        """Add what was counted elsewhere."""
        numbers = self._numbered(counted.keys, counted.parts)
        self._append(numbers[counted.of_key], counted.buckets, counted.counts)

    def take(self) -> Counted:
        """Return all that was counted since the last time; ordered by key and bucket."""
        self._merge()
        cells, counts = self._cells[0], self._counts[0]
        counted = Counted(
            list(self._keys), np.array(self._parts, dtype=np.uint64), cells // _STRIDE, cells % _STRIDE, counts
        )
        self._keys, self._parts, self._cells, self._counts = {}, [], [], []
        return counted

    def _numbered(self, keys: Iterable[Key], parts: Whole) -> Whole:
        """Return the numbers of keys, after taking note of the parts of the day in which they have values."""
        numbers = np.empty(parts.size, dtype=np.int64)
        for place, (key, bits) in enumerate(zip(keys, parts.tolist(), strict=True)):
            number = self._keys.setdefault(key, len(self._keys))
            if number == len(self._parts):
                self._parts.append(bits)
            else:
                self._parts[number] |= bits
            numbers[place] = number
        return numbers

    def _append(self, numbers: Whole, buckets: Whole, counts: Whole) -> None:
        self._cells.append(numbers * _STRIDE + buckets)
        self._counts.append(counts)
        self._pending += counts.size

    def _merge(self) -> None:
        if len(self._cells) != 1:
            cells = np.concatenate([np.zeros(0, dtype=np.int64), *self._cells])
            counts = np.concatenate([np.zeros(0, dtype=np.int64), *self._counts])
            order = np.argsort(cells, kind="stable")
            cells, counts = cells[order], counts[order]
            begins = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])) if cells.size else cells
            self._cells = [cells[begins]]
            self._counts = [np.add.reduceat(counts, begins) if cells.size else counts]
        self._pending = 0


def _told_apart(batch: Batch) -> tuple[Whole, Whole]:
    """Return a line of each key, and for each line which of these its own key is that of."""
    days = batch.parts // PARTS
    first = int(days.min())
    numbers, size = days - first, int(days.max()) - first + 1
    for codes, names in batch.names:
        if len(names) > 1:
            if size * len(names) > _LARGEST:
                sample, numbers = ranked(numbers, size)
                size = sample.size
            numbers, size = numbers * len(names) + codes, size * len(names)
    return ranked(numbers, size)


def ranked(numbers: Whole, size: int) -> tuple[Whole, Whole]:
    """Return a place of each number that there is, and for each place which of these its number is.

    Args:
        numbers: 0..size - 1.
        size: how many there might be.
    """
    if size > _DENSE * numbers.size:
        _, sample, ranks = np.unique(numbers, return_index=True, return_inverse=True)
        return sample, ranks
    last = np.full(size, -1, dtype=np.int64)
    last[numbers] = np.arange(numbers.size)
    held = np.flatnonzero(last >= 0)
    rank = np.zeros(size, dtype=np.int64)
    rank[held] = np.arange(held.size)
    return last[held], rank[numbers]


def _counted(numbers: Whole, size: int) -> tuple[Whole, Whole]:
    """Return which numbers there are, ascending, and how often; numbers are 0..size - 1."""
    if size > _DENSE * numbers.size:
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers, minlength=size)
    held = np.flatnonzero(counts)
    return held, counts[held]
