"""What the reconciler needs from the outside world, as Protocols; `adapters` are the real ones, tests bring fakes.

Reading methods return values or raise a `TunerError`; a thing that does not exist is None. Writing methods carry the
`uid` and `resourceVersion` of what was gathered, so that a write that rests on a stale view is refused by the API
server. They also need the leadership: a `Fence` says how long it lasts.
"""

import dataclasses
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.evidence import Holdings, MissingWorkload, Workload
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, UnreadableGroup
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy
from heartbeat_tuner.membership.values import Remove, Slot, SlotPod, View, Write
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.models.group_model import Fitted, Unfitted, Unreadable


class NotLeaderError(TunerError):
    """Another replica may lead by now: nothing more is written, and nothing is reported."""


@dataclasses.dataclass(slots=True)
class Spent:
    """What a metrics source was asked and gave since it was made; who wants one cycle's part takes a difference.

    Attributes:
        requests: sent, with those that were sent again.
        samples: received.
    """

    requests: int = 0
    samples: int = 0


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

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups as their coordinators describe them; None for one that does not exist.

        Args:
            cluster: its name.
            group_ids: each of them once.
            within: what was not answered by then is not read in time; None for as long as a whole fleet may take.

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


class WorkloadViews(Protocol):
    """A view of workloads and their pods that is kept up to date, so that looking costs the API server nothing."""

    async def cover(self, policies: Sequence[Policy]) -> None:
        """Have the workloads of these policies in the view, as they are now, and no others."""
        ...

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return a covered policy's workload with what is set in it, or what is missing.

        Raises:
            ApiServerError: the view is out of touch.
        """
        ...


class Workloads(Protocol):
    """Workloads and their pods."""

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return the policy's workload with what is set in it now, or what is missing.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def apply(self, policy: Policy, workload: Workload, application: Application) -> None:
        """Write the application's values, and itself, into the workload by server-side apply, never forced.

        Raises:
            WriteConflictError: the workload changed since it was gathered.
            FieldOwnedError: another manager owns an entry.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        ...

    async def release(self, policy: Policy, *, empty: bool) -> Holdings | None:
        """Let go of entries of ours that somebody else has the value of, and of those without a value if `empty`.

        Returns:
            What was held before; None if there was nothing to let go of.

        Raises:
            WriteConflictError: the workload changed meanwhile.
            FieldOwnedError: another manager owns an entry that is ours.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list of all policies.

    Attributes:
        bodies: objects.
        version: the resource version of the list's moment: what is newer is not in it.
    """

    bodies: Sequence[Mapping[str, Any]]
    version: int


class Policies(Protocol):
    """The policies as the API server has them."""

    def list_all(self) -> AsyncGenerator[ListPage, None]:
        """Yield all policies of the cluster, page by page.

        Raises:
            ApiServerError: the API server did not answer, or could not give one moment's list.
        """
        ...

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
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        ...

    async def announce(
        self, body: Mapping[str, Any], *, reason: str, message: str, warning: bool, count: int = 1
    ) -> None:
        """Record a Kubernetes Event about the policy, or about `count` policies of its namespace.

        Raises:
            NotLeaderError: the leadership is over.
            TunerError: it is not written.
        """
        ...


