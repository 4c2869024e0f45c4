"""One policy of a cluster; if no policy has the name, the nearest name."""

import contextlib
import difflib
from collections.abc import Iterator
from typing import Final

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubectl.kubectl_program import KubectlError, KubectlProgram
from heartbeat_tuner.cli.kubectl.cluster_options import LONGEST, POLICIES
from heartbeat_tuner.cli.options import NeededText
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.reporting import reported_policies
from heartbeat_tuner.cli.reporting.reported_policies import ReportedPolicy
from heartbeat_tuner.cli.wording import shown

NAMES: Final = NeededText("Write names of policies; `kubectl get cgp` lists them.")
"""Of the policies that a command is about."""

_NOT_FOUND: Final = "(NotFound)"
"""In what kubectl prints of an object that is not there."""


@contextlib.contextmanager
def near_names(kubectl: KubectlProgram, name: str) -> Iterator[None]:
    """Add the nearest name of a policy to an error that there is none of this name.

    Args:
        kubectl: of the cluster and the namespace.
        name: that was typed.

    Raises:
        KubectlError: what is done within failed.
    """
    try:
        yield
    except KubectlError as error:
        if _NOT_FOUND not in str(error):
            raise
        known = [line.rpartition("/")[2] for line in kubectl.run("get", POLICIES, "--output=name").split()]
        near = difflib.get_close_matches(name, known, n=1)
        raise KubectlError(f"{error}; did you mean {near[0]}?" if near else str(error)) from error


def policy(kubectl: KubectlProgram, name: str) -> ReportedPolicy:
    """Return a policy.

    Raises:
        UsageProblem: it cannot be used.
        KubectlError: it is not there, or cannot be read.
    """
    with near_names(kubectl, name):
        bodies = kubectl.objects(POLICIES, name)
    views, problems = reported_policies.read(bodies, SystemClock().now())
    if problems:
        raise UsageProblem(shown(problems[0], LONGEST))
    return views[0]
