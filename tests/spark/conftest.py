"""One Spark session for the whole ring: starting one takes seconds."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting import session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Give a session of two cores with the shipped settings."""
    with session.session("local[2]", log=tmp_path_factory.mktemp("spark") / "spark.log") as found:
        yield found
