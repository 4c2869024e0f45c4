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

from heartbeat_tuner.fitting import calendar_days, session
from heartbeat_tuner.fitting.outcome import DayFailure
from sandbox import cache
from tests.support import again
from tests.support.contract_rows import lake, values_lake
from tests.support.fits import SPARK_HOME, members
from tests.support.scripted_server import Handler, answer, respond, serving

CHECKOUT: Final = Path(__file__).parents[2]
CACHE: Final = CHECKOUT / "build" / "java"

SMALL: Final = "-XX:TieredStopAtLevel=1"
"""With so little data the second compiler only costs, half of a run's time (measured: 26 s with it, 14 s without)."""

_QUIET: Final = "-Xlog:disable"
"""Else a Java with other libraries than Spark's says so on its stdout, where Spark's scripts read what to start."""

_WRITTEN_WITHIN_S: Final = 240.0


def options(folder: Path) -> str:
    """Return `JDK_JAVA_OPTIONS` for the Javas of a fit; make the archive where there is none for this machine.

    Args:
        folder: for what the making leaves.
    """
    archive = CACHE / f"spark-{_key()}.jsa"
    with cache.lock("spark-classes"):  # rings run beside each other
        if not archive.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            for old in CACHE.glob("*.jsa"):  # 180 MB each; who uses one keeps it open
                old.unlink()
            _make(archive, folder)
    return f'{SMALL} {_QUIET} "-XX:SharedArchiveFile={archive}"'


def _make(archive: Path, folder: Path) -> None:
    """Let a Java that read a little write down at its end what it loaded, for which it takes 15 s more."""
    made = folder / "made.jsa"
    reader = subprocess.Popen(
        [sys.executable, "-m", "tests.support.java", str(folder)],
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "JDK_JAVA_OPTIONS": f'{SMALL} {_QUIET} "-XX:ArchiveClassesAtExit={made}"'},
    )
    _, said = reader.communicate()
    assert reader.returncode == 0, said.decode()
    until_s = time.monotonic() + _WRITTEN_WITHIN_S
    while members(reader.pid):
        assert time.monotonic() < until_s, f"Java did not end within {_WRITTEN_WITHIN_S:g} s"
        time.sleep(0.1)
    if made.exists():  # not every Java can
        made.replace(archive)


def main() -> None:
    """Read, with all that a fit does it with, a lake of one day and a Prometheus that has nothing."""
    folder, until = Path(sys.argv[1]), calendar_days.newest_whole_day(datetime.now(UTC))

    def empty(handler: Handler) -> None:
        respond(handler, answer({"resultType": "vector", "result": []}))

    with session.session("local[1]", log=folder / "spark.log") as spark, serving(empty) as server:
        for source in (
            again.from_lake(spark, values_lake(folder / "values", [until])),
            again.from_lake(spark, lake(folder / "lake", [until])),
            again.from_prometheus(spark, server.url, ""),
        ):
            ((_, found),) = source([until])
            assert not isinstance(found, DayFailure), found


def _key() -> str:
    """Return what is another one where Java or Spark is."""
    known = hashlib.sha256(subprocess.run(["java", "-version"], check=True, capture_output=True).stderr)
    for jar in sorted((SPARK_HOME / "jars").glob("*.jar")):
        known.update(f"{jar}{jar.stat().st_size}{jar.stat().st_mtime_ns}".encode())
    return known.hexdigest()[:16]


if __name__ == "__main__":
    main()
