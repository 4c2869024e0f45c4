"""A lake of Parquet files as rows of the contract: values that Spark puts into buckets, or rows that are there already.

Values are put into buckets by Spark's own expressions, without a Python function: nothing but counts leaves the scan.
Both kinds are told apart by their columns, and what is wrong with them is said before anything is read whole.
"""

import dataclasses
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting import contract
from heartbeat_tuner.metrics.blocks import BLOCK_S
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, PER_OCTAVE, SCHEMA
from heartbeat_tuner.tails.history import GROUP_BLOCKS, MEMBER_BLOCKS

VALUE_TYPES: Final = {
    "ts": "timestamp",
    **dict.fromkeys(("namespace", "group", "client", "quantity"), "string"),
    "value_s": "double",
}


class ObservationsError(TunerError):
    """Parquet that cannot be used; the message names the path, the column, the rule and the fix."""


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """What Parquet files hold.

    Attributes:
        rows: of the contract, one for each key.
        refused: values that are no time; known once the rows have been collected or written.
    """

    rows: DataFrame
    _refused: Observation | None

    def refused(self) -> int:
        """Return how many values are no time: missing, negative, not finite, or over 24 days.

        Waits for the first time that all of the rows are computed.
        """
        return int(self._refused.get["refused"] or 0) if self._refused else 0


def read(spark: SparkSession, path: str, *, cluster: str) -> Observed:
    raise NotImplementedError
