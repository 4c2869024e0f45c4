"""The histogram contract: all that is kept of samples, and everything is fitted to.

Values are times in seconds. A bucket holds `lower < value <= upper`; bucket 0 holds zero as well. Up to 47.5 ms the
edges lie on half milliseconds, so that bucket `k` is the whole millisecond `k`: JMX maxima are rounded to whole
milliseconds, and an edge on one would lay the value on either side of it. Beyond, edges are 2^(k/32) s, the same as
those of a native Prometheus histogram of schema 5: 2.2 % wide. Times above 2^21 s (24 days, the longest that Kafka's
settings can say) and what is no time at all (negative, NaN, infinite) land in no bucket; they are counted as refused.

Histograms of the same thing are merged by adding their counts, in any order.
"""

import dataclasses
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

SCHEMA: Final = 1
"""Version of the bucket numbers: stored beside every table, since other edges would make them other times."""

PER_OCTAVE: Final = 32
"""Exponential buckets in each doubling of time."""

_HALF_MILLISECONDS: Final = (np.arange(48) + 0.5) / 1000
_POWERS: Final = np.exp2(np.arange(-140, 21 * PER_OCTAVE + 1) / PER_OCTAVE)  # from 48.2 ms

EDGES_S: Final[npt.NDArray[np.float64]] = np.concatenate(([0.0], _HALF_MILLISECONDS, _POWERS))
"""Bucket `k` lies between `EDGES_S[k]` and `EDGES_S[k + 1]`, in seconds."""
EDGES_S.setflags(write=False)

MIDDLES_S: Final[npt.NDArray[np.float64]] = np.sqrt(np.maximum(EDGES_S[:-1], EDGES_S[1] / 4) * EDGES_S[1:])
"""What a value of each bucket is taken for, in seconds."""
MIDDLES_S.setflags(write=False)

BUCKETS: Final = len(EDGES_S) - 1
"""Buckets are numbered from 0 to this, exclusive."""

NO_BUCKET: Final = -1
"""Stands for a bucket where there is none."""

# The exponent and the first 7 bits behind the binary point of a float64 name a cell that is 1/128 wide at most: no cell
# holds two edges. A table of the cells and one comparison are several times as fast as a search.
_CELL_BITS: Final = 52 - 7
_FIRST_CELL: Final = int(np.float64(2**-12).view(np.int64)) >> _CELL_BITS
_CELLS: Final = (int(EDGES_S[-1].view(np.int64)) >> _CELL_BITS) - _FIRST_CELL + 1
_BUCKET_AT_START: Final = np.searchsorted(
    EDGES_S[1:], ((np.arange(_CELLS) + _FIRST_CELL) << _CELL_BITS).view(np.float64)
).astype(np.int16)


def bucket_of(values_s: npt.ArrayLike) -> npt.NDArray[np.int16]:
    """Return the bucket of each time in seconds, `NO_BUCKET` for what is no time; same shape as `values_s`."""
    values = np.asarray(values_s, dtype=np.float64)
    valid = (values >= 0) & (values <= EDGES_S[-1])  # false for NaN
    inside = np.where(valid, values, 0.0)
    cells = (inside.view(np.int64) >> _CELL_BITS) - _FIRST_CELL
    bucket = _BUCKET_AT_START[np.maximum(cells, 0)]
    bucket += inside > EDGES_S[bucket + 1]
    return np.where(valid, bucket, np.int16(NO_BUCKET))


@dataclasses.dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of one group's quantity over some time.

    Attributes:
        buckets: numbers of the buckets that hold something, ascending.
        counts: how many values each of them holds, at least 1; as many as `buckets`.
        refused: values that were no time.
    """

    buckets: npt.NDArray[np.int16]
    counts: npt.NDArray[np.int64]
    refused: int = 0

    @classmethod
    def of(cls, values_s: npt.ArrayLike) -> "Histogram":
        """Return the histogram of times in seconds."""
        numbers = bucket_of(values_s).ravel()
        counted = numbers[numbers != NO_BUCKET]
        counts = np.bincount(counted)
        buckets = np.flatnonzero(counts)
        return cls(buckets.astype(np.int16), counts[buckets].astype(np.int64), refused=numbers.size - counted.size)

    def to_counts(self) -> dict[int, int]:
        """Return `{bucket: count}`: what is stored."""
        return dict(zip(self.buckets.tolist(), self.counts.tolist(), strict=True))

    @property
    def total(self) -> int:
        """How many values it holds."""
        return int(self.counts.sum())

    @property
    def largest_s(self) -> float | None:
        """Upper edge of the last bucket that holds a value, in seconds; None without values."""
        return float(EDGES_S[int(self.buckets[-1]) + 1]) if self.buckets.size else None


def dense(histograms: Iterable[Histogram]) -> npt.NDArray[np.float64]:
    """Return counts as a matrix: a row for each histogram, a column for each bucket."""
    parts = list(histograms)
    matrix = np.zeros((len(parts), BUCKETS))
    for row, part in zip(matrix, parts, strict=True):
        row[part.buckets] = part.counts
    return matrix


def medians_s(counts: npt.NDArray[np.float64]) -> list[float | None]:
    """Return the median of each row of a matrix as `dense` gives it, in seconds; None for a row without values."""
    sums = np.cumsum(counts, axis=1)
    places = np.argmax(sums >= 0.5 * sums[:, -1:], axis=1)
    return [
        float(MIDDLES_S[place]) if total > 0 else None
        for place, total in zip(places.tolist(), sums[:, -1].tolist(), strict=True)
    ]


def dense_of_table(
    rows: npt.NDArray[np.integer], buckets: npt.NDArray[np.integer], counts: npt.NDArray[np.generic], *, height: int
) -> npt.NDArray[np.float64]:
    """Return counts as a matrix, from the columns of a stored table; lines of one row and bucket are added up.

    Args:
        rows: 0..height - 1, the histogram that a line belongs to.
        buckets: its bucket.
        counts: how much it adds; a weight times a count is as good.
        height: how many histograms there are.

    Raises:
        ValueError: a bucket that the contract does not know.
    """
    if np.any((buckets < 0) | (buckets >= BUCKETS)):
        raise ValueError(f"buckets {buckets.min()}..{buckets.max()}: must be 0..{BUCKETS - 1} in schema {SCHEMA}")
    cells = rows.astype(np.int64) * BUCKETS + buckets
    added = np.bincount(cells, weights=counts.astype(np.float64), minlength=height * BUCKETS)
    return added.astype(np.float64).reshape(height, BUCKETS)  # bincount of nothing is whole numbers
