"""The operator under test: shared by tests that ask for the same one, and never two at a time."""

import re
import time
from typing import Final

from sandbox.environment import Sandbox
from sandbox.processes import wait_until
from sandbox.scenario import Operator

INTERVAL_S: Final = 1.0
GRANTS: Final = ({"namespaces": ("*",), "groups": ("static-consumer-python-*", "static-classic-python-*")},)
"""librdkafka cannot choose the address that it connects from: the broker does not see its members at their pods."""

AUDIT_LAG_S: Final = 1.0
"""The API server's audit log is written a moment after the answer."""

_CYCLES: Final = re.compile(r"^heartbeat_tuner_cycle_duration_seconds_count (\S+)$", re.MULTILINE)


class Operators:
    """Starts operators; a new one ends the one before, since only one of two would act."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._now: Operator | None = None
        self._told: tuple[str | None, str | None] = (None, None)

    def get(self, *, prometheus_url: str | None = None, bootstrap: str | None = None) -> Operator:
        """Return a running operator that is told this; the one that runs if it was told the same."""
        if self._now is None or self._told != (prometheus_url, bootstrap) or not self._now.process.alive():
            self.stop()
            operator = Operator(
                self._sandbox,
                interval_s=INTERVAL_S,
                prometheus_url=prometheus_url,
                bootstrap=bootstrap,
                grants=GRANTS,
            )
            self._now, self._told = operator.__enter__(), (prometheus_url, bootstrap)  # `stop` ends it
            wait_until(operator.leads, part="operator", what="its leadership", process=operator.process)
        return self._now

    def stop(self) -> None:
        """End the operator that runs, if any."""
        if self._now is not None:
            self._now.process.stop()
            self._now = None


def await_no_policies(sandbox: Sandbox) -> None:
    """Wait until no policy of another test is left, for a test that counts or shares: nobody awaited their end."""
    policies = ("get", "consumergrouppolicies", "--all-namespaces", "--output=name")
    kubectl = sandbox.control_plane.kubectl
    what = "the end of other tests' policies"
    wait_until(lambda: kubectl(*policies) == "", part="api server", what=what, timeout_s=120)


def cycles(operator: Operator) -> int:
    """Return how many cycles it has finished."""
    found = _CYCLES.search(operator.page("/metrics"))
    return int(float(found[1])) if found else 0


def await_cycles(operator: Operator, count: int, *, timeout_s: float = 90) -> None:
    """Wait until it has finished so many cycles more, and the audit log tells of them."""
    goal = cycles(operator) + count
    wait_until(
        lambda: cycles(operator) >= goal,
        part="operator",
        what=f"{count} more cycles",
        timeout_s=timeout_s,
        process=operator.process,
        poll_s=0.2,
    )
    time.sleep(AUDIT_LAG_S)
