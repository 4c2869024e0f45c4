"""A run that is killed at any moment is made good by the next one: the same files as if it had not been.

The runs are processes of their own, killed with all that they started. The ten moments are spread over the length of a
run that was not disturbed, which is measured first.
"""

import random
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from heartbeat_tuner.fitting import calendar_days
from heartbeat_tuner.fitting.calendar_days import DAY
from tests.support import fits
from tests.support.contract_rows import lake
from tests.support.results import content

KILLS = 10
DAYS = 3


def options(folder: Path, source: Path, until: date) -> tuple[str, ...]:
    """Return the options of a run that keeps its files in a folder."""
    return (
        "--parquet", str(source), "--since", f"{24 * DAYS}h", "--until", until.isoformat(), "--master", "local[1]",
        "--history", str(folder / "history"), "--models", str(folder / "models"),
    )  # fmt: skip


@pytest.mark.timeout(300)
def test_a_killed_run_leaves_nothing_that_the_next_one_does_not_mend(tmp_path: Path) -> None:
    """History to the byte; models but for who fitted them when."""
    until = calendar_days.newest_whole_day(datetime.now(UTC))
    source = lake(tmp_path / "lake", [until - DAY * age for age in range(DAYS)])
    undisturbed = fits.fit(*options(tmp_path / "undisturbed", source, until))
    assert undisturbed.status == 0, undisturbed.stderr
    expected = content(tmp_path / "undisturbed")
    assert len(expected) == DAYS + 2

    chance = random.Random(7)  # noqa: S311 - moments, no secret
    killed = 0
    for number in range(KILLS):
        folder = tmp_path / f"killed-{number}"
        moment_s = undisturbed.took_s * (number + chance.random()) / KILLS
        killed += fits.Fit(*options(folder, source, until)).killed_at(moment_s)
        left = content(folder)
        assert left.items() <= expected.items(), f"half of a file at {moment_s:.2f} s"
        again = fits.fit(*options(folder, source, until))
        assert again.status == 0, again.stderr
        assert content(folder) == expected, f"killed at {moment_s:.2f} s of {undisturbed.took_s:.2f} s"
        print(f"killed at {moment_s:.2f} s: {len(left)} of {len(expected)} files were there")  # noqa: T201
    assert killed >= KILLS - 3  # machines are noisy: the last ones may have ended by themselves
