"""Puts a run of `fit` together: order in, exit status out. The one module of the command line that loads Spark."""

import functools
import json
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Final

import click
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.files.model_files import ModelFiles
from heartbeat_tuner.adapters.kubernetes import model_objects
from heartbeat_tuner.cli import json_lines
from heartbeat_tuner.cli.fit_run import backtest_output, fit_summary
from heartbeat_tuner.cli.fit_run.fit_order import KUBERNETES, FitOrder
from heartbeat_tuner.cli.fit_run.fit_progress import JsonLines, Terminal
from heartbeat_tuner.cli.group import prometheus_options
from heartbeat_tuner.cli.group.prometheus_options import PrometheusTarget
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.fitting import calendar_days, job, session, source
from heartbeat_tuner.fitting.history import History
from heartbeat_tuner.fitting.job import Days, RunOrder, RunParts
from heartbeat_tuner.fitting.models import backtest, model_estimate
from heartbeat_tuner.fitting.models.backtest_scores import Backtest
from heartbeat_tuner.fitting.outcome import DayFailure, FitOutcome
from heartbeat_tuner.fitting.prometheus.source_options import SourceOptions
from heartbeat_tuner.fitting.reading_days import Read, SparkDays
from heartbeat_tuner.models.group_model import GroupModel
from heartbeat_tuner.ports.stored_models import Written

PING: Final = "vector(1)"
"""What every Prometheus can answer, if we may ask it and its clock is ours."""


def run(order: FitOrder, now: datetime) -> int:
    """Carry an order out; return the exit status.

    Args:
        order: what was asked for.
        now: the time.

    Raises:
        UsageProblem: nothing could be done; it says why.
    """
    until = _last_day(order, now)
    json_lines.configure()
    teller = Terminal() if sys.stderr.isatty() else JsonLines()
    name = f"{socket.gethostname()}-{now:%Y%m%dT%H%M%SZ}"
    scratch = Path(tempfile.mkdtemp(prefix="heartbeat-tuner-"))
    log = scratch / "spark.log"
    days = SparkDays(functools.partial(session.session, order.master, log=log), teller.progress)
    try:
        session.check(order.master)  # before anything is read: it is a matter of a moment
        outcome, rows = job.run(
            RunOrder(until=until, since=order.since, now=now, job=name, namespaces=order.namespaces),
            RunParts(
                days=_source(order, days),
                history=History(order.history),
                estimate=functools.partial(model_estimate.models, on=until, fitted_at=now, job=name),
                write=_writer(order.models),
            ),
            teller,
        )
    except TunerError as error:
        raise UsageProblem(str(error)) from None
    finally:
        if days.broke:
            click.echo(f"Spark's own log is {log}", err=True)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    scored = _backtest(rows, required=order.models is None) if order.backtest and outcome.fitted.groups else None
    _report(order, outcome, scored, refused=days.refused)
    return int(outcome.status)


def _last_day(order: FitOrder, now: datetime) -> date:
    """Return the newest day of the run."""
    newest = calendar_days.newest_whole_day(now)
    until = order.until or newest
    if until > newest:
        raise UsageProblem(
            f"--until {until}: that day is not over, or over for less than {durations.show(calendar_days.SETTLING)}; "
            f"the newest that can be read whole is {newest}"
        )
    return until


def _report(order: FitOrder, outcome: FitOutcome, scored: Backtest | None, *, refused: int) -> None:
    """Print what came of a run, and of the backtest where there was one."""
    if order.as_json:
        document = {**fit_summary.document(outcome), "refusedValues": refused}
        if scored is not None:
            document["backtest"] = backtest_output.document(scored)
        click.echo(json.dumps(document, indent=2))
    else:
        blocks = [fit_summary.as_text(outcome, refused=refused)]
        if scored is not None:
            blocks.insert(0, backtest_output.as_text(scored))
        click.echo("\n".join(blocks), nl=False)


def _backtest(rows: pa.Table, *, required: bool) -> Backtest | None:
    """Return how well older days foretold newer ones; None where that cannot be told, and models were asked for too."""
    days = pc.unique(rows["day"]).to_pylist()
    known = calendar_days.last_known(days)
    if known is None:
        lacking = UsageProblem("--backtest: there is data of one day only, and it takes two; give a longer --since")
        if required:
            raise lacking
        lacking.show()
        return None
    return backtest.run(rows, fit_until=known)


def _source(order: FitOrder, days: SparkDays) -> Days:
    """Return what reads the days."""
    if order.parquet is not None:
        return functools.partial(days.from_lake, order.parquet, order.cluster)
    assert order.prometheus is not None  # noqa: S101 - the command sees to it
    settings = order.prometheus

    def day(spark: SparkSession, wanted_day: date) -> pa.Table | DayFailure:
        answer = source.read(spark, SourceOptions(settings, wanted_day, wanted_day, order.cluster, order.namespaces))
        return DayFailure(wanted_day, "; ".join(answer.failures[wanted_day])) if answer.failures else answer.table

    def read(missing: Sequence[date]) -> Read:
        """Ask Prometheus one small thing first: a wrong address is told at once, not after a day's patience."""
        now = SystemClock().now()
        prometheus_options.run(
            PrometheusTarget(settings, order.namespaces, order.since),
            lambda prometheus: prometheus.vector(PING, at=now),
        )
        return days.one_by_one(day, missing)

    return read


def _writer(where: str | None) -> Callable[[Sequence[GroupModel]], Written] | None:
    if where is None:
        return None
    return model_objects.write_to_cluster if where == KUBERNETES else ModelFiles(Path(where)).write
