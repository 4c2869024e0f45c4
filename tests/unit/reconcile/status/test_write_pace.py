"""How fast is written, by a clock that only waiting moves."""

import pytest

from heartbeat_tuner.domain.shards import Shard
from heartbeat_tuner.reconcile.status.write_pace import AT_ONCE, BURST, PER_S, WritePace

EVERYBODY = 10_000


class World:
    """A clock, and who waits by it.

    Attributes:
        now_s: the time.
    """

    def __init__(self) -> None:
        self.now_s = 0.0

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds

    def pace(self, per_s: float = PER_S) -> WritePace:
        """Return a pace by this clock."""
        return WritePace(per_s, lambda: self.now_s, self.sleep)


async def test_what_changes_in_an_ordinary_cycle_is_not_slowed() -> None:
    """A hundred of ten thousand policies."""
    world = World()
    pace = world.pace()
    for _ in range(BURST):
        await pace.turn()
    assert world.now_s == 0.0


async def test_everything_at_once_takes_no_longer_than_is_allowed() -> None:
    """No second sees many more writes than the pace, and the last one waits for less than half a minute."""
    world, sent_s = World(), list[float]()
    pace = world.pace()
    for _ in range(EVERYBODY):
        await pace.turn()
        sent_s.append(world.now_s)
    assert EVERYBODY / PER_S - 1 < world.now_s <= 30.0
    for second in range(30):
        assert sum(1 for at_s in sent_s if second <= at_s < second + 1) <= PER_S + BURST + 1


async def test_a_long_rest_is_worth_one_burst() -> None:
    """Not all that could have been written meanwhile."""
    world = World()
    pace = world.pace()
    world.now_s = 3600.0
    for _ in range(2 * BURST):
        await pace.turn()
    assert world.now_s > 3600.0 + 0.9 * BURST / PER_S


async def test_a_slow_api_server_is_not_slowed_further() -> None:
    """Where the writes under way take longer than the pace, nobody waits for it."""
    world = World()
    pace = world.pace()
    for _ in range(1_000):
        before_s = world.now_s
        await pace.turn()
        assert world.now_s == before_s
        world.now_s += 0.2 / AT_ONCE  # each takes 200 ms


async def test_shards_together_are_as_fast_as_one_leader() -> None:
    """The API server is one, however many leaders there are."""
    world = World()
    pace = world.pace(Shard(0, 4).per_s(PER_S))
    for _ in range(EVERYBODY // 4):
        await pace.turn()
    assert world.now_s == pytest.approx((EVERYBODY - 4 * BURST) / PER_S, rel=0.01)
