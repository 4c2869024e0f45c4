"""A job without Spark, as a process: `python -m tests.support.keeping FOLDER` keeps days and writes models there."""

import functools
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from heartbeat_tuner.adapters.model_files import ModelFiles
from heartbeat_tuner.fitting import calendar_days, estimate, job
from heartbeat_tuner.fitting.history import History
from tests.support.contract_rows import rows_of

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


@functools.cache
def fleet() -> dict[date, pa.Table]:
    """Return all days."""
    groups = [f"group-{number}" for number in range(GROUPS)]
    return {day: rows_of(day, groups=groups, values=300) for day in calendar_days.window(UNTIL, timedelta(days=DAYS))}


def days(wanted: Sequence[date]) -> Iterator[tuple[date, pa.Table]]:
    """Give days of a fleet, which takes no time."""
    for day in wanted:
        yield day, fleet()[day]


def main() -> None:
    """Run the job."""
    folder = Path(sys.argv[1])
    fleet()
    print("begun", flush=True)  # noqa: T201 - who kills wants to know
    job.run(
        job.Order(until=UNTIL, since=timedelta(days=DAYS), now=NOW, job="kept"),
        job.Parts(
            days=days,
            history=History(str(folder / "history")),
            estimate=functools.partial(estimate.models, on=UNTIL, fitted_at=NOW, job="kept"),
            write=ModelFiles(folder / "models").write,
        ),
        Nobody(),
    )


if __name__ == "__main__":
    main()
