"""The command line: `heartbeat-tuner run` (the operator) and `heartbeat-tuner crds` (its CustomResourceDefinition).

What a user can get wrong ends as one sentence and exit status 2, never as a traceback.
"""

import asyncio
import logging
import sys
from pathlib import Path

import click
import structlog

from heartbeat_tuner import __version__, bootstrap, handlers
from heartbeat_tuner import settings as operator_settings
from heartbeat_tuner.api import crd
from heartbeat_tuner.domain.errors import TunerError


class UsageProblem(click.ClickException):
    """Something the user can mend; shown as one sentence."""

    exit_code = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Tune the liveness settings of Kafka consumer groups from measured delays."""


@cli.command()
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The operator's configuration (YAML): Prometheus, Kafka clusters, interval.",
)
def run(config: Path) -> None:
    """Run the operator until SIGTERM or SIGINT."""
    _configure_logging()
    try:
        settings = operator_settings.load(config)
        asyncio.run(bootstrap.run_operator(settings, handlers.watch))
    except TunerError as error:
        raise UsageProblem(str(error)) from error


@cli.command()
def crds() -> None:
    """Print the CustomResourceDefinition, as checked in under crds/."""
    click.echo(crd.to_yaml(), nl=False)


def _configure_logging() -> None:
    """Write one JSON object per line to stderr; kopf speaks only of trouble."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
