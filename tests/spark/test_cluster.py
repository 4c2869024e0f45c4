"""The same job on a cluster gives the same models."""

from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import calendar_days
from heartbeat_tuner.fitting.calendar_days import DAY
from heartbeat_tuner.fitting.outcome import ExitStatus
from tests.support import again, fits
from tests.support.contract_rows import values_lake
from tests.support.results import content


def test_two_workers_give_what_one_machine_gives(spark: SparkSession, tmp_path: Path) -> None:
    """History to the byte, models but for who fitted them when."""
    until = calendar_days.newest_whole_day(datetime.now(UTC))
    lake = values_lake(tmp_path / "lake", [until - DAY * age for age in range(3)])
    here = again.run(tmp_path / "a", again.from_lake(spark, lake), until=until, count=3)
    assert here.status is ExitStatus.DONE
    with fits.cluster(tmp_path / "cluster", workers=2) as master:
        there = fits.fit(
            "--parquet", str(lake), "--since", "72h", "--until", until.isoformat(), "--master", master,
            "--history", str(tmp_path / "b" / "history"), "--models", str(tmp_path / "b" / "models"),
        )  # fmt: skip
    assert there.status == 0, there.stderr
    assert len(list((tmp_path / "cluster").glob("*/app-*/*/stderr"))) == 2  # both workers had an executor
    assert content(tmp_path / "a")
    assert content(tmp_path / "a") == content(tmp_path / "b")
