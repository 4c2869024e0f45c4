"""Three replicas, the fleet in shards, one API server: who leads which, and whether a write was its shard's."""

import contextlib
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Self

import yaml

from heartbeat_tuner.domain.shards import shard_of
from sandbox import audit
from sandbox.audit import Write
from sandbox.environment import OPERATOR_USERS, Sandbox
from sandbox.processes import wait_until
from sandbox.scenario import LEASE_NAMESPACE, LeaseTimes, Operator
from tests.e2e.operators import AUDIT_LAG_S, INTERVAL_S
from tests.e2e.teams import Team

SHARDS: Final = 3
USERS: Final = (*OPERATOR_USERS, "operator-c")
"""One for each of three replicas."""

LEASE: Final = timedelta(seconds=3)
TIMES: Final = LeaseTimes("3s", "2s", "500ms")

_NAME: Final = "heartbeat-tuner"
_LEASES: Final = [*(f"{_NAME}-shard-{number}" for number in range(SHARDS)), f"{_NAME}-shard-idle"]


class Fleet:
    """The replicas; a context manager, which gives the third one its rights, and all of them those to the leases."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._running = contextlib.ExitStack()
        self.replicas: dict[str, Operator] = {}

    def __enter__(self) -> Self:
        plane = self._sandbox.control_plane
        plane.kubectl("delete", "lease", "--all", f"--namespace={LEASE_NAMESPACE}")
        plane.kubectl("apply", "--filename=-", stdin=rights_manifest())
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()
        plane = self._sandbox.control_plane
        plane.kubectl("delete", "--filename=-", stdin=rights_manifest())
        plane.kubectl("delete", "lease", "--all", f"--namespace={LEASE_NAMESPACE}")

    def start(self, user: str, *, shards: int = SHARDS) -> Operator:
        """Start a replica."""
        operator = Operator(self._sandbox, interval_s=INTERVAL_S, user=user, lease_times=TIMES, shards=shards)
        self.replicas[user] = self._running.enter_context(operator)
        return operator

    def await_led(self, *counts: int, timeout_s: float = 60) -> None:
        """Wait until the replicas that live lead so many shards each, in any order."""

        def settled() -> bool:
            return sorted(replica.led() for replica in self.replicas.values() if replica.process.alive()) == sorted(
                counts
            )

        wait_until(settled, part="replicas", what=f"shards led: {counts}", timeout_s=timeout_s)

    def leaders(self) -> dict[int, str]:
        """Return who wrote each shard's lease last, by the API server's record."""
        return {
            number: write.user
            for write in self.writes()
            for number in range(SHARDS)
            if write.resource == "leases" and write.succeeded and lease_of(write) == _LEASES[number]
        }

    def writes(self, *, since: datetime | None = None) -> list[Write]:
        """Return what the replicas wrote, or tried to, in order."""
        time.sleep(AUDIT_LAG_S)
        found = audit.writes(self._sandbox.control_plane.audit_log, since=since)
        return sorted((write for write in found if write.user in USERS), key=lambda write: write.time)


def lease_of(write: Write) -> str:
    """Return the name of the lease that was written, also of one that was made."""
    return write.name or str(write.stored.get("metadata", {}).get("name", ""))


def strangers(writes: Sequence[Write], namespaces: Collection[str], *, shards: int = SHARDS) -> list[Write]:
    """Return successful writes about policies in these namespaces by who did not hold the lease of their shard then."""
    holders: dict[str, str] = {}
    found = []
    for write in writes:
        if not write.succeeded:
            continue
        if write.resource == "leases":
            spec = write.sent.get("spec", {})
            holders[lease_of(write)] = write.user if spec.get("holderIdentity") else ""
        elif write.namespace in namespaces:
            lease = f"{_NAME}-shard-{shard_of(write.namespace, shards)}" if shards > 1 else _NAME
            found += [] if holders.get(lease) == write.user else [write]
    return found


def renewals(writes: Sequence[Write], shard: int) -> list[tuple[datetime, str]]:
    """Return when and by whom a shard's lease was claimed or renewed."""
    return [
        (write.time, write.user)
        for write in writes
        if write.resource == "leases" and write.succeeded and lease_of(write) == _LEASES[shard]
    ]


def by_shard(sandbox: Sandbox, count: int) -> dict[int, list[Team]]:
    """Make namespaces with a policy each until every shard has so many; their Deployments are not there.

    Each change of such a policy is one status to write.
    """
    found: dict[int, list[Team]] = {number: [] for number in range(SHARDS)}
    while any(len(teams) < count for teams in found.values()):
        team = Team(sandbox, "sharded")
        teams = found[shard_of(team.namespace, SHARDS)]
        if len(teams) < count:
            team.create()
            team.apply_policy_spec()
            teams.append(team)
    return found


def rights_manifest() -> str:
    """Return what gives the third replica its rights, and all of them those to the leases of shards."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "shards", "namespace": LEASE_NAMESPACE},
        "rules": [
            {
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "resourceNames": _LEASES,
                "verbs": ["get", "update"],
            }
        ],
    }
    third = USERS[-1:]
    bindings = [
        _binding("RoleBinding", "shards", "Role", "shards", USERS),
        _binding("RoleBinding", "third", "Role", _NAME, third),
        _binding("ClusterRoleBinding", "third", "ClusterRole", _NAME, third),
    ]
    return yaml.safe_dump_all([role, *bindings])


def _binding(kind: str, name: str, role_kind: str, role: str, users: Sequence[str]) -> Mapping[str, Any]:
    metadata = {"name": name} | ({"namespace": LEASE_NAMESPACE} if kind == "RoleBinding" else {})
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "User", "name": user} for user in users],
    }
