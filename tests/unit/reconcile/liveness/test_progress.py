"""Whether a cycle that works tells the probe so, and one that hangs does not."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import stages
from tests.support.stages import Stage

SLOW_S = 40.0
"""Each answer takes so long."""

SLOW = [
    ("groups", "describe"),
    ("groups", "cluster"),
    ("workloads", "read"),
    ("workloads", "apply"),
    ("prometheus", "instant"),
    ("policies", "write_status"),
]


class Watched:
    """A fleet's cycle, and a clock that only answers move.

    Attributes:
        now_s: the time.
        longest_s: the longest time without any progress.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.now_s = self.longest_s = self._moved_at_s = 0.0
        stage.moved = self._moved

    def _moved(self) -> None:
        self.longest_s = max(self.longest_s, self.now_s - self._moved_at_s)
        self._moved_at_s = self.now_s

    def slow(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same request, which takes its time."""

        async def asked(*args: Any, **kwargs: Any) -> Any:
            self.now_s += SLOW_S
            return await ask(*args, **kwargs)

        return asked


async def test_a_cycle_in_which_everything_is_slow_moves_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes far longer than three intervals, and no part of it a third of that: of ten policies, each counts."""
    watched = Watched(stages.storms(10, max_rollouts=20))
    for part, request in SLOW:
        source = getattr(watched.stage, part)
        monkeypatch.setattr(source, request, watched.slow(getattr(source, request)))
    report = await watched.stage.cycle()
    watched.stage.moved()  # the time since the last progress counts, too
    assert report.workload_writes == 10
    assert watched.now_s > 1000
    assert watched.longest_s < 180 / 2


@pytest.mark.parametrize(("part", "request_"), SLOW)
async def test_a_cycle_that_hangs_moves_no_more(monkeypatch: pytest.MonkeyPatch, part: str, request_: str) -> None:
    """Whatever never answers."""
    stage, moves = stages.storms(3, max_rollouts=10), list[None]()
    stage.moved = lambda: moves.append(None)

    async def never(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(getattr(stage, part), request_, never)
    cycle = asyncio.create_task(stage.cycle())
    await asyncio.sleep(1.0)
    before = len(moves)
    await asyncio.sleep(0.3)
    assert len(moves) == before
    assert not cycle.done()
    cycle.cancel()
    await asyncio.wait([cycle])
