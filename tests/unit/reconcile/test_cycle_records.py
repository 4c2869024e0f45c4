"""Whole cycles on fakes: what is known of writes when statuses, answers or the leadership were lost."""

import asyncio
import dataclasses

import pytest

from heartbeat_tuner.domain.errors import (
    ApiServerError,
    NotLeaderError,
    WriteConflictError,
)
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verdicts import Verdict
from tests.support import manifests, stages
from tests.support.stages import CONSUMER, ORDERS, Stage


async def test_an_invalid_policy_is_told_and_the_others_are_looked_at() -> None:
    """One tenant's mistake is no other's."""
    stage = Stage([manifests.policy(), manifests.policy("broken", spec={"rollout": {"cooldown": "1 d"}})])
    report = await stage.cycle()
    broken = ObjectKey("shop", "broken")
    assert stage.condition("Ready", broken) == ("False", "InvalidPolicy")
    assert stage.message("Ready", broken).startswith("spec.rollout.cooldown: '1 d' is not a duration")
    assert len(stage.workloads.writes) == 1
    assert (report.verdicts[Verdict.UNKNOWN], report.verdicts[Verdict.CHANGE]) == (1, 1)


async def test_a_status_that_cannot_be_written_is_tried_again() -> None:
    """The cycle goes on, and the failure is counted."""
    stage = stages.calm()
    stage.policies.error = ApiServerError("the API server did not answer")
    assert (await stage.cycle()).failed_writes == 1
    stage.policies.error = None
    assert (await stage.cycle()).status_writes == 1


async def test_what_was_written_is_not_forgotten_when_the_status_could_not_be() -> None:
    """Else there would be neither cooldown nor story; the memory bridges it until the status holds it."""
    stage = stages.storm()
    stage.policies.error = WriteConflictError("the policy changed")
    await stage.cycle()
    stage.policies.error = None
    stage.workloads.stored[CONSUMER] = dataclasses.replace(stage.workloads.stored[CONSUMER], rolling_out=False)
    await stage.cycle()
    assert stage.policies.status_of(ORDERS)["applied"]["changeTime"] == "2026-03-02T12:01:00Z"
    assert stage.condition("Applied") == ("False", "Cooldown")
    assert len(stage.workloads.writes) == 1


async def test_a_policy_made_anew_knows_what_was_written_to_its_workload() -> None:
    """The workload carries the record: its pods are not replaced twice within the cooldown."""
    stage = stages.storm()
    stage.policies.error = WriteConflictError("the policy is gone")
    await stage.cycle()
    stage.policies.error = None
    stage.policies.delete_from_watch(ORDERS)
    stage.policies.stored[ORDERS] |= {"metadata": stage.policies.stored[ORDERS]["metadata"] | {"uid": "second"}}
    stage.policies.edit(ORDERS)
    stage.workloads.stored[CONSUMER] = dataclasses.replace(stage.workloads.stored[CONSUMER], rolling_out=False)
    await stage.cycle()
    assert len(stage.workloads.writes) == 1
    assert stage.condition("Applied") == ("False", "Cooldown")


async def test_a_workload_made_anew_is_cured_anew() -> None:
    """What took its name has not been written to: the storm is back, and no cooldown holds its cure."""
    stage = stages.storm()
    await stage.cycle()
    stage.workloads.stored[CONSUMER] = dataclasses.replace(
        stage.workloads.stored[CONSUMER], uid="workload-2", rolling_out=False, applications={}
    )
    await stage.cycle()
    assert [write.uid for write in stage.workloads.writes] == ["workload-1", "workload-2"]


async def test_a_write_whose_answer_was_lost_is_not_forgotten() -> None:
    """The API server took it and the answer never came: the next cycle finds the record on the workload."""
    stage = stages.storm()
    stage.workloads.answer_error = ApiServerError("no answer in 30 s")
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "ApiServerError")
    stage.workloads.answer_error = None
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "RollingOut")
    stage.workloads.roll_out(CONSUMER, stage.clock.now())
    await stage.cycle()
    assert stage.condition("Applied") == ("True", "Applied")
    assert len(stage.workloads.writes) == 1


async def test_a_writer_that_died_before_its_status_leaves_its_record() -> None:
    """Whoever leads next reports the write and keeps its cooldown, and writes nothing."""
    stage = stages.storm()
    stage.policies.error = ApiServerError("killed")
    await stage.cycle()
    stage.policies.error = None
    stage.restart()
    stage.workloads.stored[CONSUMER] = dataclasses.replace(stage.workloads.stored[CONSUMER], rolling_out=False)
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "Cooldown")
    assert len(stage.workloads.writes) == 1


async def test_a_leadership_lost_before_the_write_reports_nothing() -> None:
    """Neither as an error in a status: another replica's are right by now."""
    stage = stages.storm()
    stage.workloads.apply_error = NotLeaderError("over")
    with pytest.raises(NotLeaderError):
        await stage.cycle()
    assert (stage.policies.writes, stage.policies.events) == (0, [])


async def test_a_leadership_lost_before_the_status_announces_nothing() -> None:
    """And what was written is for another leadership to find."""
    stage = stages.storm()
    stage.policies.error = NotLeaderError("over")
    with pytest.raises(NotLeaderError):
        await stage.cycle()
    assert stage.policies.events == []


async def test_a_lost_leadership_ends_a_cycle_when_all_of_it_has_ended() -> None:
    """Nothing of it may go on beside the next leader's."""
    stage = stages.fleet(30)
    stage.policies.error = NotLeaderError("over")
    with pytest.raises(NotLeaderError):
        await stage.cycle()
    assert asyncio.all_tasks() == {asyncio.current_task()}
