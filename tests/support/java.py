"""What makes the Javas of a ring start sooner: an archive of the classes that a fit loads.

Most of a small run is Java loading, checking and compiling 30,000 classes of Spark. Java can keep them, loaded and
checked, in a file (class data sharing, JEP 350) and map that at its next start; it looks itself whether the file is of
this Java and of these libraries, and does without where it is not. What runs is the same.
"""

import hashlib
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from heartbeat_tuner.fitting import calendar_days
from tests.support.contract_rows import lake
from tests.support.fits import SPARK_HOME, members

CACHE: Final = Path(__file__).parents[2] / "build" / "java"

SMALL: Final = "-XX:TieredStopAtLevel=1"
"""With so little data the second compiler only costs, half of a run's time (measured: 26 s with it, 14 s without)."""

_QUIET: Final = "-Xlog:disable"
"""Else each Java with other libraries than Spark's, like the one that finds out how to start it, says so on its stdout."""

_WRITTEN_WITHIN_S: Final = 240.0


def options(folder: Path) -> str:
    """Return `JDK_JAVA_OPTIONS` for all that a ring starts; make the archive where there is none for this machine.

    Args:
        folder: for what the making leaves.
    """
    archive = CACHE / f"spark-{_key()}.jsa"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob("*.jsa"):  # 180 MB each; who uses one keeps it open
            old.unlink()
        _make(archive, folder)
    return f'{SMALL} {_QUIET} "-XX:SharedArchiveFile={archive}"'


def _make(archive: Path, folder: Path) -> None:
    """Let a small fit's Java write down at its end what it loaded; it may be busy for a while when the fit has gone."""
    made = folder / "made.jsa"
    until = calendar_days.newest_whole_day(datetime.now(UTC))
    command = [sys.executable, "-m", "heartbeat_tuner", "fit", "--parquet", str(lake(folder / "lake", [until]))]
    command += ["--since", "24h", "--until", until.isoformat(), "--master", "local[1]"]
    command += ["--history", str(folder / "history"), "--models", str(folder / "models")]
    fit = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "JDK_JAVA_OPTIONS": f'{SMALL} {_QUIET} "-XX:ArchiveClassesAtExit={made}"'},
    )
    _, said = fit.communicate()
    assert fit.returncode == 0, said.decode()
    until_s = time.monotonic() + _WRITTEN_WITHIN_S
    while members(fit.pid):
        assert time.monotonic() < until_s, f"Java did not end within {_WRITTEN_WITHIN_S:g} s"
        time.sleep(0.1)
    if made.exists():  # not every Java can
        made.replace(archive)


def _key() -> str:
    """Return what is another one where Java or Spark is."""
    known = hashlib.sha256(subprocess.run(["java", "-version"], check=True, capture_output=True).stderr)
    for jar in sorted((SPARK_HOME / "jars").glob("*.jar")):
        known.update(f"{jar}{jar.stat().st_size}{jar.stat().st_mtime_ns}".encode())
    return known.hexdigest()[:16]
