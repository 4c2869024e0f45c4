"""The whole run: which days are missing, read them, keep them, fit, write the models.

*Gather → decide → apply*, with the parts given from outside: `calendar_days` says which days are asked for, `outcome`
what came of it, and the rest is in the order that lets a run end at any point. A day is kept as soon as it is read,
whole or not at all; models are fitted from what is kept, never from what is only in memory. So a run that was killed
is made good by the next one, which finds nothing but missing days, and two runs at once do the same work twice.
"""

import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting import arrays, calendar_days, outcome
from heartbeat_tuner.fitting.outcome import DayFailure, FitOutcome, HistoryReading
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.ports.stored_models import Written

Table = Any
"""A `pyarrow.Table` of the contract's rows."""

Days = Callable[[Sequence[date]], Iterator[tuple[date, Table | DayFailure]]]
"""Reads days, one after the other: the rows of each, none if it has no data, or why there are none."""


class StoredTables(Protocol):
    """What a history gives of some days; see `history.Held`."""

    @property
    def rows(self) -> Table:
        """The contract's rows of all whole days."""

    @property
    def broken(self) -> Mapping[date, TunerError]:
        """Why the other days cannot be read."""

    def __or__(self, other: Self) -> Self:
        """Return both; the days of the other replace those that are in both."""


class DayStore(Protocol):
    """What keeps days; see `history.History`."""

    def days(self) -> Collection[date]:
        """Return the days that are kept, broken ones among them."""

    def read(self, days: Collection[date]) -> StoredTables:
        """Return what is kept of these days."""

    def write(self, day: date, rows: Table) -> None:
        """Keep a day, whole: what was there of it is replaced."""


class Teller(Protocol):
    """Hears how far a run is."""

    def stage(self, name: str, **facts: object) -> None:
        """Take note that a stage has ended, with what there is to say of it."""

    def day(self, day: date, *, done: int, days: int) -> None:
        """Take note that a day was read, the `done`th of `days`."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunOrder:
    """What a run is to do.

    Attributes:
        until: the last day of the window.
        since: the length of the window.
        now: when the models are fitted, as they say it.
        job: the run's name, as the models say it.
        namespaces: whose groups get models; all if empty. A history may hold others that were asked for once.
    """

    until: date
    since: timedelta
    now: datetime
    job: str
    namespaces: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class RunParts:
    """What a run stands on.

    Attributes:
        days: the source.
        history: what is kept.
        estimate: fits the models; see `model_estimate.models`.
        write: stores the models; None if they are only to be counted.
    """

    days: Days
    history: DayStore
    estimate: Callable[[Table], Sequence[GroupModel]]
    write: Callable[[Sequence[GroupModel]], Written] | None


def run(order: RunOrder, parts: RunParts, teller: Teller) -> tuple[FitOutcome, Table]:
    """Carry it out; return what came of it, and the rows that the models rest on.

    Raises:
        TunerError: the history cannot be listed, Spark does not start, or the models have no place to go to.
    """
    began = time.monotonic()
    window = calendar_days.window(order.until, order.since)
    there = set(parts.history.days())
    held = parts.history.read(there & set(window))
    broken = _failures(held)
    held_days = there & set(window) - held.broken.keys()
    missing = calendar_days.missing(window, held_days)
    teller.stage("history", days=len(window), kept=len(held_days), missing=len(missing), broken=len(broken))

    newly_read = _read(missing, held_days, parts, teller)
    if newly_read.kept:
        added = parts.history.read(newly_read.kept)
        newly_read.failures.extend(_failures(added))
        held |= added
    reading = HistoryReading(
        window=(window[0], window[-1]),
        kept=len(held_days),
        read=tuple(sorted(newly_read.values)),
        empty=tuple(sorted(newly_read.empty)),
        values=sum(newly_read.values.values()),
        failures=tuple(sorted(newly_read.failures, key=lambda failure: failure.day)),
        broken=broken,
    )
    teller.stage("read", **reading_counts(reading))

    rows = _asked_for(held.rows, order.namespaces)
    models = parts.estimate(rows)
    fitted = outcome.counted(models)
    teller.stage("fit", groups=fitted.groups, tails=sum(fitted.tails.values()))
    stored = None
    if parts.write is not None:
        stored = _written(models, parts.write)
        teller.stage("write", written=stored.written, unchanged=stored.unchanged, failed=len(stored.failed))
    return FitOutcome(order.job, reading, fitted, stored, time.monotonic() - began), rows


def _asked_for(rows: Table, namespaces: Sequence[str]) -> Table:
    if not namespaces:
        return rows
    return rows.filter(pc.is_in(rows["namespace"], value_set=pa.array(namespaces, pa.string())))


def reading_counts(reading: HistoryReading) -> dict[str, int]:
    """Return the counts of what was read."""
    return {
        "days": len(reading.read),
        "empty": len(reading.empty),
        "failed": len(reading.failures),
        "values": reading.values,
    }


def _written(models: Sequence[GroupModel], write: Callable[[Sequence[GroupModel]], Written]) -> Written:
    try:
        return write(models) if models else Written(0, 0, ())
    except TunerError as error:  # what was read is kept all the same, and the run can be summed up
        return Written(0, 0, (str(error),))


def _failures(held: StoredTables) -> tuple[DayFailure, ...]:
    return tuple(DayFailure(day, str(held.broken[day])) for day in sorted(held.broken))


@dataclasses.dataclass(slots=True)
class _Read:
    """What came of the missing days."""

    values: dict[date, int] = dataclasses.field(default_factory=dict)
    empty: set[date] = dataclasses.field(default_factory=set)
    kept: set[date] = dataclasses.field(default_factory=set)
    failures: list[DayFailure] = dataclasses.field(default_factory=list)


def _read(missing: Sequence[date], held_days: Collection[date], parts: RunParts, teller: Teller) -> _Read:
    """Read days and keep each; those without data at the end, when it is known whether any other has some."""
    read = _Read()
    if not missing:
        return read
    nothing: dict[date, Table] = {}
    for done, (day, table) in enumerate(parts.days(missing), start=1):
        if isinstance(table, DayFailure):
            read.failures.append(table)
        elif table.num_rows == 0:
            read.empty.add(day)
            nothing[day] = table
        elif (failure := _keep(day, table, parts.history)) is None:
            read.values[day] = values_of(table)
            read.kept.add(day)
        else:
            read.failures.append(failure)
            break  # what cannot be kept need not be read
        teller.day(day, done=done, days=len(missing))
    else:
        for day in calendar_days.settled(read.empty, {*held_days, *read.values}):
            failure = _keep(day, nothing[day], parts.history)
            if failure is None:
                read.kept.add(day)
            else:
                read.failures.append(failure)
        return read
    seen = {*read.values, *read.empty, *(day_failure.day for day_failure in read.failures)}
    why = "not read: the history takes no more"
    read.failures.extend(DayFailure(day, why) for day in missing if day not in seen)
    return read


def values_of(table: Table) -> int:
    """Return how many values a table of contract rows holds; lines that count watched blocks are none."""
    buckets, counts = arrays.flat(table["bucket"]), arrays.flat(table["n"])
    return int(counts[buckets >= 0].sum())


def _keep(day: date, table: Table, history: DayStore) -> DayFailure | None:
    try:
        history.write(day, table)
    except TunerError as error:
        return DayFailure(day, str(error))
    return None
