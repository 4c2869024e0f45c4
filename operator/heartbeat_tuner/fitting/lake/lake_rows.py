"""What tasks have counted becomes rows of the contract: how it is sent, added up, and unfolded in the driver.

In between it is Spark's to move. A row for each histogram, with its cells as lists, is a hundredth of the rows that the
cells are, and all that Java does with a row costs the same however long its lists are.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc

from heartbeat_tuner.fitting import arrays, contract
from heartbeat_tuner.fitting.lake.cells import BLOCKS_A_PART, Cells, Counted, Key, Whole
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS

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
"""A histogram in each row, and a bit for each part of the day in which it has a value. Or, in a batch of its own, a row
without a day: how many lines were refused."""

_OF_GROUP: Final = ("day", "cluster", "namespace", "group", "client")
"""The time that was watched is one figure for all quantities of a group's day: all its histograms go to one place."""

_AT_ONCE: Final = 1 << 10
"""Histograms in a batch that is sent."""


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


def parted(batches: Iterable[pa.RecordBatch], count: int) -> Iterator[tuple[int, bytes]]:
    """Yield batches in parts, packed, each with the number of those who add it up: all of a group's day have one.

    Args:
        batches: with the columns `SENT`.
        count: how many there are to add up.
    """
    for batch in batches:
        keys = zip(*(batch.column(name).cast(pa.string()).to_pylist() for name in _OF_GROUP), strict=True)
        places = np.array([zlib.crc32(repr(key).encode()) % count for key in keys])
        for place in np.unique(places).tolist():
            rows = arrays.numbers(np.flatnonzero(places == place), pa.int64())
            yield place, packed([batch.take(rows)])


def packed(batches: Iterable[pa.RecordBatch]) -> bytes:
    """Return batches with the columns `SENT` as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SENT) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return bytes(sink.getvalue())


def unpacked(several: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that were packed."""
    for stream in several:
        yield from pa.ipc.open_stream(stream)


def added_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one histogram for each key, with what was watched as two buckets below 0, and how many lines were refused.

    Args:
        batches: with the columns `SENT`, as what is returned; all that there is of a group's day.
    """
    cells, refused = Cells(), 0
    for batch in batches:
        refused += refused_in([batch])
        if not batch.column("day").null_count:
            cells.put(_received(batch))
    yield from sent(_with_watched(cells.take()), refused=refused)


def refused_in(batches: Iterable[pa.RecordBatch]) -> int:
    """Return how many lines were refused, as batches with the columns `SENT` say."""
    return sum(int(arrays.plain(batch.column("refused")).sum()) for batch in batches)


def rows_of(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return rows of the contract; columns of text are dictionaries.

    Args:
        batches: with the columns `SENT`, each histogram of another key; refused lines are left out.
    """
    counted = [batch for batch in batches if not batch.column("day").null_count]
    whole = pa.Table.from_batches(counted, SENT).combine_chunks()
    if not whole.num_rows:
        return contract.ROWS.empty_table()
    (batch,) = whole.to_batches()
    buckets, counts = batch.column("buckets"), batch.column("counts")
    lengths = arrays.plain(buckets.value_lengths())
    places = arrays.numbers(np.repeat(np.arange(batch.num_rows), lengths), pa.int32())
    return pa.table(
        [
            batch.column("day").take(places),
            *(batch.column(name).dictionary_encode().take(places) for name in contract.NAMES),
            buckets.flatten(),
            counts.flatten(),
        ],
        names=contract.ROWS.names,
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
    of_key = np.concatenate([counted.of_key, every, every])
    buckets = np.concatenate([counted.buckets, np.full(every.size, MEMBER_BLOCKS), np.full(every.size, GROUP_BLOCKS)])
    counts = np.concatenate([counted.counts, members[of_group], blocks[of_group]])
    order = np.argsort(of_key, kind="stable")
    return Counted(counted.keys, counted.parts, of_key[order], buckets[order], counts[order])


def _bits(numbers: npt.NDArray[np.uint64]) -> Whole:
    bits: Whole = np.unpackbits(numbers.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1, dtype=np.int64)
    return bits


def _columns(keys: Sequence[Key]) -> list[pa.Array]:
    """Return the columns that say whose values they are."""
    days = np.array([day for day, _ in keys], dtype=np.int32)
    names = (arrays.texts([names[place] for _, names in keys]) for place in range(len(contract.NAMES)))
    return [arrays.numbers(days, pa.date32()), *names]
