"""A lease in memory that refuses what the API server would, and times short enough for tests."""

import asyncio
from datetime import timedelta
from typing import Any

from heartbeat_tuner.domain.errors import TunerError, WriteConflictError
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.leader_lease import Claim, Lease

QUICK = Timing(timedelta(seconds=1), timedelta(milliseconds=600), timedelta(milliseconds=20))


class FakeLeases:
    """One lease; a write to another version than the stored one is refused.

    Args:
        latency_s: how long each request takes.

    Attributes:
        claims: what was written, in order.
        error: raised by every request while it is set.
        mute: requests get no answer while it is set.
    """

    def __init__(self, latency_s: float = 0.0) -> None:
        self.lease: Lease | None = None
        self.claims: list[Claim] = []
        self.error: TunerError | None = None
        self.mute = False
        self._latency_s = latency_s

    async def read(self) -> Lease | None:
        """Return the lease."""
        await self._reach()
        return self.lease

    async def write(self, lease: Lease | None, claim: Claim) -> Lease:
        """Store a claim."""
        await self._reach()
        if _version(lease) != _version(self.lease):
            raise WriteConflictError("the lease changed")
        return self.overwrite(claim)

    def overwrite(self, claim: Claim) -> Lease:
        """Store a claim whatever stands there."""
        self.claims.append(claim)
        metadata: dict[str, Any] = {"uid": "u", "resourceVersion": str(len(self.claims))}
        self.lease = Lease(claim.holder, claim.duration, claim.transitions, {"metadata": metadata})
        return self.lease

    async def _reach(self) -> None:
        await asyncio.sleep(self._latency_s)
        if self.mute:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error


def _version(lease: Lease | None) -> str | None:
    return None if lease is None else lease.body["metadata"]["resourceVersion"]


async def until(condition: Any, *, timeout_s: float = 20) -> None:
    """Wait until `condition()` is true."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - what is awaited has no event
            await asyncio.sleep(0.005)
