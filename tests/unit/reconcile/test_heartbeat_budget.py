"""A cycle in which the heartbeats of a Kafka cluster have a budget."""

import dataclasses

import pytest

from tests.support import counters, fitted, manifests, worlds
from tests.support.fakes import FakeModels
from tests.support.stages import ORDERS, Stage


def stage(budget: float | None) -> Stage:
    """Return a healthy KafkaJS group of a model, which would do better with a shorter interval."""
    pods = worlds.pods()
    answers = counters.quiet(pods, worlds.NOW - worlds.HOUR, worlds.NOW + worlds.HOUR)
    found = Stage([manifests.policy(spec={})], now=worlds.settings(), answers=answers, heartbeat_budget=budget)
    members = [dataclasses.replace(worlds.member(pod), partitions=4) for pod in pods]
    found.groups.groups = {"main": {"orders": worlds.group(members)}}
    found.models = FakeModels([fitted.fitted()])
    found.restart()
    return found


async def recommended(staged: Stage) -> tuple[str, str]:
    """Return H now and recommended, and the sentence."""
    await staged.cycle()
    return staged.policies.status_of(ORDERS)["summary"]["heartbeatInterval"], staged.message("Recommended")


@pytest.mark.parametrize("budget", [None, 1_000.0])
async def test_without_a_budget_or_within_it_a_group_beats_as_it_should(budget: float | None) -> None:
    """Nothing is told of it."""
    interval, message = await recommended(stage(budget))
    assert interval == "3s → 1s"
    assert "budget" not in message


async def test_a_budget_that_is_spent_holds_the_interval_and_says_so() -> None:
    """Cycle after cycle, in one status."""
    staged = stage(0.1)
    interval, message = await recommended(staged)
    assert interval == "3s"
    assert "heartbeatInterval is not set below 3s: the heartbeats of Kafka cluster main have a budget of 0.1" in message
    writes = staged.policies.writes
    for _ in range(3):
        await staged.cycle()
    assert staged.policies.writes == writes
