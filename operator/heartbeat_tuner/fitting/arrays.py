"""Between Arrow's columns and NumPy's numbers, without PyArrow's own ways.

Those (`array`, `to_numpy`, `fill_null`) load pandas, only to see whether they were given something of it: 0.7 s in each
Python process that Spark starts, as much as it takes to count ten million values.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_STORED: Final = {
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.date32(): np.int32,
    pa.int64(): np.int64,
    pa.float64(): np.float64,
}


def numbers(found: npt.NDArray[np.generic], kind: pa.DataType) -> pa.Array:
    """Return a column of whole numbers, or of days that are numbered since 1970."""
    stored = np.ascontiguousarray(found, dtype=_STORED[kind])
    return pa.Array.from_buffers(kind, stored.size, [None, pa.py_buffer(stored)])


def plain(column: pa.Array) -> npt.NDArray[Any]:
    """Return a column of numbers that has no nulls; it is not copied."""
    stored = np.dtype(_STORED[column.type])
    if not len(column):
        return np.zeros(0, stored)
    return np.frombuffer(column.buffers()[1], stored, len(column), column.offset * stored.itemsize)


def texts(found: Sequence[str]) -> pa.StringArray:
    """Return a column of texts."""
    encoded = [one.encode() for one in found]
    ends = np.zeros(len(encoded) + 1, dtype=np.int32)
    np.cumsum([len(one) for one in encoded], out=ends[1:])
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
