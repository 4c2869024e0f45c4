"""Prometheus as a data source of Spark: `spark.read.format("prometheus")` gives the histogram contract.

For who uses it from Spark (`docs/how-to/spark-source.md`), the options are those of `source_options.OPTIONS`:

    spark.dataSource.register(PrometheusDataSource)
    spark.read.format("prometheus").options(url=..., since="2026-03-01", until="2026-03-14").load()

For the job, `read(spark, reading)` gives all of it: one table of the contract, summed over the slices of each day, and
the days that could not be read whole, with the reason of each. `rows(spark, reading)` is the DataFrame below it.

How it works. The driver asks once for each day which namespaces have how many consumers, and cuts days into slices
(`slices`): six hours of some namespaces. They are shared out over at most `maxConcurrentRequests` partitions, and a
partition reads its slices one after the other, one request at a time: so many requests there are at most, however many
task slots the cluster has. (Spark must not speculate: a twin of a slow task would ask once more. `rows` refuses it.)
Samples become counts in the task (`counting`), and only those cross to the JVM.

How failures travel. A day is whole or not there: a slice that cannot be read (`slice_reading`) does not end the others.
In its place comes one row with a sentence in the column `failure`; its other columns say the day only. By default
(`failures=raise`) the data source has no such column and raises instead, with the same sentence. `read` sorts these
rows out, and drops what was read of their days. No Python or Java traceback reaches who reads `Days.failures`.

The table is Arrow all the way: `day date32, cluster, namespace, group, client, quantity string, bucket int16, n int64`.
"""

import asyncio
import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.connections import prometheus_source
from heartbeat_tuner.domain.errors import MetricsUnavailableError
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.prometheus import slices
from heartbeat_tuner.fitting.prometheus.slice_failures import WORDS, SliceTroubles, shown
from heartbeat_tuner.fitting.prometheus.slices import Slice
from heartbeat_tuner.fitting.prometheus.source_options import SourceError, SourceOptions

if TYPE_CHECKING:  # heavy, and of no use where a reader is only made or unpickled
    from pyspark.sql import DataFrame, SparkSession

    from heartbeat_tuner.fitting.prometheus.counting import Cell
    from heartbeat_tuner.fitting.prometheus.slice_reading import Asker

NAME: Final = "prometheus"

SHOWN: Final = 3
"""Namespaces that a message names."""

CONTRACT: Final = ", ".join(f"{name} {kind}" for name, kind in contract.SPARK_TYPES.items())
"""The columns of the histogram contract, as Spark writes them."""

TELLING: Final = f"{CONTRACT}, failure string"
"""Likewise, where failures are told: a row without a quantity is of a whole slice, `n` samples, or why not."""


class PrometheusDataSource(DataSource):  # type: ignore[misc]  # pyspark is Any to mypy
    """The data source `prometheus`."""

    @classmethod
    def name(cls) -> str:
        """Return what `format` calls it."""
        return NAME

    def schema(self) -> str:
        """Return the columns.

        Raises:
            SourceError: the option `failures` is neither `raise` nor `tell`.
        """
        return TELLING if self._tells() else CONTRACT

    def reader(self, schema: Any) -> "PrometheusReader":  # noqa: ARG002 - Spark hands back what `schema` told
        """Return what reads.

        Raises:
            SourceError: an option cannot be used.
        """
        return PrometheusReader(SourceOptions.of_options(self.options), tells=self._tells())

    def _tells(self) -> bool:
        given = {name.lower(): value for name, value in self.options.items()}.get("failures", "raise")
        if given not in {"raise", "tell"}:
            raise SourceError(f"option failures: {given!r} is neither 'raise' nor 'tell'; choose one")
        return bool(given == "tell")


@dataclasses.dataclass(frozen=True)
class Lot(InputPartition):  # type: ignore[misc]  # likewise
    """What one task does.

    Attributes:
        slices: to be read.
        left_out: days of which nothing is to be read, and why not; None if nobody consumed.
    """

    slices: tuple[Slice, ...]
    left_out: tuple[tuple[date, str | None], ...] = ()


