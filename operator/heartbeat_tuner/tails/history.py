"""Days of histograms become the counts that a fit takes: what was long ago tells less of tomorrow.

A history holds one histogram for each day of each subject. A day's weight halves every half-life; it is given at the
time of the fit and stored nowhere, so days may come in any order and be replaced. Weighted counts tell more than their
sum says: thirty days of falling weights add up to ten, but scatter less than ten whole days do (Kish's effective size).
"""

import dataclasses
from collections.abc import Mapping
from datetime import date
from typing import Final

import numpy as np

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, Histogram

HALF_LIFE_DAYS: Final = 7.0

MEMBER_BLOCKS: Final = -1
"""In place of a bucket, in a stored table: blocks of 90 s in which members were watched, of all members together."""

GROUP_BLOCKS: Final = -2
"""Likewise: the blocks in which any member of the group was."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What a histogram is of.

    Attributes:
        cluster: the Kafka cluster, by the name that the fit was given; empty if it was given none.
        namespace: of the group's pods.
        group: the consumer group.
        client: the client library that was measured.
        quantity: what was measured, by the name that the contract stores.
    """

    cluster: str
    namespace: str
    group: str
    client: str
    quantity: str


@dataclasses.dataclass(frozen=True, slots=True)
class Weighted:
    """Counts of several subjects, each day by its weight.

    Attributes:
        subjects: in the order of the rows, ascending.
        counts: subjects x `BUCKETS`.
        weight: how much a count of each subject tells, as part of an independent one: 1 or more.
    """

    subjects: tuple[Subject, ...]
    counts: Array
    weight: Array


def weighted(
    history: Mapping[tuple[Subject, date], Histogram], *, on: date, half_life_days: float = HALF_LIFE_DAYS
) -> Weighted:
    """Return the counts of a history as they tell of the day after `on`.

    Args:
        history: a histogram for each day of each subject.
        on: the newest day; it has weight 1.
        half_life_days: after so many days a count is worth half.

    Raises:
        ValueError: a day after `on`, or a half-life that is none.
    """
    if not half_life_days > 0:
        raise ValueError(f"half_life_days {half_life_days}: must be positive")
    subjects = sorted({subject for subject, _ in history})
    rows = {subject: row for row, subject in enumerate(subjects)}
    counts = np.zeros((len(subjects), BUCKETS))
    squares = np.zeros(len(subjects))
    for (subject, day), histogram in sorted(history.items(), key=lambda item: item[0]):
        age_days = (on - day).days
        if age_days < 0:
            raise ValueError(f"day {day} of {subject.group}: lies after {on}, the newest day of the fit")
        weight = 0.5 ** (age_days / half_life_days)
        counts[rows[subject], histogram.buckets] += weight * histogram.counts
        squares[rows[subject]] += weight**2 * histogram.total
    sums = counts.sum(axis=1)
    return Weighted(tuple(subjects), counts, np.where(squares > 0, sums / np.maximum(squares, 1e-300), 1.0))
