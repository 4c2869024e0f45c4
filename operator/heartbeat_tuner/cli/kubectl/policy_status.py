"""`kubectl heartbeat-tuner status`: policies as trees, once or until somebody ends it."""

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubectl.kubectl_program import KubectlError, KubectlProgram
from heartbeat_tuner.cli.kubectl import cluster_options, policy_tree, workload_selectors
from heartbeat_tuner.cli.kubectl.cluster_options import LONGEST, POLICIES
from heartbeat_tuner.cli.kubectl.policy_tree import SeenWorkload
from heartbeat_tuner.cli.reporting import reported_policies
from heartbeat_tuner.cli.wording import shown
from heartbeat_tuner.domain.policies import WorkloadRef

LOOK_EVERY_S: Final = 2.0
"""Between two looks of `status --watch`."""

_CLEAR: Final = "\x1b[H\x1b[J"


@click.command("status")
@click.argument("names", nargs=-1)
@click.option(
    "--watch",
    "-w",
    is_flag=True,
    help="Look every two seconds until Ctrl-C; elsewhere than on a terminal, print what changed.",
)
@cluster_options.any_namespace
def command(*, names: tuple[str, ...], watch: bool, everywhere: bool, **flags: Any) -> None:
    """Show policies as trees: values, workloads and their pods, a canary, the last change and its verdict.

    NAMES are policies; without one, all of the namespace. Pods are left out with --all-namespaces.
    """
    kubectl = cluster_options.kubectl(everywhere=everywhere, **flags)
    if not watch:
        click.echo(_status(kubectl, names, flags, everywhere=everywhere), nl=False)
        return
    with contextlib.suppress(KeyboardInterrupt):
        # A first look that fails is a wrong name or login: that ends it. Later it is an outage, which will pass.
        seen = text = _status(kubectl, names, flags, everywhere=everywhere)
        last = ""
        while True:
            if sys.stdout.isatty():
                click.echo(_CLEAR + text, nl=False)
            elif text != last:
                click.echo(text)
            last = text
            time.sleep(LOOK_EVERY_S)
            try:
                seen = text = _status(kubectl, names, flags, everywhere=everywhere)
            except KubectlError as error:
                why = shown(" ".join(str(error).split()), LONGEST)
                text = f"{seen}\nNot updated, retrying: {why}\n"


def _status(kubectl: KubectlProgram, names: Sequence[str], flags: Mapping[str, Any], *, everywhere: bool) -> str:
    """Return the trees of policies, and why others have none."""
    documents = kubectl.objects(POLICIES, *names)
    views, problems = reported_policies.read(documents, SystemClock().now())
    blocks = []
    for view in views:
        there = cluster_options.kubectl(**{**flags, "namespace": view.policy.key.namespace})
        refs = view.policy.workloads or (view.policy.workload,)
        node = policy_tree.tree(view, {ref: _seen(there, ref, pods=not everywhere) for ref in refs})
        blocks.append("\n".join(policy_tree.lines(node, ascii_only=not _draws())))
    blocks += [shown(problem, LONGEST) for problem in problems]
    return "\n\n".join(blocks or ["no policies found"]) + "\n"


def _seen(kubectl: KubectlProgram, ref: WorkloadRef, *, pods: bool) -> SeenWorkload:
    """Look at a workload, and at its pods if they are asked for."""
    try:
        bodies = kubectl.objects(ref.kind.lower(), ref.key.name, "--ignore-not-found")
        if not bodies or not pods:
            return SeenWorkload(bodies[0] if bodies else None)
        selector = workload_selectors.text(bodies[0]["spec"]["selector"])
        return SeenWorkload(bodies[0], kubectl.objects("pods", f"--selector={selector}"))
    except KubectlError as error:
        return SeenWorkload(problem=str(error))


def _draws() -> bool:
    """Whether lines of trees can be printed."""
    try:
        "└".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
