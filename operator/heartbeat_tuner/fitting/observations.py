"""A lake of Parquet files as rows of the contract: values that become counts where they are read, or rows already.

Spark hands out the files, and adds up what its tasks have counted; values stay within a task, in Arrow and NumPy
(`lake_reading`, `cells`). Which kind a lake holds, the columns of its first file tell; what is wrong with them is said
before anything is read whole.

Values are one line for each member, quantity and block of 90 s in which it was watched, with the largest value of the
block (an event: a line for each). What was watched is told by them, too: of the members, as many blocks as the quantity
with most lines has; of the group, the parts of the day, of 22.5 minutes each, in which there is any line.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator
from datetime import date
from typing import Final

import pyarrow as pa
import pyarrow.dataset
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from heartbeat_tuner.fitting import contract, lake, lake_reading, lake_rows, session
from heartbeat_tuner.fitting.contract import ContractError
from heartbeat_tuner.fitting.lake import Lake, ObservationsError
from heartbeat_tuner.fitting.lake_reading import Order
from heartbeat_tuner.tails.histogram import BUCKETS, SCHEMA
from heartbeat_tuner.tails.history import GROUP_BLOCKS

_GROUP_DAY: Final = ("day", "cluster", "namespace", "group", "client")
"""What was watched is told of all quantities together."""

_SHARES_A_CORE: Final = 4
"""Shares of a lake for each core: so that no core waits long for the last of them, and it is seen how far it is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """What Parquet files hold.

    Attributes:
        rows: of the contract; those of the same key are to be added up.
    """

    rows: DataFrame
    _refused: Observation | None

    def refused(self) -> int:
        """Return how many lines have no time (missing, negative, not finite, over 24 days) or lack another column.

        Known once the rows were computed for the first time; waits for that.
        """
        return int(self._refused.get["refused"] or 0) if self._refused else 0


def read(spark: SparkSession, path: str, *, cluster: str, days: Collection[date] | None = None) -> Observed:
    """Return what a lake holds.

    Args:
        spark: a session.
        path: a folder or file, or a URI of a file system that PyArrow knows (file, s3, gs, hdfs); rows of the
            contract must lie where Spark can read them, too.
        cluster: the name of the Kafka cluster, where there is no column of it.
        days: read no others (UTC); None reads all.

    Raises:
        ObservationsError: nothing to read, or columns that are of neither kind; the message names path, column, rule
            and fix.
    """
    found = lake.found(path)
    if "bucket" in found.types or "n" in found.types:
        return _contract(spark, path, days)
    lake.check_types(found.types, lake.wanted(with_cluster="cluster" in found.types), path)
    return _values(spark, found, cluster, days)


def _values(spark: SparkSession, found: Lake, cluster: str, days: Collection[date] | None) -> Observed:
    order = Order(
        found.uri,
        found.root,
        None if days is None else frozenset(days),
        None if "cluster" in found.types else cluster,
    )
    shares = found.shared_out(_SHARES_A_CORE * spark.sparkContext.defaultParallelism)

    def read_share(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                yield from lake_reading.read(order, shares[number])

    def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return lake_rows.added_up(batches)

    refused = Observation("refused")
    counted = (
        spark.range(0, len(shares), 1, len(shares))
        .mapInArrow(read_share, from_arrow_schema(lake_rows.SENT))
        .observe(refused, F.sum("refused").alias("refused"))
        .where("day IS NOT NULL")
    )
    rows = counted.repartition(*_GROUP_DAY).mapInArrow(add_up, from_arrow_schema(contract.ROWS))
    return Observed(rows, refused)


def _contract(spark: SparkSession, path: str, days: Collection[date] | None) -> Observed:
    try:
        found = spark.read.parquet(path)
    except (PySparkException, Py4JJavaError) as error:
        raise ObservationsError(
            f"{path}: {session.first_line(error)}: give a folder or a file of Parquet that the job may read"
        ) from error
    lake.check_types(dict(found.dtypes), contract.SPARK_TYPES, path)
    _check_schema(path)
    least = found.agg(
        F.min("n").alias("n"),
        F.min("bucket").alias("low"),
        F.max("bucket").alias("high"),
        *(F.count_if(F.col(name).isNull()).alias(f"no {name}") for name in contract.SPARK_TYPES),
    ).first()
    rule = _broken_rule(least.asDict() if least else {})
    if rule:
        raise ObservationsError(f"{path}: {rule}")
    rows = found.select(*contract.SPARK_TYPES)
    return Observed(rows if days is None else rows.where(F.col("day").isin(sorted(days))), None)


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


def _check_schema(path: str) -> None:
    """See that every file says which schema its buckets are of; only the ends of the files are read."""
    try:
        files, root = contract.opened(path)
        fragments = pyarrow.dataset.dataset(root, filesystem=files, format="parquet").get_fragments()
        for fragment in fragments:
            contract.check_schema(fragment.metadata.metadata, fragment.path)
    except ContractError as error:
        raise ObservationsError(str(error)) from error
    except (pa.ArrowException, OSError) as error:
        raise ObservationsError(
            f"{path}: {str(error).splitlines()[0]}: rows of the contract must lie where PyArrow can read them"
        ) from error
