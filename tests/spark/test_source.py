"""The data source on a real Prometheus and in a real Spark; and on a server that answers as none should."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bench.exporters import write_series
from heartbeat_tuner.domain.errors import MetricsUnavailableError
from heartbeat_tuner.fitting import source
from heartbeat_tuner.fitting.prometheus import counting, slice_failures, slices
from heartbeat_tuner.fitting.prometheus.source_options import SourceError, SourceOptions
from heartbeat_tuner.metrics.conventions import kafkajs_metrics
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.settings.prometheus_settings import PrometheusSettings
from sandbox.binaries import Binaries
from sandbox.prometheus import Prometheus
from tests.support import counters, histories
from tests.support.scripted_server import Handler, ScriptedServer, answer, respond, serving

pytestmark = pytest.mark.timeout(300)

SINCE: Final = datetime.now(UTC).date() - timedelta(days=4)
UNTIL: Final = SINCE + timedelta(days=1)


def fleet(since: date = SINCE, until: date = UNTIL) -> list[Series]:
    """Return two groups in two namespaces, of two libraries."""
    return [
        *histories.of_days(since, until),
        *histories.of_days(
            since, until, namespace="bank", group="payments", members=1, convention=kafkajs_metrics.EXPORTER
        ),
    ]


def small_fleet() -> list[Series]:
    """Return what a server of ours can tell quickly: a single member in each of two namespaces, rarely scraped."""
    made = (histories.of_days(SINCE, UNTIL, namespace=name, members=1, every_s=300.0) for name in ("bank", "shop"))
    return [item for several in made for item in several]


def expected(found: Sequence[Series], cluster: str = "") -> list[tuple[Any, ...]]:
    """Return the rows that these series make, without Spark, Prometheus or slices of namespaces."""
    consumers = [item for item in found if counting.pods_in([item])]
    around = [item for item in found if not counting.pods_in([item])]
    total: Counter[tuple[Any, ...]] = Counter()
    for window in (window for day in slices.days(SINCE, UNTIL) for window in slices.windows_of(day)):
        span = window.read_since.timestamp(), window.read_until.timestamp()
        mine, near = (
            [cut for item in group if (cut := Series(item.labels, item.samples.between(*span))).samples]
            for group in (consumers, around)
        )
        for cell, count in counting.counts(mine, near, window).items():
            total[window.day, cluster, cell.namespace, cell.group, cell.client, cell.quantity, cell.bucket] += count
    return [(*key, count) for key, count in sorted(total.items())]


def as_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of a table."""
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A real one, that has the fleet's two days."""
    run_dir = tmp_path_factory.mktemp("prometheus")
    with Prometheus(run_dir, Binaries(), kubeconfig=None) as started:
        write_series(int(started.url.rpartition(":")[2]), fleet())
        yield started


def reading(url: str, *, until: date = UNTIL, **more: Any) -> SourceOptions:
    """Return what is to be read of a Prometheus: both days, or the first."""
    return SourceOptions(PrometheusSettings(url=url), SINCE, until, **more)


def test_days_are_read_as_they_were_measured(spark: SparkSession, prometheus: Prometheus) -> None:
    """Every row of both days, whichever task read it; and nothing else."""
    found = source.read(spark, reading(prometheus.url, cluster="main"))
    assert found.failures == {}
    assert as_rows(found.table) == expected(fleet(), "main")
    assert list(found.samples) == [SINCE, UNTIL]
    assert min(found.samples.values()) > 50_000


def test_a_day_alone_has_the_same_rows(spark: SparkSession, prometheus: Prometheus) -> None:
    """As when it is read with others, by one task or by several, of all namespaces or of one."""
    alone = SourceOptions(
        PrometheusSettings(url=prometheus.url), UNTIL, UNTIL, namespaces=("bank",), max_concurrent_requests=1
    )
    found = source.read(spark, alone)
    assert as_rows(found.table) == [row for row in expected(fleet()) if (row[0], row[2]) == (UNTIL, "bank")]


