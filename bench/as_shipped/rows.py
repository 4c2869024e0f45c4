"""From the hours of a fleet to the fit's table: rows of the contract, a table for each day."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date

import numpy as np
import pyarrow as pa

from bench.as_shipped.hours import BLOCKS_AN_HOUR, Stretch
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS

CLUSTER = "main"


class DayRows:
    """The rows of one day, group by group.

    Args:
        on: the day.
    """

    def __init__(self, on: date) -> None:
        self._on = on
        self._names: dict[str, list[str]] = defaultdict(list)
        self._sizes: list[int] = []
        self._buckets: list[np.ndarray] = []
        self._counts: list[np.ndarray] = []

    def add(self, namespace: str, group: str, client: str, stretches: Iterable[Stretch]) -> None:
        """Add what a group showed in its stretches of the day."""
        by_quantity: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for stretch in stretches:
            blocks = (stretch.until - stretch.first) * BLOCKS_AN_HOUR
            for name, marks in stretch.marks.items():
                cells = by_quantity[name]
                cells[MEMBER_BLOCKS] += marks.members * blocks
                cells[GROUP_BLOCKS] += blocks
                for bucket, count in zip(marks.buckets.tolist(), marks.counts.tolist(), strict=True):
                    cells[bucket] += count
        for name, cells in by_quantity.items():
            self._sizes.append(len(cells))
            self._buckets.append(np.fromiter(cells.keys(), dtype=np.int16, count=len(cells)))
            self._counts.append(np.fromiter(cells.values(), dtype=np.int64, count=len(cells)))
            for column, value in zip(contract.NAMES, (CLUSTER, namespace, group, client, name), strict=True):
                self._names[column].append(value)

    def table(self) -> pa.Table:
        """Return the rows; none where nobody was watched."""
        if not self._sizes:
            return contract.ROWS.empty_table()
        sizes = np.array(self._sizes, dtype=np.int64)
        lines = np.repeat(np.arange(len(sizes)), sizes)
        number = (self._on - date(1970, 1, 1)).days
        columns = {
            "day": pa.array(np.full(lines.size, number, dtype=np.int32), type=pa.int32()).cast(pa.date32()),
            **{name: pa.array(self._names[name], type=pa.string()).take(pa.array(lines)) for name in contract.NAMES},
            "bucket": pa.array(np.concatenate(self._buckets), type=pa.int16()),
            "n": pa.array(np.concatenate(self._counts), type=pa.int64()),
        }
        return pa.table(columns, schema=contract.ROWS)


def joined(days: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of several days."""
    return pa.concat_tables(days)
