"""Whole cycles on fakes: what somebody overruled is let go of, what somebody took back is not written again."""

import dataclasses
from typing import Any

import pytest

from heartbeat_tuner.domain.errors import ApiServerError, NotLeaderError, TunerError, WriteConflictError
from heartbeat_tuner.domain.evidence import Holdings
from tests.support import stages
from tests.support.stages import CONSUMER, ORDERS, Stage

SESSION = "KAFKA_SESSION_TIMEOUT_MS"
HELD = Holdings({}, {}, {}, {}, {}, {}, "workload-1", 5)
OVERRULED: dict[str, Any] = {"overruled": {"app": {SESSION: "flux"}}}
COOLDOWN: dict[str, Any] = {"rollout": {"cooldown": "2s"}}
EMPTY: dict[str, Any] = {"empty": {"app": (SESSION,)}}


def stage_that_holds(spec: dict[str, Any] | None = None, **changes: Any) -> Stage:
    """Return a storm whose workload has something of ours."""
    stage = stages.storm(**(spec or {}))
    hold(stage, **changes)
    return stage


def hold(stage: Stage, **changes: Any) -> None:
    """Change what of ours stands in the workload."""
    stored = stage.workloads.stored[CONSUMER]
    held = dataclasses.replace(stored.holdings or HELD, **changes)
    stage.workloads.edit(CONSUMER, holdings=held, applications=held.applications)


def roll_back(stage: Stage) -> None:
    """Take everything of ours out, the note too, as `kubectl rollout undo` does."""
    held = stage.workloads.stored[CONSUMER].holdings
    assert held is not None
    hold(stage, standing={}, applications={}, revision=(held.revision or 0) + 1)
    stage.workloads.edit(CONSUMER, rolling_out=False, our_rollout=False)


@pytest.mark.parametrize("spec", [{"mode": "Apply"}, {"mode": "Recommend"}, {"mode": "Initial"}, {"suspend": True}])
async def test_what_is_overruled_is_let_go_of_in_every_mode(spec: dict[str, Any]) -> None:
    """It changes no value; whoever took it over may take it away then."""
    stage = stage_that_holds(spec, **OVERRULED)
    await stage.cycle()
    assert stage.workloads.releases == [CONSUMER]
    await stage.cycle()
    assert stage.workloads.releases == [CONSUMER]


@pytest.mark.parametrize(("suspended", "taken_out"), [(False, True), (True, False)])
async def test_an_entry_without_a_value_is_taken_out_unless_suspended(suspended: bool, taken_out: bool) -> None:  # noqa: FBT001 - a table's columns
    """New pods start by that, and the fleet's budget counts them."""
    stage = stage_that_holds({"suspend": suspended, "mode": "Recommend"}, **EMPTY)
    await stage.cycle()
    assert bool(stage.workloads.releases) is taken_out


async def test_pods_that_start_by_that_count_for_the_budget() -> None:
    """The same cycle begins no other rollout beyond it."""
    stage = stage_that_holds(**EMPTY)
    stage.max_rollouts = 1
    stage.restart()
    await stage.cycle()
    assert (stage.workloads.releases, stage.workloads.writes) == ([CONSUMER], [])
    assert stage.condition("Applied") == ("False", "FleetBudgetSpent")


@pytest.mark.parametrize("error", [WriteConflictError("it changed"), ApiServerError("refused", status=403)])
async def test_what_cannot_be_let_go_of_is_tried_again(error: TunerError) -> None:
    """The status says what there is to say; nothing else is lost by it."""
    stage = stage_that_holds({"mode": "Recommend"}, **OVERRULED)
    stage.workloads.release_error = error
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "RecommendMode")
    stage.workloads.release_error = None
    await stage.cycle()
    assert stage.workloads.releases == [CONSUMER]


async def test_a_surprise_in_letting_go_ends_no_cycle() -> None:
    """What nobody foresaw in one policy's workload is not the others' loss."""
    stage = stage_that_holds({"mode": "Recommend"}, **OVERRULED)
    stage.workloads.release_error = KeyError("a surprise")
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "RecommendMode")


