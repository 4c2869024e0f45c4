"""Between Arrow's columns and NumPy's numbers, without PyArrow's own ways.

Those (`array`, `to_numpy`, `fill_null`) load pandas, only to see whether they were given something of it: 0.7 s in each
Python process that Spark starts, as much as it takes to count ten million values.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LARGEST: Final = 1 << 62
"""Numbers beyond do not fit into 64 bits."""

_STORED: Final = {
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.date32(): np.int32,
    pa.int64(): np.int64,
    pa.float64(): np.float64,
}


def numbers(values: npt.NDArray[np.generic], kind: pa.DataType) -> pa.Array:
    """Return a column of whole numbers, or of days that are numbered since 1970."""
    stored = np.ascontiguousarray(values, dtype=_STORED[kind])
    return pa.Array.from_buffers(kind, stored.size, [None, pa.py_buffer(stored)])


def plain(column: pa.Array) -> npt.NDArray[Any]:
    """Return a column of numbers that has no nulls; it is not copied."""
    stored = np.dtype(_STORED[column.type])
    if not len(column):
        return np.zeros(0, stored)
    return np.frombuffer(column.buffers()[1], stored, len(column), column.offset * stored.itemsize)


def flat(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return a table's column of numbers that has no nulls."""
    return np.concatenate([np.zeros(0, _STORED[column.type]), *(plain(chunk) for chunk in column.chunks)])


def coded(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Return each text's place among those that there are, and them, ascending.

    Args:
        column: of text without nulls, as it is or as dictionaries, of which each chunk may have its own.
    """
    chunks = [chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode() for chunk in column.chunks]
    several = [chunk.dictionary.to_pylist() for chunk in chunks]
    codes = [plain(chunk.indices.cast(pa.int32())) for chunk in chunks]
    used = [np.bincount(code, minlength=len(names)) > 0 for code, names in zip(codes, several, strict=True)]
    names = sorted(
        {
            name
            for some, held in zip(several, used, strict=True)
            for name, is_used in zip(some, held, strict=True)
            if is_used
        }
    )
    place = {name: number for number, name in enumerate(names)}
    ranks = [np.array([place.get(name, 0) for name in some], dtype=np.int32) for some in several]
    places = [rank[code] for rank, code in zip(ranks, codes, strict=True)]
    return np.concatenate([np.zeros(0, np.int32), *places]), tuple(names)


def numbered(columns: Iterable[tuple[npt.NDArray[np.integer], int]]) -> tuple[npt.NDArray[np.int64], int]:
    """Return one number for each line of several columns of places, in the same order, and how many there might be.

    Args:
        columns: places from 0, and how many there might be, the column that orders first in front.
    """
    keys, size = np.zeros(1, dtype=np.int64), 1
    for codes, width in columns:
        if size * max(width, 1) > _LARGEST:
            held, keys = np.unique(keys, return_inverse=True)
            size = held.size
        keys, size = keys * max(width, 1) + codes, size * max(width, 1)
    return keys, size


def texts(strings: Sequence[str]) -> pa.StringArray:
    """Return a column of texts."""
    encoded = [text.encode() for text in strings]
    ends = np.zeros(len(encoded) + 1, dtype=np.int32)
    np.cumsum([len(text) for text in encoded], out=ends[1:])
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