def test_it_is_a_data_source_on_its_own(spark: SparkSession, prometheus: Prometheus) -> None:
    """As the how-to says: the page's own example, on this Prometheus."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "spark-source.md").read_text()
    example = page.partition("```python\n")[2].partition("```")[0]
    for old, new in (
        ("http://prometheus:9090", prometheus.url),
        ("2026-03-01", str(SINCE)),
        ("2026-03-14", str(UNTIL)),
    ):
        assert old in example
        example = example.replace(old, new)
    names: dict[str, Any] = {"spark": spark}
    exec(example, names)  # noqa: S102 - our own page
    frame, longest = names["histograms"], names["longest"]
    assert [(item.name, item.dataType.simpleString()) for item in frame.schema] == [
        tuple(column.split(" ")) for column in source.CONTRACT.split(", ")
    ]
    assert {row["group"] for row in longest.collect()} == {"orders", "payments"}


class Scripted:
    """Answers as a Prometheus would that has some series; `fault` may answer in its place, and say so."""

    def __init__(self, series: Sequence[Series]) -> None:
        self.series = series
        self.fault: Callable[[Handler, datetime], bool] = lambda _handler, _at: False

    def __call__(self, handler: Handler) -> None:
        """Answer one request."""
        query, time_s = handler.asked.form["query"][0], float(handler.asked.form["time"][0])
        at = datetime.fromtimestamp(time_s, UTC)
        if self.fault(handler, at):
            return
        if query.startswith("max by"):
            names = sorted({series_.labels["namespace"] for series_ in self.series})
            result: list[dict[str, Any]] = [{"metric": {"namespace": name}, "value": [time_s, "200"]} for name in names]
            respond(handler, answer({"resultType": "vector", "result": result}))
            return
        found = counters.asked(query).of(self.series, at)
        result = [{"metric": item.labels, "values": [[t, str(v)] for t, v in item.samples]} for item in found]
        respond(handler, answer({"resultType": "matrix", "result": result}))


@pytest.fixture(scope="module")
def small_rows() -> list[tuple[Any, ...]]:
    """What the small fleet's two days come to."""
    return expected(small_fleet())


@pytest.fixture(scope="module")
def scripted() -> Iterator[tuple[ScriptedServer, Scripted]]:
    """A server that has two days of a small fleet."""
    script = Scripted(small_fleet())
    with serving(script) as server:
        yield server, script


def is_second_day(at: datetime) -> bool:
    """Whether a slice's query is of the second day."""
    return at > slices.windows_of(UNTIL)[0].read_until - timedelta(hours=1)


def is_count(handler: Handler) -> bool:
    """Whether it is the driver that asks."""
    return handler.asked.form["query"][0].startswith("max by")


def answered(status: int, body: bytes) -> Callable[[Handler, datetime], bool]:
    """Return a fault of the slices of the second day."""

    def fault(handler: Handler, at: datetime) -> bool:
        if is_count(handler) or not is_second_day(at):
            return False
        respond(handler, body, status=status)
        return True

    return fault


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (answered(400, json.dumps({"status": "error", "error": "parse error"}).encode()), "answered 400 (parse error)"),
        (answered(422, b"{}"), "answered 422"),
        (answered(200, answer({"resultType": "matrix", "result": []}, warnings=["a store is away"])), "only part of"),
    ],
    ids=["400", "422", "partial"],
)
def test_a_day_that_cannot_be_read_does_not_cost_the_others(
    spark: SparkSession,
    scripted: tuple[ScriptedServer, Scripted],
    small_rows: list[tuple[Any, ...]],
    fault: Callable[[Handler, datetime], bool],
    sentence: str,
) -> None:
    """It is told with a sentence that names time, place, cause and query; nothing of it is kept."""
    server, script = scripted
    script.fault = fault
    # One task reads its slices in order of time: what is refused for one is not asked for any more.
    found = source.read(spark, reading(server.url, max_concurrent_requests=1))
    assert as_rows(found.table) == [row for row in small_rows if row[0] == SINCE]
    assert (list(found.samples), list(found.failures)) == ([SINCE], [UNTIL])
    for failure in found.failures[UNTIL]:
        assert failure.startswith(str(UNTIL))
        assert sentence in failure
        assert "; tried {__name__=~" in failure
        assert "\n" not in failure
        assert "Traceback" not in failure


