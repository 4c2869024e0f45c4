"""Parquet files as rows of the contract."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.history import History
from heartbeat_tuner.fitting.lake import observations
from heartbeat_tuner.fitting.lake.lake_files import ObservationsError
from heartbeat_tuner.tails.histogram import Histogram, bucket_of
from tests.support.fleet_days import TODAY, ago, fleet, of_day

NAMES = ("namespace", "group", "client", "quantity")
BLOCK = timedelta(seconds=90)


def values(
    found: Sequence[tuple[datetime, str, float | None]], *, quantity: str = "absence", zone: str | None = "UTC"
) -> pa.Table:
    """Return values of groups as a lake has them."""
    return pa.table(
        {
            "ts": pa.array([ts for ts, _, _ in found], pa.timestamp("us", zone)),
            "namespace": pa.array(["shop"] * len(found), pa.string()),
            "group": pa.array([group for _, group, _ in found], pa.string()),
            "client": pa.array(["java"] * len(found), pa.string()),
            "quantity": pa.array([quantity] * len(found), pa.string()),
            "value_s": pa.array([value for _, _, value in found], pa.float64()),
        }
    )


def midnight(day: date) -> datetime:
    """Return when a day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def lake(folder: Path, *tables: pa.Table) -> str:
    """Write each table as a file, and return the folder."""
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return str(folder)


def rows(observed: observations.Observed) -> pa.Table:
    """Return what was read, in its one form."""
    return contract.merged(observed.rows)


def read(spark: SparkSession, path: str, *, cluster: str, days: Sequence[date] | None = None) -> observations.Observed:
    """Return what lies there, all at once."""
    return observations.source(spark, path, cluster=cluster).read(days)


def test_values_become_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Counts for each day, group and quantity; days are UTC's; the cluster is the job's unless a column names it."""
    rng = np.random.default_rng(2)
    delays = {(day, group): rng.lognormal(-2, 1, 960) for day in (ago(1), TODAY) for group in ("orders", "bills")}
    tables = [
        values([(midnight(day) + number * BLOCK, group, value) for number, value in enumerate(found.tolist())])
        for (day, group), found in delays.items()
    ]
    path = lake(tmp_path / "lake", *tables)
    watched = {-1: 960, -2: 960}
    want = pa.concat_tables(
        of_day(day, {group: Histogram.of(found).to_counts() | watched}, cluster="eu")
        for (day, group), found in delays.items()
    )
    observed = read(spark, path, cluster="eu")
    assert rows(observed).equals(contract.merged(want))
    assert observed.refused == 0
    named = [table.append_column("cluster", pa.array(["us"] * table.num_rows)) for table in tables]
    found = rows(read(spark, lake(tmp_path / "named", *named), cluster="eu"))
    assert set(found["cluster"].to_pylist()) == {"us"}


def test_days_are_chosen(spark: SparkSession, tmp_path: Path) -> None:
    """With holes between them; nothing of the others is counted, not even what is no time."""
    tables = [
        values([(midnight(ago(age)), "orders", 1.0), (midnight(ago(age) + timedelta(days=1)) - BLOCK, "orders", -1.0)])
        for age in range(6)
    ]
    path = lake(tmp_path / "lake", *tables)
    observed = read(spark, path, cluster="", days=[ago(5), ago(2), ago(1)])
    assert set(rows(observed)["day"].to_pylist()) == {ago(5), ago(2), ago(1)}
    assert observed.refused == 3
    assert rows(read(spark, path, cluster="", days=[])).num_rows == 0
    history = History(str(tmp_path / "history"))
    for age in range(3):
        history.write(ago(age), of_day(ago(age), {"orders": {5: 1}}))
    stored = rows(read(spark, history.uri, cluster="", days=[ago(1)]))
    assert stored["day"].to_pylist() == [ago(1)]


def test_what_is_no_time_is_refused_and_told(spark: SparkSession, tmp_path: Path) -> None:
    """And what has no group, no name, no time at all; the rest is counted."""
    bad = [-1.0, float("nan"), float("inf"), float("-inf"), 2.0**21 + 1, None]
    found = values([(midnight(TODAY), "orders", value) for value in (1.0, *bad)])
    nameless = found.slice(0, 1).set_column(2, "group", pa.array([None], pa.string()))
    timeless = found.slice(0, 1).set_column(0, "ts", pa.array([None], found["ts"].type))
    observed = read(spark, lake(tmp_path / "lake", found, nameless, timeless), cluster="")
    assert rows(observed).equals(contract.merged(of_day(TODAY, {"orders": {bucket_of(1.0).item(): 1, -1: 1, -2: 1}})))
    assert observed.refused == 8


def test_what_was_watched_is_told_by_any_line(spark: SparkSession, tmp_path: Path) -> None:
    """Members: as many blocks as the fullest quantity; the group: parts of the day; both for rare events, too."""
    start = midnight(TODAY)
    hour = [(start + number * BLOCK, "orders", 0.1) for number in range(40) for _ in range(3)]
    event = values([(start + timedelta(hours=20), "orders", 12.0)], quantity="restartDowntime")
    found = rows(read(spark, lake(tmp_path / "lake", values(hour), event), cluster=""))
    watched = {(row["quantity"], row["bucket"]): row["n"] for row in found.to_pylist() if row["bucket"] < 0}
    parts = 3 + 1  # three of 22.5 minutes make the hour, and one has the event
    assert watched == {
        ("absence", -1): 120,
        ("absence", -2): 15 * parts,
        ("restartDowntime", -1): 120,
        ("restartDowntime", -2): 15 * parts,
    }


def test_rows_of_the_contract_pass(spark: SparkSession, tmp_path: Path) -> None:
    """Another job's history, or files with the day as a column."""
    want = fleet(3, groups=3)
    history = History(str(tmp_path / "history"))
    for age in range(3):
        day = want.filter(pa.compute.equal(want["day"], ago(age)))
        history.write(ago(age), day)
    observed = read(spark, history.uri, cluster="ignored")
    assert rows(observed).equals(contract.merged(want))
    assert observed.refused == 0
    stamped = want.replace_schema_metadata({"heartbeat-tuner.schema": "1"})
    assert rows(read(spark, lake(tmp_path / "lake", stamped), cluster="")).equals(contract.merged(want))


