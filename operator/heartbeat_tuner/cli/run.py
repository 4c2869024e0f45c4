"""`heartbeat-tuner run`: the operator."""

import asyncio
import logging
import sys
from pathlib import Path

import click
import structlog

from heartbeat_tuner import bootstrap, handlers
from heartbeat_tuner import settings as operator_settings
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.domain.errors import TunerError


@click.command("run")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The operator's configuration (YAML): Prometheus, Kafka clusters, interval.",
)
def command(config: Path) -> None:
    """Run the operator until SIGTERM or SIGINT."""
    _configure_logging()
    try:
        settings = operator_settings.load(config)
        asyncio.run(bootstrap.run_operator(settings, handlers.watch))
    except TunerError as error:
        raise UsageProblem(str(error)) from error


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
