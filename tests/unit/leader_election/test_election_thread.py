"""The election in its thread, beside a loop that does something else."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator

import pytest

from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError
from heartbeat_tuner.leader_election import election_thread
from heartbeat_tuner.leader_election.election_thread import ElectionThread
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.ports.leader_lease import Claim, Lease
from tests.support.electors import QUICK, FakeLeases, until

DEADLINE_S = QUICK.renew_deadline.total_seconds()


class Opened:
    """Leases in memory that take note of who opens and closes them."""

    def __init__(self) -> None:
        self.leases = FakeLeases()
        self.threads: list[threading.Thread] = []
        self.error: Exception | None = None

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[FakeLeases]:
        """Give the leases."""
        self.threads.append(threading.current_thread())
        if self.error is not None:
            raise self.error
        yield self.leases
        self.threads.append(threading.current_thread())


class Leader:
    """What the leader does, on the loop of the test.

    Attributes:
        begun: how often it has.
        under_way: how many times at once.
        may_end: it ends when that is set.
    """

    def __init__(self) -> None:
        self.begun = 0
        self.under_way = 0
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.stopped = asyncio.Event()
        self.thread: threading.Thread | None = None

    async def lead(self) -> None:
        """Go on until stopped or cancelled."""
        self.thread = threading.current_thread()
        self.begun += 1
        self.under_way += 1
        try:
            await self.stopped.wait()
        finally:
            await self.may_end.wait()
            self.under_way -= 1


@contextlib.asynccontextmanager
async def elected(opened: Opened) -> AsyncIterator[tuple[Elector, Leader]]:
    """Run an election whose leader leads; end it afterwards."""
    thread, leader = ElectionThread(opened.open()), Leader()
    async with asyncio.timeout(30), thread as leases:
        elector = Elector(leases, QUICK, identity="a")
        election = asyncio.create_task(thread.elect(elector, leader.lead, leader.stopped))
        await until(lambda: leader.under_way)
        yield elector, leader
        leader.may_end.set()
        leader.stopped.set()
        await election


async def test_a_loop_that_stands_still_keeps_the_lease() -> None:
    """Whatever the operator computes for longer than the deadline, it need not begin again."""
    opened = Opened()
    async with elected(opened) as (elector, leader):
        renewals = len(opened.leases.claims)
        time.sleep(2.5 * DEADLINE_S)  # noqa: ASYNC251 - that is what is tried
        assert elector.remaining_s() > 0
        assert len(opened.leases.claims) > renewals + 5
        await asyncio.sleep(0.1)
        assert (leader.begun, leader.under_way) == (1, 1)
    assert {claim.transitions for claim in opened.leases.claims} == {0}
    assert opened.leases.claims[-1].holder == ""


async def test_a_loss_that_a_standing_loop_does_not_see_closes_the_fence() -> None:
    """At once; what is led has ended before the lease is sought again."""
    opened = Opened()
    async with elected(opened) as (elector, leader):
        leader.may_end.clear()
        opened.leases.overwrite(Claim("b", QUICK.lease_duration, 1))
        time.sleep(DEADLINE_S / 2)  # noqa: ASYNC251 - likewise
        with pytest.raises(NotLeaderError):
            elector.remaining_s()
        opened.leases.overwrite(Claim("", QUICK.lease_duration, 1))
        await asyncio.sleep(5 * QUICK.retry_period.total_seconds())
        assert opened.leases.claims[-1].holder == ""
        assert leader.under_way == 1
        leader.may_end.set()
        await until(lambda: leader.begun == 2)
        assert leader.under_way == 1


async def test_the_lease_is_kept_until_what_is_led_has_ended() -> None:
    """Renewed, and given back afterwards."""
    opened = Opened()
    async with elected(opened) as (elector, leader):
        leader.may_end.clear()
        leader.stopped.set()
        await asyncio.sleep(2 * DEADLINE_S)
        assert elector.leads
        assert opened.leases.claims[-1].holder == "a"
    assert opened.leases.claims[-1].holder == ""


async def test_requests_are_made_in_the_thread_and_the_leader_leads_here() -> None:
    """Connections are of the loop that they were opened on; the thread ends with the block."""
    opened = Opened()
    async with elected(opened) as (_, leader):
        assert leader.thread is threading.current_thread()
    first, last = opened.threads
    assert first is last is not threading.current_thread()
    await asyncio.to_thread(first.join, 10)
    assert not first.is_alive()


async def test_what_cannot_be_opened_is_told() -> None:
    """As if it were opened here."""
    opened = Opened()
    opened.error = ApiServerError("no kubeconfig")
    with pytest.raises(ApiServerError, match="no kubeconfig"):
        async with ElectionThread(opened.open()):
            pass


class _Fatal(FakeLeases):
    """Leases on which the thread dies once it leads."""

    async def write(self, lease: Lease | None, claim: Claim) -> Lease:
        if self.claims:
            raise SystemExit(3)
        return await super().write(lease, claim)


async def test_a_thread_that_dies_ends_the_election_and_what_is_led() -> None:
    """Nobody believes to lead for longer than the last renewal says."""
    opened = Opened()
    opened.leases = _Fatal()
    thread, leader = ElectionThread(opened.open()), Leader()
    async with asyncio.timeout(30), thread as leases:
        elector = Elector(leases, QUICK, identity="a")
        with pytest.raises(RuntimeError, match="thread has ended"):
            await thread.elect(elector, leader.lead, leader.stopped)
        assert (leader.begun, leader.under_way) == (1, 0)
        await until(lambda: not elector.leads)
        with pytest.raises(NotLeaderError):
            elector.remaining_s()


async def test_a_thread_that_does_not_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process is not held up by it."""
    monkeypatch.setattr(election_thread, "ENDS_WITHIN_S", 0.05)
    may_end = threading.Event()

    @contextlib.asynccontextmanager
    async def stuck() -> AsyncIterator[None]:
        yield
        may_end.wait(10)

    thread, began_s = ElectionThread(stuck()), time.monotonic()
    async with thread:
        pass
    assert time.monotonic() - began_s < 5
    may_end.set()
    await asyncio.to_thread(thread._thread.join, 10)
