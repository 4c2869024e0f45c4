"""Two replicas of the operator, each behind a bad wire and a proxy that can hold single requests, both its own.

What they work on is a storm that is not cured however often it is: a quota leaves no room for new pods, so the old ones
live on with the values that they had, and what was written is taken out again.
"""

import contextlib
import dataclasses
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Self

from heartbeat_tuner.api import applied
from heartbeat_tuner.clients import kafkajs
from sandbox import audit
from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.proxy import FaultProxy
from sandbox.request_proxy import RequestProxy
from sandbox.scenario import LEASE_NAMESPACE, Operator
from tests.e2e.replicas import SHORT
from tests.e2e.teams import Team

STEERED_INTERVAL_S: Final = 0.5
CURE: Final = {"KAFKA_SESSION_TIMEOUT_MS": "30000"}
"""What an apply writes, among others."""


@dataclasses.dataclass(frozen=True)
class Replica:
    """One replica, its wire (TCP) and its requests (HTTP), in this order on the way to the API server."""

    operator: Operator
    wire: FaultProxy
    requests: RequestProxy

    def tracebacks(self) -> list[str]:
        """Return the lines of its log that hold a traceback."""
        return [line for line in self.operator.log.read_text().splitlines() if "Traceback" in line]


class Pair:
    """Two replicas; a context manager.

    Args:
        sandbox: where they work.
        prometheus_url: where they read metrics; None is the sandbox's own.
        grants: which groups policies may name without a member in their workloads' pods.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        prometheus_url: str | None = None,
        grants: Sequence[Mapping[str, Sequence[str]]] = (),
    ) -> None:
        self._sandbox = sandbox
        self._prometheus_url = prometheus_url
        self._grants = grants
        self._running = contextlib.ExitStack()
        self.both: list[Replica] = []

    def __enter__(self) -> Self:
        plane = self._sandbox.control_plane
        plane.kubectl("delete", "lease", "--all", f"--namespace={LEASE_NAMESPACE}")
        with contextlib.ExitStack() as starting:
            for user in OPERATOR_USERS:
                requests = starting.enter_context(RequestProxy(plane.url, plane.ca_file))
                wire = starting.enter_context(FaultProxy(LOOPBACK, requests.port))
                operator = Operator(
                    self._sandbox,
                    interval_s=STEERED_INTERVAL_S,
                    user=user,
                    api_url=f"http://{LOOPBACK}:{wire.port}",
                    lease_times=SHORT,
                    prometheus_url=self._prometheus_url,
                    grants=self._grants,
                )
                self.both.append(Replica(starting.enter_context(operator), wire, requests))
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for item in self.both:
            item.wire.heal()
        self._running.close()

    def roles(self) -> tuple[Replica, Replica]:
        """Repair everything that was done to them, and return who leads and who does not."""
        for item in self.both:
            item.wire.heal()
            item.requests.heal()
            if not item.operator.process.alive():
                item.operator.__enter__()  # `stop` of its process, registered when it was first started, ends it
            item.operator.process.resume()
        wait_until(self._settled, part="operators", what="one leader and one follower", timeout_s=60)
        first, second = self.both
        return (first, second) if first.operator.leads() else (second, first)

    def await_leader(self) -> Replica:
        """Wait until one of them leads, and return it."""
        found: list[Replica] = []

        def led() -> bool:
            found[:] = [item for item in self.both if item.operator.leads()]
            return len(found) == 1

        wait_until(led, part="operators", what="a leader", timeout_s=60)
        return found[0]

    def _settled(self) -> bool:
        leading = [item.operator.leads() for item in self.both]
        return sorted(leading) == [False, True] and all(item.operator.answers("/readyz") for item in self.both)


@contextlib.contextmanager
def frozen(team: Team) -> Iterator[Team]:
    """Leave the team no room for new pods, so that no apply reaches any; afterwards take out what was applied."""
    in_namespace = f"--namespace={team.namespace}"
    team.kubectl("create", "quota", "full", f"--hard=pods={len(team.pods())}", in_namespace)
    wait_until(
        lambda: "used" in team.get("resourcequotas", "full").get("status", {}),
        part=team.name,
        what="its quota",
        timeout_s=30,
    )
    try:
        yield team
    finally:
        team.kubectl("delete", "cgp", "--all", f"--namespace={team.namespace}")
        take_out(team)
        team.await_available(team.name)
        team.kubectl("delete", "quota", "full", in_namespace)


def take_out(team: Team) -> None:
    """Take out of the Deployment what the operator wrote, as the installation page says how."""
    of_team = (f"deployment/{team.name}", f"--namespace={team.namespace}")
    team.kubectl("set", "env", *of_team, *(f"{name}-" for name in kafkajs.KAFKAJS.env_preset.values()))
    team.kubectl("annotate", *of_team, f"{applied.ANNOTATION}-")


def recommend(team: Team) -> None:
    """Give the team a policy, and wait until only its mode is between it and an apply."""
    team.apply_policy(team.name, mode="Recommend")
    team.await_condition("Recommended", "CadenceExceedsSession", status="True", timeout_s=120)


def switch_to_apply(team: Team) -> None:
    """Ask for what is recommended."""
    team.patch("cgp", team.name, {"spec": {"mode": "Apply"}})


def await_applied(team: Team, *, timeout_s: float = 60) -> None:
    """Wait until the status says what was applied."""
    wait_until(
        lambda: "applied" in team.status(), part=team.name, what="status.applied", timeout_s=timeout_s, poll_s=0.3
    )


def applies(team: Team, *, since: datetime) -> list[tuple[str, int]]:
    """Return user and HTTP status of each try to write the team's Deployment by one of the replicas."""
    done = audit.writes(team.sandbox.control_plane.audit_log, since=since)
    return [
        (write.user, write.code)
        for write in done
        if (write.namespace, write.resource) == (team.namespace, "deployments") and write.user in OPERATOR_USERS
    ]


def policy_path(team: Team) -> str:
    """Return what matches the path of the last look at the team's policy before an apply."""
    return rf"/namespaces/{re.escape(team.namespace)}/consumergrouppolicies/{re.escape(team.name)}$"


def status_path(team: Team) -> str:
    """Return what matches the path of writing the team's status."""
    return rf"/namespaces/{re.escape(team.namespace)}/consumergrouppolicies/{re.escape(team.name)}/status"


def deployment_path(team: Team) -> str:
    """Return what matches the path of the team's Deployment."""
    return rf"/namespaces/{re.escape(team.namespace)}/deployments/"


def await_unready(replica: Replica) -> None:
    """Wait until a replica says that it could not lead; it is alive all the same."""
    operator = replica.operator
    wait_until(lambda: not operator.answers("/readyz"), part=operator.user, what="being unready", timeout_s=60)
    assert operator.answers("/healthz")


def requests_per_s(replica: Replica, *, for_s: float) -> float:
    """Return how many requests it makes."""
    already = len(replica.requests.asked)
    time.sleep(for_s)
    return (len(replica.requests.asked) - already) / for_s
