"""The election as it runs: looks at the lease, claims it, and leads while it holds.

`leadership` has the rules, this has the clock and the requests. Nothing that the API server does or fails to do ends
the loop; what was begun under a leadership has ended before the next one is sought.

Where the fleet is divided into shards there is an elector for each of them, and one more that stands above:
`candidates` puts them together.
"""

import asyncio
import contextlib
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

import structlog

from heartbeat_tuner.domain.errors import NotLeaderError, TunerError, WriteConflictError
from heartbeat_tuner.leader_election import leadership
from heartbeat_tuner.leader_election.claim_turns import ClaimTurns
from heartbeat_tuner.leader_election.leadership import Standing, Timing
from heartbeat_tuner.ports.leader_lease import Leases

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

_log = structlog.get_logger()


def new_identity() -> str:
    """Return a name for this process: the pod's, and a part that no other process ever has."""
    return f"{socket.gethostname()}_{secrets.token_hex(8)}"


class Elector:
    """One candidate; also the fence before its writes.

    Args:
        leases: the lease.
        timing: of the election.
        identity: ours; never used before, or one that several replicas share.
        monotonic: a clock in seconds that nobody sets.
        above: the elector under whose leadership alone this one may lead; None if there is none.
        turns: whose turn it is to take a lease that is free; None if everybody's.
        shared: whether the identity is shared: the lease is then others', too, and is never given back.
        about: what the log says with each line.
    """

    def __init__(
        self,
        leases: Leases,
        timing: Timing,
        *,
        identity: str,
        monotonic: Callable[[], float] = time.monotonic,
        above: "Elector | None" = None,
        turns: ClaimTurns | None = None,
        shared: bool = False,
        about: Mapping[str, str] = _NOTHING,
    ) -> None:
        self._leases = leases
        self._timing = timing
        self._identity = identity
        self._monotonic = monotonic
        self._above = above
        self._turns = turns
        self._shared = shared
        self._about = about
        self._unled_since: datetime | None = None
        self._free_since_s: float | None = None
        self._handing_over = False
        self._standing = Standing()
        self._answered_at_s = float("-inf")
        self._trouble = ""

    @property
    def leads(self) -> bool:
        """Whether we lead at this moment."""
        return self._standing.leads(self._monotonic()) and (self._above is None or self._above.leads)

    @property
    def unled_since(self) -> datetime | None:
        """When somebody led last before we did, by the clock of who did; None where the lease did not say."""
        return self._unled_since

    @property
    def keeps(self) -> bool:
        """Whether we lead, and are not about to hand that over."""
        return self.leads and not self._handing_over

    @property
    def in_touch(self) -> bool:
        """Whether the API server has answered within a lease's duration."""
        if self._above is not None:
            return self._above.in_touch
        return self._monotonic() - self._answered_at_s < self._timing.lease_duration.total_seconds()

    def remaining_s(self) -> float:
        """Return for how many seconds more writes are allowed; more than zero.

        Raises:
            NotLeaderError: we do not lead.
        """
        left_s = self._standing.leader_until_s - self._monotonic()
        if left_s <= 0:
            raise NotLeaderError("this replica does not lead any more")
        return left_s if self._above is None else min(left_s, self._above.remaining_s())

    def hand_over(self) -> None:
        """Give a leadership back as soon as what is led has ended, for another to take."""
        self._handing_over = self.leads

    async def run(self, lead: Callable[[], Awaitable[object]], stopped: asyncio.Event) -> None:
        """Seek the leadership until `stopped` is set; release it at the end.

        Args:
            lead: what to do while we lead. It is cancelled, and its end awaited, when the leadership is lost; it must
                end by itself soon after `stopped` is set, and the lease is kept until it has.
            stopped: set to end.
        """
        while not stopped.is_set():
            await self._attempt()
            if self.leads:
                await self._term(lead)
            if self._handing_over:
                await self._release()
                self._handing_over = False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), timeout=self._timing.retry_period.total_seconds())
        await self._release()

    async def _term(self, lead: Callable[[], Awaitable[object]]) -> None:
        """Lead until that ends or the leadership does."""
        _log.info("leadership acquired", identity=self._identity, **self._about)
        leading = asyncio.ensure_future(lead())
        try:
            while self.leads and not leading.done() and not self._handing_over:
                await asyncio.wait([leading], timeout=min(self._timing.retry_period.total_seconds(), self._left_s()))
                if not leading.done():
                    await self._attempt()
        finally:
            if not self.leads:
                self._standing = leadership.stood_down(self._standing)
                _log.info("leadership lost", identity=self._identity, holder=self._holder(), **self._about)
            leading.cancel()
            await asyncio.wait([leading])
        error = None if leading.cancelled() else leading.exception()
        if error is not None:
            _log.error("leading failed, trying again", exc_info=error)

    async def _attempt(self) -> None:
        """Look and claim once, as far as the lease allows; who leads waits for no turn."""
        async with contextlib.nullcontext() if self._turns is None or self.leads else self._turns.next:
            await self._try()

    async def _try(self) -> None:
        """Look and claim once; trouble is logged, and is over with the next attempt."""
        try:
            async with asyncio.timeout(min(self._timing.request_timeout.total_seconds(), self._left_s())):
                await self._claim()
        except TimeoutError:
            self._troubled("the API server did not answer in time")
        except TunerError as error:
            self._troubled(str(error))
        except Exception:  # noqa: BLE001 - a surprise may cost an attempt, never the election
            _log.exception("election attempt failed")
        else:
            self._trouble = ""

    async def _claim(self) -> None:
        if not self.leads or self._shared:
            before = self._standing.lease
            await self._look()
            if self._shared and self.leads and self._standing.lease != before:
                return  # another one has renewed it, for all who share it
        for _ in range(2):
            now_s = self._monotonic()
            claim = leadership.claim(self._standing, identity=self._identity, timing=self._timing, now_s=now_s)
            if claim is None:
                self._free_since_s = None
                return
            if self._leaves_to_others(now_s):
                return
            led, before = self.leads, self._standing.lease
            try:
                stored = await self._leases.write(before, claim)
            except WriteConflictError:
                await self._look()  # a write of ours whose answer was lost, somebody's label, or another holder
                if self._shared and self.leads:
                    return
                continue
            self._answered_at_s, self._free_since_s = self._monotonic(), None
            if not led:
                self._unled_since = None if before is None else before.renewed
            self._standing = leadership.granted(
                self._standing, stored, timing=self._timing, sent_at_s=now_s, answered_at_s=self._answered_at_s
            )
            return

    def _leaves_to_others(self, now_s: float) -> bool:
        """Whether a lease that could be taken is left for a while to replicas with less to do."""
        if self._turns is None or self._holder() == self._identity:
            return False
        if self._free_since_s is None:
            self._free_since_s = now_s
        return now_s - self._free_since_s < self._turns.hold_back_s()

    async def _look(self) -> None:
        holder, sent_at_s = self._holder(), self._monotonic()
        lease = await self._leases.read()
        self._answered_at_s = answered_at_s = self._monotonic()
        who, before = self._identity, self._standing
        self._standing = (
            leadership.seen_shared(
                before, lease, identity=who, timing=self._timing, sent_at_s=sent_at_s, answered_at_s=answered_at_s
            )
            if self._shared
            else leadership.seen(before, lease, identity=who, answered_at_s=answered_at_s)
        )
        if self._holder() not in {holder, "", self._identity}:
            _log.info("another replica leads", holder=self._holder(), **self._about)

    async def _release(self) -> None:
        """Give the lease back, so that another need not wait for its end; it runs out by itself where that fails."""
        claim = leadership.release(self._standing, identity=self._identity)
        if claim is None:
            return
        if self._shared:
            self._standing = leadership.stood_down(self._standing)
            return
        lease, self._standing = self._standing.lease, leadership.stood_down(self._standing)
        try:
            async with asyncio.timeout(self._timing.request_timeout.total_seconds()):
                await self._leases.write(lease, claim)
        except (TunerError, TimeoutError) as error:
            _log.warning("lease not released, it runs out by itself", error=str(error) or "no answer")
        else:
            _log.info("leadership released", identity=self._identity, **self._about)

    def _holder(self) -> str:
        return "" if self._standing.lease is None else self._standing.lease.holder

    def _left_s(self) -> float:
        """Return for how long an attempt may take: while we lead, not beyond the end of that."""
        left_s = self._standing.leader_until_s - self._monotonic()
        return left_s if left_s > 0 else float("inf")

    def _troubled(self, error: str) -> None:
        """Log trouble when it begins or changes, not with every attempt."""
        if error != self._trouble:
            _log.warning("lease not reached, trying again", error=error, **self._about)
            self._trouble = error
