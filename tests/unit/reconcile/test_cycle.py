"""Whole cycles on fakes: what is written, once, and what is not."""

import dataclasses
from datetime import timedelta

import pytest

from heartbeat_tuner.domain.verdicts import Verdict
from tests.support import counters, stages, worlds
from tests.support.fakes import Write
from tests.support.stages import CONSUMER, MINUTE, ORDERS, Stage

CURED = worlds.settings("30s", "1s", "1s")


async def test_a_storm_is_cured_with_one_write() -> None:
    """The write carries uid and version of what was gathered, and the status tells the story."""
    stage = stages.storm()
    report = await stage.cycle()
    assert stage.workloads.writes == [Write(CONSUMER, "workload-1", "100", CURED)]
    assert (report.workload_writes, report.status_writes, report.failed_writes) == (1, 1, 0)
    assert report.verdicts[Verdict.CHANGE] == 1
    status = stage.policies.status_of(ORDERS)
    assert (status["verdict"], status["reason"]) == ("Change", "CadenceExceedsSession")
    assert status["summary"]["sessionTimeout"] == "1s → 30s"
    assert status["applied"]["changeTime"] == "2026-03-02T12:01:00Z"
    assert stage.condition("Ready") == ("True", "Watching")
    assert stage.condition("MetricsAvailable") == ("True", "Fresh")
    assert stage.condition("Feasible") == ("True", "Feasible")
    assert stage.condition("Recommended") == ("True", "CadenceExceedsSession")
    assert stage.condition("Applied") == ("False", "RollingOut")


async def test_a_rollout_under_way_is_waited_for() -> None:
    """Two changes at once could not be told apart."""
    stage = stages.storm()
    await stage.cycle()
    for _ in range(5):
        await stage.cycle()
    assert len(stage.workloads.writes) == 1


async def test_a_finished_rollout_is_reported() -> None:
    """The pods run with what was written."""
    stage = stages.storm()
    await stage.cycle()
    stage.workloads.roll_out(CONSUMER, stage.clock.now())
    await stage.cycle()
    assert stage.condition("Applied") == ("True", "Applied")
    assert "sessionTimeout 1s → 30s" in stage.message("Applied")
    assert len(stage.workloads.writes) == 1


@pytest.mark.parametrize("stage", [stages.storm(mode="Recommend"), stages.storm(suspend=True), stages.calm()])
async def test_without_leave_or_need_the_workload_is_not_written(stage: Stage) -> None:
    """Recommend mode, suspension and health each leave it alone, cycle after cycle."""
    for _ in range(10):
        await stage.cycle()
    assert stage.workloads.writes == []


async def test_an_idle_cluster_has_no_status_writes() -> None:
    """While nothing happens, an hour of cycles writes one status, whatever the numbers in its sentences do."""
    stage = stages.calm()
    for _ in range(59):
        await stage.cycle()
    assert stage.policies.writes == 1


async def test_a_storm_writes_one_status_for_each_episode() -> None:
    """They are what a change is compared with; within 15 minutes nothing is news."""
    stage = stages.storm(mode="Recommend")
    for _ in range(59):
        await stage.cycle()
    assert stage.policies.writes == 5
    assert len(stage.policies.status_of(ORDERS)["history"]["episodes"].split()) == 8  # an hour was at hand at first


async def test_a_restarted_operator_writes_nothing() -> None:
    """What it needs to know stands in the status."""
    stage = stages.storm()
    await stage.cycle()
    stage.workloads.roll_out(CONSUMER, stage.clock.now())
    await stage.cycle()
    await stage.cycle()
    writes = stage.policies.writes
    stage.restart()
    await stage.cycle()
    assert (stage.policies.writes, len(stage.workloads.writes)) == (writes, 1)


async def test_transitions_are_announced_once() -> None:
    """An Event when something begins, none while it goes on."""
    stage = stages.storm(mode="Recommend")
    for _ in range(3):
        await stage.cycle()
    assert [(event.reason, event.warning) for event in stage.policies.events] == [("CadenceExceedsSession", True)]


async def test_another_library_does_not_inherit_a_recommendation() -> None:
    """What was recommended to KafkaJS lacks a setting of Java, whose metrics are not there yet."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    assert "recommendation" in stage.policies.status_of(ORDERS)
    stage.policies.edit(ORDERS, client={"library": "java"})
    stage.workloads.stored[stages.CONSUMER] = worlds.workload(worlds.java_settings())
    await stage.cycle()
    status = stage.policies.status_of(ORDERS)
    assert "recommendation" not in status
    assert status["summary"]["maxPollInterval"] == "5m"


async def test_an_edited_policy_is_told_in_its_own_numbers() -> None:
    """Sentences keep old numbers only while nobody has asked for others."""
    stage = stages.storm(objective={"maxDetectionTime": "2s"})
    await stage.cycle()
    assert "at most 2s" in stage.message("Feasible")
    stage.policies.edit(ORDERS, objective={"maxDetectionTime": "1s"})
    await stage.cycle()
    assert "at most 1s" in stage.message("Feasible")


async def test_no_policies_are_no_work() -> None:
    """An operator without policies asks nobody anything."""
    stage = Stage([])
    report = await stage.cycle()
    assert stage.prometheus.queries == []
    assert (report.status_writes, report.verdicts[Verdict.HEALTHY]) == (0, 0)


async def test_cooldown_holds_the_next_change() -> None:
    """Within a day there is no second rollout, and after it there may be."""
    stage = stages.storm(rollout={"cooldown": "30m"})
    await stage.cycle()
    stage.workloads.stored[CONSUMER] = dataclasses.replace(stage.workloads.stored[CONSUMER], rolling_out=False)
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "Cooldown")
    await stage.cycle(after=timedelta(minutes=30) - MINUTE)
    assert len(stage.workloads.writes) == 2


async def test_an_application_that_ignores_its_environment_is_written_once() -> None:
    """Its storm goes on with the new values; then it is calm, and another operator leads: nothing more is written."""
    stage = stages.storm(rollout={"cooldown": "0s"})
    await stage.cycle()
    stage.workloads.roll_out(CONSUMER, stage.clock.now())
    pods = stage.workloads.stored[CONSUMER].pods
    stage.prometheus.answers = counters.stormy(pods, stage.clock.now(), stage.clock.now() + worlds.HOUR)
    for _ in range(10):
        await stage.cycle()
    assert stage.condition("Recommended") == ("Unknown", "NoEffect")
    assert stage.condition("Applied") == ("False", "NoEffect")
    statuses = stage.policies.writes
    stage.prometheus.answers = counters.quiet(pods, stage.clock.now() - worlds.HOUR, stage.clock.now() + worlds.HOUR)
    stage.restart()
    for _ in range(10):
        await stage.cycle()
    assert stage.condition("Recommended") == ("Unknown", "NoEffect")
    assert len(stage.workloads.writes) == 1
    assert stage.policies.writes - statuses <= 1
    changed = dataclasses.replace(stage.workloads.stored[CONSUMER], template="changed")
    stage.workloads.stored[CONSUMER] = changed
    await stage.cycle()
    assert "contradicted" not in stage.policies.status_of(ORDERS)


async def test_a_number_of_another_unit_is_told_and_nothing_derived_from_it() -> None:
    """Whatever the record shows."""
    stage = stages.storm()
    stage.workloads.stored[CONSUMER] = worlds.workload(worlds.settings("30ms", "3s", "5s"))
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "SettingUnreadable")
    assert "reads as 30 ms" in stage.message("Ready")
    assert stage.workloads.writes == []
    assert "recommendation" not in stage.policies.status_of(ORDERS)
