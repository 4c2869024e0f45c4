"""`heartbeat-tuner fit`: weeks of history become models of every group.

What can be refused is refused before Spark is started, which takes seconds; and Spark is no part of the operator's
installation, so nothing of it is imported before it is known to be there.
"""

import importlib
import importlib.util
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import click

from heartbeat_tuner.api import names
from heartbeat_tuner.cli.fit_run.fit_order import KUBERNETES, FitOrder
from heartbeat_tuner.cli.group import prometheus_options
from heartbeat_tuner.cli.options import duration
from heartbeat_tuner.cli.problems import ExtraMissing, UsageProblem

NEEDED: Final = ("pyspark", "pyarrow", "pandas", "kubernetes", "aiohttp", "structlog")

_LONGEST: Final = timedelta(days=366)
_LONGEST_NAME: Final = 63
_EARLIEST: Final = date(1971, 1, 2)
"""The longest window that ends then begins with 1970."""


@click.command("fit", short_help="Fit models of all groups to weeks of history (needs Spark).")
@prometheus_options.optional
@click.option("--parquet", metavar="PATH", help="Read values from Parquet files instead of Prometheus.")
@click.option(
    "--history", metavar="PATH", required=True, help="Where to keep days: a folder, or s3://, gs://, hdfs://."
)
@click.option(
    "--models",
    metavar=f"{KUBERNETES}|DIR",
    help="Where to write models: ConsumerGroupModel objects, or a folder of JSON files.",
)
@click.option(
    "--since", type=duration, default="336h", show_default=True, help="How far to look back; whole days in UTC."
)
@click.option("--until", metavar="DAY", help="Last day, like 2026-11-20.  [default: the last whole day]")
@click.option("--cluster", default="", metavar="NAME", help="Name of this Kafka cluster in clusterRef of policies.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master, like spark://HOST:7077.")
@click.option("--backtest", is_flag=True, help="Report how well models of the older days predict the newer ones.")
@click.option("--output", "-o", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(  # noqa: PLR0913 - one parameter for each option
    *,
    url: str | None,
    parquet: str | None,
    history: str,
    models: str | None,
    since: timedelta,
    until: str | None,
    cluster: str,
    master: str,
    backtest: bool,
    namespaces: tuple[str, ...],
    output: str,
    **access: Any,
) -> None:
    """Read the days that the history lacks, keep them, and fit a model of every group to all days.

    With --backtest and without --models, only the history is written.

    Exit status: 0 on success, 1 if a day or a group failed (models are fitted to the rest), 2 if nothing could be
    done.
    """
    _check_ends(url, parquet, models, backtest=backtest)
    _suit(since, cluster)
    order = FitOrder(
        prometheus=None if url is None else prometheus_options.access(url=url, **access),
        parquet=parquet,
        history=history,
        models=models,
        since=since,
        until=_day(until),
        cluster=cluster,
        namespaces=namespaces,
        master=master,
        backtest=backtest,
        as_json=output == "json",
    )
    _find_spark()
    run = importlib.import_module("heartbeat_tuner.cli.fit_run.fit_job").run
    raise click.exceptions.Exit(run(order, datetime.now(UTC)))


def _check_ends(url: str | None, parquet: str | None, models: str | None, *, backtest: bool) -> None:
    """Refuse a run for which nobody says where values come from, or where models go."""
    if (url is None) == (parquet is None):
        raise UsageProblem("give --prometheus URL or --parquet PATH, and not both: that is where values come from")
    if models is None and not backtest:
        raise UsageProblem(f"give --models {KUBERNETES} or --models DIR: that is where models go; or --backtest")


def _suit(since: timedelta, cluster: str) -> None:
    """Refuse a window or a cluster that no fit can have."""
    if not timedelta(days=1) <= since <= _LONGEST:
        raise UsageProblem(f"--since: choose a time between 24h and {_LONGEST.days * 24}h; whole days are read")
    if cluster and (len(cluster) > _LONGEST_NAME or not re.fullmatch(names.WORD, cluster)):
        raise UsageProblem(
            f"--cluster: a clusterRef is a name of at most {_LONGEST_NAME} characters, which {names.NOT_A_WORD}"
        )


def _find_spark() -> None:
    """Refuse to go on where Spark, or what comes with it, is not installed."""
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        raise ExtraMissing("fit", "fit", lacking[0])


def _day(text: str | None) -> date | None:
    try:
        day = None if text is None else date.fromisoformat(text)
    except ValueError:
        raise UsageProblem(f"--until {text!r}: is no day; write one like 2026-11-20") from None
    if day is not None and day < _EARLIEST:
        raise UsageProblem(f"--until {text}: choose a day from {_EARLIEST} on; times are counted from 1970")
    return day