async def test_nothing_is_let_go_of_without_the_leadership() -> None:
    """Another replica looks by now."""
    stage = stage_that_holds(**OVERRULED)
    stage.workloads.release_error = NotLeaderError("over")
    with pytest.raises(NotLeaderError):
        await stage.cycle()


async def test_nothing_is_let_go_of_for_a_policy_that_changed_meanwhile() -> None:
    """It may be suspended by now."""
    stage = stage_that_holds({"mode": "Recommend"}, **EMPTY)
    stage.policies.edit_behind_the_watch(ORDERS, suspend=True)
    await stage.cycle()
    assert stage.workloads.releases == []


async def test_what_was_taken_back_is_not_written_before_the_policy_is_edited() -> None:
    """Nor by the next leader; the storm is back and the cooldown long over."""
    stage = stage_that_holds({"rollout": {"cooldown": "1s"}})
    await stage.cycle()
    assert len(stage.workloads.writes) == 1
    roll_back(stage)
    for _ in range(3):
        stage.restart()
        await stage.cycle()
        assert stage.condition("Applied") == ("False", "TakenBack")
    assert stage.policies.status_of(ORDERS)["takenBack"]["applied"]["values"]["sessionTimeout"] == "30s"
    assert len(stage.workloads.writes) == 1
    stage.policies.edit(ORDERS, bounds={"sessionTimeout": {"max": "60s"}})
    await stage.cycle()
    assert len(stage.workloads.writes) == 2
    assert stage.condition("Applied") == ("False", "RollingOut")
    await stage.cycle()
    assert "takenBack" not in stage.policies.status_of(ORDERS)


async def test_to_suspend_and_resume_writes_nothing_that_a_person_took_back() -> None:
    """Nor does an edit of how it would be written."""
    stage = stage_that_holds({"rollout": {"cooldown": "1s"}})
    await stage.cycle()
    roll_back(stage)
    await stage.cycle()
    for edit in ({"suspend": True}, {"suspend": False}, {"mode": "Recommend"}, {"mode": "Apply"}, COOLDOWN):
        stage.policies.edit(ORDERS, **edit)
        await stage.cycle()
    assert len(stage.workloads.writes) == 1
    assert stage.condition("Applied") == ("False", "TakenBack")
    assert "until spec.objective, spec.bounds, spec.client or spec.workloadRef is edited" in stage.message("Applied")


async def test_a_write_that_only_its_announcement_is_left_of_was_taken_back() -> None:
    """The answer is lost, the writer dies, and a person rolls back before anybody looks."""
    stage = stage_that_holds({"rollout": {"cooldown": "1s"}})
    stage.workloads.answer_error = ApiServerError("no answer in 30 s")
    await stage.cycle()
    assert stage.policies.status_of(ORDERS)["writing"]["revision"] == 5
    stage.workloads.answer_error = None
    stage.restart()
    roll_back(stage)
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "TakenBack")
    assert len(stage.workloads.writes) == 1
    assert "writing" not in stage.policies.status_of(ORDERS)


async def test_a_write_that_was_refused_leaves_no_announcement() -> None:
    """It was not done: what changes later is no answer to it."""
    stage = stage_that_holds()
    stage.workloads.apply_error = WriteConflictError("it changed")
    await stage.cycle()
    assert "writing" not in stage.policies.status_of(ORDERS)
    assert stage.condition("Applied") == ("False", "ChangedMeanwhile")


async def test_nothing_is_written_whose_announcement_is_refused() -> None:
    """The stored status may know of a take-back that this replica has not seen."""
    stage = stage_that_holds()
    stage.policies.error = WriteConflictError("policy shop/orders changed")
    await stage.cycle()
    assert stage.workloads.writes == []


async def test_a_surprise_in_writing_leaves_the_announcement() -> None:
    """Nobody knows what was done."""
    stage = stage_that_holds()
    stage.workloads.apply_error = KeyError("a surprise")
    await stage.cycle()
    assert stage.policies.status_of(ORDERS)["writing"]["change"]["values"]["sessionTimeout"] == "30s"
