"""The designs that `bench.fit` compares, each run in a process of its own: `python -m bench.fit_designs DESIGN LAKE`.

Each prints one line of JSON: seconds of the work from the first row read to the fitted models, of what came before,
and how many models there are. `ours` is the job as shipped: it reads what its history lacks, all days or the last one.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from heartbeat_tuner.fitting import contract
from heartbeat_tuner.fitting.history import History
from heartbeat_tuner.fitting.models import model_estimate
from heartbeat_tuner.fitting.outcome import ExitStatus
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.tails.histogram import EDGES_S

_MASTER: Final = "local[2]"
_LEAST_EXCEEDANCES: Final = 50


_REDUCE: Final = """
    CREATE TEMP TABLE counted AS
    WITH near AS (
        SELECT CAST(epoch_us(ts) // 86400000000 AS INTEGER) AS number, namespace, "group", client, quantity, value_s,
            (epoch_us(ts) // 1000000) % 86400 // 1350 AS part,
            CAST(CASE WHEN value_s <= 0.0475 THEN ceil(value_s * 1000 - 0.499999)
                      ELSE 48 + ceil(32 * log2(value_s) + 140.000001) END AS INTEGER) AS place
        FROM lake
    )
    SELECT DATE '1970-01-01' + number AS day, 'main' AS cluster, namespace, "group", client, quantity,
        CAST(place - CAST(value_s <= edge(place) AS INTEGER) AS SMALLINT) AS bucket,
        count(*) AS n, bit_or(1::UBIGINT << part) AS parts
    FROM near GROUP BY ALL
"""
"""Of this lake, which has no value that is no time."""

_ROWS: Final = """
    WITH quantities AS (
        SELECT day, cluster, namespace, "group", client, quantity, sum(n) AS n, bit_or(parts) AS parts
        FROM counted GROUP BY ALL
    ), watched AS (
        SELECT *, max(n) OVER everywhere AS members, bit_or(parts) OVER everywhere AS all_parts FROM quantities
        WINDOW everywhere AS (PARTITION BY day, cluster, namespace, "group", client)
    )
    SELECT day, cluster, namespace, "group", client, quantity, bucket, n FROM counted
    UNION ALL SELECT day, cluster, namespace, "group", client, quantity, -1, members FROM watched
    UNION ALL SELECT day, cluster, namespace, "group", client, quantity, -2,
        least(members, 15 * CAST(bit_count(all_parts) AS BIGINT))
    FROM watched
"""


@dataclasses.dataclass
class Clock:
    """Takes the times of a run: of its stages, and of the session, which is no part of the work.

    Attributes:
        began_s: when the run began.
        session_s: how long the session took to start and to end.
        stages: when each stage ended.
    """

    began_s: float = dataclasses.field(default_factory=time.monotonic)
    session_s: float = 0.0
    stages: dict[str, float] = dataclasses.field(default_factory=dict)

    def stage(self, name: str, **_facts: object) -> None:
        """Take note of the work until now."""
        self.stages[name] = time.monotonic() - self.began_s - self.session_s

    def day(self, day: date, *, done: int, days: int) -> None:
        """Take no note."""

    @contextlib.contextmanager
    def apart(self, session: AbstractContextManager[Any]) -> Iterator[Any]:
        """Leave out what a session takes to start and to end."""
        entered = time.monotonic()
        with session as spark:
            self.session_s += time.monotonic() - entered
            yield spark
            entered = time.monotonic()
        self.session_s += time.monotonic() - entered


def ours(lake: Path, history: Path) -> dict[str, Any]:
    """Do the job as it is shipped: read the days that a history lacks, keep them, and fit all that is kept."""
    from heartbeat_tuner.fitting import job, session  # noqa: PLC0415 - the others run without Spark
    from heartbeat_tuner.fitting.reading_days import SparkDays  # noqa: PLC0415 - likewise

    every, fitted_at = _days(lake), datetime.now(UTC)
    clock = Clock()
    models: list[GroupModel] = []

    def estimated(rows: pa.Table) -> Sequence[GroupModel]:
        models.extend(model_estimate.models(rows, on=every[-1], fitted_at=fitted_at, job="bench"))
        return models

    days = SparkDays(lambda: clock.apart(session.session(_MASTER, log=lake.parent / "spark.log")), lambda _: None)
    report, rows = job.run(
        job.RunOrder(until=every[-1], since=timedelta(days=len(every)), now=fitted_at, job="bench"),
        job.RunParts(
            days=functools.partial(days.from_lake, str(lake), "main"),
            history=History(str(history)),
            estimate=estimated,
            write=None,
        ),
        clock,
    )
    assert report.status is ExitStatus.DONE, report
    return {
        "session_s": clock.session_s,
        "work_s": clock.stages["fit"],
        "history_s": clock.stages["history"],
        "read_s": clock.stages["read"] - clock.stages["history"],
        "fit_s": clock.stages["fit"] - clock.stages["read"],
        "days_read": len(report.reading.read),
        "history_rows": rows.num_rows,
        "models": len(models),
    }


def pandas(lake: Path, _history: Path) -> dict[str, Any]:
    """Hold all rows in memory, and fit SciPy's law to each group's top 1 %."""
    began = time.monotonic()
    import pandas as pd  # noqa: PLC0415 - only here
    from scipy import stats  # noqa: PLC0415 - likewise

    names = ["namespace", "group", "client", "quantity"]
    started = time.monotonic()
    frame = pd.read_parquet(lake, columns=[*names, "value_s"], read_dictionary=names)
    models = {}
    for key, values in frame.groupby(names, observed=True)["value_s"]:
        count = max(_LEAST_EXCEEDANCES, len(values) // 100)
        top = values.nlargest(count + 1).to_numpy()
        excess = top[:-1] - top[-1]
        models[key] = stats.genpareto.fit(excess[excess > 0], floc=0)
    done = time.monotonic()
    return {"before_s": started - began, "work_s": done - started, "models": len(models)}


def duckdb(lake: Path, _history: Path) -> dict[str, Any]:
    """Reduce with DuckDB to the same rows, and fit them as we do."""
    began = time.monotonic()
    rows, started, read = _duckdb_rows(lake)
    models = model_estimate.models(rows, on=max(_days(lake)), fitted_at=datetime.now(UTC), job="bench")
    done = time.monotonic()
    return {"before_s": started - began, "work_s": done - started, "read_s": read - started, "models": len(models)}


def same(lake: Path, history: Path) -> dict[str, Any]:
    """See that DuckDB's rows are those of our history."""
    rows, _, _ = _duckdb_rows(lake)
    stored = History(str(history))
    held = stored.read(stored.days()).rows.cast(contract.ROWS)
    assert contract.merged(rows).equals(contract.merged(held)), "DuckDB and Spark disagree"
    return {"rows": rows.num_rows}


def _duckdb_rows(lake: Path) -> tuple[pa.Table, float, float]:
    """Return DuckDB's rows of the contract, and when it began and ended to read."""
    import duckdb as engine  # noqa: PLC0415 - only here

    started = time.monotonic()
    with engine.connect(config={"threads": 2}) as connection:
        edges = [-1.0, *EDGES_S[1:].tolist()]
        connection.execute("CREATE MACRO edge(place) AS list_extract(" + repr(edges) + "::DOUBLE[], place + 1)")
        connection.read_parquet(f"{lake}/*/*.parquet").create_view("lake")
        connection.execute(_REDUCE)
        table: pa.Table = connection.sql(_ROWS).to_arrow_table()
    return table.cast(contract.ROWS), started, time.monotonic()


def _days(lake: Path) -> list[date]:
    return sorted(date.fromisoformat(path.name.removeprefix("dt=")) for path in lake.iterdir())


DESIGNS: Final[dict[str, Callable[[Path, Path], dict[str, Any]]]] = {
    "ours": ours,
    "pandas": pandas,
    "duckdb": duckdb,
    "same": same,
}


def main() -> None:
    """Run one design and print what it took."""
    parser = argparse.ArgumentParser(description="One design of the fit, measured.")
    parser.add_argument("design", choices=DESIGNS)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--history", type=Path, help="our history; a new and empty one if left out")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-fit-") as own:
        found = DESIGNS[asked.design](asked.lake, asked.history or Path(own))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
