"""`kubectl heartbeat-tuner revert`: a person takes the operator's last change back."""

import json
from typing import Any

import click

from heartbeat_tuner.cli.kubectl import cluster_options, cluster_policies, taking_back
from heartbeat_tuner.cli.kubectl.cluster_options import MANAGER


@click.command("revert")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Say what would be written; the API server checks it.")
@cluster_options.one_namespace
def command(*, name: str, dry_run: bool, **flags: Any) -> None:
    """Take the operator's last change out of a policy's workloads: they get the values before it.

    This is a person's word, and final: the operator writes no values to them until you edit objective, bounds, client
    or workloadRef of the policy. Pods roll out again.
    """
    kubectl = cluster_options.kubectl(**flags)
    view = cluster_policies.policy(kubectl, name)
    patches = []
    for ref, application in taking_back.last_change(view.policy).items():
        (workload,) = kubectl.objects(ref.kind.lower(), ref.key.name)
        patches.append(taking_back.template_patch(ref, application, workload))
    for patch in patches:
        text = json.dumps(patch.patch)
        dry = ("--dry-run=server",) if dry_run else ()
        kind = patch.ref.kind.lower()
        kubectl.run("patch", kind, patch.ref.key.name, "--type=strategic", f"--patch={text}", MANAGER, *dry)
        for variable, (now, then) in patch.moved.items():
            after = "no entry" if then is None else taking_back.durations_or(then)
            click.echo(f"{patch.ref}: {variable} {taking_back.durations_or(now)} → {after}")
    click.echo("nothing was written (--dry-run)" if dry_run else "reverted; the operator leaves these values alone")
