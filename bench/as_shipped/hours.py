"""The hours of a group: what happened in each, and what metrics show of it. `drawing` draws them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from heartbeat_tuner.metrics.absence.blocks import BLOCK_S
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, bucket_of

Whole = npt.NDArray[np.int64]

HOUR_S: Final = 3600.0
BLOCKS_AN_HOUR: Final = int(HOUR_S // BLOCK_S)


@dataclasses.dataclass(frozen=True)
class Hour:
    """One hour of a group.

    Attributes:
        evicted_at_s: when live members were removed for silence, as metrics show it, in order, in seconds of the day.
        left: how many left for want of a poll.
        longest_silence_s: that a member survived, as the record has it.
        longest_gap_s: between two polls; None where that is not exported.
        started: member and second of the day of each pod that was started.
        deployed: whether the owner changed the pods' template.
        silent: how many were truly removed for silence: what metrics show may be less.
        joined_again: whether members of a share group are seen to join again, and nothing shows why.
    """

    evicted_at_s: tuple[float, ...]
    left: int
    longest_silence_s: float
    longest_gap_s: float | None
    started: tuple[tuple[int, float], ...]
    deployed: bool
    silent: int
    joined_again: bool = False

    @property
    def is_quiet(self) -> bool:
        """Whether nobody was removed, left or started."""
        return not (self.silent or self.left or self.started or self.deployed or self.joined_again)


@dataclasses.dataclass(frozen=True)
class Marks:
    """Values of one quantity in some hours: hour, bucket and count of each, and how many blocks were watched an hour.

    Attributes:
        hours: of the day.
        buckets: of the histogram.
        counts: how many values.
        members: how many were watched.
    """

    hours: Whole
    buckets: Whole
    counts: Whole
    members: int

    def before(self, hour: int) -> "Marks":
        """Return those of the hours before one."""
        some = self.hours < hour
        return Marks(self.hours[some], self.buckets[some], self.counts[some], self.members)


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Some hours of a day, under the same values.

    Attributes:
        first: the first hour.
        until: the hour after the last one.
        hours: one for each.
        marks: by quantity.
    """

    first: int
    until: int
    hours: Sequence[Hour]
    marks: Mapping[str, Marks]

    def before(self, hour: int) -> "Stretch":
        """Return what of it was before an hour: from then on other values are in force."""
        marks = {name: some.before(hour) for name, some in self.marks.items()}
        return Stretch(self.first, hour, self.hours[: hour - self.first], marks)


def cells(counts: Whole) -> tuple[Whole, Whole, Whole]:
    """Return hour, bucket and count of each cell of a table that has any."""
    hours, buckets = np.nonzero(counts)
    return hours, buckets, counts[hours, buckets]


def binned(hours: Whole, times_s: Array) -> tuple[Whole, Whole, Whole]:
    """Return hour, bucket and count of values."""
    buckets = bucket_of(np.round(times_s, 3)).astype(np.int64)
    keys, counts = np.unique(hours.astype(np.int64) * BUCKETS + buckets, return_counts=True)
    return keys // BUCKETS, keys % BUCKETS, counts


def joined(parts: Sequence[tuple[Whole, Whole, Whole]]) -> tuple[Whole, Whole, Whole]:
    """Return the hours, buckets and counts of several."""
    hours, buckets, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return hours, buckets, counts
