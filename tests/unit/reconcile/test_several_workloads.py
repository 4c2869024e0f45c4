"""Whole cycles on fakes: one policy that names several Deployments writes and takes back one after another."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.liveness import Setting
from tests.support import counters, manifests, several, worlds
from tests.support.several import CURED, FIRST, SECOND, THIRD
from tests.support.stages import ORDERS, Stage

BOTH = [("orders-a", CURED), ("orders-b", CURED)]
STORM = worlds.STORM


async def settle(stage: Stage, cycles: int = 2) -> None:
    """Let pods stay ready."""
    for _ in range(cycles):
        await stage.cycle()


async def written_to_both() -> Stage:
    """Return a storm whose cure is in the pods of the first Deployment, and was written to the second."""
    stage = several.storm()
    await stage.cycle()
    several.roll_out(stage, FIRST)
    await settle(stage)
    assert several.writes(stage) == BOTH
    return stage


async def test_a_change_goes_to_the_next_workload_when_the_pods_before_it_stayed_ready() -> None:
    """One rollout at a time, in the policy's order; the whole has landed when the last one has."""
    stage = several.storm()
    await stage.cycle()
    assert several.writes(stage) == BOTH[:1]
    assert stage.condition("Applied") == ("False", "RollingOut")
    await settle(stage, 3)
    assert several.writes(stage) == BOTH[:1]
    several.roll_out(stage, FIRST)
    await stage.cycle(worlds.seconds(30))
    assert several.writes(stage) == BOTH[:1]
    assert "readyTime" not in stage.policies.status_of(ORDERS)["verification"]
    await stage.cycle()
    assert several.writes(stage) == BOTH
    several.roll_out(stage, SECOND)
    await settle(stage)
    assert stage.condition("Applied") == ("True", "Applied")
    assert "Deployment shop/orders-a, Deployment shop/orders-b" in stage.message("Applied")
    assert "readyTime" in stage.policies.status_of(ORDERS)["verification"]
    await settle(stage, 5)
    assert several.writes(stage) == BOTH


async def test_the_status_shows_each_workload() -> None:
    """What its pods run with, and what was last written to it: a list that moves only with these."""
    stage = several.storm()
    await stage.cycle()
    several.roll_out(stage, FIRST)
    await stage.cycle(worlds.seconds(30))
    first, second = stage.policies.status_of(ORDERS)["workloads"]
    assert (first["name"], first["current"]["sessionTimeout"]) == ("orders-a", "30s")
    assert (second["name"], second["current"]["sessionTimeout"]) == ("orders-b", "1s")
    assert first["applied"]["workloadUid"] == "workload-1"
    assert "applied" not in second
    assert stage.condition("Recommended") == ("Unknown", "RolloutInProgress")
    assert "1 of 2 workloads run with them" not in stage.message("Applied")
    assert "Deployment shop/orders-b comes next" in stage.message("Recommended")


async def test_a_rollout_that_fails_at_the_first_never_goes_on() -> None:
    """It is taken back there; the second has not been touched, and the group does not try it again."""
    stage = several.storm()
    await stage.cycle()
    several.crash(stage, FIRST)
    await stage.cycle()
    several.back(stage, FIRST)
    await settle(stage, 5)
    assert several.writes(stage) == [("orders-a", CURED), ("orders-a", STORM)]
    assert stage.condition("Verified") == ("False", "Reverted")
    assert stage.condition("Applied") == ("False", "FailedBefore")


async def test_a_rollout_that_fails_at_the_second_is_taken_back_from_both() -> None:
    """The failing one at once, the other when that rollout is over: each gets its own entries of before."""
    stage = await written_to_both()
    several.crash(stage, SECOND)
    await stage.cycle()
    assert several.writes(stage) == [*BOTH, ("orders-b", STORM)]
    await settle(stage, 3)
    assert several.writes(stage) == [*BOTH, ("orders-b", STORM)]
    several.back(stage, SECOND)
    await stage.cycle()
    assert several.writes(stage) == [*BOTH, ("orders-b", STORM), ("orders-a", STORM)]
    several.roll_out(stage, FIRST)
    await settle(stage, 5)
    assert len(stage.workloads.writes) == 4
    assert stage.condition("Applied") == ("False", "FailedBefore")
    assert stage.condition("Verified") == ("False", "Reverted")
    assert "ends again and again" in stage.message("Verified")
    (failed,) = stage.policies.status_of(ORDERS)["reverted"]
    assert failed["outcome"] == "RolloutFailed"


