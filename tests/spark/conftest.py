"""One Spark session for the whole ring: starting one takes seconds."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import session

# Of every Java of this ring, processes that tests start among them: with so little data the second compiler only costs,
# half of a run's time (measured: 26 s with it, 14 s without).
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Give a session of two cores with the shipped settings."""
    with session.session("local[2]", log=tmp_path_factory.mktemp("spark") / "spark.log") as found:
        yield found
