"""What tasks have counted becomes rows of the contract: how it is sent, and what becomes of it where it is added up.

Between the two it is Spark's to move. A row for each histogram, with its cells as lists, is a hundredth of the rows
that the cells are, and all that Java does with a row costs the same however long its lists are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heartbeat_tuner.fitting import arrays, contract
from heartbeat_tuner.fitting.cells import BLOCKS_A_PART, Cells, Counted, Key, Whole
from heartbeat_tuner.tails.history import GROUP_BLOCKS, MEMBER_BLOCKS

SENT: Final = pa.schema(
    [
        ("day", pa.date32()),
        *((name, pa.string()) for name in contract.NAMES),
        ("parts", pa.int64()),
        ("buckets", pa.list_(pa.int16())),
        ("counts", pa.list_(pa.int64())),
        ("refused", pa.int64()),
    ]
)
"""A histogram in each row, and a bit for each part of the day in which it has a value; or, without a day, how many
lines were refused."""

_AT_ONCE: Final = 1 << 10
"""Histograms in a batch that is sent."""

_ROWS: Final = 1 << 16
"""Rows of the contract in a batch."""


def sent(counted: Counted, *, refused: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield what a task has counted, with the columns `SENT`."""
    ends = np.searchsorted(counted.of_key, np.arange(len(counted.keys) + 1))
    columns = _columns(counted.keys)
    for begin in range(0, len(counted.keys), _AT_ONCE):
        some = slice(begin, min(begin + _AT_ONCE, len(counted.keys)))
        cells = slice(ends[some.start], ends[some.stop])
        offsets = arrays.numbers(ends[some.start : some.stop + 1] - ends[some.start], pa.int32())
        yield pa.record_batch(
            [
                *(column[some] for column in columns),
                arrays.numbers(counted.parts[some].view(np.int64), pa.int64()),
                pa.ListArray.from_arrays(offsets, arrays.numbers(counted.buckets[cells], pa.int16())),
                pa.ListArray.from_arrays(offsets, arrays.numbers(counted.counts[cells], pa.int64())),
                arrays.numbers(np.zeros(some.stop - some.start), pa.int64()),
            ],
            schema=SENT,
        )
    if refused:
        yield pa.RecordBatch.from_pylist([{"refused": refused}], schema=SENT)


def added_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows of the contract, one for each key, with those of what was watched.

    Args:
        batches: with the columns `SENT`; all that there is of a group's day.
    """
    cells = Cells()
    for batch in batches:
        cells.put(_received(batch))
    counted = _with_watched(cells.take())
    columns = _columns(counted.keys)
    for begin in range(0, counted.counts.size, _ROWS):
        some = slice(begin, begin + _ROWS)
        places = arrays.numbers(counted.of_key[some], pa.int64())
        yield pa.record_batch(
            [
                *(column.take(places) for column in columns),
                arrays.numbers(counted.buckets[some], pa.int16()),
                arrays.numbers(counted.counts[some], pa.int64()),
            ],
            schema=contract.ROWS,
        )


def _received(batch: pa.RecordBatch) -> Counted:
    """Return what `sent` made a batch of."""
    names = (batch.column(name).to_pylist() for name in contract.NAMES)
    buckets, counts = batch.column("buckets"), batch.column("counts")
    return Counted(
        keys=list(zip(batch.column("day").cast(pa.int32()).to_pylist(), zip(*names, strict=True), strict=True)),
        parts=arrays.plain(batch.column("parts")).view(np.uint64),
        of_key=np.repeat(np.arange(batch.num_rows), arrays.plain(buckets.value_lengths())),
        buckets=arrays.plain(buckets.flatten()).astype(np.int64),
        counts=arrays.plain(counts.flatten()),
    )


def _with_watched(counted: Counted) -> Counted:
    """Return counts with what was watched, as two buckets below 0 in each histogram."""
    lines = np.zeros(len(counted.keys), dtype=np.int64)
    np.add.at(lines, counted.of_key, counted.counts)
    groups: dict[Key, int] = {}
    of_group = np.array([groups.setdefault((day, names[:-1]), len(groups)) for day, names in counted.keys], np.int64)
    members = np.zeros(len(groups), dtype=np.int64)
    np.maximum.at(members, of_group, lines)
    parts = np.zeros(len(groups), dtype=np.uint64)
    np.bitwise_or.at(parts, of_group, counted.parts)
    blocks = np.minimum(members, _bits(parts) * BLOCKS_A_PART)
    every = np.arange(len(counted.keys))
    return Counted(
        counted.keys,
        counted.parts,
        of_key=np.concatenate([counted.of_key, every, every]),
        buckets=np.concatenate(
            [counted.buckets, np.full(every.size, MEMBER_BLOCKS), np.full(every.size, GROUP_BLOCKS)]
        ),
        counts=np.concatenate([counted.counts, members[of_group], blocks[of_group]]),
    )


def _bits(numbers: npt.NDArray[np.uint64]) -> Whole:
    found: Whole = np.unpackbits(numbers.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1, dtype=np.int64)
    return found


def _columns(keys: Sequence[Key]) -> list[pa.Array]:
    """Return the columns that say whose values they are."""
    days = np.array([day for day, _ in keys], dtype=np.int32)
    names = (arrays.texts([names[place] for _, names in keys]) for place in range(len(contract.NAMES)))
    return [arrays.numbers(days, pa.date32()), *names]
