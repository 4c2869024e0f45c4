"""A lake of Parquet files as rows of the contract: values that Spark puts into buckets, or rows that are there already.

Values are put into buckets by Spark's own expressions, without a Python function: nothing but counts leaves the scan.
Which kind a lake holds, its columns tell; what is wrong with them is said before anything is read whole.

Values are one line for each member, quantity and block of 90 s in which it was watched, with the largest value of the
block (an event: a line for each). What was watched is told by them, too: of the members, as many blocks as the quantity
with most lines has; of the group, the parts of the day, of 22.5 minutes each, in which there is any line.
"""

import dataclasses
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.dataset
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting import calendar_days, contract, session
from heartbeat_tuner.fitting.contract import ContractError
from heartbeat_tuner.metrics.blocks import BLOCK_S
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, PER_OCTAVE, SCHEMA
from heartbeat_tuner.tails.history import GROUP_BLOCKS, MEMBER_BLOCKS

VALUES: Final = {
    "ts": "timestamp",
    "namespace": "string",
    "group": "string",
    "client": "string",
    "quantity": "string",
    "value_s": "double",
}
"""Columns of values and their types; `cluster` (string) may be one of them."""

_FIRST_POWER: Final = 48
"""The first bucket whose upper edge is a power, of 2^(-140 / 32) s; the one before lies between half milliseconds."""

_BEFORE_ONE: Final = 140
_MISSED: Final = 1e-6
"""Part of a bucket by which a guess may be too high: a hundred times what a logarithm of a double can be off."""

_PARTS: Final = 64  # of a day: as many as a long has bits
_PART_S: Final = 86_400 // _PARTS
_BLOCKS_A_PART: Final = int(_PART_S / BLOCK_S)


