"""A Spark session with the settings that were measured to serve, and errors as sentences.

Spark speaks much, in stack traces, from a Java process of its own and from its Python workers. All of that goes to one
file, never to the terminal.

What is set here is what the fit needs. Memory and what else a place needs is Spark's own configuration:
`SPARK_CONF_DIR` and `PYSPARK_SUBMIT_ARGS="--driver-memory 4g pyspark-shell"` work as with any Spark program.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from heartbeat_tuner.domain.errors import TunerError

_FORMS: Final = re.compile(
    r"local|local\[(\d+|\*)(,\d+)?\]|spark://[^\s,/]+:\d+(,[^\s,/]+:\d+)*|k8s://https?://[^\s/]+|yarn"
)

_SETTINGS: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",  # flat in rows: only histograms come to the driver
    # Java moves histograms, Python counts: what the second compiler costs never comes back (13 s of CPU, 8 without),
    # and a young generation without a bound only grows with the days.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -Xmn64m",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.session.timeZone": "UTC",  # a day is one in UTC, wherever the job runs
    "spark.speculation": "false",  # a second reader of the same slice would double the load on Prometheus
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.api.mode": "classic",  # whatever SPARK_API_MODE says: see `_check_no_connect`
}

_ON_ONE_MACHINE: Final[Mapping[str, str]] = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

_OWN: Final = re.compile(r"^heartbeat_tuner\.[\w.]+Error: (.+)$", re.MULTILINE)
"""How the traceback of a Python worker ends."""

_PATIENCE_S: Final = 5.0
_WORKERS_WITHIN_S: Final = 60.0
_PODS_WITHIN_S: Final = 600.0
"""A node that has not had the image yet pulls a gigabyte."""

_CONNECT_VARIABLES: Final = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
"""With one of these PySpark gives a session of Spark Connect, whatever the master is."""

_SHOWN: Final = 300
_CAUSES: Final = 20
"""Causes of causes that are followed: a chain may be a ring."""


class SessionError(TunerError):
    """Spark could not be started, or lost."""


@contextlib.contextmanager
def session(master: str, *, log: Path) -> Iterator[SparkSession]:
    """Give a session, and end it.

    Args:
        master: where Spark runs: `local[*]`, `spark://HOST:PORT`, `k8s://https://HOST:PORT` or `yarn`.
        log: the file that gets all that Spark says.

    Raises:
        SessionError: there is no Java, the master is none or does not answer, or no worker takes the job.
    """
    check(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # on workers: the same image, or the same machine
    settings = dict(_SETTINGS)
    if is_on_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= _ON_ONE_MACHINE
    builder = SparkSession.builder.master(master).appName("heartbeat-tuner fit")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _speaking_into(log):
            spark = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise SessionError(
            f"Spark did not start with --master {master}: {last_words(log) or first_line(error)}"
        ) from None
    try:
        _await_workers(spark, master)
        yield spark
    finally:
        with contextlib.suppress(Py4JError, OSError):  # its process may have gone before
            spark.stop()
        _end_java()


def check(master: str) -> None:
    """See what can be seen in a moment: that the master is one, that there is Java, that a cluster's master listens.

    Raises:
        SessionError: one of these is not so.
    """
    _check_no_connect(master)
    if not _FORMS.fullmatch(master):
        raise SessionError(
            f"--master {master!r}: Spark knows no such master; write local[*], local[4], spark://HOST:7077, "
            "k8s://https://HOST:6443 or yarn"
        )
    _check_java()
    if not master.startswith("spark://"):
        return
    failures = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _PATIENCE_S).close()
        except (OSError, OverflowError) as error:
            failures.append(f"{place} ({getattr(error, 'strerror', None) or error})")
        else:
            return
    raise SessionError(
        f"--master {master}: no master of a Spark cluster answers at {', '.join(failures)}; start one there, or leave "
        "--master out to fit on this machine"
    )


def is_on_this_machine(master: str) -> bool:
    """Return whether driver and workers see each other on the loopback: nothing else needs to reach them then."""
    return master.startswith("local") or urlsplit(master.split(",", maxsplit=1)[0]).hostname in {
        "127.0.0.1",
        "localhost",
    }


def first_line(error: Exception) -> str:
    """Return what an error of Spark, or its innermost cause in Java, says first; without its kind or a stack."""
    text = str(error)
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        try:
            for _ in range(_CAUSES):
                text = cause.getMessage() or cause.getClass().getName()
                cause = cause.getCause()
                if cause is None:
                    break
        except (Py4JError, OSError):  # Java has gone in the meantime
            text = "its Java process ended"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:_SHOWN] if lines else type(error).__name__


def own_words(error: Exception) -> str | None:
    """Return the sentence of an error of ours that a task ended with; None if it was none of ours."""
    match = _OWN.search(str(error)) if isinstance(error, PySparkException | Py4JJavaError) else None
    return match[1] if match else None


def last_words(log: Path) -> str:
    """Return why a Java process ended, as it said itself; empty if it did not say."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    begins = r"^(?:Exception in thread \S+ |Error: |Caused by: |Error occurred during initialization of VM\n)"
    sentences = re.findall(begins + r"(?:[\w.$]+: )?(.+)$", text, re.MULTILINE)
    return sentences[-1].strip()[:_SHOWN] if sentences else ""


