"""Days from a real Spark: each by itself, or all from one lake."""

import contextlib
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import contract, job
from heartbeat_tuner.fitting.calendar_days import DAY
from heartbeat_tuner.fitting.outcome import DayFailure
from heartbeat_tuner.fitting.reading_days import GIVE_UP_AFTER, SPAN, Read, SparkDays
from heartbeat_tuner.fitting.reading_progress import Progress
from tests.support.contract_rows import rows_of, values_lake

UNTIL = date(2026, 11, 20)
DAYS = tuple(UNTIL - DAY * age for age in range(5))


def days_of(spark: SparkSession, progress: list[Progress] | None = None) -> SparkDays:
    """Return days from the ring's session, which is not ended."""
    return SparkDays(lambda: contextlib.nullcontext(spark), (progress if progress is not None else []).append)


def found(read: Read) -> dict[date, Any]:
    """Return all of them, in their order."""
    return dict(read)


def test_a_lake_is_read_once_and_its_days_are_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Values become the same rows as in NumPy; a day that is not there has none; the others are not asked for."""
    values_lake(tmp_path / "lake", DAYS[:4])
    report: list[Progress] = []
    read = found(days_of(spark, report).from_lake(str(tmp_path / "lake"), "main", DAYS[1:]))
    assert list(read) == list(DAYS[1:])
    assert read[DAYS[4]].num_rows == 0
    for day in DAYS[1:4]:
        expected = contract.merged(rows_of(day)).filter(pc.field("bucket") >= 0)
        mine = contract.merged(read[day]).filter(pc.field("bucket") >= 0)
        assert mine.drop_columns("cluster").equals(expected.drop_columns("cluster"))
        assert set(mine["cluster"].to_pylist()) == {"main"}
    assert report[0].what == str(tmp_path / "lake")
    assert [item.share for item in report] == sorted(item.share for item in report)


def test_what_is_no_value_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    """And does not land in any bucket."""
    values_lake(tmp_path / "lake", DAYS[:1])
    table = pq.read_table(tmp_path / "lake" / f"{DAYS[0]}.parquet")
    bad = [float("nan"), -1.0, None, *table["value_s"].to_pylist()[3:]]
    pq.write_table(
        table.set_column(5, "value_s", pa.array(bad, pa.float64())), tmp_path / "lake" / f"{DAYS[0]}.parquet"
    )
    days = days_of(spark)
    assert job.values_of(found(days.from_lake(str(tmp_path / "lake"), "", DAYS[:1]))[DAYS[0]]) == 3_997
    assert days.refused == 3


@pytest.mark.parametrize("content", [b"", b"no Parquet at all", None])
def test_a_lake_that_cannot_be_read_fails_all_days_in_a_sentence(
    spark: SparkSession, tmp_path: Path, content: bytes | None
) -> None:
    """It names the place; no Java trace."""
    if content is not None:
        (tmp_path / "lake").mkdir()
        (tmp_path / "lake" / "a.parquet").write_bytes(content)
    read = found(days_of(spark).from_lake(str(tmp_path / "lake"), "", DAYS))
    assert list(read) == list(DAYS)
    for item in read.values():
        assert isinstance(item, DayFailure)
        assert str(tmp_path / "lake") in item.message
        assert "\n" not in item.message
        assert "\tat " not in item.message


def test_a_file_that_breaks_off_in_the_middle_is_told(spark: SparkSession, tmp_path: Path) -> None:
    """Its end is whole, so that it looks good until it is read."""
    values_lake(tmp_path / "lake", DAYS[:2])
    path = tmp_path / "lake" / f"{DAYS[0]}.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    read = found(days_of(spark).from_lake(str(tmp_path / "lake"), "", DAYS[:2]))
    assert {type(item) for item in read.values()} == {DayFailure}
    assert read[DAYS[0]].message.startswith(f"{path}: is no whole Parquet file (")
    assert "\n" not in read[DAYS[0]].message


def test_a_lake_s_days_are_there_before_older_ones_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """So that they are kept, whatever comes; and a file that breaks costs the days of its span only."""
    values_lake(tmp_path / "lake", DAYS)
    read = days_of(spark).from_lake(str(tmp_path / "lake"), "main", DAYS)
    first = dict([next(read)])
    path = tmp_path / "lake" / f"{DAYS[SPAN]}.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    rest = found(read)
    assert list(first | rest) == list(DAYS)
    for day in (*DAYS[:SPAN], *DAYS[2 * SPAN :]):
        assert job.values_of((first | rest)[day]) == 4_000
    for day in DAYS[SPAN : 2 * SPAN]:
        assert rest[day].message.startswith(f"{path}: is no whole Parquet file (")


def test_a_failed_day_costs_itself(spark: SparkSession) -> None:
    """Ours say why; of Spark's own failures the first line is told."""

    def read(spark: SparkSession, day: date) -> pa.Table | DayFailure:
        if day == DAYS[1]:
            return DayFailure(day, "503")
        if day == DAYS[2]:
            return spark.sql("select 1 / sum(id) from range(1)").toArrow()
        return rows_of(day)

    read_days = found(days_of(spark).one_by_one(read, DAYS))
    assert read_days[DAYS[1]] == DayFailure(DAYS[1], "503")
    assert read_days[DAYS[2]].message.startswith("Spark failed: [DIVIDE_BY_ZERO]")
    assert "\n" not in read_days[DAYS[2]].message
    assert [day for day in DAYS if isinstance(read_days[day], pa.Table)] == [DAYS[0], *DAYS[3:]]


def test_a_source_that_is_away_is_not_asked_on_and_on(spark: SparkSession) -> None:
    """Each day may take its patience; a year of them would take hours."""
    asked: list[date] = []

    def read(_: SparkSession, day: date) -> DayFailure:
        asked.append(day)
        return DayFailure(day, "no answer")

    read_days = found(days_of(spark).one_by_one(read, DAYS))
    assert asked == list(DAYS[:GIVE_UP_AFTER])
    assert read_days[DAYS[4]] == DayFailure(DAYS[4], "not read: none of the 3 days before could be")


def test_days_that_fail_do_not_keep_older_ones_from_being_read(spark: SparkSession) -> None:
    """As long as any can be read."""
    asked: list[date] = []

    def read(_: SparkSession, day: date) -> pa.Table | DayFailure:
        asked.append(day)
        return rows_of(day) if day == DAYS[0] else DayFailure(day, "422")

    found(days_of(spark).one_by_one(read, DAYS))
    assert asked == list(DAYS)
