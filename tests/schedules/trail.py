"""What the API server's audit log says about two replicas: who held the lease, and what each write rested on. Pure."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from sandbox.audit import Write
from sandbox.environment import OPERATOR_USERS

_FENCED = {("deployments", ""), ("consumergrouppolicies", "status")}
"""Resources and subresources whose writes name the version that they rest on; Events are new objects."""

_CONFLICT = 409


@dataclasses.dataclass(frozen=True)
class Trail:
    """All writes of one stretch of time.

    Attributes:
        holder: which replica had the lease when it began; empty for none.
        writes: in the order in which the API server received them, everyone's.
    """

    holder: str
    writes: Sequence[Write]

    @classmethod
    def of(cls, holder: str, writes: Sequence[Write]) -> "Trail":
        """Return the trail of writes in any order."""
        return cls(holder, sorted(writes, key=lambda write: write.time))

    @property
    def last_holder(self) -> str:
        """Which replica had the lease at the end, by the API server's record of it."""
        return [self.holder, *(holder for _, holder in self._with_holders())][-1]

    def claimed_since(self, user: str, moment: datetime) -> bool:
        """Whether a replica has claimed the lease, or renewed it, after a moment."""
        return any(
            write.time > moment for write in self._by_replicas() if (write.user, write.resource) == (user, "leases")
        )

    def changes(self) -> int:
        """Count how often the lease went from one replica to another, or to one that lives anew without its memory."""
        identities = [
            str(write.sent.get("spec", {}).get("holderIdentity") or "")
            for write in self._by_replicas()
            if write.resource == "leases"
        ]
        held = [one for one in identities if one]
        return sum(1 for before, after in itertools.pairwise(held) if before != after)

    def without_lease(self) -> list[Write]:
        """Return what replicas wrote while the lease was not theirs."""
        return [write for write, holder in self._with_holders() if write.resource != "leases" and write.user != holder]

    def stale(self) -> list[Write]:
        """Return the replicas' writes that do not rest on the newest version of the very object they went to."""
        versions: dict[tuple[str, str, str], set[int]] = {}
        for write in self.writes:
            if write.succeeded and write.stored.get("metadata", {}).get("resourceVersion"):
                versions.setdefault(_object(write), set()).add(int(write.stored["metadata"]["resourceVersion"]))
        return [
            write
            for write in self._by_replicas()
            if (write.resource, write.subresource) in _FENCED and not _is_fresh(write, versions[_object(write)])
        ]

    def applies(self) -> Counter[tuple[str, str]]:
        """Count the replicas' successful writes to each Deployment, by namespace and name."""
        return Counter((write.namespace, write.name) for write in self._applies())

    def refused(self) -> int:
        """Count the replicas' writes to Deployments that met another version."""
        return sum(
            1
            for write in self.writes
            if write.user in OPERATOR_USERS and write.resource == "deployments" and write.code == _CONFLICT
        )

    def applied_between(self) -> tuple[datetime, datetime]:
        """Return when the first and the last value was applied; at least one was."""
        times = [write.time for write in self._applies()]
        return times[0], times[-1]

    def _applies(self) -> Iterator[Write]:
        return (write for write in self._by_replicas() if write.resource == "deployments")

    def _by_replicas(self) -> Iterator[Write]:
        return (write for write in self.writes if write.user in OPERATOR_USERS and write.succeeded)

    def _with_holders(self) -> Iterator[tuple[Write, str]]:
        holder = self.holder
        for write in self._by_replicas():
            if write.resource == "leases":
                holder = write.user if write.sent["spec"].get("holderIdentity") else ""
            yield write, holder


def _object(write: Write) -> tuple[str, str, str]:
    return write.resource, write.namespace, write.name


def _is_fresh(write: Write, versions: set[int]) -> bool:
    """Whether a write named the object's uid and its version, and no other version lies between that and its own."""
    asked, stored = write.sent.get("metadata", {}), write.stored["metadata"]
    if asked.get("uid") != stored["uid"] or not asked.get("resourceVersion"):
        return False
    return not any(int(asked["resourceVersion"]) < one < int(stored["resourceVersion"]) for one in versions)
