"""Whose turn it is to take a shard that is free, by clocks that the test sets."""

from collections.abc import Sequence
from datetime import timedelta

from heartbeat_tuner.leader_election import claim_turns
from heartbeat_tuner.leader_election.claim_turns import ClaimTurns
from heartbeat_tuner.leader_election.elector import Elector
from heartbeat_tuner.leader_election.leadership import Timing
from heartbeat_tuner.ports.leader_lease import Claim
from tests.support.electors import FakeLeases

TIMING = Timing(timedelta(seconds=15), timedelta(seconds=10), timedelta(seconds=2))
STEP_S = 6.0


class Replica:
    """One replica of three shards, whose clock stands until it is set."""

    def __init__(self, leases: Sequence[FakeLeases], identity: str) -> None:
        self.now_s = 100.0
        led = ClaimTurns(
            lambda: [elector for elector in self.electors if elector.leads], claim_turns.step(TIMING).total_seconds()
        )
        self.electors = [
            Elector(lease, TIMING, identity=identity, monotonic=lambda: self.now_s, turns=led) for lease in leases
        ]

    async def look(self, at_s: float = 0.0) -> list[bool]:
        """Have each elector try once at a moment; return which shards are led then."""
        self.now_s = 100.0 + at_s
        for elector in self.electors:
            await elector._attempt()
        return [elector.leads for elector in self.electors]


def leases() -> list[FakeLeases]:
    """Return the leases of three shards."""
    return [FakeLeases() for _ in range(3)]


async def test_who_leads_leaves_what_is_free_to_others_but_not_for_ever() -> None:
    """A step for each shard that is led: alone, one replica comes to lead all of them."""
    replica = Replica(leases(), "a")
    assert await replica.look() == [True, False, False]
    assert await replica.look(STEP_S - 0.1) == [True, False, False]
    assert await replica.look(STEP_S) == [True, True, False]
    assert await replica.look(2 * STEP_S - 0.1) == [True, True, False]
    assert await replica.look(2 * STEP_S) == [True, True, True]


async def test_replicas_that_start_together_lead_one_shard_each() -> None:
    """The second one to look finds the first shard taken, and takes the next."""
    shards = leases()
    replicas = [Replica(shards, name) for name in "abc"]
    assert [await replica.look() for replica in replicas] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]


async def test_an_idle_replica_takes_an_orphan_before_one_that_leads() -> None:
    """When the lease has run out, by each one's own clock; the other finds it taken."""
    shards = leases()
    for lease, holder in zip(shards, ("a", "dead", "c"), strict=True):
        lease.overwrite(Claim(holder, TIMING.lease_duration, 0))
    busy, idle = Replica(shards, "a"), Replica(shards, "idle")
    assert await busy.look() == [True, False, False]
    assert await idle.look(1) == [False, False, False]
    shards[2].overwrite(Claim("c", TIMING.lease_duration, 0))
    await busy.look(8)
    assert await busy.look(15) == [True, False, False]  # it has run out, and is left to others
    assert await idle.look(17) == [False, True, False]
    assert await busy.look(15 + STEP_S) == [True, False, False]
    assert shards[1].claims[-1].holder == "idle"


async def test_without_an_idle_replica_an_orphan_is_taken_after_the_lease_and_a_step() -> None:
    """No shard stays without a leader."""
    shards = leases()
    for lease, holder in zip(shards, ("a", "dead", "c"), strict=True):
        lease.overwrite(Claim(holder, timedelta(seconds=15 if holder == "dead" else 60), 0))
    replica = Replica(shards, "a")
    for at_s in (0, 8, 15, 20):
        assert await replica.look(at_s) == [True, False, False]
    assert await replica.look(15 + STEP_S) == [True, True, False]


async def test_a_lease_that_is_held_again_has_to_be_free_anew() -> None:
    """Time that it was left to others before does not count."""
    shards = leases()
    for lease, holder in zip(shards, ("a", "", "c"), strict=True):
        lease.overwrite(Claim(holder, timedelta(seconds=60), 0))
    replica = Replica(shards, "a")
    await replica.look()
    shards[1].overwrite(Claim("b", timedelta(seconds=60), 1))
    await replica.look(STEP_S - 1)
    shards[1].overwrite(Claim("", timedelta(seconds=1), 1))
    assert await replica.look(STEP_S) == [True, False, False]
    assert await replica.look(2 * STEP_S - 0.1) == [True, False, False]
    assert await replica.look(2 * STEP_S) == [True, True, False]


async def test_what_is_led_is_renewed_whoever_has_the_turn() -> None:
    """A hung look for another shard must not cost one that is led."""
    replica = Replica(leases(), "a")
    await replica.look()
    async with replica.electors[0]._turns.next:  # type: ignore[union-attr]
        replica.now_s += 9
        await replica.electors[0]._attempt()
    replica.now_s += 9
    assert replica.electors[0].leads
