"""The command as a process: what it exits with, what it says, and that nothing of Java or Python's traces is shown."""

import email.utils
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import calendar_days
from heartbeat_tuner.fitting.calendar_days import DAY
from heartbeat_tuner.fitting.history import History
from heartbeat_tuner.fitting.outcome import ExitStatus
from tests.support import again, fits
from tests.support.contract_rows import lake, rows_of
from tests.support.fits import clean
from tests.support.results import content
from tests.support.scripted_server import Handler, serving

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("quick_java")]

UNTIL: Final = calendar_days.newest_whole_day(datetime.now(UTC))
DAYS: Final = tuple(UNTIL - DAY * age for age in range(3))
SINCE: Final = ("--since", "72h", "--until", UNTIL.isoformat())
SMALL: Final = ("--master", "local[2]", *SINCE)


def places(folder: Path) -> tuple[str, ...]:
    """Return the options that keep everything in a folder."""
    return ("--history", str(folder / "history"), "--models", str(folder / "models"))


def make_history(folder: Path) -> Path:
    """Make a history of all days; return the folder."""
    history = History(str(folder / "history"))
    for day in DAYS:
        history.write(day, rows_of(day))
    return folder


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--prometheus", "http://127.0.0.1:1"), "http://127.0.0.1:1: Prometheus did not answer (connection refused)"),
        (("--parquet", "nowhere", "--master", "nonsense"), "Spark knows no such master"),
        (("--parquet", "nowhere", "--until", "2999-01-01"), "--until 2999-01-01: that day is not over"),
    ],
)
def test_what_cannot_work_ends_at_once(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """Status 2, nothing written."""
    ended = fits.fit(*options, *places(tmp_path))
    assert (ended.status, ended.stdout) == (2, "")
    assert words in clean(ended)
    assert list(tmp_path.iterdir()) == []


def test_a_clock_that_is_apart_is_told_and_the_kept_days_stay(tmp_path: Path) -> None:
    """What is asked for would be of another time; nothing is read, and the next run has the same days."""
    before = content(make_history(tmp_path))

    def wrong(handler: Handler) -> None:
        date = email.utils.format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
        handler.wfile.write(f"HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: 2\r\n\r\n{{}}".encode())

    with serving(wrong) as server:
        ended = fits.fit("--prometheus", server.url, "--since", "96h", *SINCE[2:], *places(tmp_path))
        assert len(server.requests) == 1
    assert ended.status == 2
    assert re.search(r"clock says \S+Z, this machine's \S+Z: set the wrong one", clean(ended))
    assert content(tmp_path) == before


def test_a_lake_that_is_none_is_told_and_the_kept_days_are_fitted(tmp_path: Path) -> None:
    """The path, and what is wrong with it."""
    history = History(str(tmp_path / "history"))
    history.write(DAYS[1], rows_of(DAYS[1]))
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "a.parquet").write_bytes(b"no Parquet at all")
    ended = fits.fit("--parquet", str(tmp_path / "lake"), *SMALL, *places(tmp_path))
    assert ended.status == 1
    said = clean(ended)
    assert f"{DAYS[2]}, {DAYS[0]}: " in said
    assert str(tmp_path / "lake" / "a.parquet") in said
    assert "models 2 written" in said


def test_an_api_server_that_does_not_answer_is_told(tmp_path: Path) -> None:
    """The days stay kept."""
    make_history(tmp_path)
    before = content(tmp_path)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    ended = fits.fit(
        "--parquet", "unused", *SINCE, "--history", str(tmp_path / "history"), "--models", "kubernetes",
        env={"KUBECONFIG": str(tmp_path / "kubeconfig")},
    )  # fmt: skip
    assert ended.status == 2
    assert "127.0.0.1:1" in clean(ended)
    assert content(tmp_path) == before


def test_two_runs_at_once_come_to_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """Each file is whole; a second writer of models says that there is one."""
    source = lake(tmp_path / "lake", DAYS)
    alone = again.run(tmp_path / "alone", again.from_lake(spark, source), until=UNTIL, count=len(DAYS))
    assert alone.status is ExitStatus.DONE
    both = [fits.Fit("--parquet", str(source), *SMALL, *places(tmp_path / "both")) for _ in range(2)]
    ended = [item.ended() for item in both]
    assert content(tmp_path / "both") == content(tmp_path / "alone")
    assert 0 in {item.status for item in ended}
    assert all(item.status == 0 or "another fit writes" in clean(item) for item in ended)


def test_a_full_disk_is_told_and_harms_nothing(tmp_path: Path) -> None:
    """A file system of 48 KiB, in a name space of its own, takes two days of 20; the models rest on those."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Urm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no mount can be made here without root: unshare -Urm fails")
    source = lake(tmp_path / "lake", DAYS, groups=[f"group-{number}" for number in range(120)], values=2_000)
    (tmp_path / "disk").mkdir()
    command = [sys.executable, "-m", "heartbeat_tuner", "fit", "--parquet", str(source), *SMALL]
    command += ["--history", str(tmp_path / "disk" / "history"), "--models", str(tmp_path / "models")]
    script = 'mount -t tmpfs -o size=48k tmpfs "$1" && shift && "$@"; status=$?; find "$0" -type f; exit $status'
    ended = subprocess.run(
        [unshare, "-Urm", "sh", "-c", script, str(tmp_path / "disk"), str(tmp_path / "disk"), *command],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    said = " ".join((ended.stdout + ended.stderr).split())
    assert ended.returncode == 1, said
    assert "No space left on device" in said
    assert "free some disk" in said
    assert "days 0 kept before, 2 read, 1 failed" in said
    assert "models 120 written" in said
    assert "Traceback" not in said
    assert ".tmp" not in said


def test_a_backtest_needs_no_place_for_models(tmp_path: Path) -> None:
    """It says what was foreseen, and writes no model."""
    make_history(tmp_path)
    ended = fits.fit("--parquet", "unused", *SINCE, "--history", str(tmp_path / "history"), "--backtest")
    assert ended.status == 0, clean(ended)
    said = clean(ended)
    assert f"backtest: models of {DAYS[2]} to {DAYS[1]}, asked of {DAYS[0]}" in said
    assert "absence: " in said
    assert not (tmp_path / "models").exists()


def test_a_backtest_of_one_day_takes_nothing_from_the_models(tmp_path: Path) -> None:
    """On the first night there is nothing to foretell, and models are written and summed up all the same."""
    make_history(tmp_path)
    ended = fits.fit(
        "--parquet", "unused", "--since", "24h", *SINCE[2:], *places(tmp_path), "--backtest"
    )  # fmt: skip
    assert ended.status == 0, clean(ended)
    assert "there is data of one day only" in clean(ended)
    assert "models 2 written" in clean(ended)
