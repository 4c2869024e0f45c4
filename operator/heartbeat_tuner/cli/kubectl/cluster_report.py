"""`kubectl heartbeat-tuner report`: a page of all groups that a cluster has policies or models of."""

from pathlib import Path
from typing import Any

import click

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.cli import report
from heartbeat_tuner.cli.kubectl import cluster_options
from heartbeat_tuner.cli.kubectl.cluster_options import MODELS, POLICIES
from heartbeat_tuner.cli.reporting import cluster_objects


@click.command("report")
@click.option("--json", "as_json", is_flag=True, help="Print the page's data instead.")
@click.option(
    "--output", "-o", type=report.OUTPUT, help="Where to write it; - is the standard output.  [default: report.html]"
)
@cluster_options.any_namespace
def command(*, as_json: bool, output: Path | None, **flags: Any) -> None:
    """Write a page of all groups with a policy or a model: what tuning saves, and what is at risk."""
    kubectl = cluster_options.kubectl(**flags)
    sources = cluster_objects.sources(kubectl.objects(f"{POLICIES},{MODELS}"), SystemClock().now())
    report.write(sources, ["policies and models of a cluster"], output, as_json=as_json)
