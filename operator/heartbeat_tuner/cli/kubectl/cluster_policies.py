"""One policy of a cluster."""

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubectl.kubectl_program import KubectlProgram
from heartbeat_tuner.cli.kubectl.cluster_options import LONGEST, POLICIES
from heartbeat_tuner.cli.problems import UsageProblem
from heartbeat_tuner.cli.reporting import reported_policies
from heartbeat_tuner.cli.reporting.reported_policies import ReportedPolicy
from heartbeat_tuner.cli.wording import shown


def policy(kubectl: KubectlProgram, name: str) -> ReportedPolicy:
    """Return a policy.

    Raises:
        UsageProblem: it cannot be used.
        KubectlError: it is not there, or cannot be read.
    """
    views, problems = reported_policies.read(kubectl.objects(POLICIES, name), SystemClock().now())
    if problems:
        raise UsageProblem(shown(problems[0], LONGEST))
    return views[0]
