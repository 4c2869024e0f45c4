"""Days of a small fleet as rows of the contract, made from numbers that a seed gives."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.tails import histogram
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS, MEMBER_BLOCKS

BLOCKS_A_DAY = 960
"""Of 90 s."""


def values_s(day: date, group: str, quantity: str, count: int) -> np.ndarray:
    """Return delays of a day: lognormal, the same each time that they are asked for."""
    seed = np.random.SeedSequence([day.toordinal(), *map(ord, group), *map(ord, quantity)])
    return np.asarray(np.random.default_rng(seed).lognormal(-3.0, 1.0, count))


def rows_of(
    day: date,
    *,
    groups: Sequence[str] = ("orders", "billing"),
    client: str = "java",
    quantity: str = "absence",
    values: int = 2_000,
    namespace: str = "shop",
) -> pa.Table:
    """Return the rows of a day."""
    lines = []
    for group in groups:
        key = {
            "day": day,
            "cluster": "",
            "namespace": namespace,
            "group": group,
            "client": client,
            "quantity": quantity,
        }
        for bucket, n in histogram.Histogram.of(values_s(day, group, quantity, values)).to_counts().items():
            lines.append({**key, "bucket": bucket, "n": n})
        lines += [
            {**key, "bucket": MEMBER_BLOCKS, "n": 3 * BLOCKS_A_DAY},
            {**key, "bucket": GROUP_BLOCKS, "n": BLOCKS_A_DAY},
        ]
    return pa.Table.from_pylist(lines, schema=contract.ROWS)


def nothing() -> pa.Table:
    """Return the rows of a day without data."""
    return contract.ROWS.empty_table()


def lake(folder: Path, days: Iterable[date], **fleet: object) -> Path:
    """Write the days as one Parquet file of the contract each; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for day in days:
        table = rows_of(day, **fleet)  # type: ignore[arg-type]
        stored = table.replace_schema_metadata({contract.SCHEMA_KEY: str(histogram.SCHEMA).encode()})
        pq.write_table(stored, folder / f"{day}.parquet")
    return folder


def values_lake(
    folder: Path, days: Iterable[date], *, groups: Sequence[str] = ("orders", "billing"), values: int = 2_000
) -> Path:
    """Write values, not buckets, as one Parquet file a day; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for day in days:
        midnight = datetime.combine(day, datetime.min.time(), UTC)
        parts = []
        for group in groups:
            found = values_s(day, group, "absence", values)
            parts.append(
                pa.table(
                    {
                        "ts": pa.array(
                            [midnight + timedelta(seconds=86_399 * at / len(found)) for at in range(len(found))],
                            pa.timestamp("us", "UTC"),
                        ),
                        "namespace": ["shop"] * len(found),
                        "group": [group] * len(found),
                        "client": ["java"] * len(found),
                        "quantity": ["absence"] * len(found),
                        "value_s": found,
                    }
                )
            )
        pq.write_table(pa.concat_tables(parts), folder / f"{day}.parquet")
    return folder