def _check_no_connect(master: str) -> None:
    """See that no session of Spark Connect is asked for: it has no RDDs, by which lakes are counted, and no JVM."""
    settings = [f"--master {master}"] if master.startswith("sc://") else []
    settings += [f"the variable {name}={os.environ[name]}" for name in _CONNECT_VARIABLES if name in os.environ]
    if settings:
        raise SessionError(
            f"{settings[0]} asks for Spark Connect, which has no RDDs, and fit counts with them; "
            + ("give the cluster's own master, such as spark://HOST:7077" if "--master" in settings[0] else "unset it")
        )


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        raise SessionError(f"JAVA_HOME is {home}, which has no bin/java; set it to a Java of 17 or newer, or unset it")
    if not home and shutil.which("java") is None:
        raise SessionError(
            "no Java on this machine: Spark needs Java 17 or newer; install one (Debian: openjdk-17-jre-headless), or "
            "set JAVA_HOME"
        )


@contextlib.contextmanager
def _speaking_into(log: Path) -> Iterator[None]:
    """Let processes that are started meanwhile write to a file what they would to our terminal, all their life."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours = [os.dup(1), os.dup(2)]
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, descriptor in enumerate(ours, start=1):
            os.dup2(descriptor, number)
            os.close(descriptor)


def _end_java() -> None:
    """End the Java process that PySpark started, which would keep its half GiB until Python ends, too.

    One that was there before (`spark-submit`) is not ours to end.
    """
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark ends a session, never its process
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if gateway is None or process is None or process.stdin is None:
        return
    gateway.shutdown()
    process.stdin.close()  # what it waits for
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE_S)
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - so that the next session starts another


def _await_workers(spark: SparkSession, master: str) -> None:
    """Wait for a cluster's first worker: Spark itself would wait for one for ever."""
    if master.startswith("local"):
        return
    within_s, fix = _WORKERS_WITHIN_S, "see that workers run and have a free core and 1 GiB of memory"
    if master.startswith("k8s://"):
        within_s = _PODS_WITHIN_S
        fix = "see what the events of the pods with the label spark-role=executor say, and whether any may be created"
    until = time.monotonic() + within_s
    try:
        while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:  # noqa: PLR2004, SLF001 - the driver is one
            if time.monotonic() > until:
                raise SessionError(f"--master {master}: no worker took the job within {within_s:.0f} s; {fix}")
            time.sleep(0.1)
    except Py4JError as error:
        raise SessionError(f"--master {master}: Spark ended while it waited for workers: {first_line(error)}") from None