async def test_pods_of_the_first_that_crash_later_take_the_change_back_from_both() -> None:
    """While it is still on its way to the second."""
    stage = await written_to_both()
    several.roll_out(stage, SECOND)
    several.crash(stage, FIRST)
    await stage.cycle()
    assert several.writes(stage)[2:] == [("orders-b", STORM)]
    several.back(stage, SECOND)
    await stage.cycle()
    assert several.writes(stage)[2:] == [("orders-b", STORM), ("orders-a", STORM)]


def lose_answer(stage: Stage) -> None:
    """Have writes to workloads be done, and no answer come."""
    stage.workloads.answer_error = ApiServerError("no answer in 30 s")


def lose_leader(stage: Stage) -> None:
    """Have another replica lead."""
    stage.restart()


def lose_statuses(stage: Stage) -> None:
    """Have the policy be without a status, and another replica lead: the workloads' notes are all there is."""
    stage.policies.have_status(ORDERS, {})
    stage.restart()


def lose_notes(stage: Stage) -> None:
    """Have the workloads lose their notes, and another replica lead: the status is all there is."""
    for key, workload in stage.workloads.stored.items():
        held = workload.holdings
        assert held is not None
        stage.workloads.edit(key, applications={}, holdings=dataclasses.replace(held, applications={}))
    stage.restart()


LOSSES = [lose_leader, lose_statuses, lose_notes, lose_answer]


def act(stage: Stage, key: Any) -> None:
    """Have the pods of a Deployment be those of what was written last."""
    if several.is_rolling(stage, key):
        several.roll_out(stage, key)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("step", range(9))
async def test_whoever_leads_goes_on_where_another_stopped(step: int, loss: Callable[[Stage], None]) -> None:
    """At each step of a change over three workloads; nothing is written twice."""
    stage = several.storm(3)
    for number in range(14):
        if number == step:
            loss(stage)
        await stage.cycle()
        stage.workloads.answer_error = None
        if number % 3 == 1:
            for key in several.ALL:
                act(stage, key) if loss is not lose_notes else act_from(stage, key)
    assert several.writes(stage) == [*BOTH, ("orders-c", CURED)]
    assert stage.condition("Applied")[1] in {"Applied", "NothingToApply"}


def act_from(stage: Stage, key: Any) -> None:
    """Do the same where the note is lost."""
    if several.is_rolling(stage, key) and not stage.workloads.stored[key].applications:
        stage.workloads.edit(key, current=worlds.current(CURED), rolling_out=False, our_rollout=False)
        workload = stage.workloads.stored[key]
        stage.workloads.edit(key, rollout=dataclasses.replace(workload.rollout, updated=several.PODS))
        several.feed(stage)
    else:
        act(stage, key)


@pytest.mark.parametrize("loss", [lose_leader, lose_statuses, lose_answer], ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("step", range(6))
async def test_whoever_leads_takes_back_from_all(step: int, loss: Callable[[Stage], None]) -> None:
    """Of a change whose second rollout fails; each workload goes back once."""
    stage = await written_to_both()
    several.crash(stage, SECOND)
    for number in range(8):
        if number == step:
            loss(stage)
        await stage.cycle()
        stage.workloads.answer_error = None
        if number == 2:
            several.back(stage, SECOND)
        if number == 5:
            several.back(stage, FIRST)
    assert several.writes(stage) == [*BOTH, ("orders-b", STORM), ("orders-a", STORM)]


async def test_what_a_person_took_back_from_the_first_never_goes_on() -> None:
    """His rollback is final for the whole group, whichever workload he chose."""
    stage = several.storm()
    await stage.cycle()
    several.roll_back(stage, FIRST)
    await settle(stage, 5)
    assert several.writes(stage) == BOTH[:1]
    assert stage.condition("Applied") == ("False", "TakenBack")


async def test_what_a_person_took_back_from_the_second_is_named() -> None:
    """The first keeps its values: nobody asked to change it. One edit of the policy asks again."""
    stage = await written_to_both()
    several.roll_back(stage, SECOND)
    await settle(stage, 3)
    assert several.writes(stage) == BOTH
    assert stage.condition("Applied") == ("False", "TakenBack")
    assert "written to Deployment shop/orders-b" in stage.message("Applied")
    several.roll_back(stage, FIRST)
    stage.policies.edit(ORDERS, bounds={"sessionTimeout": {"max": "60s"}})
    await settle(stage, 2)
    assert several.writes(stage) == [*BOTH, ("orders-a", CURED)]


async def test_nothing_begins_while_another_manager_owns_an_entry_of_any_workload() -> None:
    """Else the group would be left with two values."""
    stage = several.storm()
    stage.workloads.edit(SECOND, foreign_env={Setting.SESSION_TIMEOUT: "argocd-controller"})
    await settle(stage)
    assert several.writes(stage) == []
    assert stage.condition("Applied") == ("False", "FieldOwned")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"paused": True}, "RolloutPaused"), ({"rolling_out": True}, "RolloutInProgress")],
    ids=["paused", "rolling"],
)
async def test_a_rollout_waits_for_every_workload(changes: dict[str, Any], reason: str) -> None:
    """Somebody's deploy of the second, or its pause: neither a first nor a next write begins."""
    stage = several.storm()
    stage.workloads.edit(SECOND, **changes)
    await settle(stage)
    assert several.writes(stage) == []
    assert stage.condition("Applied") == ("False", reason)
    assert "Deployment shop/orders-b" in stage.message("Applied")
    stage.workloads.edit(SECOND, paused=False, rolling_out=False)
    await stage.cycle()
    several.roll_out(stage, FIRST)
    stage.workloads.edit(SECOND, **changes)
    await settle(stage, 4)
    assert several.writes(stage) == BOTH[:1]


