"""A lake of values for `bench.fit`: what a fleet's exporters would have left in Parquet files.

Each group has a lognormal body with a generalised Pareto tail above its 98 % quantile, as in `bench.tail_truths`, in
whole milliseconds as JMX tells them. Files are `dt=.../groups-*.parquet`, series after series within a file, as a reply
of Prometheus is.
"""

import concurrent.futures
import dataclasses
import multiprocessing
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import special

BLOCKS: Final = 960
"""Values of a member in a day: one for each 90 s."""

FIRST_DAY: Final = date(2026, 11, 1)

_SEED: Final = 1
_TAIL_SHARE: Final = 0.02
_ROWS_A_FILE: Final = 600_000
_NAMESPACES: Final = 20

_COLUMNS: Final = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        *((name, pa.dictionary(pa.int32(), pa.string())) for name in ("namespace", "group", "client", "quantity")),
        ("value_s", pa.float64()),
    ]
)


@dataclasses.dataclass(frozen=True)
class Lake:
    """How much of it there is.

    Attributes:
        groups: in the fleet.
        members: of each.
        days: from `FIRST_DAY` on.
    """

    groups: int
    members: int
    days: int = 1

    @property
    def rows(self) -> int:
        """How many values."""
        return self.groups * self.members * self.days * BLOCKS


def write(folder: Path, lake: Lake) -> int:
    """Write a lake, on all cores, and return its bytes; the same lake is the same values, and so are its first days."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(_SEED)
    laws = {
        "median": np.exp(rng.normal(np.log(0.1), 1.0, lake.groups)),
        "spread": rng.uniform(0.3, 0.7, lake.groups),
        "shape": rng.normal(0.15, 0.10, lake.groups),
        "scale": np.exp(rng.normal(np.log(0.5), 0.3, lake.groups)),
    }
    a_file = max(1, _ROWS_A_FILE // (lake.members * BLOCKS))
    files = [
        (number, np.arange(first, min(first + a_file, lake.groups)))
        for number in range(lake.days)
        for first in range(0, lake.groups, a_file)
    ]
    written = 0
    with concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [
            pool.submit(
                _write_file, folder, number, groups, lake.members, {name: law[groups] for name, law in laws.items()}
            )
            for number, groups in files
        ]
        for done, job in enumerate(jobs, start=1):
            written += job.result()
            if sys.stdout.isatty():
                print(f"\rdata: file {done} of {len(files)}, {written >> 20} MiB", end="", flush=True)
    print(f"data: {lake.rows:,} rows in {lake.groups:,} groups, {written >> 20} MiB")
    return written


def first_days(whole: Path, folder: Path, days: int) -> None:
    """Give the first days of a lake as a lake: the files are the same ones, under other names."""
    for place in sorted(whole.iterdir())[:days]:
        (folder / place.name).mkdir(parents=True)
        for file in place.iterdir():
            (folder / place.name / file.name).hardlink_to(file)


def _write_file(folder: Path, number: int, groups: np.ndarray, members: int, laws: dict[str, np.ndarray]) -> int:
    """Write some groups' values of a day, and return the bytes of the file."""
    day = FIRST_DAY + timedelta(days=number)
    place = folder / f"dt={day}"
    place.mkdir(exist_ok=True)
    target = place / f"groups-{groups[0]:05}.parquet"
    rng = np.random.default_rng([_SEED, number, int(groups[0])])
    pq.write_table(_table(day, groups, members, laws, rng), target, compression="zstd", store_schema=False)
    return target.stat().st_size


def _table(
    day: date, groups: np.ndarray, members: int, laws: dict[str, np.ndarray], rng: np.random.Generator
) -> pa.Table:
    """Return one file's values: of each group, member after member, in order of time."""
    size = (len(groups), members * BLOCKS)
    law = {name: values[:, None] for name, values in laws.items()}
    uniform = rng.random(size)
    threshold_s = law["median"] * np.exp(law["spread"] * special.ndtri(1 - _TAIL_SHARE))
    beyond = np.maximum(np.minimum((1 - uniform) / _TAIL_SHARE, 1.0), 1e-12)
    tail_s = threshold_s * (1 + law["scale"] * np.expm1(-law["shape"] * np.log(beyond)) / law["shape"])
    body_s = law["median"] * np.exp(law["spread"] * special.ndtri(np.minimum(uniform, 1 - _TAIL_SHARE)))
    value_s = np.round(np.where(uniform > 1 - _TAIL_SHARE, tail_s, body_s) * 1000) / 1000
    start_us = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000_000
    ts = np.tile(start_us + np.arange(BLOCKS) * 90_000_000, len(groups) * members)
    of_group = np.repeat(np.arange(len(groups), dtype=np.int32), members * BLOCKS)
    rows = len(of_group)
    return pa.table(
        [
            pa.array(ts).cast(_COLUMNS.field("ts").type),
            _dictionary(groups[of_group] % _NAMESPACES, [f"team-{index}" for index in range(_NAMESPACES)]),
            _dictionary(of_group, [f"orders-{group}" for group in groups]),
            _dictionary(np.zeros(rows), ["java"]),
            _dictionary(np.zeros(rows), ["absence"]),
            pa.array(value_s.ravel()),
        ],
        schema=_COLUMNS,
    )


def _dictionary(places: np.ndarray, names: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(names))
