"""To ask the operator to take its last write into a group's configuration back.

A person need have no rights at the Kafka cluster: the operator, which wrote, writes again. The request is an annotation
of the policy with the time of that write.
"""

import click

from heartbeat_tuner.adapters.kubectl.kubectl_program import KubectlProgram
from heartbeat_tuner.api import group_config_notes
from heartbeat_tuner.cli.kubectl.cluster_options import LONGEST, MANAGER, POLICIES
from heartbeat_tuner.cli.kubectl.taking_back import NothingToRevertError
from heartbeat_tuner.cli.wording import shown
from heartbeat_tuner.domain.kafka_groups import GroupWrite
from heartbeat_tuner.domain.policies import Policy


def newest_write(policy: Policy) -> GroupWrite | None:
    """Return the last write into the group's configuration; None where the workload was written later, or only it."""
    write, application = policy.group_write, policy.application
    if write is None or (application is not None and application.at > write.at):
        return None
    return write


def ask(kubectl: KubectlProgram, policy: Policy, write: GroupWrite, *, dry_run: bool) -> None:
    """Annotate the policy, and say what the operator does then.

    Args:
        kubectl: of the cluster and the namespace.
        policy: whose group was written.
        write: the write that is to be taken back.
        dry_run: whether the API server only checks it.

    Raises:
        NothingToRevertError: the write was a revert itself.
        KubectlError: the policy may not be written.
    """
    if write.reverts is not None:
        at = group_config_notes.revert_time(write)
        raise NothingToRevertError(f"policy {policy.key}: the last write at the broker was a revert itself, at {at}")
    note = f"{group_config_notes.REVERT_ANNOTATION}={group_config_notes.revert_time(write)}"
    dry = ("--dry-run=server",) if dry_run else ()
    kubectl.run("annotate", POLICIES, policy.key.name, "--overwrite", note, MANAGER, *dry)
    click.echo(f"group {shown(write.group_id, LONGEST)} at the broker: {write.values} → {write.previous}")
    when = "once the policy is resumed (spec.suspend is true)" if policy.suspended else "within a cycle"
    asked = f"asked; the operator writes it {when}, and leaves the group alone then: see the condition Applied"
    click.echo("nothing was written (--dry-run)" if dry_run else asked)