GOOD = values([(midnight(TODAY), "orders", 1.0)])
ROW = of_day(TODAY, {"orders": {5: 1}}).replace_schema_metadata({"heartbeat-tuner.schema": "1"})


def changed(good: pa.Table, name: str, column: pa.Array) -> pa.Table:
    """Return a table with another column in the place of one."""
    return good.set_column(good.column_names.index(name), name, column)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (GOOD.drop_columns("value_s"), "column value_s is missing; there are ts, namespace, group, client, quantity"),
        (changed(GOOD, "value_s", pa.array([1])), "column value_s is bigint, must be double: write it as double"),
        (changed(GOOD, "value_s", pa.array([1.0], pa.float32())), "column value_s is float, must be double"),
        (values([(midnight(TODAY), "orders", 1.0)], zone=None), "column ts is timestamp_ntz, must be timestamp: write"),
        (GOOD.append_column("cluster", pa.array([1])), "column cluster is bigint, must be string"),
        (ROW.drop_columns("n"), "column n is missing"),
        (changed(ROW, "bucket", pa.array([5])), "column bucket is bigint, must be smallint: write it as smallint"),
        (changed(ROW, "n", pa.array([-1])), "column n has -1, must not be negative"),
        (changed(ROW, "bucket", pa.array([861], pa.int16())), "column bucket has 861..861, must be -2..860"),
        (changed(ROW, "group", pa.array([None], pa.string())), "column group has 1 nulls"),
        (ROW.replace_schema_metadata({}), "its metadata have no heartbeat-tuner.schema"),
        (
            ROW.replace_schema_metadata({"heartbeat-tuner.schema": "2"}),
            "heartbeat-tuner.schema=2, this version reads 1",
        ),
    ],
)
def test_what_is_wrong_is_said_at_once(spark: SparkSession, tmp_path: Path, bad: pa.Table, said: str) -> None:
    """With the path, the column, the rule and what to do, before a row is read."""
    path = lake(tmp_path / "lake", bad)
    with pytest.raises(ObservationsError) as caught:
        read(spark, path, cluster="")
    assert path in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_places_without_parquet_are_told(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing there, nothing in it, or something else."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.parquet").write_text("not Parquet at all")
    for name in ("none", "empty", "other"):
        with pytest.raises(ObservationsError, match="give a folder or a file of Parquet") as caught:
            read(spark, str(tmp_path / name), cluster="")
        assert "\n" not in str(caught.value)
