"""A job without Spark, as a process: `python -m tests.support.keeping LAKE FOLDER` keeps days and writes models."""

import functools
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.fitting import calendar_days, job
from heartbeat_tuner.fitting.history import History
from heartbeat_tuner.fitting.job import Days
from heartbeat_tuner.fitting.models import model_estimate
from tests.support.contract_rows import lake

UNTIL = date(2026, 11, 20)
NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
DAYS = 20
GROUPS = 30


class Nobody:
    """Hears nothing."""

    def stage(self, name: str, **facts: object) -> None:
        """Take no note."""

    def day(self, day: date, *, done: int, days: int) -> None:
        """Take no note."""


def write_lake(folder: Path) -> Path:
    """Write a file of each day, which takes a second; return the folder."""
    groups = [f"group-{number}" for number in range(GROUPS)]
    return lake(folder, calendar_days.window(UNTIL, timedelta(days=DAYS)), groups=groups, values=300)


def days_of(folder: Path) -> Days:
    """Return days of such files, which take no time."""
    fleet = {day: pq.read_table(folder / f"{day}.parquet") for day in calendar_days.window(UNTIL, timedelta(days=DAYS))}

    def days(wanted: Sequence[date]) -> Iterator[tuple[date, pa.Table]]:
        for day in wanted:
            yield day, fleet[day]

    return days


def main() -> None:
    """Run the job."""
    days, folder = days_of(Path(sys.argv[1])), Path(sys.argv[2])
    print("begun", flush=True)  # noqa: T201 - who kills wants to know
    job.run(
        job.RunOrder(until=UNTIL, since=timedelta(days=DAYS), now=NOW, job="kept"),
        job.RunParts(
            days=days,
            history=History(str(folder / "history")),
            estimate=functools.partial(model_estimate.models, on=UNTIL, fitted_at=NOW, job="kept"),
            write=ModelFiles(folder / "models").write,
        ),
        Nobody(),
    )
    print("ended", flush=True)  # noqa: T201 - what Python does at its end is no part of it


if __name__ == "__main__":
    main()
