"""`kubectl heartbeat-tuner pause`."""

from typing import Any

import click

from heartbeat_tuner.cli.kubectl import cluster_options, policy_suspension
from heartbeat_tuner.cli.kubectl.cluster_policies import NAMES


@click.command("pause")
@click.argument("names", nargs=-1, required=True, type=NAMES)
@cluster_options.one_namespace
def command(*, names: tuple[str, ...], **flags: Any) -> None:
    """Suspend policies: the operator writes nothing, no revert either, and groups keep their values."""
    policy_suspension.suspend(cluster_options.kubectl(**flags), names, suspended=True)
