"""Which descriptions have a follow-up, when it is due, and how many of them there are."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.metrics.group_events.process_ids import BRIEF
from heartbeat_tuner.reconcile.gather.looks import Look
from heartbeat_tuner.reconcile.group_watch import follow_ups
from heartbeat_tuner.reconcile.group_watch.follow_ups import AFTER_S, LATEST_S, FollowUp, FollowUps
from tests.support import worlds
from tests.support.worlds import NOW

PODS = worlds.pods(2)
BOTH = worlds.group([worlds.member(pod) for pod in PODS])
FEWER = worlds.group([worlds.member(PODS[0])])
UNREADABLE = UnreadableGroup("no answer from its coordinator")
MANY = [f"g{number}" for number in range(1_000)]


class Waiting:
    """Follow-ups of a cluster whose clock passes while they wait."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s: list[float] = []
        self.of_cluster = FollowUps(lambda: self.now_s)

    async def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        self.slept_s.append(seconds)
        self.now_s += seconds

    async def due(self) -> FollowUp | None:
        """Return the next follow-up; None where nothing waits."""
        try:
            return await asyncio.wait_for(self.of_cluster.due(self.sleep), 0.02)
        except TimeoutError:
            return None

    def want(self, *group_ids: str, again: int = 0, looks_a_minute: int = 4_000) -> None:
        """Have groups described again."""
        self.of_cluster.want(group_ids, again=again, looks_a_minute=looks_a_minute)


def look(group: Group | UnreadableGroup | None) -> Look:
    """Return a description."""
    return Look(group, NOW, 0.0)


@pytest.mark.parametrize(
    ("before", "now", "wanted"),
    [
        (BOTH, FEWER, True),
        (BOTH, None, True),
        (BOTH, BOTH, False),
        (FEWER, BOTH, False),
        (None, FEWER, False),
        (UNREADABLE, FEWER, False),
        (BOTH, UNREADABLE, False),
    ],
)
def test_a_member_that_is_gone_has_its_group_described_again(
    before: Group | UnreadableGroup | None, now: Group | UnreadableGroup | None, *, wanted: bool
) -> None:
    """What was not described says nothing of members."""
    assert follow_ups.is_wanted(look(before), look(now)) is wanted
    assert not follow_ups.is_wanted(None, look(now))


async def test_a_follow_up_is_due_half_a_second_after_the_description() -> None:
    """However late somebody asks what is due; each has its own time."""
    waiting = Waiting()
    waiting.want("a")
    waiting.now_s += 0.3
    waiting.want("b", "c")
    assert await waiting.due() == FollowUp(("a",), 1)
    assert waiting.now_s == pytest.approx(100.0 + AFTER_S)
    assert await waiting.due() == FollowUp(("b", "c"), 1)
    assert waiting.now_s == pytest.approx(100.3 + AFTER_S)
    assert await waiting.due() is None


async def test_a_follow_up_that_is_late_is_left_out() -> None:
    """It would show nothing that a regular description does not show."""
    waiting = Waiting()
    waiting.want("late")
    waiting.now_s += 0.1
    waiting.want("soon")
    waiting.now_s += LATEST_S - 0.1
    assert await waiting.due() == FollowUp(("soon",), 1)
    assert await waiting.due() is None


@pytest.mark.parametrize(("looks_a_minute", "most"), [(4_000, (10, 5)), (1_000, (2, 1))])
async def test_a_round_has_few_groups(looks_a_minute: int, most: Sequence[int]) -> None:
    """A rollout of a thousand groups, or an outage, does not double the descriptions."""
    for again, count in enumerate(most):
        waiting = Waiting()
        waiting.want(*MANY, again=again, looks_a_minute=looks_a_minute)
        assert await waiting.due() == FollowUp(tuple(MANY[:count]), again + 1)
        assert await waiting.due() is None
    assert sum(most) * 60 <= looks_a_minute / 4


async def test_a_follow_up_has_another_and_that_has_none() -> None:
    """So a group whose members come and go is not described twice a second."""
    waiting = Waiting()
    waiting.want("a", again=1)
    assert await waiting.due() == FollowUp(("a",), 2)
    waiting.want("a", again=2)
    assert await waiting.due() is None


async def test_a_round_in_which_nobody_is_gone_has_no_follow_up() -> None:
    """Nor is anything remembered of it."""
    waiting = Waiting()
    waiting.want()
    assert await waiting.due() is None
    assert not waiting.slept_s


async def test_where_nobody_asks_for_them_few_wait() -> None:
    """A cycle without anything between cycles has no use for them."""
    waiting = Waiting()
    for name in MANY:
        waiting.want(name)
    due = [await waiting.due() for _ in range(20)]
    assert [item for item in due if item is not None] == [FollowUp((name,), 1) for name in MANY[:8]]


def test_a_follow_up_comes_early_enough() -> None:
    """With as much time again for its answer."""
    assert timedelta(seconds=2 * AFTER_S) <= BRIEF