class ObservationsError(TunerError):
    """Parquet that cannot be used; the message names the path, the column, the rule and the fix."""


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
        path: a folder or file that Spark can read; rows of the contract must lie where PyArrow can read them, too.
        cluster: the name of the Kafka cluster, where there is no column of it.
        days: read no others (UTC); None reads all.

    Raises:
        ObservationsError: nothing to read, or columns that are of neither kind; the message names path, column, rule
            and fix.
    """
    try:
        found = spark.read.parquet(path)
        types = dict(found.dtypes)
    except (PySparkException, Py4JJavaError) as error:
        raise ObservationsError(
            f"{path}: {session.first_line(error)}: give a folder or a file of Parquet that the job may read"
        ) from error
    if "bucket" in types or "n" in types:
        return _contract(found, path, days)
    return _values(found, path, cluster, days)


def _values(found: DataFrame, path: str, cluster: str, days: Collection[date] | None) -> Observed:
    types = dict(found.dtypes)
    _check_types(types, VALUES | ({"cluster": "string"} if "cluster" in types else {}), path)
    if days is not None:
        found = found.where(_within(days))
    named = found if "cluster" in types else found.withColumn("cluster", F.lit(cluster))
    complete = F.expr(" AND ".join(f"`{name}` IS NOT NULL" for name in ("ts", *contract.NAMES)))
    in_buckets = with_buckets(named).select(
        F.expr("date_from_unix_date(CAST(unix_seconds(ts) div 86400 AS INT))").alias("day"),
        *contract.NAMES,
        F.when(complete, F.col("bucket")).alias("bucket"),
        F.expr(f"shiftleft(1L, CAST(pmod(unix_seconds(ts), 86400) div {_PART_S} AS INT))").alias("part"),
    )
    counted = in_buckets.groupBy(*contract.KEYS).agg(F.count("*").alias("n"), F.bit_or("part").alias("parts"))
    refused = Observation("refused")
    some = counted.observe(refused, F.sum(F.expr("if(bucket IS NULL, n, 0L)")).alias("refused"))
    return Observed(_with_watched(some.where("bucket IS NOT NULL")), refused)


def with_buckets(frame: DataFrame) -> DataFrame:
    """Return a frame with the bucket of each `value_s`: `tails.histogram.bucket_of` for every double, null if refused.

    A logarithm comes near the bucket, but on which side of an edge it falls is rounding; so it is made to miss
    upwards, if at all, and the edge below decides.
    """
    milliseconds = f"ceil(value_s * 1000D - {0.5 - _MISSED!r}D)"
    power = f"{_FIRST_POWER} + ceil({PER_OCTAVE}D * log2(value_s) + {_BEFORE_ONE + _MISSED!r}D)"
    near = f"if(value_s <= {float(EDGES_S[_FIRST_POWER])!r}D, {milliseconds}, {power})"
    edges = ", ".join(f"{edge!r}D" for edge in (-1.0, *EDGES_S[1:].tolist()))  # bucket 0 holds zero
    valid = f"value_s >= 0D AND value_s <= {float(EDGES_S[-1])!r}D"
    # In two steps, so that Spark keeps the logarithm of a value and takes it once.
    guessed = frame.withColumn("near", F.expr(f"if({valid}, CAST({near} AS INT), null)"))
    decided = f"CAST(near - CAST(value_s <= get(array({edges}), near) AS INT) AS SMALLINT)"
    return guessed.withColumn("bucket", F.expr(decided)).drop("near")


def _with_watched(counted: DataFrame) -> DataFrame:
    """Return counts with rows of what was watched, from the parts of the day in which there is a value."""
    keys = [name for name in contract.KEYS if name not in {"bucket", "quantity"}]
    by_quantity = counted.groupBy(*keys, "quantity").agg(
        F.collect_list(F.struct("bucket", "n")).alias("cells"),
        F.sum("n").alias("lines"),
        F.bit_or("parts").alias("parts"),
    )
    by_group = by_quantity.groupBy(*keys).agg(
        F.collect_list(F.struct("quantity", "cells")).alias("quantities"),
        F.max("lines").alias("members"),
        F.bit_or("parts").alias("parts"),
    )
    watched = F.expr(
        f"array(struct({MEMBER_BLOCKS}S AS bucket, members AS n), struct({GROUP_BLOCKS}S AS bucket, "
        f"least(members, bit_count(parts) * {_BLOCKS_A_PART}L) AS n))"
    )
    each = by_group.select(*keys, watched.alias("watched"), F.explode("quantities").alias("one"))
    rows = each.select(*keys, "one.quantity", F.explode(F.concat("one.cells", "watched")).alias("cell"))
    return rows.select(*keys, "quantity", "cell.bucket", "cell.n").select(*contract.SPARK_TYPES)


def _contract(found: DataFrame, path: str, days: Collection[date] | None) -> Observed:
    _check_types(dict(found.dtypes), contract.SPARK_TYPES, path)
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


def _check_types(types: Mapping[str, str], wanted: Mapping[str, str], path: str) -> None:
    for name, kind in wanted.items():
        if name not in types:
            raise ObservationsError(
                f"{path}: column {name} is missing; there are {', '.join(types)}: give values ({', '.join(VALUES)}) or "
                f"rows of the contract ({', '.join(contract.SPARK_TYPES)})"
            )
        if types[name] != kind:
            fix = "write it with a time zone, as UTC" if kind == "timestamp" else f"write it as {kind}"
            raise ObservationsError(f"{path}: column {name} is {types[name]}, must be {kind}: {fix}")


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


def _within(days: Collection[date]) -> Column:
    """Return whether `ts` is within some days (UTC), as ranges that files can be skipped by."""
    ranges = [
        f"(ts >= timestamp_seconds({_seconds(first)}) AND ts < timestamp_seconds({_seconds(last + timedelta(days=1))}))"
        for first, last in calendar_days.spans(set(days))
    ]
    return F.expr(" OR ".join(ranges) or "false")


def _seconds(day: date) -> int:
    return (day - date(1970, 1, 1)).days * 86_400