def test_too_much_is_read_in_halves(
    spark: SparkSession, scripted: tuple[ScriptedServer, Scripted], small_rows: list[tuple[Any, ...]]
) -> None:
    """With the same rows."""

    def fault(handler: Handler, _at: datetime) -> bool:
        if not is_count(handler) and counters.asked(handler.asked.form["query"][0]).window_s > 15_000:
            respond(handler, b"{}", status=422)
            return True
        return False

    server, script = scripted
    script.fault = fault
    found = source.read(spark, reading(server.url, until=SINCE))
    assert as_rows(found.table) == [row for row in small_rows if row[0] == SINCE]


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_requests_at_a_time_than_allowed(spark: SparkSession, most: int) -> None:
    """All tasks together; each counts until its answer begins, since who has it may ask on before it ends here."""
    lock, now, seen = threading.Lock(), [0], [0]

    def slow(_handler: Handler, _at: datetime) -> bool:
        with lock:
            now[0] += 1
            seen[0] = max(seen[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return False

    script = Scripted(small_fleet())
    script.fault = slow
    with serving(script) as server:
        found = source.read(spark, reading(server.url, until=SINCE, max_concurrent_requests=most))
    assert found.failures == {}
    assert 1 <= seen[0] <= most


def test_who_does_not_know_who_consumes_has_no_days(
    spark: SparkSession, scripted: tuple[ScriptedServer, Scripted]
) -> None:
    """The driver's own question fails: a sentence for each day, and not as many requests."""

    def fault(handler: Handler, _at: datetime) -> bool:
        respond(handler, b"{}", status=400)
        return True

    server, script = scripted
    script.fault = fault
    before = len(server.requests)
    found = source.read(spark, reading(server.url))
    assert found.table.num_rows == 0
    assert list(found.failures) == [SINCE, UNTIL]
    assert "answered 400" in found.failures[UNTIL][0]
    assert len(server.requests) == before + 1


def test_days_without_consumers_are_read(spark: SparkSession) -> None:
    """There is nothing in them, which is not the same as a day that could not be read."""
    with serving(Scripted([])) as server:
        found = source.read(spark, reading(server.url))
    assert (found.table.num_rows, found.samples, found.failures) == (0, {SINCE: 0, UNTIL: 0}, {})


def test_without_telling_a_failure_is_raised(spark: SparkSession) -> None:
    """Who reads the table on his own must not take a part for the whole."""
    script = Scripted(small_fleet())
    script.fault = answered(422, b"{}")
    sentence = rf"SourceError: {UNTIL} \d\d:00 UTC, (bank|shop).*: Prometheus answered 422"
    spark.dataSource.register(source.PrometheusDataSource)
    with serving(script) as server:  # its own: other tasks may ask on for a while
        frame = spark.read.format("prometheus").options(**reading(server.url).options()).load()
        with pytest.raises(PySparkException, match=sentence):
            frame.collect()


def test_the_beginning_of_a_query_is_shown() -> None:
    """A query of hundreds of names is cut."""
    for query, shown in (("up[6h]", "up[6h]"), ("x" * 5_000, "x" * (slice_failures.SHOWN_QUERY - 1) + "…")):
        assert slice_failures.shown(MetricsUnavailableError("no answer", tried=query)) == f"no answer; tried {shown}"


def test_what_cannot_be_read_is_said_before_spark_is_asked(spark: SparkSession) -> None:
    """A day that is not over would be kept as a whole one."""
    today = datetime.now(UTC).date()
    with pytest.raises(SourceError, match=f"until {today} cannot be read whole before"):
        source.read(spark, SourceOptions(PrometheusSettings(url="http://nowhere"), today, today))


def test_a_day_is_one_in_utc_whatever_the_session_says(
    spark: SparkSession, scripted: tuple[ScriptedServer, Scripted], small_rows: list[tuple[Any, ...]]
) -> None:
    """In Tokyo it began nine hours ago."""
    server, script = scripted
    script.fault = lambda _handler, _at: False
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert as_rows(source.read(spark, reading(server.url)).table) == small_rows
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"url": "http://prometheus:9090"}, "option since is missing"),
        ({"url": "http://prometheus:9090", "since": "2026-03-01", "until": "now"}, "option until: 'now' is no day"),
        ({"failures": "ignore"}, "option failures: 'ignore' is neither 'raise' nor 'tell'"),
    ],
)
def test_wrong_options_are_named(spark: SparkSession, options: dict[str, str], sentence: str) -> None:
    """In what Spark raises."""
    spark.dataSource.register(source.PrometheusDataSource)
    with pytest.raises(PySparkException, match=sentence):
        spark.read.format("prometheus").options(**options).load().collect()
