"""Days from Spark: the contract's rows of each, added up, in the driver's memory.

From Prometheus each day is a job of its own, so that what is read is kept at once and a failure costs its day. From
Parquet all days are one job, since a folder would have to be read once for each; what it gives is a few megabytes a
day, and Spark keeps that on disk until each day is fetched.
"""

import contextlib
from collections.abc import Callable, Generator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from heartbeat_tuner.domain.errors import MetricsCause, TunerError
from heartbeat_tuner.fitting import contract, session
from heartbeat_tuner.fitting.outcome import DayFailure
from heartbeat_tuner.fitting.progress import Progress, Watch

Read = Generator[tuple[date, pa.Table | DayFailure]]

_WORKING: Final = (PySparkException, Py4JError, TunerError, pa.ArrowException, OSError)
"""What may befall a job of Spark."""


@contextlib.contextmanager
def _nothing() -> Any:
    yield


class SparkDays:
    """Days from Spark, which is started with the first that is asked for.

    Args:
        master: where Spark runs.
        log: the file that gets all that Spark says.
        tell: hears how far it is.
    """

    def __init__(self, master: str, *, log: Path, tell: Callable[[Progress], None]) -> None:
        self._master = master
        self._log = log
        self._tell = tell

    def one_by_one(self, rows: Callable[[SparkSession, date], DataFrame], days: Sequence[date]) -> Read:
        """Give each day by a job of its own.

        Args:
            rows: of the contract, of a day, as they come.
            days: which, in this order.

        Raises:
            SessionError: Spark does not start.
        """
        lost: str | None = None
        with session.session(self._master, log=self._log) as spark:
            watch = Watch(spark, len(days), self._tell)
            for number, day in enumerate(days):
                if lost is not None:
                    yield day, DayFailure(day, lost)
                    continue
                try:
                    with watch.over(day.isoformat(), number):
                        found = _reduced(rows(spark, day)).toArrow()
                except _WORKING as error:
                    yield day, DayFailure(day, self._sentence(error))
                    lost = self._lost(spark, error)
                else:
                    yield day, found.cast(contract.ROWS)

    def all_at_once(self, rows: Callable[[SparkSession], DataFrame], what: str, days: Sequence[date]) -> Read:
        """Give days of which all rows come from one place.

        Args:
            rows: of the contract, of any days, as they come.
            what: the place, as a user knows it.
            days: which, in this order.

        Raises:
            SessionError: Spark does not start.
        """
        with session.session(self._master, log=self._log) as spark:
            try:
                with Watch(spark, 1, self._tell).over(what, 0):
                    wanted = rows(spark).where(sql.col("day").isin(list(days)))
                    reduced = _reduced(wanted).persist(StorageLevel.DISK_ONLY)
                    reduced.count()
            except _WORKING as error:
                told = self._sentence(error)
                yield from ((day, DayFailure(day, told)) for day in days)
                return
            for day in days:
                try:
                    found = reduced.where(sql.col("day") == sql.lit(day)).toArrow()
                except _WORKING as error:
                    yield day, DayFailure(day, self._sentence(error))
                else:
                    yield day, found.cast(contract.ROWS)
