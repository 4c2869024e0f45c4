"""What the probes answer."""

from datetime import timedelta

import pytest

from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.shards import Shard
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.stored_policies import ListPage
from heartbeat_tuner.reconcile.liveness.health import Health, first_complaint
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from heartbeat_tuner.reconcile.relisting import Mending
from tests.support import manifests
from tests.support.electors import FakeLeases

HOURS = Timing(timedelta(hours=3), timedelta(hours=2), timedelta(hours=1))


class Replica:
    """A replica that can be made the leader, with a clock that stands."""

    def __init__(self, interval: timedelta = timedelta(seconds=60)) -> None:
        self.now_s = 1_000.0
        self.leases = FakeLeases()
        self.store = PolicyStore()
        self.elector = Elector(self.leases, HOURS, identity="a", monotonic=lambda: self.now_s)
        self.health = Health(self.elector, self.store, interval=interval, monotonic=lambda: self.now_s)

    async def become_leader(self) -> None:
        """Get the lease, as the start of a leadership does."""
        await self.elector._attempt()
        self.health.finished()


async def test_a_stuck_loop_fails_on_the_leader() -> None:
    """Three intervals without a finished cycle, counted from the last one or the beginning."""
    replica = Replica()
    replica.now_s += 10_000
    await replica.become_leader()
    replica.now_s += 179
    assert replica.health.unhealthy() == ""
    replica.now_s += 2
    assert replica.health.unhealthy() == "no cycle has finished for 181 s"
    replica.health.finished()
    assert replica.health.unhealthy() == ""


async def test_one_shard_that_is_stuck_is_enough() -> None:
    """However well the others do; the sentence says which one."""
    replica = Replica()
    await replica.become_leader()
    second = Health(
        replica.elector,
        replica.store,
        interval=timedelta(seconds=60),
        shard=Shard(1, 2),
        monotonic=lambda: replica.now_s,
    )
    parts = [replica.health.unhealthy, second.unhealthy]
    replica.now_s += 181
    replica.health.finished()
    assert first_complaint(parts) == "shard 1 of 2: no cycle has finished for 181 s"
    second.finished()
    assert first_complaint(parts) == ""


async def test_a_cycle_that_moves_is_alive_and_one_that_hangs_is_not() -> None:
    """However long the first one takes; three intervals without any progress are too many."""
    replica = Replica()
    await replica.become_leader()
    for _ in range(60):
        replica.now_s += 100
        assert replica.health.unhealthy() == ""
        replica.health.moved()
    replica.now_s += 181
    assert replica.health.unhealthy() == "no cycle has finished for 6181 s, and nothing has moved for 181 s"


async def test_cycles_that_only_fail_are_not_alive_though_they_move() -> None:
    """A surprise in one is borne; from the second on only a finished cycle counts."""
    replica = Replica()
    await replica.become_leader()
    replica.now_s += 500
    for answer in (True, False):
        replica.health.moved()
        replica.health.failed()
        replica.health.moved()
        assert (replica.health.unhealthy() == "") is answer
    replica.health.finished()
    replica.health.failed()
    replica.now_s += 181
    replica.health.moved()
    assert replica.health.unhealthy() == ""


async def test_a_short_interval_has_its_grace() -> None:
    """A cycle may wait for a slow Prometheus."""
    replica = Replica(interval=timedelta(seconds=1))
    await replica.become_leader()
    replica.now_s += 59
    assert replica.health.unhealthy() == ""
    replica.now_s += 2
    assert replica.health.unhealthy() != ""


def test_a_follower_runs_no_cycles() -> None:
    """And is well all the same."""
    replica = Replica()
    replica.now_s += 10_000
    assert replica.health.unhealthy() == ""


@pytest.mark.parametrize("leads", [False, True])
async def test_a_mute_watch_fails_on_any_replica(leads: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Two minutes after a list showed what it did not."""
    replica = Replica()
    if leads:
        await replica.become_leader()
    mending = Mending(replica.store)
    mending.take(ListPage([manifests.policy(resourceVersion="9")], 9))
    mending.finish(at_s=replica.now_s)
    replica.now_s += 119
    assert replica.health.unhealthy() == ""
    replica.now_s += 2
    assert replica.health.unhealthy() == "the watch has not shown for 121 s what a list did"


async def test_a_replica_is_ready_while_the_api_server_answers() -> None:
    """Leader or not, and whether or not a cycle has ended."""
    replica = Replica()
    replica.leases.error = ApiServerError("away")
    await replica.elector._attempt()
    assert replica.health.unready() == "the API server does not answer"
    replica.leases.error = None
    await replica.elector._attempt()
    assert replica.health.unready() == ""
    replica.now_s += HOURS.lease_duration.total_seconds() + 1
    assert replica.health.unready() != ""