async def test_a_workload_without_pods_gets_the_values_too() -> None:
    """For the day on which it is scaled up; nobody waits for its pods."""
    stage = several.storm()
    for key in (FIRST,):
        stored = stage.workloads.stored[key]
        stage.workloads.edit(key, pods=(), rollout=dataclasses.replace(stored.rollout, wanted=0, updated=0))
    several.feed(stage)
    await stage.cycle()
    several.roll_out(stage, FIRST)
    await stage.cycle()
    assert several.writes(stage) == BOTH


async def test_a_workload_that_is_deleted_halts_everything() -> None:
    """What is not known may be anything; made again, it gets the values."""
    stage = several.storm()
    await stage.cycle()
    several.roll_out(stage, FIRST)
    gone = stage.workloads.stored.pop(SECOND)
    several.feed(stage)
    await settle(stage, 3)
    assert several.writes(stage) == BOTH[:1]
    assert stage.condition("Ready") == ("False", "WorkloadNotFound")
    held = dataclasses.replace(gone.holdings, uid="workload-9") if gone.holdings is not None else None
    stage.workloads.stored[SECOND] = dataclasses.replace(gone, uid="workload-9", holdings=held)
    several.feed(stage)
    await settle(stage)
    assert several.writes(stage) == BOTH


async def test_what_did_harm_goes_back_though_another_workload_was_deleted() -> None:
    """The second crashes, and the first is gone: the second gets its entries back, and the status names the first."""
    stage = await written_to_both()
    stage.workloads.stored.pop(FIRST)
    several.crash(stage, SECOND)
    several.feed(stage)
    await stage.cycle()
    assert several.writes(stage) == [*BOTH, ("orders-b", STORM)]
    assert stage.condition("Ready") == ("False", "WorkloadNotFound")
    assert "Deployment shop/orders-a does not exist" in stage.message("Ready")
    assert "taken back, from Deployment shop/orders-b" in stage.message("Ready")
    assert stage.condition("Verified") == ("False", "Reverted")
    several.back(stage, SECOND)
    await settle(stage, 3)
    assert len(stage.workloads.writes) == 3
    (failed,) = stage.policies.status_of(ORDERS)["reverted"]
    assert failed["outcome"] == "RolloutFailed"


async def test_a_revert_goes_on_though_the_workload_that_went_back_first_was_deleted() -> None:
    """It was written last and failed; the other still has the values."""
    stage = await written_to_both()
    several.crash(stage, SECOND)
    await stage.cycle()
    assert several.writes(stage) == [*BOTH, ("orders-b", STORM)]
    stage.workloads.stored.pop(SECOND)
    several.feed(stage)
    stage.restart()
    await settle(stage)
    assert several.writes(stage) == [*BOTH, ("orders-b", STORM), ("orders-a", STORM)]
    several.roll_out(stage, FIRST)
    await settle(stage, 3)
    assert len(stage.workloads.writes) == 4


