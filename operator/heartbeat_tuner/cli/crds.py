"""`heartbeat-tuner crds`: the CustomResourceDefinition."""

import click

from heartbeat_tuner.api import crd


@click.command("crds")
def command() -> None:
    """Print the CustomResourceDefinition, as checked in under crds/."""
    click.echo(crd.to_yaml(), nl=False)
