"""Reads a share of a lake: what a task does, from the bytes of files to rows of counts.

A file is read row group by row group, in batches, with columns of text as dictionaries. What was counted goes on as
soon as it is much, so memory is flat however long the share is. Nothing here knows Spark: rows go out as batches.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from heartbeat_tuner.fitting import arrays, contract
from heartbeat_tuner.fitting.contract import ContractError
from heartbeat_tuner.fitting.lake import lake_files, lake_rows
from heartbeat_tuner.fitting.lake.cells import PART_S, Batch, Cells, Whole, ranked
from heartbeat_tuner.fitting.lake.lake_files import ObservationsError
from heartbeat_tuner.fitting.lake.lake_survey import Piece, seconds_of

_MUCH: Final = 1 << 21
"""Cells that go out before the share is read: some 50 MiB with what holds them."""

_LINES: Final = 1 << 16
"""Lines of a batch that is read: their columns stay in a core's cache."""

_MANY_NAMES: Final = 1 << 12
"""A dictionary with more of them is not looked at whole for each batch."""

_NEVER: Final = np.iinfo(np.int64).min
"""The time of a line without one."""

_A_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclasses.dataclass(frozen=True, slots=True)
class LakeOrder:
    """What is to be read, and how.

    Attributes:
        uri: of the lake.
        root: its path within its file system.
        days: no others (UTC); None for all.
        cluster: the name of the Kafka cluster; None if a column tells it.
    """

    uri: str
    root: str
    days: frozenset[date] | None
    cluster: str | None


def read(order: LakeOrder, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
    """Yield what was counted, with the columns `lake_rows.SENT`.

    Raises:
        ObservationsError: a file that cannot be read; it names the file and the fix.
    """
    try:
        files, _ = contract.opened(order.uri)
    except ContractError as error:
        raise ObservationsError(str(error)) from error
    cells = Cells()
    for piece in pieces:
        try:
            for batch in _batches(files, piece, order):
                cells.add(batch)
                if len(cells) > _MUCH:
                    yield from lake_rows.sent(cells.take())
        except (pa.ArrowException, OSError) as error:
            raise lake_files.unusable(piece.path, error) from error
    yield from lake_rows.sent(cells.take(), refused=cells.refused)


def _batches(files: pyarrow.fs.FileSystem, piece: Piece, order: LakeOrder) -> Iterator[Batch]:
    """Yield the lines of a piece, of the wanted days."""
    given = lake_files.names_in(piece.path, order.root)
    if order.cluster is not None:
        given["cluster"] = order.cluster
    texts = [name for name in contract.NAMES if name not in given]
    with files.open_input_file(piece.path) as file:
        parquet = pq.ParquetFile(file, read_dictionary=texts, coerce_int96_timestamp_unit="us")
        for batch in parquet.iter_batches(_LINES, list(piece.row_groups), ["ts", *texts, "value_s"], use_threads=False):
            lines = _wanted_lines(_numbers(batch, given), order.days)
            if lines.parts.size:
                yield lines


def _numbers(batch: pa.RecordBatch, given: Mapping[str, str | None]) -> Batch:
    """Return the columns of a batch as numbers; a line without a time is of no day."""
    times = batch.column("ts")
    named = [name for name in contract.NAMES if name not in given]
    complete = [column.is_valid() for column in (times, *map(batch.column, named)) if column.null_count]
    marks = [column.to_numpy(zero_copy_only=False) for column in complete]
    if None in given.values():
        marks.append(np.zeros(batch.num_rows, dtype=np.bool_))
    constant = np.zeros(0, dtype=np.int32)
    return Batch(
        parts=_filled(times.cast(pa.int64()), _NEVER) // (PART_S * _A_SECOND[times.type.unit]),
        values_s=_filled(batch.column("value_s"), np.nan),
        names=[
            _coded(batch.column(name)) if name in named else (constant, [given[name] or ""]) for name in contract.NAMES
        ],
        complete=np.logical_and.reduce(marks) if marks else None,
    )


def _coded(column: pa.Array) -> tuple[Whole, list[str]]:
    """Return a column of text as places of names; a null has any place."""
    held = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes, names = _filled(held.indices.cast(pa.int32()), 0), held.dictionary
    if len(names) > _MANY_NAMES:  # of the whole row group, most of them of other batches
        sample, ranks = ranked(codes, len(names))
        codes, names = ranks, names.take(arrays.numbers(codes[sample], pa.int64()))
    return codes, names.to_pylist() or [""]


def _filled(column: pa.Array, nothing: float) -> npt.NDArray[Any]:
    """Return a column of numbers with one in the place of nulls."""
    return column.fill_null(nothing).to_numpy() if column.null_count else arrays.plain(column)


def _wanted_lines(batch: Batch, days: Collection[date] | None) -> Batch:
    """Return the lines of the wanted days."""
    if days is None or not batch.parts.size:
        return batch
    spans = [(begin // PART_S, before // PART_S) for begin, before in seconds_of(days)]
    first, last = int(batch.parts.min()), int(batch.parts.max())
    if any(begin <= first and last < before for begin, before in spans):
        return batch
    masks = [(batch.parts >= begin) & (batch.parts < before) for begin, before in spans]
    return batch.where(np.logical_or.reduce([np.zeros(batch.parts.size, dtype=np.bool_), *masks]))