async def test_harm_that_showed_before_a_workload_was_deleted_is_taken_back_from_the_rest() -> None:
    """The workload that was written last is gone, with the newest note; the other has the values of the same change."""
    stage = await written_to_both()
    several.roll_out(stage, SECOND)
    await settle(stage)
    status = stage.policies.status_of(ORDERS)
    worse = {
        **status["verification"],
        "outcome": "Worse",
        "message": "9 episodes",
        "outcomeTime": "2026-03-02T12:09:00Z",
    }
    stage.policies.have_status(ORDERS, {**status, "verification": worse})
    stage.workloads.stored.pop(SECOND)
    several.feed(stage)
    stage.restart()
    await settle(stage)
    assert several.writes(stage) == [*BOTH, ("orders-a", STORM)]
    assert "Deployment shop/orders-b does not exist" in stage.message("Ready")


async def test_nothing_is_learnt_or_begun_while_a_workload_is_missing() -> None:
    """Its rest of the group is no proof of anything: values do not land by it, and a cure waits."""
    stage = await written_to_both()
    several.roll_out(stage, SECOND)
    stage.workloads.stored.pop(FIRST)
    several.feed(stage)
    await settle(stage, 5)
    assert several.writes(stage) == BOTH
    assert "readyTime" not in stage.policies.status_of(ORDERS)["verification"]
    assert stage.condition("Ready") == ("False", "WorkloadNotFound")


async def test_a_revert_is_not_written_where_the_missing_workload_came_back_meanwhile() -> None:
    """What was decided on was another group: the next cycle decides again."""
    stage = await written_to_both()
    gone = stage.workloads.stored.pop(FIRST)
    several.crash(stage, SECOND)
    several.feed(stage)
    stage.meanwhile = stage.prometheus.meanwhile = lambda: stage.workloads.stored.update({FIRST: gone})
    await stage.cycle()
    assert several.writes(stage) == BOTH
    stage.prometheus.meanwhile = None
    await stage.cycle()
    assert several.writes(stage) == [*BOTH, ("orders-b", STORM)]
    assert stage.condition("Ready") == ("True", "Watching")


async def test_unknown_pods_of_one_workload_are_unknown_pods_of_the_group() -> None:
    """A change does not go on into what nobody sees."""
    stage = several.storm()
    await stage.cycle()
    several.roll_out(stage, FIRST)
    stage.workloads.edit(FIRST, rolling_out=True)
    seen = stage.workloads.stored[FIRST].pods
    stage.prometheus.answers = counters.quiet(seen, seen[0].started, stage.clock.now() + worlds.HOUR)
    await settle(stage, 10)
    stage.workloads.edit(FIRST, rolling_out=False)
    await settle(stage)
    assert several.writes(stage) == BOTH[:1]
    assert stage.condition("Recommended") == ("Unknown", "TooLittleData")
    assert "any pod of Deployment shop/orders-b" in stage.message("Recommended")
    several.feed(stage)
    await settle(stage)
    assert several.writes(stage) == BOTH


async def test_a_change_does_not_go_on_into_bounds_that_forbid_it() -> None:
    """Whoever edits the policy between two workloads is heard; what is to be done then is said."""
    stage = several.storm()
    await stage.cycle()
    several.roll_out(stage, FIRST)
    stage.policies.edit(ORDERS, bounds={"sessionTimeout": {"max": "20s"}})
    await settle(stage, 3)
    assert several.writes(stage) == BOTH[:1]
    assert stage.condition("Recommended") == ("Unknown", "Conflict")
    assert "Deployment shop/orders-b sessionTimeout 1s" in stage.message("Recommended")


async def test_nothing_is_decided_where_somebody_set_different_values() -> None:
    """There are none to start from."""
    stage = several.storm()
    stage.workloads.edit(SECOND, current=worlds.current(CURED))
    several.feed(stage)
    await settle(stage)
    assert several.writes(stage) == []
    assert stage.condition("Recommended") == ("Unknown", "Conflict")


async def test_one_place_of_the_fleet_is_enough() -> None:
    """The next workload takes the place that the one before gave back."""
    stage = several.storm()
    stage.max_rollouts = 1
    stage.restart()
    await stage.cycle()
    several.roll_out(stage, FIRST)
    await settle(stage)
    assert several.writes(stage) == BOTH


async def test_recommend_writes_nothing() -> None:
    """One decision for the group, from the pods of all."""
    stage = several.storm(mode="Recommend")
    await settle(stage)
    assert several.writes(stage) == []
    assert stage.condition("Recommended") == ("True", "CadenceExceedsSession")
    assert "pods orders-2, orders-3, orders-4, orders-5" in stage.message("Recommended")


