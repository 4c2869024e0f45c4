"""The wall clock of the operator jumps by an hour; what it then decides on. Leadership never reads that clock."""

import dataclasses
from datetime import timedelta

from heartbeat_tuner.domain.policies import Application
from heartbeat_tuner.domain.reasons import Reason
from tests.support import counters, stages, worlds
from tests.support.pipelines import first_hold
from tests.support.stages import CONSUMER, MINUTE

HOUR = timedelta(hours=1)


async def test_a_clock_that_jumps_forward_makes_metrics_stale() -> None:
    """The newest sample is an hour old by then: nothing is written until the clock is right again."""
    answers = counters.stormy(worlds.pods(), worlds.NOW - HOUR, worlds.NOW + 2 * MINUTE)
    stage = stages.storm(answers=answers)
    await stage.cycle(after=HOUR)
    assert stage.condition("MetricsAvailable") == ("False", "Stale")
    assert stage.workloads.writes == []
    await stage.cycle(after=MINUTE - HOUR)
    assert len(stage.workloads.writes) == 1


async def test_a_clock_that_jumps_back_writes_nothing_twice() -> None:
    """The record begins with the last change, and that is still to come: there is nothing to decide on."""
    stage = stages.storm(rollout={"cooldown": "30m"})
    await stage.cycle()
    undone = dataclasses.replace(stage.workloads.stored[CONSUMER], current=worlds.current(worlds.STORM))
    stage.workloads.stored[CONSUMER] = dataclasses.replace(undone, rolling_out=False)
    stage.clock.advance(-HOUR)
    await stage.cycle(after=20 * MINUTE)
    assert stage.condition("Applied")[0] == "False"
    assert len(stage.workloads.writes) == 1


def test_a_change_in_the_future_is_not_older_than_the_cooldown() -> None:
    """A clock that went back makes the cooldown longer, never shorter."""
    change = Application(worlds.settings(), worlds.STORM, worlds.NOW + HOUR, "workload-1")
    situation = worlds.storm(policy=worlds.policy(application=change, cooldown=timedelta(minutes=30)))
    hold = first_hold(situation, worlds.settings())
    assert hold is not None
    assert hold.reason is Reason.COOLDOWN
