"""Days from Spark: the contract's rows of each, added up, in the driver's memory.

From Prometheus each day is read by itself, so that it is kept at once and a failure costs it alone. From Parquet a few
days are one job: the caller keeps each day before it asks for the next, and this process never holds more.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting import session
from heartbeat_tuner.fitting.lake import observations
from heartbeat_tuner.fitting.outcome import DayFailure
from heartbeat_tuner.fitting.reading_progress import Progress
from heartbeat_tuner.fitting.watch import Watch

Read = Generator[tuple[date, pa.Table | DayFailure]]

GIVE_UP_AFTER: Final = 3
"""Days that failed, of a source of which no day could be read: the others are not asked for in this run."""

SPAN: Final = 2
"""Days of a lake in one job: a job costs half a second beside the reading, and each day some memory of the driver."""

_WORKING: Final = (PySparkException, Py4JError, pa.ArrowException, TunerError, OSError)
"""What may happen to a job of Spark."""


class SparkDays:
    """Days from Spark, which is started with the first that is asked for.

    Args:
        start: gives a session, and ends it.
        tell: hears how far it is.

    Attributes:
        refused: lines of a lake that were no values.
        broke: whether Spark itself failed, so that its log is worth a look.
    """

    def __init__(
        self, start: Callable[[], AbstractContextManager[SparkSession]], tell: Callable[[Progress], None]
    ) -> None:
        self._start = start
        self._tell = tell
        self.refused = 0
        self.broke = False

    def one_by_one(self, read: Callable[[SparkSession, date], pa.Table | DayFailure], days: Sequence[date]) -> Read:
        """Give each day by itself.

        Args:
            read: gives the contract's rows of a day, or why there are none.
            days: which, in this order.

        Raises:
            SessionError: Spark does not start.
        """
        failed, any_read = 0, False
        with self._start() as spark:
            watch = Watch(spark, len(days), self._tell)
            for number, day in enumerate(days):
                if not any_read and failed >= GIVE_UP_AFTER:
                    yield day, DayFailure(day, f"not read: none of the {failed} days before could be")
                    continue
                try:
                    with watch.over(day.isoformat(), number):
                        answer = read(spark, day)
                except _WORKING as error:
                    answer = DayFailure(day, self._sentence(error))
                failed += isinstance(answer, DayFailure)
                any_read = any_read or not isinstance(answer, DayFailure)
                yield day, answer

    def from_lake(self, path: str, cluster: str, days: Sequence[date]) -> Read:
        """Give days of Parquet files, a span of them after the other.

        Args:
            path: of the files.
            cluster: what rows call the Kafka cluster, where there is no column of it.
            days: which, in this order.

        Raises:
            SessionError: Spark does not start.
        """
        spans = [days[first : first + SPAN] for first in range(0, len(days), SPAN)]
        lake: observations.LakeSource | None = None
        with self._start() as spark:
            watch = Watch(spark, len(spans), self._tell)
            for number, span in enumerate(spans):
                try:
                    with watch.over(path, number):
                        lake = lake or observations.source(spark, path, cluster=cluster)
                        observed = lake.read(span)
                except _WORKING as error:
                    sentence = self._sentence(error)
                    message = sentence if path in sentence else f"{path}: {sentence}"
                    if lake is None or self.broke:  # it would happen to the others, too
                        yield from ((day, DayFailure(day, message)) for span in spans[number:] for day in span)
                        return
                    yield from ((day, DayFailure(day, message)) for day in span)
                    continue
                self.refused += observed.refused
                for day in span:
                    yield day, observed.rows.filter(pc.equal(observed.rows["day"], day))

    def _sentence(self, error: Exception) -> str:
        """Return an error as a sentence: ours as they are, of Spark's the first line of the innermost cause."""
        if isinstance(error, TunerError):
            return str(error)
        if (own := session.own_words(error)) is not None:
            return own
        self.broke = True
        return f"Spark failed: {session.first_line(error)}"
