"""`kubectl heartbeat-tuner revert`: a person takes the operator's last change back."""

import json
from collections.abc import Mapping
from typing import Any

import click

from heartbeat_tuner.adapters.kubectl.kubectl_program import KubectlProgram
from heartbeat_tuner.cli.kubectl import cluster_options, cluster_policies, group_revert_request, taking_back
from heartbeat_tuner.cli.kubectl.cluster_options import MANAGER
from heartbeat_tuner.cli.kubectl.taking_back import NothingToRevertError, TemplatePatch
from heartbeat_tuner.domain.policies import Application, WorkloadRef


@click.command("revert")
@click.argument("name", type=cluster_policies.NAMES)
@click.option("--dry-run", is_flag=True, help="Say what would be written; the API server checks it.")
@cluster_options.one_namespace
def command(*, name: str, dry_run: bool, **flags: Any) -> None:
    """Take the operator's last change out of a policy's workloads: they get the values before it.

    This is a person's word, and final: the operator writes no values to them until you edit objective, bounds, client
    or workloadRef of the policy. Pods roll out again.

    Where the last change was to a group of the consumer protocol, the operator writes what the group had at the broker
    before: the command asks it to, by an annotation of the policy, and nothing restarts.
    """
    kubectl = cluster_options.kubectl(**flags)
    policy = cluster_policies.policy(kubectl, name).policy
    write = group_revert_request.newest_write(policy)
    if write is not None:
        group_revert_request.ask(kubectl, policy, write, dry_run=dry_run)
        return
    patches, passed_over = _looked_up(kubectl, taking_back.last_change(policy))
    if not patches:
        raise NothingToRevertError(f"nothing is to be reverted: {'; '.join(passed_over)}")
    for why in passed_over:
        click.echo(why)
    for patch in patches:
        text = json.dumps(patch.patch)
        dry = ("--dry-run=server",) if dry_run else ()
        kind = patch.ref.kind.lower()
        kubectl.run("patch", kind, patch.ref.key.name, "--type=strategic", f"--patch={text}", MANAGER, *dry)
        for variable, (now, then) in patch.moved.items():
            after = "no entry" if then is None else taking_back.durations_or(then)
            click.echo(f"{patch.ref}: {variable} {taking_back.durations_or(now)} → {after}")
    click.echo("nothing was written (--dry-run)" if dry_run else "reverted; the operator leaves these values alone")
    ours = [command for patch in patches if (command := taking_back.giving_up(patch))]
    if ours and not dry_run:
        click.echo("before you edit the policy to have it write again, take your entries out: " + "; ".join(ours))


def _looked_up(
    kubectl: KubectlProgram, changes: Mapping[WorkloadRef, Application]
) -> tuple[list[TemplatePatch], list[str]]:
    """Return what takes a change out of its workloads, and why some need nothing: all are looked at before a write."""
    patches, passed_over = [], []
    for ref, application in changes.items():
        bodies = kubectl.objects(ref.kind.lower(), ref.key.name, "--ignore-not-found")
        patch = taking_back.template_patch(ref, application, bodies[0]) if bodies else f"{ref}: it is not there"
        if isinstance(patch, str):
            passed_over.append(patch)
        else:
            patches.append(patch)
    return patches, passed_over
