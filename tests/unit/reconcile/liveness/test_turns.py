"""Work on many policies: bounded, in order, and never long in one piece."""

import asyncio
from collections.abc import Iterator

import pytest

from heartbeat_tuner.domain.errors import NotLeaderError
from heartbeat_tuner.reconcile.liveness import turns
from heartbeat_tuner.reconcile.liveness.progress import nobody_looks
from heartbeat_tuner.reconcile.liveness.turns import Turns, of_all


class Busy:
    """A clock that only work moves, and somebody else who wants a turn now and then.

    Attributes:
        now_s: the time.
        longest_s: the longest time without a turn.
    """

    def __init__(self) -> None:
        self.now_s = self.longest_s = self._had_turn_s = 0.0

    async def want_turns(self) -> None:
        """Take every turn that there is."""
        while True:
            self.longest_s = max(self.longest_s, self.now_s - self._had_turn_s)
            self._had_turn_s = self.now_s
            await asyncio.sleep(0)

    async def work(self, number: int) -> int:
        """Compute for five milliseconds."""
        self.now_s += 0.005
        return number


async def test_others_have_their_turn_though_nothing_is_waited_for() -> None:
    """However many compute beside each other: a turn comes after some of them, not after one piece of each."""
    busy = Busy()
    other = asyncio.create_task(busy.want_turns())
    found = await of_all(range(500), busy.work, at_once=10, turns=Turns(lambda: busy.now_s), moved=nobody_looks)
    other.cancel()
    assert found == list(range(500))
    assert busy.longest_s <= turns.LONGEST_S + 10 * 0.005
    assert busy.now_s > 2.0


async def test_no_more_is_begun_than_may_be_under_way() -> None:
    """Items are taken one by one, and results come in their order, whichever is done first."""
    taken, under_way, most = 0, 0, 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(50):
            taken += 1
            yield number

    async def work(number: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        assert taken <= number + 4
        await asyncio.sleep(0.001 * (number % 3))
        under_way -= 1
        return -number

    found = await of_all(items(), work, at_once=4, turns=Turns(), moved=nobody_looks)
    assert (found, most) == ([-number for number in range(50)], 4)


async def test_after_a_lost_leadership_nothing_is_begun() -> None:
    """What is under way is waited for, and every step counts as one."""
    begun, ended, moves = list[int](), list[int](), list[None]()

    async def work(number: int) -> None:
        begun.append(number)
        await asyncio.sleep(0.001 * number)
        ended.append(number)
        if number == 1:
            raise NotLeaderError("over")

    with pytest.raises(NotLeaderError):
        await of_all(range(100), work, at_once=3, turns=Turns(), moved=lambda: moves.append(None))
    assert sorted(begun) == sorted(ended)
    assert len(begun) <= 5
    assert len(moves) == len(begun)
