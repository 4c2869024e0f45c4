"""Whole cycles on fakes: a change that did harm or whose pods fail is taken back once, and not tried again."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import Holdings
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.rollouts import Failing, Rollout
from tests.support import counters, manifests, stages, worlds
from tests.support.stages import CONSUMER, MINUTE, ORDERS, Stage

CURED = worlds.settings("30s", "1s", "1s")
CRASHING = Failing("orders-new", "container app ends again and again, with exit code 1", 2, container="app")


async def stage_with_crashing_pods(**spec: Any) -> Stage:
    """Return a storm for which values were written, and whose first new pod crashes."""
    stage = stages.storm(rollout={"cooldown": "1s", **spec})
    stage.workloads.edit(CONSUMER, holdings=Holdings({}, {}, {}, {}, {}, {}, "workload-1", 5))
    await stage.cycle()
    crash(stage)
    return stage


def crash(stage: Stage, **changes: Any) -> None:
    """Have the first pod with the new values crash; the pods before it go on."""
    rollout = Rollout(wanted=3, updated=1, failing=(dataclasses.replace(CRASHING, **changes),))
    stage.workloads.edit(CONSUMER, rollout=rollout)


def old_pods_stay(stage: Stage) -> None:
    """Have the template that it was before: its pods are there already."""
    stage.workloads.edit(CONSUMER, rolling_out=False, our_rollout=False, rollout=Rollout(wanted=3, updated=3))


def values_written(stage: Stage) -> list[Any]:
    """Return the values of all writes."""
    return [write.target for write in stage.workloads.writes]


async def test_values_whose_pods_crash_are_taken_back_at_once() -> None:
    """What was written goes out again, entry by entry, so that the old pods are the pods of the template."""
    stage = await stage_with_crashing_pods()
    await stage.cycle()
    assert values_written(stage) == [CURED, worlds.STORM]
    note = stage.workloads.stored[CONSUMER].applications["app"]
    assert note.entries == {}
    assert note.reverts is not None
    assert stage.condition("Verified") == ("False", "Reverted")
    assert "ends again and again" in stage.message("Verified")
    (failed,) = stage.policies.status_of(ORDERS)["reverted"]
    assert (failed["values"]["sessionTimeout"], failed["outcome"]) == ("30s", "RolloutFailed")


@pytest.mark.parametrize(
    "changes",
    [{"pods": (worlds.pod(7, restarts=3),)}, {"current": None}, {"unlike_template": frozenset({Setting.FETCH_WAIT})}],
    ids=lambda changes: next(iter(changes)),
)
async def test_pods_that_crash_meanwhile_do_not_hold_their_revert(changes: dict[str, Any]) -> None:
    """Of a hundred pods that crash one starts or ends every second: no two looks would ever be the same."""
    stage = await stage_with_crashing_pods()
    stage.prometheus.meanwhile = lambda: stage.workloads.edit(CONSUMER, **changes)
    await stage.cycle()
    assert values_written(stage) == [CURED, worlds.STORM]


@pytest.mark.parametrize(
    "changes",
    [{"template": "theirs"}, {"foreign_env": {Setting.SESSION_TIMEOUT: "flux"}}, {"paused": True}],
    ids=lambda changes: next(iter(changes)),
)
async def test_what_somebody_does_meanwhile_holds_a_revert(changes: dict[str, Any]) -> None:
    """It may be the cure; the next cycle looks again."""
    stage = await stage_with_crashing_pods()
    stage.prometheus.meanwhile = lambda: stage.workloads.edit(CONSUMER, **changes)
    await stage.cycle()
    assert values_written(stage) == [CURED]


async def test_a_new_leader_takes_back_what_no_pod_survives() -> None:
    """All pods were stopped for the values, and crash: nobody is left to prove whose the group is but its note."""
    stage = Stage([manifests.policy(spec={"rollout": {"cooldown": "1s"}})], grants={})
    stage.workloads.edit(CONSUMER, holdings=Holdings({}, {}, {}, {}, {}, {}, "workload-1", 5))
    stage.groups.groups["main"]["orders"] = worlds.group([worlds.member(pod) for pod in worlds.pods()])
    await stage.cycle()
    assert values_written(stage) == [CURED]
    await stage.cycle()
    starting = dataclasses.replace(worlds.pod(7, started=stage.clock.time, restarts=3), ready_since=None)
    failing = tuple(dataclasses.replace(CRASHING, pod=f"orders-{number}") for number in (7, 8, 9))
    rollout = Rollout(wanted=3, updated=3, failing=failing, pods=frozenset({"orders-7", "orders-8", "orders-9"}))
    stage.workloads.edit(CONSUMER, pods=(starting,), rollout=rollout)
    stage.groups.groups["main"]["orders"] = worlds.group()
    stage.restart()
    await stage.cycle()
    assert values_written(stage) == [CURED, worlds.STORM]


async def test_what_failed_is_not_written_again_by_any_leader() -> None:
    """The storm goes on, and demands the same values in each cycle."""
    stage = await stage_with_crashing_pods()
    await stage.cycle()
    old_pods_stay(stage)
    for _ in range(5):
        stage.restart()
        await stage.cycle()
    assert values_written(stage) == [CURED, worlds.STORM]
    assert stage.condition("Applied") == ("False", "FailedBefore")
    assert stage.condition("Verified") == ("False", "Reverted")


async def test_an_edit_of_what_is_asked_for_asks_again_and_no_other_edit_does() -> None:
    """Whoever changes what is asked for has read why it failed."""
    stage = await stage_with_crashing_pods()
    await stage.cycle()
    old_pods_stay(stage)
    stage.policies.edit(ORDERS, suspend=True)
    await stage.cycle()
    stage.policies.edit(ORDERS, suspend=False)
    await stage.cycle()
    stage.policies.edit(ORDERS, rollout={"cooldown": "2s"})
    await stage.cycle()
    assert len(stage.workloads.writes) == 2
    stage.policies.edit(ORDERS, bounds={"sessionTimeout": {"max": "60s"}})
    await stage.cycle()
    assert values_written(stage)[2] == CURED


async def test_a_reinstalled_operator_knows_by_the_workload_what_failed() -> None:
    """The status is gone; the annotation of the workload has what was taken back."""
    stage = await stage_with_crashing_pods()
    await stage.cycle()
    old_pods_stay(stage)
    stage.policies.have_status(ORDERS, {})
    stage.restart()
    for _ in range(3):
        await stage.cycle()
    assert len(stage.workloads.writes) == 2
    assert stage.condition("Applied") == ("False", "FailedBefore")


@pytest.mark.parametrize(
    "changes", [{"container": "sidecar"}, {"restarts": 1}], ids=["another container", "restarted once"]
)
async def test_pods_that_say_nothing_against_the_values_take_nothing_back(changes: dict[str, Any]) -> None:
    """The values are not to blame for a sidecar, nor for one restart."""
    stage = await stage_with_crashing_pods()
    crash(stage, **changes)
    await stage.cycle()
    assert values_written(stage) == [CURED]


async def test_harm_is_only_told_where_reverts_are_disabled() -> None:
    """A person asked to act himself; the condition says what to do."""
    stage = await stage_with_crashing_pods(verification={"revert": False})
    for _ in range(3):
        await stage.cycle()
    assert values_written(stage) == [CURED]
    assert stage.condition("Verified") == ("False", "RolloutFailed")
    assert stage.condition("Applied") == ("False", "RolloutFailed")


@pytest.mark.parametrize("spec", [{"suspend": True}, {"mode": "Recommend"}], ids=["suspended", "Recommend"])
async def test_nothing_is_taken_back_without_leave(spec: dict[str, Any]) -> None:
    """Neither is any other write."""
    stage = await stage_with_crashing_pods()
    stage.policies.edit(ORDERS, **spec)
    await stage.cycle()
    assert values_written(stage) == [CURED]
    assert stage.condition("Verified") == ("False", "RolloutFailed")


@pytest.mark.parametrize("mode", ["Initial", "Recommend"])
async def test_what_failed_is_neither_set_in_new_pods_nor_recommended_without_a_word(mode: str) -> None:
    """The webhook would give the values to each new pod, and a person would copy them."""
    stage = await stage_with_crashing_pods()
    await stage.cycle()
    old_pods_stay(stage)
    stage.policies.edit(ORDERS, mode=mode)
    for _ in range(2):
        await stage.cycle()
    assert "initial" not in stage.policies.status_of(ORDERS)
    assert stage.condition("Applied") == ("False", "FailedBefore")


async def test_nothing_is_called_reverted_that_somebody_else_owns_by_now() -> None:
    """Argo CD has the same entries: what is left out of an apply stays, and the pods go on crashing."""
    stage = await stage_with_crashing_pods()
    stage.workloads.edit(CONSUMER, foreign_env={Setting.SESSION_TIMEOUT: "argocd-controller"})
    for _ in range(3):
        await stage.cycle()
    assert values_written(stage) == [CURED]
    assert stage.condition("Applied") == ("False", "FieldOwned")
    assert stage.condition("Verified") == ("False", "RolloutFailed")


async def test_a_revert_waits_for_no_place_of_its_own() -> None:
    """It ends the rollout that has the only one."""
    stage = await stage_with_crashing_pods()
    stage.max_rollouts = 1
    stage.restart()
    await stage.cycle()
    assert values_written(stage) == [CURED, worlds.STORM]


async def test_a_revert_whose_answer_is_lost_is_done_once() -> None:
    """The next leader finds it in the workload."""
    stage = await stage_with_crashing_pods()
    stage.workloads.answer_error = ApiServerError("no answer in 30 s")
    await stage.cycle()
    stage.workloads.answer_error = None
    old_pods_stay(stage)
    stage.restart()
    for _ in range(3):
        await stage.cycle()
    assert values_written(stage) == [CURED, worlds.STORM]
    assert stage.condition("Verified") == ("False", "Reverted")


async def test_a_refused_revert_is_tried_again() -> None:
    """It does not count as done: the pods still crash."""
    stage = await stage_with_crashing_pods()
    stage.workloads.apply_error = ApiServerError("refused", status=403)
    await stage.cycle()
    assert stage.condition("Verified") == ("False", "RolloutFailed")
    stage.workloads.apply_error = None
    await stage.cycle()
    assert values_written(stage) == [CURED, worlds.STORM]


def changed(*, watched: timedelta) -> Stage:
    """Return a group whose values were changed a minute ago, and whose first member is evicted every 17 minutes since.

    Args:
        watched: for how long it was before, without an eviction.
    """
    values = {"sessionTimeout": "30s", "heartbeatInterval": "3s", "fetchWait": "5s"}
    at, since = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (worlds.NOW - MINUTE, worlds.NOW - MINUTE - watched))
    stage = stages.calm(rollout={"cooldown": "24h"})
    entries = {"KAFKA_SESSION_TIMEOUT_MS": "30000"}
    stage.workloads.edit(CONSUMER, holdings=Holdings({}, {}, {}, entries, {}, {}, "workload-1", 5))
    before = {**values, "sessionTimeout": "45s"}
    applied = {"values": values, "previous": before, "changeTime": at, "workloadUid": "workload-1", "container": "app"}
    applied |= {"entries": entries, "previousEntries": {"KAFKA_SESSION_TIMEOUT_MS": "45000"}}
    status = {
        "observedGeneration": 1,
        "applied": applied,
        "verification": {"changeTime": at, "readyTime": at, "outcome": "Verifying"},
        "history": {"startTime": since, "clusterRef": "main", "groupId": "orders", "values": values},
    }
    stage.policies.have_status(ORDERS, status)
    pods = stage.workloads.stored[CONSUMER].pods
    stage.prometheus.answers = counters.evicted(pods, worlds.NOW, worlds.NOW + 2 * worlds.HOUR, every_s=17 * 60)
    return stage


LONGER = worlds.settings("45s")


async def test_a_storm_in_the_first_hour_takes_the_change_back() -> None:
    """Three episodes beyond what the record before allows need no weeks of statistics."""
    stage = changed(watched=timedelta(days=14))
    for _ in range(58):
        await stage.cycle()
    assert values_written(stage) == [LONGER]
    assert stage.condition("Verified") == ("False", "Reverted")
    assert "3 episodes of evictions more than the 0" in stage.message("Verified")
    (failed,) = stage.policies.status_of(ORDERS)["reverted"]
    assert float(failed["observedPerDay"]) > 0.0
    assert stage.workloads.stored[CONSUMER].applications["app"].entries == {"KAFKA_SESSION_TIMEOUT_MS": "45000"}


async def test_without_a_record_before_nothing_is_worse_than_it() -> None:
    """What is unknown takes nothing back."""
    stage = changed(watched=timedelta(0))
    for _ in range(58):
        await stage.cycle()
    assert LONGER not in values_written(stage)
    assert stage.condition("Verified") == ("Unknown", "Verifying")


async def test_a_new_leader_comes_to_the_same_verdict() -> None:
    """What it needs stands in the status: a leader that ends in every cycle changes nothing."""
    stage = changed(watched=timedelta(days=14))
    for _ in range(58):
        stage.restart()
        await stage.cycle()
    assert values_written(stage) == [LONGER]


async def test_values_that_somebody_else_set_end_the_verification() -> None:
    """What comes of them is nobody's of ours."""
    stage = changed(watched=timedelta(days=14))
    await stage.cycle()
    stage.workloads.edit(CONSUMER, current=worlds.current(worlds.settings("60s")))
    for _ in range(58):
        await stage.cycle()
    assert LONGER not in values_written(stage)
    assert stage.policies.status_of(ORDERS)["verification"]["outcome"] == "Inconclusive"
    since = stage.policies.status_of(ORDERS)["history"]["startTime"]
    assert since > "2026-03-02T11:00:00Z"


async def test_the_status_of_a_verified_change_moves_once_a_day() -> None:
    """Nothing happens for two days but that they pass."""
    stage = stages.storm(rollout={"cooldown": "24h"})
    await stage.cycle()
    stage.workloads.roll_out(CONSUMER, stage.clock.now())
    pods, now = stage.workloads.stored[CONSUMER].pods, stage.clock.now()
    stage.prometheus.answers = counters.quiet(pods, now, now + timedelta(days=2))
    for _ in range(3):
        await stage.cycle()
    before = stage.policies.writes
    for _ in range(48):
        await stage.cycle(worlds.HOUR)
    assert stage.policies.writes - before <= 3
    assert "since the change" in stage.message("Verified")
