"""The session as it is shipped, and what keeps it from starting, as sentences."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import session
from heartbeat_tuner.fitting.session import SessionError


@pytest.fixture
def environ() -> Iterator[dict[str, str]]:
    """Give the environment; put it back afterwards."""
    before = dict(os.environ)
    yield os.environ  # type: ignore[misc]
    os.environ.clear()
    os.environ.update(before)


def test_days_are_utc(spark: SparkSession) -> None:
    """Whatever the machine's time zone."""
    (row,) = spark.sql("select cast(timestamp '2026-11-20 23:59:59 UTC' as date) as day").toArrow().to_pylist()
    assert str(row["day"]) == "2026-11-20"


def test_the_shipped_settings_are_in_force(spark: SparkSession) -> None:
    """A slow reader must not get a twin, and nothing listens beyond this machine."""
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.speculation") == "false"
    assert conf.get("spark.driver.host") == "127.0.0.1"
    assert conf.get("spark.ui.enabled") == "false"
    most = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
    assert 2**29 < most <= 2**30


def test_spark_speaks_into_the_log_alone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A stack trace of a failing job is for who looks for it."""
    log = tmp_path_factory.getbasetemp() / "spark0" / "spark.log"
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql("select 1 / sum(id) from range(1)").toArrow()
    assert "SparkArithmeticException" in log.read_text()


@pytest.mark.parametrize("master", ["nonsense", "local[a]", "spark://", "spark://host", "local[*] ", ""])
def test_a_master_that_is_none_is_refused(master: str) -> None:
    """Spark would say so in a stack trace, and of some in a minute."""
    with pytest.raises(SessionError, match=r"Spark knows no such master; write local\[\*\]"):
        session.check(master)


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[4]", "local[2,3]", "k8s://https://10.0.0.1:6443", "yarn"]
)
def test_a_master_that_is_one_is_taken(master: str) -> None:
    """What cannot be seen in a moment is not looked at."""
    session.check(master)


def test_spark_connect_is_refused_before_anything_is_read(environ: dict[str, str]) -> None:
    """It has no RDDs: a lake would end in a trace, and a variable would lead there behind any master's back."""
    with pytest.raises(SessionError, match=r"--master sc://host:15002 asks for Spark Connect, .*spark://HOST:7077"):
        session.check("sc://host:15002")
    for name, value in (("SPARK_REMOTE", "sc://host:15002"), ("SPARK_CONNECT_MODE_ENABLED", "1")):
        environ[name] = value
        with pytest.raises(SessionError, match=rf"the variable {name}={value} asks for Spark Connect, .*; unset it"):
            session.check("local[*]")
        del environ[name]


def test_a_variable_that_prefers_connect_changes_nothing(spark: SparkSession) -> None:
    """`SPARK_API_MODE=connect` starts a server of its own otherwise."""
    assert spark.sparkContext.getConf().get("spark.api.mode") == "classic"


def test_a_cluster_that_does_not_answer_is_told_at_once() -> None:
    """Spark would try for a minute."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        session.check(f"spark://127.0.0.1:1,127.0.0.1:{port}")
    with pytest.raises(SessionError, match=rf"no master of a Spark cluster answers at 127.0.0.1:{port} \(Connection"):
        session.check(f"spark://127.0.0.1:{port}")


def test_no_java_is_told_with_what_to_install(environ: dict[str, str], tmp_path: Path) -> None:
    """Who installed it elsewhere sets JAVA_HOME."""
    environ.pop("JAVA_HOME", None)
    environ["PATH"] = str(tmp_path)
    with pytest.raises(SessionError, match="no Java on this machine: Spark needs Java 17 or newer"):
        session.check("local[*]")
    environ["JAVA_HOME"] = str(tmp_path)
    with pytest.raises(SessionError, match=r"JAVA_HOME is .*, which has no bin/java"):
        session.check("local[*]")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            'Exception in thread "main" org.apache.spark.SparkException: Master must be\n\tat org.x(Y.scala:1)\n',
            "Master must be",
        ),
        ("Error: Could not find or load main class X\nCaused by: java.lang.ClassNotFoundException: X\n", "X"),
        ("Error occurred during initialization of VM\nConflicting collectors\n", "Conflicting collectors"),
        ("WARNING: nothing\n", ""),
    ],
)
def test_why_java_ended_is_found_in_its_log(tmp_path: Path, said: str, words: str) -> None:
    """Without the stack."""
    (tmp_path / "log").write_text(said)
    assert session.last_words(tmp_path / "log") == words
