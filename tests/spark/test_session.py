"""The session as it is shipped."""

from pyspark.sql import SparkSession


def test_days_are_utc_and_work_comes_back(spark: SparkSession) -> None:
    """Whatever the machine's time zone."""
    (row,) = spark.sql("select cast(timestamp '2026-11-20 23:59:59 UTC' as date) as day").toArrow().to_pylist()
    assert str(row["day"]) == "2026-11-20"
