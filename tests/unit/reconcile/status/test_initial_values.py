"""Mode Initial: what stands in the status for the webhook to set, from the first word to the end."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.domain.errors import MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Workload
from tests.support import counters, stages, worlds
from tests.support.stages import CONSUMER, ORDERS, Stage

CURED = worlds.settings("30s", "1s", "1s")
VALUES = {"sessionTimeout": "30s", "heartbeatInterval": "1s", "fetchWait": "1s"}
BEFORE = "2026-03-04T12:01:00Z"
DAY = timedelta(days=1)


async def recommended() -> Stage:
    """Return a storm whose cure stands in the status."""
    stage = stages.storm(mode="Initial")
    await stage.cycle()
    return stage


def initial(stage: Stage) -> Any:
    """Return what the webhook is told."""
    return stage.policies.status_of(ORDERS).get("initial")


def runs_with(stage: Stage, workload: Workload) -> None:
    """Have the pods run with other values, and be well."""
    stage.workloads.stored[CONSUMER] = workload
    stage.prometheus.answers = counters.quiet(worlds.pods(), worlds.NOW - worlds.HOUR, worlds.NOW + 99 * worlds.HOUR)


async def test_the_values_stand_in_the_status_and_nothing_is_written() -> None:
    """All that change, for two days; cycle after cycle they are the same."""
    stage = await recommended()
    for _ in range(5):
        await stage.cycle()
    assert initial(stage) == {"values": VALUES, "expirationTime": BEFORE}
    assert (stage.workloads.writes, stage.policies.writes) == ([], 2)  # an episode of the storm is noted, too
    assert stage.condition("Applied") == ("False", "AtNextRestart")
    assert "sessionTimeout 30s" in stage.message("Applied")
    assert stage.condition("Recommended")[0] == "True"


async def test_they_stand_while_some_pods_have_them_and_others_not() -> None:
    """Else the next pod would get the old ones again; no decision is made meanwhile."""
    stage = await recommended()
    runs_with(stage, worlds.workload(mixed=True))
    await stage.cycle()
    assert initial(stage) == {"values": VALUES, "expirationTime": BEFORE}
    assert stage.policies.status_of(ORDERS)["reason"] == "RolloutInProgress"
    assert "get them when they are replaced" in stage.message("Recommended")
    assert stage.condition("Applied") == ("False", "AtNextRestart")


async def test_they_stand_when_all_pods_have_them_and_are_well() -> None:
    """The template has not, and is not written."""
    stage = await recommended()
    runs_with(stage, worlds.workload(CURED))
    await stage.cycle()
    assert initial(stage)["values"] == VALUES
    assert stage.policies.status_of(ORDERS)["verdict"] == "Unproven"
    assert stage.condition("Applied") == ("True", "Applied")


async def test_they_are_withdrawn_when_pods_without_them_are_well() -> None:
    """Somebody repaired the template himself."""
    stage = await recommended()
    runs_with(stage, worlds.workload(worlds.settings()))
    await stage.cycle()
    assert initial(stage) is None
    assert stage.condition("Applied") == ("False", "NothingToApply")


async def test_their_end_moves_once_a_day() -> None:
    """While the group is known; a status is not written for less."""
    stage = await recommended()
    runs_with(stage, worlds.workload(mixed=True))
    await stage.cycle()
    writes = stage.policies.writes
    await stage.cycle(after=DAY - 2 * stages.MINUTE)
    assert (initial(stage)["expirationTime"], stage.policies.writes) == (BEFORE, writes)


async def test_a_new_day_moves_their_end() -> None:
    """Two days from then."""
    stage = stages.storm(mode="Initial", answers=counters.stormy(worlds.pods(), worlds.NOW, worlds.NOW + 2 * DAY))
    await stage.cycle()
    first = initial(stage)
    assert first is not None
    await stage.cycle(after=DAY)
    assert initial(stage) == {"values": first["values"], "expirationTime": "2026-03-05T12:01:00Z"}


async def test_without_metrics_their_end_comes() -> None:
    """Nobody knows then whether they are still right."""
    stage = await recommended()
    stage.prometheus.error = MetricsUnavailableError("Prometheus did not answer")
    for _ in range(3):
        await stage.cycle(after=DAY)
    assert initial(stage) == {"values": VALUES, "expirationTime": BEFORE}


async def test_without_the_broker_it_comes_too() -> None:
    """Likewise."""
    stage = await recommended()
    stage.groups.down = {"main"}
    await stage.cycle(after=DAY)
    assert initial(stage) == {"values": VALUES, "expirationTime": BEFORE}


@pytest.mark.parametrize("spec", [{"mode": "Recommend"}, {"mode": "Apply"}])
async def test_another_mode_takes_them_back(spec: dict[str, Any]) -> None:
    """At once."""
    stage = await recommended()
    stage.policies.edit(ORDERS, **spec)
    await stage.cycle()
    assert initial(stage) is None


async def test_what_is_held_for_another_reason_is_not_set() -> None:
    """A policy that is suspended changes nothing, in pods neither."""
    stage = stages.storm(mode="Initial", suspend=True)
    await stage.cycle()
    assert initial(stage) is None
    assert stage.condition("Applied") == ("False", "Suspended")


async def test_suspension_leaves_what_stands_and_says_so() -> None:
    """The webhook does nothing for a suspended policy; its status tells why."""
    stage = await recommended()
    stage.policies.edit(ORDERS, suspend=True)
    await stage.cycle()
    assert initial(stage)["values"] == VALUES
    assert stage.condition("Applied") == ("False", "Suspended")


async def test_further_changes_keep_what_was_set_before() -> None:
    """The template never had it, so a new pod needs all of it."""
    stage = stages.storm(mode="Initial", answers=counters.stormy(worlds.pods(), worlds.NOW, worlds.NOW + 2 * DAY))
    await stage.cycle()
    stage.workloads.stored[CONSUMER] = worlds.workload(worlds.settings("1s", "1s", "1s"))
    await stage.cycle()
    assert set(initial(stage)["values"]) == {"sessionTimeout", "heartbeatInterval", "fetchWait"}


async def test_a_group_of_the_consumer_protocol_gets_none() -> None:
    """Its session is the broker's, and a Java client with one of its own does not start."""
    stage = await recommended()
    stage.groups.groups["main"]["orders"] = dataclasses.replace(worlds.group(), consumer_protocol=True)
    await stage.cycle()
    assert initial(stage) is None


async def test_the_younger_of_two_policies_gives_up_its_values() -> None:
    """The pods are the older one's."""
    stage = await recommended()
    older = stage.policies.stored[ORDERS]
    twin = {**older, "metadata": {**older["metadata"], "name": "first", "uid": "first"}, "status": {}}
    twin["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    stage.policies.stored[type(ORDERS)("shop", "first")] = twin
    stage.store.show(twin)
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "Conflict")
    assert initial(stage) is None
