"""The lease that replicas compete for, and the fence that says whether one of them may write."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol


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
        renewed: when its holder wrote it last, by its own clock; None where that cannot be read.
    """

    holder: str
    duration: timedelta | None
    transitions: int
    body: Mapping[str, Any]
    renewed: datetime | None = None

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


class Fence(Protocol):
    """Whether this replica may write."""

    def remaining_s(self) -> float:
        """Return for how many seconds more writes are allowed; more than zero.

        Raises:
            NotLeaderError: not any more, or not yet.
        """
        ...
