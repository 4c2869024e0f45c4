"""Two replicas of the operator before one API server: who leads, who wrote, and whether a status follows its spec."""

import contextlib
import time
from datetime import datetime
from typing import Final, Self

from sandbox import audit
from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.processes import wait_until
from sandbox.scenario import LeaseTimes, Operator
from tests.e2e.operators import AUDIT_LAG_S, INTERVAL_S
from tests.e2e.teams import Team

SHORT: Final = LeaseTimes("3s", "2s", "500ms")
LONG: Final = LeaseTimes("60s", "40s", "500ms")


class Replicas:
    """Two operators; the first reaches the API server through `api_url`, and leads at the beginning."""

    def __init__(self, sandbox: Sandbox, api_url: str) -> None:
        self._sandbox = sandbox
        self._api_url = api_url
        self._running = contextlib.ExitStack()
        self.both: list[Operator] = []

    def start(self, lease_times: LeaseTimes, *, interval_s: float = INTERVAL_S) -> Self:
        """Start both, the second one when the first leads."""
        for user, api_url in zip(OPERATOR_USERS, (self._api_url, None), strict=True):
            operator = Operator(
                self._sandbox, interval_s=interval_s, user=user, api_url=api_url, lease_times=lease_times
            )
            self.both.append(self._running.enter_context(operator))
            await_leader(self.both[0])
        return self

    def stop(self) -> None:
        """End both."""
        self._running.close()


def await_leader(operator: Operator, *, timeout_s: float = 30) -> float:
    """Wait until an operator leads; return how long that took."""
    began = time.monotonic()
    wait_until(operator.leads, part=operator.user, what="its leadership", timeout_s=timeout_s, poll_s=0.05)
    return time.monotonic() - began


def writes_without_lease(sandbox: Sandbox, *, since: datetime) -> list[audit.Write]:
    """Return what replicas wrote, successfully, while the lease was not theirs by the API server's own record."""
    holder, found = "", []
    done = sorted(audit.writes(sandbox.control_plane.audit_log), key=lambda write: write.time)
    for write in done:
        if write.user not in OPERATOR_USERS or write.code >= 300:
            continue
        if write.resource == "leases":
            holder = write.user
        elif write.user != holder and write.time >= since:
            found.append(write)
    return found


def writers(team: Team, *, since: datetime) -> set[str]:
    """Return which replicas wrote into the team's namespace."""
    time.sleep(AUDIT_LAG_S)
    found = audit.writes(team.sandbox.control_plane.audit_log, since=since)
    return {write.user for write in found if write.namespace == team.namespace} & set(OPERATOR_USERS)


def edit(team: Team, number: int) -> None:
    """Change the policy's spec, so that its status has to follow."""
    team.patch("cgp", team.name, {"spec": {"objective": {"maxDetectionTime": f"{number + 61}s"}}})


def await_status(team: Team, *, timeout_s: float = 30) -> None:
    """Wait until the policy's status has followed its spec."""
    wait_until(lambda: follows(team), part=team.name, what="a status that follows the spec", timeout_s=timeout_s)


def follows(team: Team) -> bool:
    """Whether the status is of the newest spec."""
    policy = team.policy(team.name)
    return bool(policy.get("status", {}).get("observedGeneration") == policy["metadata"]["generation"])
