"""A run that is killed at any moment is made good by the next one: the same files as if it had not been.

What is killed are processes of their own, with all that they started. A run says when it has looked into the history,
kept a day, read all, fitted and written; so two of the moments lie between the first word and the first day, while
Java starts and Spark reads, and one shortly after each word that follows. Most of what a small run writes comes
within a second; so the same is done once more to runs without Spark, which do nothing but keep days and write models,
at moments spread over their length. What makes good is the same job in this process.
"""

import contextlib
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import calendar_days
from heartbeat_tuner.fitting.calendar_days import DAY
from heartbeat_tuner.fitting.outcome import ExitStatus
from tests.support import again, fits, keeping
from tests.support.contract_rows import lake
from tests.support.results import content

KILLS: Final = 10
"""Of runs without Spark."""

DAYS: Final = 3
"""A first, one between, and a last: each more would be killed as the one between is."""

STARTING_S: Final = 4.0
"""From the first word to the first day, about."""

AT_ONCE: Final = 2
"""Runs: the start of Java leaves half of two cores idle."""


def spread(length_s: float) -> list[float]:
    """Return ten moments, one by chance in each tenth of a time."""
    chance = random.Random(7)  # noqa: S311 - moments, no secret
    return [length_s * (number + chance.random()) / KILLS for number in range(KILLS)]


def words_and_more() -> list[tuple[int, float]]:
    """Return moments: how many words are said, and for how long the run goes on after the last of them, in s."""
    chance = random.Random(7)  # noqa: S311 - likewise
    early = [(1, STARTING_S * (half + chance.random()) / 2) for half in range(2)]
    # "history", a word for each day, "read" and "fit"; what follows "write" is the end of Python and Java.
    return early + [(words, 0.1 * chance.random()) for words in range(2, DAYS + 4)]


@pytest.mark.timeout(900)
def test_a_killed_run_leaves_nothing_that_the_next_one_does_not_mend(spark: SparkSession, tmp_path: Path) -> None:
    """History to the byte; models but for who fitted them when."""
    until = calendar_days.newest_whole_day(datetime.now(UTC))
    source = lake(tmp_path / "lake", [until - DAY * age for age in range(DAYS)])
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def folder(number: int) -> Path:
        return tmp_path / f"killed-{number}"

    def killed(number: int, words: int, more_s: float) -> bool:
        run = fits.Fit(
            "--parquet", str(source), "--since", f"{24 * DAYS}h", "--until", until.isoformat(), "--master", "local[1]",
            "--history", str(folder(number) / "history"), "--models", str(folder(number) / "models"),
            env={"TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch)},
        )  # fmt: skip
        return run.killed_after(words, more_s)

    def once_more(where: Path) -> ExitStatus:
        return again.run(where, again.from_lake(spark, source), until=until, count=DAYS).status

    moments = words_and_more()
    with ThreadPoolExecutor(AT_ONCE) as several:
        were_there = list(several.map(lambda number: killed(number, *moments[number]), range(len(moments))))
    assert sum(were_there) >= len(moments) - 1  # the last one may have ended by itself
    assert once_more(tmp_path / "undisturbed") is ExitStatus.DONE
    expected = content(tmp_path / "undisturbed")
    assert len(expected) == DAYS + 2
    for number, (words, more_s) in enumerate(moments):
        days = len(list(folder(number).rglob("*.parquet")))
        assert days >= min(words - 1, DAYS), "a day was told, and is not there"
        _check(folder(number), expected, once_more, f"{more_s:.3f} s after word {words}")


@pytest.mark.timeout(900)
def test_the_same_of_runs_that_do_nothing_but_write(tmp_path: Path) -> None:
    """Kills fall between days, between models, and within files."""
    source = keeping.write_lake(tmp_path / "lake")
    with keeper(source, tmp_path / "undisturbed") as process:
        began = time.monotonic()
        assert process.stdout is not None
        assert process.stdout.readline() == b"ended\n"
        length_s = time.monotonic() - began
    expected = content(tmp_path / "undisturbed")
    assert len(expected) == keeping.DAYS + keeping.GROUPS
    days = keeping.days_of(source)

    def once_more(where: Path) -> ExitStatus:
        return again.run(where, days, until=keeping.UNTIL, count=keeping.DAYS).status

    for number, moment_s in enumerate(spread(length_s)):
        folder = tmp_path / f"killed-{number}"
        with keeper(source, folder) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moment_s)
            process.kill()
        _check(folder, expected, once_more, f"at {moment_s:.3f} s")


@contextlib.contextmanager
def keeper(source: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that keeps days and writes models into a folder, from when it begins to."""
    command = [sys.executable, "-m", "tests.support.keeping", str(source), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        yield process


def _check(folder: Path, expected: dict[str, object], once_more: Callable[[Path], ExitStatus], when: str) -> None:
    left = content(folder)
    assert left.items() <= expected.items(), f"half of a file {when}"
    assert once_more(folder) is ExitStatus.DONE
    assert content(folder) == expected, f"killed {when}"
    print(f"killed {when}: {len(left)} of {len(expected)} files were there")  # noqa: T201
