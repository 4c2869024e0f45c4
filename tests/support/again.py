"""The job in this process, on a session that is there: what a fit would do, without the start of Java."""

import contextlib
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.fitting import job, source
from heartbeat_tuner.fitting.history import History
from heartbeat_tuner.fitting.job import Days, Table
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.fitting.outcome import FitOutcome
from heartbeat_tuner.fitting.prometheus.source_options import SourceOptions
from heartbeat_tuner.fitting.reading_days import SparkDays
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings
from tests.support import keeping


def run(folder: Path, days: Days, *, until: date, count: int) -> FitOutcome:
    """Run the job; history and models are those in a folder, as `--history` and `--models` of the tests say."""
    now = datetime.now(UTC)
    report, _ = job.run(
        job.RunOrder(until=until, since=timedelta(days=count), now=now, job="again"),
        job.RunParts(
            days=days,
            history=History(str(folder / "history")),
            estimate=partial(model_estimate.models, on=until, fitted_at=now, job="again"),
            write=ModelFiles(folder / "models").write,
        ),
        keeping.Nobody(),
    )
    return report


def spark_days(spark: SparkSession) -> SparkDays:
    """Return days from a session that is not ended afterwards."""
    return SparkDays(lambda: contextlib.nullcontext(spark), lambda _: None)


def from_lake(spark: SparkSession, lake: Path) -> Days:
    """Return days of Parquet files."""
    return partial(spark_days(spark).from_lake, str(lake), "")


def from_prometheus(spark: SparkSession, url: str, cluster: str) -> Days:
    """Return days of a Prometheus, none of which fails."""

    def day(session: SparkSession, calendar_day: date) -> Table:
        found = source.read(session, SourceOptions(PrometheusSettings(url=url), calendar_day, calendar_day, cluster))
        assert not found.failures, found.failures
        return found.table

    return partial(spark_days(spark).one_by_one, day)