class PrometheusReader(DataSourceReader):  # type: ignore[misc]  # likewise
    """Reads; it travels from the driver to the tasks, and so holds values only.

    Args:
        reading: what.
        tells: whether a failure is a row; else it is raised.
    """

    def __init__(self, reading: SourceOptions, *, tells: bool) -> None:
        self._reading = reading
        self._tells = tells

    def partitions(self) -> list[InputPartition]:
        """Return what the tasks are to read, on the driver.

        Raises:
            SourceError: a day is not over, or Prometheus does not say who consumed and failures are raised.
        """
        self._reading.check_over(datetime.now(UTC))
        every: list[Slice] = []
        unread_days: list[tuple[date, str | None]] = []
        trouble = SliceTroubles()
        with _asking(self._reading) as (runner, asker):
            for day in slices.days(self._reading.since, self._reading.until):
                try:
                    trouble.check()
                    members = runner.run(asker.members(day, self._reading.namespaces))
                except MetricsUnavailableError as error:
                    trouble.add(error)
                    unread_days.append((day, self._failed(str(day), error)))
                else:
                    trouble.clear()
                    day_slices = slices.slices_of(day, members)
                    every += day_slices
                    unread_days += [] if day_slices else [(day, None)]
        lots = [Lot(tuple(lot)) for lot in slices.shared_out(every, self._reading.max_concurrent_requests)]
        return lots if lots and not unread_days else [*lots, Lot((), tuple(unread_days))]

    def read(self, partition: Lot) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each slice; in a task.

        Raises:
            SourceError: a slice could not be read, and failures are raised.
        """
        from heartbeat_tuner.fitting.prometheus import counting  # noqa: PLC0415 - heavy, and of no use to the driver

        for day, failure in partition.left_out:
            yield from self._batches(day, {}, samples=0, failure=failure)
        if not partition.slices:
            return
        trouble = SliceTroubles()
        with _asking(self._reading) as (runner, asker):
            for slice_ in partition.slices:
                day = slice_.window.day
                try:
                    trouble.check()
                    answered = runner.run(asker.slice(slice_))
                except MetricsUnavailableError as error:
                    trouble.add(error)
                    yield from self._batches(day, {}, samples=0, failure=self._failed(_place(slice_), error))
                else:
                    trouble.clear()
                    counted = counting.counts(answered.found, answered.around, slice_.window, answered.policies)
                    yield from self._batches(day, counted, samples=answered.samples)

    def _failed(self, place: str, error: MetricsUnavailableError) -> str:
        sentence = f"{place}: {shown(error)}"
        if not self._tells:
            raise SourceError(sentence) from None
        return sentence

    def _batches(
        self, day: date, counted: "Mapping[Cell, int]", *, samples: int, failure: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        cells = sorted(counted)
        extra_rows = 1 if self._tells else 0
        rows = len(cells) + extra_rows
        if not rows:
            return
        nothing = [None] * extra_rows
        columns: list[Sequence[object]] = [
            [day] * rows,
            [self._reading.cluster] * rows,
            [*(cell.namespace for cell in cells), *nothing],
            [*(cell.group for cell in cells), *nothing],
            [*(cell.client for cell in cells), *nothing],
            [*(cell.quantity for cell in cells), *nothing],
            [*(cell.bucket for cell in cells), *nothing],
            [*(counted[cell] for cell in cells), *([samples] * extra_rows)],
        ]
        schema = contract.ROWS
        if self._tells:
            columns.append([*([None] * len(cells)), failure])
            schema = schema.append(pa.field("failure", pa.string()))
        arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
        yield pa.record_batch(arrays, schema=schema)


@contextlib.contextmanager
def _asking(reading: SourceOptions) -> "Iterator[tuple[asyncio.Runner, Asker]]":
    """Give what asks, and an event loop to run it on."""
    from heartbeat_tuner.fitting.prometheus.slice_reading import Asker  # noqa: PLC0415 - heavy, and of no use to who only makes a reader

    source = prometheus_source(reading.prometheus, SystemClock(), WORDS)
    with asyncio.Runner() as runner, contextlib.closing(source):
        yield runner, Asker(source)


def _place(time_slice: Slice) -> str:
    names = ", ".join(time_slice.namespaces[:SHOWN])
    more = f" and {len(time_slice.namespaces) - SHOWN} more" if len(time_slice.namespaces) > SHOWN else ""
    return f"{time_slice.window.start:%Y-%m-%d %H:%M} UTC, {names}{more}"


@dataclasses.dataclass(frozen=True, slots=True)
class Days:
    """What was read.

    Attributes:
        table: rows of the contract, one for each key, in order of their keys; of whole days only.
        samples: how many samples each of these days had; a day without any is among them.
        failures: why the other days could not be read whole, in sentences.
    """

    table: pa.Table
    samples: Mapping[date, int]
    failures: Mapping[date, Sequence[str]]


def rows(spark: "SparkSession", reading: SourceOptions) -> "DataFrame":
    """Return rows of the contract, several for one key, and those that say how slices were read: columns `TELLING`.

    Raises:
        SourceError: not like this; it names what is wrong.
    """
    reading.check_over(datetime.now(UTC))
    if spark.conf.get("spark.speculation", "false").lower() == "true":
        raise SourceError(
            "spark.speculation is on, which would ask Prometheus for the same twice at a time; set it to false"
        )
    spark.dataSource.register(PrometheusDataSource)
    return spark.read.format(NAME).options(**reading.options(), failures="tell").load()


def read(spark: "SparkSession", reading: SourceOptions) -> Days:
    """Read days, whole or not at all.

    Raises:
        SourceError: not like this; it names what is wrong.
    """
    from pyspark.sql import functions  # noqa: PLC0415 - heavy, and of no use to a task

    frame = rows(spark, reading)
    keys = [name for name in frame.columns if name != "n"]
    return told_apart(frame.groupBy(*keys).agg(functions.sum("n").alias("n")).toArrow())


def told_apart(table: pa.Table) -> Days:
    """Return what a table with the columns `TELLING` says, in any order of rows."""
    of_slices = table.filter(pc.field("quantity").is_null())
    samples: Counter[date] = Counter()
    failures: dict[date, set[str]] = {}
    for day, count, failure in zip(*(of_slices[name].to_pylist() for name in ("day", "n", "failure")), strict=True):
        samples[day] += count
        if failure is not None:
            failures.setdefault(day, set()).add(failure)
    failed = pa.array(sorted(failures), pa.date32())
    whole = table.filter(pc.field("quantity").is_valid() & ~pc.field("day").isin(failed))
    return Days(
        table=whole.select(contract.ROWS.names)
        .cast(contract.ROWS)
        .sort_by([(name, "ascending") for name in contract.KEYS]),
        samples={day: samples[day] for day in sorted(samples.keys() - failures.keys())},
        failures={day: sorted(failures[day]) for day in sorted(failures)},
    )