async def test_a_workload_that_two_policies_name_is_the_older_ones() -> None:
    """Also where it is one of several of one, or of both."""
    stage = several.storm()
    policy = manifests.policy(
        "younger",
        spec={"workloadRef": None, "workloadRefs": several.refs(3)[1:]},
        creationTimestamp="2026-03-01T13:00:00Z",
    )
    stage.workloads.stored[THIRD] = dataclasses.replace(stage.workloads.stored[SECOND], uid="workload-3")
    older = manifests.policy(spec={"workloadRef": None, "workloadRefs": several.refs(2)})
    younger = Stage([older, policy], workloads=stage.workloads.stored)
    several.feed(younger)
    await settle(younger)
    key = dataclasses.replace(ORDERS, name="younger")
    assert younger.condition("Ready", key) == ("False", "Conflict")
    assert "tunes container app of Deployment shop/orders-b already" in younger.message("Ready", key)
    assert several.writes(younger) == BOTH[:1]


async def test_a_policy_that_gains_a_workload_writes_the_values_there() -> None:
    """Its own change is over by then: the new workload is one of its own, and alone taken back."""
    stage = await written_to_both()
    several.roll_out(stage, SECOND)
    await settle(stage)
    third = several.storm(3).workloads.stored[THIRD]
    stage.workloads.stored[THIRD] = third
    stage.policies.edit(ORDERS, workloadRefs=several.refs(3))
    several.feed(stage)
    await settle(stage)
    assert several.writes(stage) == [*BOTH, ("orders-c", CURED)]
    assert stage.workloads.stored[THIRD].applications["app"].begun is None
    several.crash(stage, THIRD)
    await stage.cycle()
    several.back(stage, THIRD)
    await settle(stage, 3)
    assert several.writes(stage)[3:] == [("orders-c", STORM)]


async def test_what_comes_between_two_workloads_is_no_record_of_the_time_before() -> None:
    """The verdict compares the time since all had the values with the time before the first got them."""
    stage = several.storm()
    await stage.cycle()
    several.roll_out(stage, FIRST)
    stage.workloads.edit(FIRST, rolling_out=True, our_rollout=True)
    await settle(stage, 30)
    stage.workloads.edit(FIRST, rolling_out=False, our_rollout=False)
    await settle(stage)
    several.roll_out(stage, SECOND)
    await settle(stage, 30)
    status = stage.policies.status_of(ORDERS)
    assert [noted["applied"]["changeTime"] for noted in status["workloads"]] == [
        "2026-03-02T12:01:00Z",
        "2026-03-02T12:32:00Z",
    ]
    assert status["verification"]["readyTime"] == "2026-03-02T12:34:00Z"
    assert status["history"]["startTime"] == "2026-03-02T11:01:01Z"
    assert status["verification"]["effect"]["before"]["episodes"] == 4  # one in 15 minutes of the hour before 12:01


async def test_another_policy_of_the_group_takes_its_turn() -> None:
    """One rollout of the group at a time, whichever policy and whichever of its workloads has it."""
    bodies = [
        manifests.policy(spec={"workloadRef": None, "workloadRefs": several.refs(2)}),
        manifests.policy("other", spec={"workloadRef": several.refs(3)[2]}),
    ]
    stage = Stage(bodies, workloads=several.storm(3).workloads.stored)
    several.feed(stage)
    for number in range(24):
        await stage.cycle()
        rolling = [key for key in several.ALL if several.is_rolling(stage, key)]
        assert len(rolling) <= 1
        if number % 3 == 2:
            for key in rolling:
                several.roll_out(stage, key)
    assert sorted(several.writes(stage)) == sorted([*BOTH, ("orders-c", CURED)])


async def test_each_rollout_holds_a_place_of_the_fleet() -> None:
    """Of the second workload as well, also for a leader that knows nothing."""
    stage = await written_to_both()
    stage.restart()
    stage.max_rollouts = 1
    await stage.cycle()
    assert stage.operator._holders == {("Deployment", SECOND)}


async def test_what_somebody_overruled_is_let_go_of_in_one_workload_at_a_time() -> None:
    """New pods may start by that."""
    stage = several.storm(mode="Recommend")
    for key in (FIRST, SECOND):
        held = stage.workloads.stored[key].holdings
        assert held is not None
        stage.workloads.edit(key, holdings=dataclasses.replace(held, overruled={"app": {"A": "flux"}}))
    await stage.cycle()
    assert stage.workloads.releases == [FIRST]
    await settle(stage)
    assert stage.workloads.releases == [FIRST, SECOND]
