"""`heartbeat-tuner webhook`: gives new pods static ids."""

import asyncio
import gc
from pathlib import Path

import click

from heartbeat_tuner.adapters.kubernetes import kubernetes_events
from heartbeat_tuner.cli import json_lines
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.settings import webhook_settings
from heartbeat_tuner.webhook import app


@click.command("webhook")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Configuration file (YAML): address and certificate.",
)
def command(config: Path) -> None:
    """Run the webhook that sets static ids and values in new pods, until SIGTERM or SIGINT."""
    try:
        settings = webhook_settings.load(config)
        json_lines.configure()
        gc.freeze()  # else each full collection walks all that was imported, 50 ms in which no review is answered
        asyncio.run(app.run_webhook(settings))
    except TunerError as error:
        asyncio.run(kubernetes_events.tell_own_pod(str(error)))
        raise UsageProblem(str(error)) from error
