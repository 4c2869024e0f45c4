"""A lake of Parquet files as rows of the contract: values that become counts where they are read, or rows already.

Spark hands out the files, and adds up what its tasks have counted; values stay within a task, in Arrow and NumPy
(`lake_reading`, `cells`). Which kind a lake holds, the columns of its first file tell; what is wrong with them is said
before anything is read whole. A lake is looked at once and read in parts, a span of days each.

Values are one line for each member, quantity and block of 90 s in which it was watched, with the largest value of the
block (an event: a line for each). What was watched is told by them, too: of the members, as many blocks as the quantity
with most lines has; of the group, the parts of the day, of 22.5 minutes each, in which there is any line.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from heartbeat_tuner.fitting import contract, session
from heartbeat_tuner.fitting.contract import ContractError
from heartbeat_tuner.fitting.lake import lake_files, lake_reading, lake_rows, lake_survey
from heartbeat_tuner.fitting.lake.lake_files import Lake, ObservationsError
from heartbeat_tuner.fitting.lake.lake_reading import LakeOrder
from heartbeat_tuner.fitting.lake.lake_survey import RowGroup
from heartbeat_tuner.tails.day_weights import GROUP_BLOCKS
from heartbeat_tuner.tails.histogram import BUCKETS, SCHEMA

_SHARES_A_CORE: Final = 4
"""Shares of a lake for each core: so that no core waits long for the last of them, and it is seen how far it is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """What Parquet files hold of some days.

    Attributes:
        rows: of the contract, in this process; those of the same key are to be added up.
        refused: how many lines have no time (missing, negative, not finite, over 24 days) or lack another column.
    """

    rows: pa.Table
    refused: int = 0


class LakeSource(Protocol):
    """A lake that was looked at, and may be read in parts."""

    def read(self, days: Collection[date] | None) -> Observed:
        """Return what it holds of some days (UTC), or of all if None.

        Raises:
            ObservationsError: a file that cannot be read; PySparkException and the like: what happens to Spark.
        """
        ...


def source(spark: SparkSession, path: str, *, cluster: str) -> LakeSource:
    """Look at a lake.

    Args:
        spark: a session.
        path: a folder or file, or a URI of a file system that PyArrow knows (file, s3, gs, hdfs); rows of the
            contract must lie where Spark can read them, too.
        cluster: the name of the Kafka cluster, where there is no column of it.

    Raises:
        ObservationsError: nothing to read, or columns that are of neither kind; the message names path, column, rule
            and fix.
    """
    lake = lake_files.find_lake(path)
    if "bucket" in lake.types or "n" in lake.types:
        return _rows(spark, lake)
    lake_files.check_types(lake.types, lake_files.wanted(with_cluster="cluster" in lake.types), path)
    return _ValuesLake(spark, lake, lake_survey.surveyed(lake), cluster)


@dataclasses.dataclass(frozen=True, slots=True)
class _ValuesLake:
    spark: SparkSession
    found: Lake
    row_groups: Sequence[RowGroup]
    cluster: str

    def read(self, days: Collection[date] | None) -> Observed:
        """Let tasks count, and Spark bring together what is of one group and day."""
        order = LakeOrder(
            self.found.uri,
            self.found.root,
            None if days is None else frozenset(days),
            None if "cluster" in self.found.types else self.cluster,
        )
        shares = lake_survey.shared_out(
            lake_survey.of_days(self.row_groups, days), _SHARES_A_CORE * self.spark.sparkContext.defaultParallelism
        )
        if not shares:
            return Observed(contract.ROWS.empty_table())

        context = self.spark.sparkContext
        adders = context.defaultParallelism

        def read_share(numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
            for number in numbers:
                yield from lake_rows.parted(lake_reading.read(order, shares[number]), adders)

        def add_up(parts: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
            yield lake_rows.packed(lake_rows.added_up(lake_rows.unpacked(part for _, part in parts)))

        counted = context.parallelize(range(len(shares)), len(shares)).mapPartitions(read_share)
        added = counted.partitionBy(adders, int).mapPartitions(add_up).collect()
        batches = list(lake_rows.unpacked(added))
        return Observed(lake_rows.rows_of(batches), lake_rows.refused_in(batches))


@dataclasses.dataclass(frozen=True, slots=True)
class _RowsLake:
    rows: DataFrame

    def read(self, days: Collection[date] | None) -> Observed:
        """Fetch them."""
        some = self.rows if days is None else self.rows.where(F.col("day").isin(sorted(days)))
        return Observed(some.toArrow().cast(contract.ROWS))


def _rows(spark: SparkSession, listed: Lake) -> _RowsLake:
    path = listed.uri
    try:
        frame = spark.read.parquet(path)
    except (PySparkException, Py4JJavaError) as error:
        raise ObservationsError(
            f"{path}: {session.first_line(error)}: give a folder or a file of Parquet that the job may read"
        ) from error
    lake_files.check_types(dict(frame.dtypes), contract.SPARK_TYPES, path)
    _check_schema(listed)
    least = frame.agg(
        F.min("n").alias("n"),
        F.min("bucket").alias("low"),
        F.max("bucket").alias("high"),
        *(F.count_if(F.col(name).isNull()).alias(f"no {name}") for name in contract.SPARK_TYPES),
    ).first()
    rule = _broken_rule(least.asDict() if least else {})
    if rule:
        raise ObservationsError(f"{path}: {rule}")
    return _RowsLake(frame.select(*contract.SPARK_TYPES))


def _broken_rule(least: dict[str, int | None]) -> str | None:
    for name in contract.SPARK_TYPES:
        if least[f"no {name}"]:
            return f"column {name} has {least[f'no {name}']} nulls: every row needs it; leave those rows out"
    low, high, count = least["low"], least["high"], least["n"]
    if low is None or high is None or count is None:
        return None
    if low < GROUP_BLOCKS or high >= BUCKETS:
        return (
            f"column bucket has {low}..{high}, must be {GROUP_BLOCKS}..{BUCKETS - 1}: these are not the buckets of "
            f"schema {SCHEMA}; give values instead"
        )
    if count < 0:
        return f"column n has {count}, must not be negative: it counts values; leave those rows out"
    return None


def _check_schema(listed: Lake) -> None:
    """See that every file says which schema its buckets are of; only the ends of the files are read."""
    files, _ = contract.opened(listed.uri)
    for path in listed.files:
        try:
            with files.open_input_file(path) as file:
                contract.check_schema(pq.read_metadata(file).metadata, path)
        except ContractError as error:
            raise ObservationsError(str(error)) from error
        except (pa.ArrowException, OSError) as error:
            raise lake_files.unusable(path, error) from error
