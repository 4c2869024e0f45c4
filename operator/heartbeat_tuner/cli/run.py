"""`heartbeat-tuner run`: the operator."""

import asyncio
import functools
import logging
from pathlib import Path

import click

from heartbeat_tuner import bootstrap, handlers
from heartbeat_tuner import settings as operator_settings
from heartbeat_tuner.adapters.kubernetes import kubernetes_events
from heartbeat_tuner.cli import json_lines
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.domain.errors import TunerError


@click.command("run")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Configuration file (YAML): Prometheus, Kafka clusters, interval.",
)
def command(config: Path) -> None:
    """Run the operator until SIGTERM or SIGINT."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")  # kopf speaks only of trouble
    json_lines.configure()
    try:
        settings = operator_settings.load(config)
        watch = functools.partial(handlers.watch, namespaces=settings.kubernetes.namespaces)
        asyncio.run(bootstrap.run_operator(settings, watch))
    except TunerError as error:
        asyncio.run(kubernetes_events.tell_own_pod(str(error)))
        raise UsageProblem(str(error)) from error
