"""`heartbeat-tuner crds`: the CustomResourceDefinitions."""

import click

from heartbeat_tuner.api import crd


@click.command("crds")
def command() -> None:
    """Print the CustomResourceDefinitions, as checked in under crds/."""
    click.echo("---\n".join(crd.to_yaml(kind) for kind in crd.KINDS), nl=False)
