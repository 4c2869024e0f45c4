"""A pass every interval, until told to stop."""

import asyncio
import dataclasses
from collections.abc import Collection
from datetime import timedelta

import pytest

from heartbeat_tuner.domain.errors import NotLeaderError
from heartbeat_tuner.reconcile import loop
from heartbeat_tuner.reconcile.cycle import CycleReport

REPORT = CycleReport(verdicts={}, workload_writes=0, status_writes=0, failed_writes=0, points={})
NO_TIME = timedelta(0)


class Passes:
    """Passes of which the given ones fail, and which stop the loop after the last."""

    def __init__(self, stopped: asyncio.Event, *, count: int, failing: frozenset[int] = frozenset()) -> None:
        self.stopped = stopped
        self.count = count
        self.failing = failing
        self.error: Exception = RuntimeError("a surprise")
        self.begun = 0
        self.finished: list[float] = []
        self.failed = 0

    def fail(self) -> None:
        """Take note of a pass that failed."""
        self.failed += 1

    async def run(self) -> CycleReport:
        """Count a pass; fail or end where told."""
        self.begun += 1
        if self.begun == self.count:
            self.stopped.set()
        if self.begun in self.failing:
            raise self.error
        return REPORT

    def finish(self, report: CycleReport, duration_s: float) -> None:
        """Take note of a good pass."""
        assert report is REPORT
        self.finished.append(duration_s)


async def run(passes: Passes, interval: timedelta = NO_TIME) -> None:
    """Run the loop until the passes stop it."""
    await loop.run_until(passes.stopped, passes.run, interval=interval, finished=passes.finish, failed=passes.fail)


async def test_passes_follow_each_other_until_stopped() -> None:
    """The one under way when the stop comes is finished and counted."""
    passes = Passes(asyncio.Event(), count=3)
    await run(passes)
    assert (passes.begun, len(passes.finished)) == (3, 3)


async def test_a_pass_that_fails_is_not_counted_and_not_the_last() -> None:
    """A loop that only fails must fail the probe, and a surprise must not end the operator."""
    passes = Passes(asyncio.Event(), count=3, failing=frozenset({1, 2}))
    await run(passes)
    assert (passes.begun, len(passes.finished), passes.failed) == (3, 1, 2)


async def test_a_stop_ends_the_wait() -> None:
    """A termination does not wait for the next interval."""
    passes = Passes(asyncio.Event(), count=1)
    async with asyncio.timeout(5):
        await run(passes, interval=timedelta(hours=1))
    assert passes.begun == 1


@dataclasses.dataclass
class Early:
    """Looks between passes, of which the given ones fail, and which stop the loop after the last.

    Attributes:
        passes: that they come between.
        count: of looks.
        failing: which of them fail.
        error: how.
        begun: after which pass each began.
    """

    passes: Passes
    count: int = 3
    failing: frozenset[int] = frozenset()
    error: Exception = dataclasses.field(default_factory=lambda: RuntimeError("a surprise"))
    begun: list[int] = dataclasses.field(default_factory=list)

    async def look(self) -> None:
        """Count a look; fail or end where told."""
        self.begun.append(self.passes.begun)
        if len(self.begun) == self.count:
            self.passes.stopped.set()
        if len(self.begun) in self.failing:
            raise self.error


async def run_with(early: Early, *, interval: timedelta) -> None:
    """Run the loop until passes or looks stop it."""
    passes = early.passes
    async with asyncio.timeout(20):
        await loop.run_until(
            passes.stopped,
            passes.run,
            interval=interval,
            finished=passes.finish,
            failed=passes.fail,
            look_early=early.look,
        )


async def test_between_passes_edited_policies_are_looked_at() -> None:
    """Somebody has edited a policy and looks at its status; no pass comes sooner for that."""
    early = Early(Passes(asyncio.Event(), count=9))
    await run_with(early, interval=timedelta(hours=1))
    assert (early.begun, early.passes.begun, early.passes.failed) == ([1, 1, 1], 1, 0)


async def test_early_looks_hold_up_no_pass() -> None:
    """It begins an interval after the one before, however many edit."""
    early = Early(Passes(asyncio.Event(), count=3), count=10_000)
    await run_with(early, interval=timedelta(seconds=1))
    assert early.passes.begun == 3
    assert set(early.begun) <= {1, 2}


@pytest.mark.parametrize(
    ("passes_failing", "looks_failing", "begun"), [({1}, {}, [2]), ({}, {1}, [1, 2])], ids=["a pass", "a look"]
)
async def test_after_a_failure_the_next_pass_is_awaited(
    passes_failing: Collection[int], looks_failing: Collection[int], begun: list[int]
) -> None:
    """An early look rests on what a whole pass saw."""
    passes = Passes(asyncio.Event(), count=9, failing=frozenset(passes_failing))
    early = Early(passes, count=len(begun), failing=frozenset(looks_failing))
    await run_with(early, interval=timedelta(seconds=2))
    assert (early.begun, passes.failed) == (begun, 1)


async def test_a_leadership_that_is_lost_in_an_early_look_ends_the_loop() -> None:
    """As in a pass."""
    early = Early(Passes(asyncio.Event(), count=9), count=9, failing=frozenset({2}), error=NotLeaderError("over"))
    await run_with(early, interval=timedelta(hours=1))
    assert (early.begun, early.passes.failed) == ([1, 1], 0)


async def test_a_stopped_loop_does_not_begin() -> None:
    """Nothing is written after the stop."""
    passes = Passes(asyncio.Event(), count=9)
    passes.stopped.set()
    await run(passes)
    assert passes.begun == 0


async def test_a_lost_leadership_ends_the_loop() -> None:
    """The cycles of another leadership begin with fresh eyes."""
    passes = Passes(asyncio.Event(), count=9, failing=frozenset({2}))
    passes.error = NotLeaderError("over")
    await run(passes)
    assert (passes.begun, len(passes.finished), passes.failed) == (2, 1, 0)


class Stubborn:
    """Work that ends when it is let, and takes note of being cancelled."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.cancelled = False

    async def run(self) -> None:
        """Wait."""
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def test_work_under_way_at_the_stop_is_finished() -> None:
    """Within reason."""
    work, stopped = Stubborn(), asyncio.Event()
    finishing = asyncio.create_task(loop.finish_or_give_up(work.run(), stopped, patience_s=20))
    await asyncio.sleep(0)
    stopped.set()
    await asyncio.sleep(0.01)
    assert not finishing.done()
    work.may_end.set()
    await finishing
    assert not work.cancelled


async def test_work_that_does_not_end_is_given_up() -> None:
    """A mute Prometheus must not hold up the end."""
    work, stopped = Stubborn(), asyncio.Event()
    stopped.set()
    await asyncio.wait_for(loop.finish_or_give_up(work.run(), stopped, patience_s=0.01), 20)
    assert work.cancelled


async def test_work_has_ended_when_its_caller_is_cancelled() -> None:
    """Who loses the leadership must know that nothing goes on."""
    work = Stubborn()
    finishing = asyncio.create_task(loop.finish_or_give_up(work.run(), asyncio.Event(), patience_s=20))
    await asyncio.sleep(0.01)
    finishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finishing
    assert work.cancelled
