"""One Spark session for the whole ring, and what makes the Javas that tests start quick: a start takes seconds."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import session
from tests.support import java


@pytest.fixture(scope="session")
def quick_java(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let every Java of this ring start quickly, those of processes that tests start among them."""
    os.environ["JDK_JAVA_OPTIONS"] = java.options(tmp_path_factory.mktemp("java"))


@pytest.fixture(scope="session")
def spark(quick_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:  # noqa: ARG001 - it is for Spark's Java
    """Give a session of two cores with the shipped settings."""
    with session.session("local[2]", log=tmp_path_factory.mktemp("spark") / "spark.log") as found:
        yield found
