"""The election as it runs, on a lease in memory and on the loop's own clock."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.leader_lease import Claim
from tests.support.electors import QUICK, FakeLeases, until

pytestmark = pytest.mark.usefixtures("loop_clock")

LONG = timedelta(minutes=1)


class Work:
    """What the leader does: it goes on until stopped, and takes a moment to end."""

    def __init__(self, elector: Elector) -> None:
        self.elector = elector
        self.stopped = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.begun = 0
        self.under_way = 0
        self.error: Exception | None = None

    async def lead(self) -> None:
        """Work until stopped, and to a good end also when cancelled."""
        self.begun += 1
        self.under_way += 1
        try:
            if self.error is not None:
                raise self.error
            await self.stopped.wait()
        finally:
            await self.may_end.wait()
            self.under_way -= 1


@contextlib.asynccontextmanager
async def running(leases: FakeLeases, identity: str = "a") -> AsyncIterator[Work]:
    """Run a candidate; end it afterwards."""
    elector = Elector(leases, QUICK, identity=identity, monotonic=asyncio.get_running_loop().time)
    work = Work(elector)
    task = asyncio.create_task(elector.run(work.lead, work.stopped))
    try:
        yield work
    finally:
        work.stopped.set()
        work.may_end.set()
        async with asyncio.timeout(20):
            await task


async def test_it_leads_renews_and_gives_back() -> None:
    """One transition, and a lease of nobody at the end."""
    leases = FakeLeases()
    async with running(leases) as work:
        await until(lambda: len(leases.claims) > 3)
        assert work.elector.remaining_s() <= QUICK.renew_deadline.total_seconds()
        assert work.begun == 1
    assert {(claim.holder, claim.transitions) for claim in leases.claims[:-1]} == {("a", 0)}
    assert leases.claims[-1] == Claim("", timedelta(seconds=1), 0)
    assert not work.elector.leads


async def test_the_lease_is_kept_until_the_last_write_has_ended() -> None:
    """Given back earlier, another would write beside it; and it is renewed meanwhile."""
    leases = FakeLeases()
    async with running(leases) as work:
        await until(lambda: work.under_way)
        work.may_end.clear()
        work.stopped.set()
        renewals = len(leases.claims)
        await until(lambda: len(leases.claims) > renewals + 3)
        assert leases.claims[-1].holder == "a"
        assert work.elector.leads


async def test_who_lost_the_lease_ends_its_work_before_it_seeks_it_again() -> None:
    """A cycle of one leadership must not reach into the next."""
    leases = FakeLeases()
    async with running(leases) as work:
        await until(lambda: work.under_way)
        work.may_end.clear()
        leases.overwrite(Claim("b", LONG, 1))
        await until(lambda: not work.elector.leads)
        with pytest.raises(NotLeaderError):
            work.elector.remaining_s()
        leases.overwrite(Claim("", LONG, 1))
        await asyncio.sleep(5 * QUICK.retry_period.total_seconds())
        assert leases.lease is not None
        assert leases.lease.holder == ""
        work.may_end.set()
        await until(lambda: work.begun == 2)
    assert work.under_way == 0


@pytest.mark.parametrize("trouble", ["error", "mute"])
async def test_an_api_server_that_is_away_ends_the_leadership_and_not_the_election(trouble: str) -> None:
    """At the deadline, however requests fail; afterwards all is as before."""
    leases = FakeLeases()
    async with running(leases) as work:
        await until(lambda: work.elector.leads)
        assert work.elector.in_touch
        if trouble == "mute":
            leases.mute = True
        else:
            leases.error = ApiServerError("refused")
        await until(lambda: not work.elector.leads and not work.under_way)
        await until(lambda: not work.elector.in_touch)
        leases.mute, leases.error = False, None
        await until(lambda: work.begun == 2)
        assert work.elector.in_touch


async def test_a_write_whose_answer_was_lost_is_found_to_be_ours() -> None:
    """The version is another, the holder is not."""
    leases = FakeLeases()
    async with running(leases) as work:
        await until(lambda: work.elector.leads)
        leases.overwrite(Claim("a", QUICK.lease_duration, 0))
        renewals = len(leases.claims)
        await until(lambda: len(leases.claims) > renewals + 2)
        assert work.begun == 1


async def test_a_follower_waits_and_takes_over_what_is_given_back() -> None:
    """And never writes into a lease that is held."""
    leases = FakeLeases()
    leases.overwrite(Claim("b", LONG, 3))
    async with running(leases) as work:
        await asyncio.sleep(5 * QUICK.retry_period.total_seconds())
        assert len(leases.claims) == 1
        assert work.elector.in_touch
        leases.overwrite(Claim("", LONG, 3))
        await until(lambda: work.elector.leads)
        assert leases.claims[2] == Claim("a", QUICK.lease_duration, 4)


async def test_work_that_fails_is_tried_again() -> None:
    """A surprise must not leave a leader that does nothing, nor end the election."""
    leases = FakeLeases()
    async with running(leases) as work:
        work.error = RuntimeError("a surprise")
        await until(lambda: work.begun >= 2)
        work.error = None
        await until(lambda: work.under_way)


async def test_a_follower_that_ends_writes_nothing() -> None:
    """The lease is not its to give back."""
    leases = FakeLeases()
    leases.overwrite(Claim("b", LONG, 3))
    async with running(leases) as work:
        await until(lambda: work.elector.in_touch)
    assert len(leases.claims) == 1


async def test_an_elector_leads_only_under_the_one_above() -> None:
    """However lately its own lease was renewed: its fence closes with the first of the two."""
    now_s = 0.0
    timing = Timing(timedelta(seconds=15), timedelta(seconds=10), timedelta(seconds=2))
    above = Elector(FakeLeases(), timing, identity="3-shards", monotonic=lambda: now_s, shared=True)
    elector = Elector(FakeLeases(), timing, identity="a", monotonic=lambda: now_s, above=above)
    await above._attempt()
    now_s = 5.0
    await elector._attempt()
    now_s = 9.0
    assert (elector.leads, elector.remaining_s()) == (True, 1.0)
    now_s = 10.0
    assert not elector.leads
    with pytest.raises(NotLeaderError):
        elector.remaining_s()
    for _ in range(2):  # a leadership that ran out is not prolonged, but sought again
        await above._attempt()
    now_s = 11.0
    assert (elector.leads, elector.remaining_s()) == (True, 4.0)


async def test_replicas_that_share_a_lease_keep_each_other_leading() -> None:
    """A look that shows another's renewal is as good as one's own: nobody is in anybody's way."""
    now_s, leases = 0.0, FakeLeases()
    timing = Timing(timedelta(seconds=15), timedelta(seconds=10), timedelta(seconds=2))
    replicas = [Elector(leases, timing, identity="3-shards", monotonic=lambda: now_s, shared=True) for _ in range(3)]
    attempts = 0
    for now_s in [float(second) for second in range(0, 120, 2)]:  # noqa: B007 - the clock
        for replica in replicas:
            await replica._attempt()
            attempts += 1
            assert replica.leads
    assert 0 < len(leases.claims) <= attempts / 2
    leases.overwrite(Claim("4-shards", LONG, 9))
    for replica in replicas:
        await replica._attempt()
        assert not replica.leads
