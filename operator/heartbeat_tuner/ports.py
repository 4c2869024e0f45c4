"""What the reconciler needs from the outside world, as Protocols; `adapters` are the real ones, tests bring fakes.

Reading methods return values or raise a `TunerError`; a thing that does not exist is None. Writing methods carry the
`uid` and `resourceVersion` of what was gathered, so that a write that rests on a stale view is refused by the API
server.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from heartbeat_tuner.domain.evidence import Cluster, Group, MissingWorkload, UnreadableGroup, Workload
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.metrics.samples import Series


class MetricsSource(Protocol):
    """A Prometheus, or anything that speaks its query API."""

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return the raw samples that a range selector selects at a time.

        Raises:
            MetricsUnavailableError: no answer, an error, or a partial answer; the message names the query.
        """
        ...


class Groups(Protocol):
    """Kafka clusters, by the names of the operator's configuration."""

    async def describe(self, cluster: str, group_ids: Sequence[str]) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups as their coordinators describe them; None for one that does not exist.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        ...

    async def cluster(self, cluster: str) -> Cluster:
        """Return the cluster's size and bounds.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        ...

    def configured(self, cluster: str) -> bool:
        """Whether the operator's configuration names this cluster."""
        ...


class Workloads(Protocol):
    """Workloads and their pods."""

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return the policy's workload with what is set in it now, or what is missing.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def apply(self, policy: Policy, workload: Workload, target: LivenessSettings) -> None:
        """Write `target` into the workload's env by server-side apply, never forced.

        Raises:
            WriteConflictError: the workload changed since it was gathered.
            FieldOwnedError: another manager owns an entry.
            ApiServerError: anything else.
        """
        ...


class Policies(Protocol):
    """The policies as the API server has them."""

    async def is_current(self, body: Mapping[str, Any]) -> bool:
        """Whether the policy is still there and still asks for what `body` asks for.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def write_status(self, body: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
        """Replace the status of the policy `body`; return the object as stored.

        Raises:
            WriteConflictError: the policy changed since `body` was read, or is gone.
            ApiServerError: anything else.
        """
        ...

    async def announce(self, body: Mapping[str, Any], *, reason: str, message: str, warning: bool) -> None:
        """Record a Kubernetes Event about the policy; an Event that cannot be written is not worth an error."""
        ...


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        ...
