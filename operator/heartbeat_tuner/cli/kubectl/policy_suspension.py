"""What `pause` and `resume` write: the field `suspend` of policies."""

import json
from collections.abc import Sequence

import click

from heartbeat_tuner.adapters.kubectl.kubectl_program import KubectlProgram
from heartbeat_tuner.cli.kubectl.cluster_options import MANAGER, POLICIES
from heartbeat_tuner.cli.kubectl.cluster_policies import near_names
from heartbeat_tuner.cli.wording import shown


def suspend(kubectl: KubectlProgram, names: Sequence[str], *, suspended: bool) -> None:
    """Set the field, and say so.

    Args:
        kubectl: of the cluster and the namespace.
        names: of the policies.
        suspended: what to set.

    Raises:
        KubectlError: a policy is not there, or may not be written; those before it are.
    """
    patch = json.dumps({"spec": {"suspend": suspended}})
    for name in names:
        with near_names(kubectl, name):
            kubectl.run("patch", POLICIES, name, "--type=merge", f"--patch={patch}", MANAGER)
        click.echo(f"policy {shown(name)} {'paused' if suspended else 'resumed'}")
