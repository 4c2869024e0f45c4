"""`kubectl heartbeat-tuner resume-fleet`: changes go on after a stop of the fleet."""

from typing import Any

import click

from heartbeat_tuner.adapters.kubernetes import stop_notes
from heartbeat_tuner.cli.kubectl import cluster_options
from heartbeat_tuner.cli.kubectl.cluster_options import LONGEST, MANAGER
from heartbeat_tuner.cli.wording import shown


@click.command("resume-fleet")
@click.option(
    "--lease", default="heartbeat-tuner", show_default=True, help="The operator's; with Helm, the release's name."
)
@click.option("--namespace", "-n", default="heartbeat-tuner", show_default=True, help="Of the operator.")
@cluster_options.cluster
def command(*, lease: str, **flags: Any) -> None:
    """Let changes go on after the operator, or a person, stopped all of them.

    It prints why they were stopped. Look into that first: `kubectl describe lease`.
    """
    kubectl = cluster_options.kubectl(**flags)
    (body,) = kubectl.objects("lease", lease)
    stop = stop_notes.note_of(body).stop
    if stop is None:
        click.echo("changes are not stopped")
        return
    kubectl.run("annotate", "lease", lease, "--overwrite", f"{stop_notes.STOPPED}={stop_notes.RESUMED}", MANAGER)
    where = f" in {', '.join(sorted(stop.namespaces))}" if stop.namespaces else ""
    click.echo(f"changes were stopped{shown(where, LONGEST)}: {shown(str(stop.message), LONGEST)}")
    click.echo("resumed; the operator goes on within a cycle")