class Models(Protocol):
    """The fitted models as the API server has them."""

    async def read(self, asked: Collection[tuple[str, str]] = ()) -> Sequence[Fitted | Unreadable] | Unfitted:
        """Return the models of the cluster; Unfitted if none may or can be read, until somebody changes that.

        Those of `asked`, the namespaces and groups of policies, are there; of others so many as the store keeps.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """What became of models that were to be written.

    Attributes:
        written: how many differed from what was there, and are there now.
        unchanged: how many said what was there already, whichever run fitted it.
        failed: a sentence for each failure; one that happened to a whole namespace is one.
        gone: a sentence for each namespace that is not there any more, which is no failure: its groups ended with it.
    """

    written: int
    unchanged: int
    failed: Sequence[str]
    gone: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """What a candidate writes into the lease; the times that people read are the adapter's to add.

    Attributes:
        holder: who holds it from now on; empty to give it back.
        duration: how long others must wait for its next change; whole seconds.
        transitions: how often the holder has changed.
    """

    holder: str
    duration: timedelta
    transitions: int


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """The lease as stored.

    Attributes:
        holder: who holds it; empty if nobody does.
        duration: what its holder promised; None if it says nothing.
        transitions: how often the holder has changed.
        body: the whole object, on which a write rests.
    """

    holder: str
    duration: timedelta | None
    transitions: int
    body: Mapping[str, Any]

    def is_same_as(self, other: "Lease | None") -> bool:
        """Whether nobody wrote it in between.

        By its version, not by its fields: a holder whose clock jumps may write the same time twice.
        """
        return other is not None and all(
            self.body["metadata"][key] == other.body["metadata"][key] for key in ("uid", "resourceVersion")
        )


class Leases(Protocol):
    """The one lease that the replicas compete for."""

    async def read(self) -> Lease | None:
        """Return the lease; None if it does not exist.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def write(self, lease: Lease | None, claim: Claim) -> Lease:
        """Replace what was read as `lease` by a claim, or create it; return it as stored.

        Raises:
            WriteConflictError: somebody wrote, created or deleted it since it was read.
            ApiServerError: anything else.
        """
        ...


class Slots(Protocol):
    """The slots of static ids: their Leases and their pods, seen through watches, and written one by one."""

    @property
    def as_of(self) -> datetime | None:
        """Up to when Leases and pods are complete; None while they are not known, or not kept up to date."""
        ...

    def leases(self, place: SlotPlace) -> Sequence[Slot]:
        """Return the slots that have a Lease."""
        ...

    def pods(self, place: SlotPlace) -> Sequence[SlotPod]:
        """Return the pods that have a slot, those that are gone among them."""
        ...

    async def look(self, place: SlotPlace, number: int) -> None:
        """See a Lease as it is now, whatever the watch brings later.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def write(self, place: SlotPlace, owner: Owner, write: Write) -> None:
        """Write a slot's whole record, if its Lease is what was read.

        Raises:
            WriteConflictError: somebody wrote, created or deleted it since.
            ApiServerError: anything else.
        """
        ...

    async def remove(self, place: SlotPlace, remove: Remove) -> None:
        """Delete a slot's Lease, if it is what was read.

        Raises:
            WriteConflictError: somebody wrote it since.
            ApiServerError: anything else.
        """
        ...

    async def refresh(self) -> None:
        """Bring `as_of` forward.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...


class SlotViews(Protocol):
    """The slots of static ids for who only looks."""

    async def read(self, places: Collection[SlotPlace]) -> Mapping[SlotPlace, View]:
        """Return slots and pods at these places as they are now; places without either are left out.

        Raises:
            ApiServerError: the API server did not answer, or refused.
        """
        ...


class SlotPods(Protocol):
    """Pods that wait for their slots, or have to go."""

    def gated(self) -> Mapping[SlotPlace, Sequence[SlotPod]]:
        """Return the pods that wait for their slots."""
        ...

    async def may_lift(self) -> bool:
        """Whether gates may be lifted and pods evicted, as far as rights go.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...

    async def lift(self, place: SlotPlace, pod: SlotPod) -> None:
        """Take the gate off a pod, if it is what was seen.

        Raises:
            WriteConflictError: it changed since.
            ApiServerError: anything else.
        """
        ...

    async def evict(self, place: SlotPlace, pod: SlotPod) -> None:
        """Have a pod replaced by its controller, if it is what was seen.

        Raises:
            WriteConflictError: it changed since.
            ApiServerError: anything else, a disruption budget's refusal too.
        """
        ...


class WorkloadSizes(Protocol):
    """How many pods a workload may have at a time."""

    async def size(self, deployment: ObjectKey) -> int:
        """Return a Deployment's replicas and surge, up to a bound; 0 where it does not exist.

        Raises:
            ApiServerError: the API server did not answer.
        """
        ...


class Fence(Protocol):
    """Whether this replica may write."""

    def remaining_s(self) -> float:
        """Return for how many seconds more writes are allowed; more than zero.

        Raises:
            NotLeaderError: not any more, or not yet.
        """
        ...


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        ...
