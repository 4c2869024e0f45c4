"""`kubectl heartbeat-tuner explain`: why a policy's group gets these values."""

from typing import Any, Final

import click

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.cli import explain
from heartbeat_tuner.cli.kubectl import cluster_options, cluster_policies
from heartbeat_tuner.cli.kubectl.cluster_options import LONGEST, MODELS, POLICIES
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.reporting import cluster_objects, fleet_members
from heartbeat_tuner.cli.reporting.reported_policies import ReportedPolicy
from heartbeat_tuner.cli.wording import shown, wrapped
from heartbeat_tuner.domain.verdicts import headline

_INDENT: Final = "   "


@click.command("explain")
@click.argument("name", type=cluster_policies.NAMES)
@cluster_options.one_namespace
def command(*, name: str, **flags: Any) -> None:
    """Explain what the operator says of a policy's group, and what its fitted model says, with the numbers.

    From the policy's status and the models of the cluster. `heartbeat-tuner explain` asks a Prometheus.
    """
    kubectl = cluster_options.kubectl(**flags)
    with cluster_policies.near_names(kubectl, name):
        bodies = kubectl.objects(POLICIES, name)
    sources = cluster_objects.sources([*bodies, *kubectl.objects(MODELS)], SystemClock().now())
    if sources.problems:
        raise UsageProblem(shown(sources.problems[0], LONGEST))
    (view,) = sources.policies
    click.echo(said_by_operator(view), nl=False)
    case = fleet_members.member(sources, fleet_members.wanted(sources)[0]).case
    if case.is_known:
        click.echo(f"\nBy the fitted model:\n\n{explain.as_text(case)}", nl=False)
    elif view.status.verdict is None:
        raise click.exceptions.Exit(1)


def said_by_operator(view: ReportedPolicy) -> str:
    """Return what a status says, as lines: the verdict, what a model expects, and all conditions.

    Args:
        view: the policy and its status.
    """
    status = view.status
    verdict = "the operator has not decided yet"
    if status.verdict is not None:
        verdict = headline(status.verdict, status.reason)
    lines = [shown(f"{view.policy.key}, group {view.policy.group_id}: {verdict}", LONGEST)]
    reasons = [] if status.model is None else [status.model.message]
    reasons += [
        f"{condition.type}={condition.status} {condition.reason}: {condition.message}"
        for condition in status.conditions
    ]
    lines += [wrapped(shown(reason, LONGEST), _INDENT) for reason in reasons]
    return "\n".join(lines) + "\n"
