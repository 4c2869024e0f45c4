"""A run that is killed at any moment is made good by the next one: the same files as if it had not been.

What is killed are processes of their own, with all that they started, at ten moments spread over the length of a run
that was not disturbed, which is measured first. Most of a small run is the start of Java, so the same is done once more to
runs without Spark, which do nothing but keep days and write models. What makes good is the same job in this process.
"""

import contextlib
import functools
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.adapters.model_files import ModelFiles
from heartbeat_tuner.fitting import calendar_days, estimate, job
from heartbeat_tuner.fitting.calendar_days import DAY
from heartbeat_tuner.fitting.history import History
from heartbeat_tuner.fitting.job import Days
from heartbeat_tuner.fitting.outcome import Status
from heartbeat_tuner.fitting.reading_days import SparkDays
from tests.support import fits, keeping
from tests.support.contract_rows import lake
from tests.support.results import content

KILLS = 10
DAYS = 3


def moments(length_s: float) -> list[float]:
    """Return ten moments, one by chance in each tenth of a time."""
    chance = random.Random(7)  # noqa: S311 - moments, no secret
    return [length_s * (number + chance.random()) / KILLS for number in range(KILLS)]


def make_good(folder: Path, days: Days, until: date, count: int) -> Status:
    """Run the job here."""
    now = datetime.now(UTC)
    told, _ = job.run(
        job.Order(until=until, since=timedelta(days=count), now=now, job="again"),
        job.Parts(
            days=days,
            history=History(str(folder / "history")),
            estimate=functools.partial(estimate.models, on=until, fitted_at=now, job="again"),
            write=ModelFiles(folder / "models").write,
        ),
        keeping.Nobody(),
    )
    return told.status


@pytest.mark.timeout(300)
def test_a_killed_run_leaves_nothing_that_the_next_one_does_not_mend(spark: SparkSession, tmp_path: Path) -> None:
    """History to the byte; models but for who fitted them when."""
    until = calendar_days.newest_whole_day(datetime.now(UTC))
    source = lake(tmp_path / "lake", [until - DAY * age for age in range(DAYS)])

    def options(folder: Path) -> tuple[str, ...]:
        return (
            "--parquet", str(source), "--since", f"{24 * DAYS}h", "--until", until.isoformat(), "--master", "local[1]",
            "--history", str(folder / "history"), "--models", str(folder / "models"),
        )  # fmt: skip

    undisturbed = fits.fit(*options(tmp_path / "undisturbed"))
    assert undisturbed.status == 0, undisturbed.stderr
    expected = content(tmp_path / "undisturbed")
    assert len(expected) == DAYS + 2
    from_lake = functools.partial(
        SparkDays(lambda: contextlib.nullcontext(spark), lambda _: None).from_lake, str(source), ""
    )
    killed = 0
    for number, moment_s in enumerate(moments(undisturbed.took_s)):
        folder = tmp_path / f"killed-{number}"
        killed += fits.Fit(*options(folder)).killed_at(moment_s)
        _check(folder, expected, lambda folder=folder: make_good(folder, from_lake, until, DAYS), moment_s)  # type: ignore[misc]
    assert killed >= KILLS - 3  # machines are noisy: the last ones may have ended by themselves


@pytest.mark.timeout(300)
def test_the_same_of_runs_that_do_nothing_but_write(tmp_path: Path) -> None:
    """Kills fall between days, between models, and within files."""
    with keeper(tmp_path / "undisturbed") as process:
        began = time.monotonic()
        assert process.wait(120) == 0
        length_s = time.monotonic() - began
    expected = content(tmp_path / "undisturbed")
    assert len(expected) == keeping.DAYS + keeping.GROUPS
    for number, moment_s in enumerate(moments(length_s)):
        folder = tmp_path / f"killed-{number}"
        with keeper(folder) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moment_s)
            process.kill()
        _check(
            folder,
            expected,
            lambda folder=folder: make_good(folder, keeping.days, keeping.UNTIL, keeping.DAYS),
            moment_s,  # type: ignore[misc]
        )


@contextlib.contextmanager
def keeper(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that keeps days and writes models into a folder, from when it begins to."""
    with subprocess.Popen([sys.executable, "-m", "tests.support.keeping", str(folder)], stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == b"begun\n"
        yield one


def _check(folder: Path, expected: dict[str, object], again: Callable[[], Status], moment_s: float) -> None:
    left = content(folder)
    assert left.items() <= expected.items(), f"half of a file at {moment_s:.2f} s"
    assert again() is Status.DONE
    assert content(folder) == expected, f"killed at {moment_s:.2f} s"
    print(f"killed at {moment_s:.2f} s: {len(left)} of {len(expected)} files were there")  # noqa: T201
