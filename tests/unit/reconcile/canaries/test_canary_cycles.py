"""Whole cycles on fakes: new values go to a part of the pods first, and what becomes of them then."""

import copy
import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.domain.errors import ApiServerError, MetricsUnavailableError, WriteConflictError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.ports.fleet_stops import FleetStop, StopNote
from tests.support import counters, manifests, stages, tried, worlds
from tests.support.stages import CONSUMER, MINUTE, ORDERS
from tests.support.tried import BEFORE, PODS, Fall, TriedStage

FOR_AN_HOUR: Final[dict[str, Any]] = {"canary": {}}
FIRST_TWO = ["orders-0", "orders-1"]


async def landed(**spec: object) -> TriedStage:
    """Return a stage whose canary runs in two pods."""
    stage = TriedStage(**spec)
    await until(stage, lambda: "readyTime" in stage.canary, cycles=6)
    return stage


async def first_evicted(**spec: Any) -> TriedStage:
    """Return a stage whose first pod was evicted, and is back."""
    stage = TriedStage(**spec)
    await until(stage, lambda: bool(stage.workloads.evictions), cycles=3)
    return stage


def evicted(stage: TriedStage) -> list[str]:
    """Return the names of the pods that were evicted, in order."""
    return [pod for pod, _ in stage.workloads.evictions]


async def until(stage: TriedStage, is_so: Callable[[], bool], *, cycles: int) -> None:
    """Run cycles until something is so."""
    for _ in range(cycles):
        if is_so():
            return
        await stage.cycle()
    assert is_so(), stage.policies.status_of(ORDERS)


async def test_a_quarter_of_the_pods_has_the_values_first_and_then_all() -> None:
    """One pod at a time; nothing is written before an hour was watched, and then what was tried."""
    stage = TriedStage(rollout=FOR_AN_HOUR)
    await stage.cycle()
    assert (stage.canary["phase"], stage.canary["pods"], evicted(stage)) == ("Running", 2, [])
    for tickets, count in ((1, 0), (1, 1), (2, 1), (2, 2), (2, 2), (2, 2)):
        await stage.cycle()
        assert (stage.canary["ticket"], len(evicted(stage))) == (tickets, count)
    assert evicted(stage) == FIRST_TWO
    assert stage.condition("Applied") == ("False", "CanaryRunning")
    assert stage.condition("Verified") == ("Unknown", "Verifying")
    assert "2 of 8 pods run with sessionTimeout 30s → 17s" in stage.message("Verified")
    assert "the rest follows at 13:06 UTC" in stage.message("Applied")
    values = stage.canary["values"]
    began = stage.clock.time
    await until(stage, lambda: bool(stage.workloads.writes), cycles=80)
    assert stage.clock.time - began >= timedelta(minutes=58)
    (write,) = stage.workloads.writes
    assert f"{write.target.session_timeout.total_seconds():g}s" == values["sessionTimeout"]
    assert evicted(stage) == FIRST_TWO
    promise = stage.policies.status_of(ORDERS)["applied"]["promise"]
    # What one eviction stalls hangs on the beat and the polls, not on the session.
    assert 0.0 < float(promise["stalledPerEvictionBefore"]) < 1_000.0
    assert 0.0 < float(promise["stalledPerEvictionAfter"]) < 1_000.0
    await stage.cycle()
    assert stage.canary == {}


async def test_while_it_runs_decisions_see_what_the_others_have() -> None:
    """The chain goes on, and its advice stays: two pods with other values are no rollout in the midst."""
    stage = await landed()
    status = stage.policies.status_of(ORDERS)
    assert status["current"]["sessionTimeout"] == "30s"
    assert stage.condition("Recommended") == ("True", "Cheaper")


async def test_a_quiet_hour_writes_few_statuses() -> None:
    """The time that was seen is noted a dozen times, and as often that nothing is learnt of the rate meanwhile."""
    stage = await landed(rollout=FOR_AN_HOUR)
    writes = stage.policies.writes
    for _ in range(50):
        await stage.cycle()
    assert stage.policies.writes - writes <= 20


async def test_pods_that_crash_go_back_and_the_others_never_change() -> None:
    """The values are remembered, and are not tried again by any leader."""
    stage = TriedStage()
    stage.workloads.crashes = True
    others = sorted(stage.pods())[1:]
    await until(stage, lambda: stage.canary.get("phase") == "Failed", cycles=6)
    assert stage.canary["outcome"] == "RolloutFailed"
    await until(stage, lambda: stage.canary.get("phase") == "Over", cycles=4)
    assert len(evicted(stage)) == 2, "the first pod, and the one in its place"
    assert set(others) <= stage.pods()
    assert stage.workloads.tried == set()
    assert stage.workloads.writes == []
    (failed,) = stage.policies.status_of(ORDERS)["reverted"]
    assert (failed["outcome"], failed["values"]["sessionTimeout"]) == ("RolloutFailed", "17s")
    assert "exit code 7" in failed["message"]
    for _ in range(3):
        stage.restart()
        await stage.cycle()
    assert stage.condition("Applied") == ("False", "FailedBefore")
    assert stage.condition("Verified") == ("False", "Reverted")
    assert (stage.canary["phase"], len(evicted(stage))) == ("Over", 2)


async def test_pods_that_crash_while_the_others_do_say_nothing_of_the_values() -> None:
    """An outage of the brokers: nothing is taken back for it, and no pod more is evicted."""
    stage = TriedStage()
    stage.workloads.crashes = True
    await until(stage, lambda: bool(stage.workloads.evictions), cycles=3)
    pods = stage.workloads.stored[CONSUMER].pods
    stage.workloads.edit(CONSUMER, pods=tuple(dataclasses.replace(pod, ready_since=None) for pod in pods))
    for _ in range(5):
        await stage.cycle()
    assert (stage.canary["phase"], len(evicted(stage))) == ("Running", 1)
    assert "reverted" not in stage.policies.status_of(ORDERS)


async def test_another_leader_in_each_cycle_goes_on_where_the_last_one_was() -> None:
    """No pod is evicted twice, no more pods have the values than were noted, and the end is the same."""
    stage = TriedStage()
    while not stage.workloads.writes:
        stage.restart()
        await stage.cycle()
        assert stage.clock.time < worlds.NOW + 2 * worlds.HOUR
    assert evicted(stage) == FIRST_TWO
    assert stage.workloads.most_tried == 2
    assert len(stage.workloads.writes) == 1


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("answer", ["not done", "lost"])
async def test_wherever_a_leader_falls_the_end_is_the_same(number: int, answer: str) -> None:
    """At each of its writes, before it is done or before it knows: statuses, evictions and the template."""
    stage = TriedStage(rollout={"canary": {"duration": "1m"}})
    others = sorted(stage.pods())[2:]
    fall = Fall(stage, number, done=answer == "lost")
    for _ in range(16):
        await stage.cycle()
        if fall.has_fallen:
            stage.follow_up()
            fall.has_fallen = False
    assert evicted(stage) == FIRST_TWO
    assert stage.workloads.most_tried == 2
    assert len(stage.workloads.writes) == 1
    assert set(others) <= stage.pods()


@pytest.mark.parametrize("error", [ApiServerError("no answer in 30 s"), RuntimeError("killed")], ids=["lost", "killed"])
async def test_an_eviction_whose_answer_is_lost_is_not_done_twice(error: Exception) -> None:
    """The pod that was noted is gone, and the one in its place has the values."""
    stage = TriedStage()
    stage.workloads.dies = error
    await until(stage, lambda: bool(stage.workloads.evictions), cycles=3)
    stage.workloads.dies = None
    stage.restart()
    await until(stage, lambda: "readyTime" in stage.canary, cycles=4)
    assert evicted(stage) == FIRST_TWO
    assert stage.workloads.most_tried == 2


async def test_a_note_that_is_not_written_evicts_nobody() -> None:
    """What is not noted is not done."""
    stage = TriedStage()
    await stage.cycle()
    stage.policies.error = WriteConflictError("changed")
    await stage.cycle()
    assert evicted(stage) == []
    stage.policies.error = None
    await stage.cycle()
    assert evicted(stage) == []
    await stage.cycle()
    assert evicted(stage) == ["orders-0"]


async def test_a_pod_that_came_anyway_and_took_the_ticket_spares_an_eviction() -> None:
    """An autoscaler made it before the pod that was noted was evicted."""
    stage = TriedStage()
    await stage.cycle()
    await stage.cycle()
    assert (stage.canary["ticket"], evicted(stage)) == (1, [])
    stage.workloads.scale(9)
    assert len(stage.workloads.tried) == 1
    await until(stage, lambda: "readyTime" in stage.canary, cycles=5)
    assert (len(evicted(stage)), stage.workloads.most_tried) == (1, 2)


async def test_a_disruption_budget_is_waited_for() -> None:
    """The same pod is asked for again and again, and the condition says what it waits for."""
    stage = TriedStage()
    stage.workloads.evict_error = ApiServerError("Cannot evict pod", status=429)
    for _ in range(4):
        await stage.cycle()
    assert "waits for its PodDisruptionBudget" in stage.message("Applied")
    assert (evicted(stage), stage.canary["ticket"]) == ([], 1)
    stage.workloads.evict_error = None
    await stage.cycle()
    assert evicted(stage) == ["orders-0"]


async def test_the_next_pod_waits_for_the_one_before() -> None:
    """It is created, and not ready yet."""
    stage = TriedStage()
    stage.workloads.readies = False
    for _ in range(5):
        await stage.cycle()
    assert len(evicted(stage)) == 1


async def test_time_without_metrics_does_not_count_and_takes_nothing_back() -> None:
    """Half an hour of it moves the end by half an hour."""
    stage = await landed()
    stage.prometheus.error = MetricsUnavailableError("down")
    for _ in range(30):
        await stage.cycle()
    stage.prometheus.error = None
    seen_s = float(stage.canary["exposedSeconds"])
    assert seen_s <= 60
    for _ in range(4):
        await stage.cycle()
    assert stage.workloads.writes == []
    await until(stage, lambda: bool(stage.workloads.writes), cycles=4)


async def test_what_could_not_be_watched_for_a_day_is_undone_and_says_so() -> None:
    """It neither passes nor fails; another canary waits for a day more."""
    stage = await landed()
    stage.prometheus.error = MetricsUnavailableError("down")
    await stage.cycle(timedelta(hours=24))
    assert stage.canary["phase"] == "Ended"
    for _ in range(4):
        await stage.cycle()
    assert (stage.canary["phase"], stage.workloads.tried) == ("Over", set())
    assert "could be watched for" in stage.message("Applied")
    assert stage.condition("Applied") == ("False", "CanaryEnded")
    assert "reverted" not in stage.policies.status_of(ORDERS)
    assert len(evicted(stage)) == 4


async def test_pods_that_come_without_the_values_end_it() -> None:
    """The webhook does not answer: no other pod is evicted in vain."""
    stage = TriedStage()
    stage.workloads.webhook = False
    await until(stage, lambda: stage.canary.get("phase") == "Over", cycles=8)
    assert len(evicted(stage)) == 1
    assert "the webhook did not answer" in stage.message("Applied")
    for _ in range(3):
        await stage.cycle()
    assert (len(evicted(stage)), stage.workloads.writes) == (1, [])


async def test_an_edit_of_what_is_asked_for_ends_it_and_another_begins() -> None:
    """The pods of the first one have gone back before, and the group's record is half an hour old again."""
    stage = await landed()
    stage.policies.edit(ORDERS, bounds={"sessionTimeout": {"min": "20s"}})
    await stage.cycle()
    assert "was edited" in stage.canary["message"]
    first = stage.canary["startTime"]
    await until(stage, lambda: stage.canary.get("startTime", first) != first, cycles=40)
    assert stage.workloads.tried == set()
    assert stage.canary["values"]["sessionTimeout"] == "20s"


async def test_no_other_begins_before_the_pods_of_one_that_passed_went_back() -> None:
    """It ends in the very cycle in which its values would be written: nothing held a write when that was decided."""
    stage = await landed()
    await until(stage, lambda: stage.canary.get("phase") == "Passed", cycles=10)
    first = stage.canary["startTime"]
    stage.policies.edit(ORDERS, bounds={"sessionTimeout": {"min": "20s"}})
    await stage.cycle()
    assert (stage.canary["phase"], stage.canary["startTime"]) == ("Ended", first)
    assert stage.condition("Applied") == ("False", "CanaryEnded")
    await until(stage, lambda: not stage.workloads.tried, cycles=4)


async def test_other_values_are_not_written_where_the_end_of_a_canary_is_not_noted() -> None:
    """They were tried in no pod."""
    stage = await landed()
    await until(stage, lambda: stage.canary.get("phase") == "Passed", cycles=10)
    stage.policies.edit(ORDERS, bounds={"sessionTimeout": {"min": "20s"}})
    stage.policies.error = ApiServerError("no answer")
    await stage.cycle()
    assert stage.workloads.writes == []
    stage.policies.error = None
    await stage.cycle()
    assert (stage.canary["phase"], stage.workloads.writes) == ("Ended", [])


async def test_somebodys_deploy_ends_it() -> None:
    """What shows then may be of the deploy."""
    stage = await landed()
    stage.workloads.edit(CONSUMER, template="template-2")
    await stage.cycle()
    assert stage.canary["phase"] == "Ended"
    assert "changed the template" in stage.canary["message"]


async def test_a_suspended_policy_stands_still() -> None:
    """Nothing is evicted, nothing passes; resumed, it goes on where it was."""
    stage = await first_evicted()
    stage.policies.edit(ORDERS, suspend=True)
    for _ in range(5):
        await stage.cycle()
    assert (evicted(stage), stage.canary["ticket"]) == (["orders-0"], 1)
    assert stage.condition("Applied") == ("False", "Suspended")
    stage.policies.edit(ORDERS, suspend=False)
    await stage.cycle()
    await stage.cycle()
    assert evicted(stage) == FIRST_TWO


@pytest.mark.parametrize("early", [True, False])
async def test_no_pod_is_evicted_before_the_webhook_knows_of_an_edit(*, early: bool) -> None:
    """It gives nothing for a spec that the status is not of yet: the pod would come without the values, and end it."""
    stage = TriedStage()
    await until(stage, lambda: stage.canary.get("ticket") == 1, cycles=2)
    assert evicted(stage) == []
    stage.policies.edit(ORDERS, suspend=True)
    await stage.cycle()
    stage.policies.edit(ORDERS, suspend=False)
    await (stage.look(ORDERS) if early else stage.cycle())
    await until(stage, lambda: bool(stage.workloads.evictions), cycles=3)
    assert len(stage.workloads.tried) == 1


async def test_in_another_mode_nobody_is_evicted_any_more() -> None:
    """Its pods keep the values until somebody replaces them; then there is no canary any more."""
    stage = await landed()
    stage.policies.edit(ORDERS, mode="Recommend")
    for _ in range(3):
        await stage.cycle()
    assert (evicted(stage), stage.canary["phase"]) == (FIRST_TWO, "Ended")
    assert "mode Recommend evicts nobody: kubectl -n shop delete pod orders-" in stage.message("Applied")
    for name in sorted(stage.workloads.tried):
        stage.workloads.replace(name, f"uid-{name.removeprefix('orders-')}")
    await stage.cycle()
    assert stage.canary == {}


async def test_without_the_right_to_evict_it_ends_once_and_says_which_pods_keep_the_values() -> None:
    """The right is switched off in the middle: nobody is asked to evict, and no new pod gets the values."""
    stage = await landed()
    stage.may_evict = False
    stage.restart()
    await stage.cycle()
    assert (stage.canary["phase"], stage.canary["leftAlone"]) == ("Ended", True)
    said, asked, statuses = stage.message("Applied"), stage.workloads.asked, stage.policies.writes
    pods = " ".join(sorted(stage.workloads.tried))
    assert f"kubectl -n shop delete pod {pods}" in said
    assert "operator.evictions" in said
    assert stage.condition("Applied") == ("False", "CanaryEnded")
    for _ in range(10):
        await stage.cycle()
    assert (stage.workloads.asked, stage.workloads.writes, stage.message("Applied")) == (asked, [], said)
    assert stage.policies.writes - statuses <= 5, "that nothing is learnt meanwhile is noted ahead now and then"
    for name in sorted(stage.workloads.tried):
        stage.workloads.replace(name, f"uid-{name.removeprefix('orders-')}")
    await stage.cycle()
    assert (stage.canary["phase"], stage.workloads.tried) == ("Over", set())
    assert stage.workloads.writes == []


async def test_pods_of_values_that_failed_are_named_where_nobody_may_evict_them() -> None:
    """The harm is said, and stays remembered: the condition Verified is the failure's."""
    stage = await landed()
    stage.workloads.crashing.update(stage.workloads.tried)
    for name in stage.workloads.tried:
        stage.workloads.unready(name)
    stage.workloads.evict_error = ApiServerError("pods is forbidden", status=403)
    await until(stage, lambda: bool(stage.policies.status_of(ORDERS).get("reverted")), cycles=3)
    asked = stage.workloads.asked
    for _ in range(30):
        await stage.cycle()
    assert stage.workloads.asked - asked <= 1, "the API server is not asked in each cycle"
    assert (stage.canary["phase"], stage.canary["leftAlone"]) == ("Failed", True)
    assert stage.condition("Verified") == ("False", "RolloutFailed")
    assert "exit code 7" in stage.message("Applied")
    assert "delete pod" in stage.message("Applied")
    stage.workloads.evict_error = None
    await stage.cycle(timedelta(hours=24))
    await until(stage, lambda: stage.canary.get("phase") == "Over", cycles=5)
    assert stage.workloads.tried == set()


async def test_pods_that_fail_as_the_right_goes_have_failed() -> None:
    """What was found against the values is not lost by that."""
    stage = await landed()
    stage.workloads.crashing.update(stage.workloads.tried)
    for name in stage.workloads.tried:
        stage.workloads.unready(name)
    stage.may_evict = False
    stage.restart()
    await stage.cycle()
    (failed,) = stage.policies.status_of(ORDERS)["reverted"]
    assert failed["outcome"] == "RolloutFailed"
    assert (stage.canary["phase"], stage.canary["leftAlone"], stage.workloads.asked) == ("Failed", True, 2)


async def test_evictions_that_are_refused_end_it() -> None:
    """The role was taken away, and the configuration was not: a ticket stays open for no pod that comes by itself."""
    stage = TriedStage()
    stage.workloads.evict_error = ApiServerError("pods is forbidden", status=403)
    await until(stage, lambda: stage.canary.get("phase") == "Over", cycles=6)
    assert stage.workloads.asked == 1
    assert "no pod can be evicted any more" in stage.message("Applied")
    for _ in range(5):
        await stage.cycle()
    assert (stage.workloads.asked, stage.workloads.writes) == (1, [])


async def test_values_that_passed_are_written_without_the_right_to_evict() -> None:
    """The template needs no eviction."""
    stage = await landed()
    await until(stage, lambda: stage.canary.get("phase") == "Passed", cycles=10)
    stage.may_evict = False
    stage.restart()
    await until(stage, lambda: bool(stage.workloads.writes), cycles=3)


@pytest.mark.parametrize("is_made_again", [False, True], ids=["deleted", "made again"])
async def test_a_deleted_policy_leaves_pods_with_the_values_and_an_event_that_names_them(
    *, is_made_again: bool
) -> None:
    """Nobody evicts without a policy. It is told once, whether or not another policy has the name by then."""
    stage = await landed()
    pods = " ".join(sorted(stage.workloads.tried))
    stage.policies.delete_from_watch(ORDERS)
    if is_made_again:
        made = manifests.policy(spec={"mode": "Recommend"}, uid="uid-of-another")
        stage.policies.stored[ORDERS] = made
        stage.store.show(copy.deepcopy(made))
    stage.policies.events.clear()
    for _ in range(3):
        await stage.cycle()
    report = [event for event in stage.policies.events if event.reason == "CanaryEnded"]
    assert [(event.policy, event.warning) for event in report] == [("orders", True)]
    assert "policy shop/orders was deleted in the middle of a canary of sessionTimeout 30s → 17s" in report[0].message
    assert report[0].message.endswith(f"kubectl -n shop delete pod {pods}")
    assert (len(evicted(stage)), stage.workloads.writes) == (2, [])


async def test_a_policy_that_another_installation_owns_now_is_not_called_deleted() -> None:
    """It goes on with the canary; this one writes no Event about it."""
    stage = await landed()
    stage.left.add("shop")
    stage.policies.events.clear()
    await stage.cycle()
    assert stage.policies.events == []


async def test_a_policy_that_is_deleted_after_its_canary_says_nothing_of_it() -> None:
    """No pod has the values any more; and an Event that cannot be recorded stops no cycle."""
    stage = await landed()
    stage.workloads.tried.clear()
    await stage.cycle()
    stage.policies.delete_from_watch(ORDERS)
    stage.policies.events.clear()
    await stage.cycle()
    assert stage.policies.events == []
    other = await landed()
    other.policies.delete_from_watch(ORDERS)
    other.policies.event_error = ApiServerError("no answer")
    await other.cycle()
    assert other.policies.event_attempts > 0


async def test_too_few_pods_by_now_end_it_and_have_no_canary() -> None:
    """The values are written as ever."""
    stage = await landed()
    stage.workloads.scale(3)
    await stage.cycle()
    assert "3 pods by now" in stage.canary["message"]
    await until(stage, lambda: bool(stage.workloads.writes), cycles=4)


async def test_more_pods_change_nothing() -> None:
    """An autoscaler's pods come without the values, and the share is as it was noted."""
    stage = await landed()
    stage.workloads.scale(12)
    for _ in range(4):
        await stage.cycle()
    assert len(stage.workloads.tried) == 2
    assert (stage.canary["phase"], stage.canary["pods"]) == ("Running", 2)


async def test_a_pod_that_is_drained_before_all_are_there_does_not_end_it() -> None:
    """It goes on with those that are left: the webhook gave the values to each pod that was to have them."""
    stage = TriedStage()
    await until(stage, lambda: len(stage.workloads.evictions) == 2, cycles=6)
    drained = next(pod for pod in stage.workloads.stored[CONSUMER].pods if pod.name in stage.workloads.tried)
    stage.workloads.replace(drained.name, drained.uid)
    assert len(stage.workloads.tried) == 1
    await until(stage, lambda: bool(stage.workloads.writes), cycles=45)
    assert len(evicted(stage)) == 2


async def test_a_canary_whose_pods_are_gone_ends() -> None:
    """An autoscaler takes the newest pods first: nobody has the values any more."""
    stage = await landed()
    stage.workloads.scale(6)
    assert stage.workloads.tried == set()
    await stage.cycle()
    assert "no pod runs with the values any more" in stage.canary["message"]


async def test_pods_that_pretend_to_be_of_it_end_it_and_cost_nobody_else() -> None:
    """Somebody made more pods with the same values: none but pods with them is evicted."""
    stage = await landed()
    stage.workloads.tried |= {"orders-5", "orders-6"}
    for _ in range(8):
        await stage.cycle()
    assert set(evicted(stage)) == {*FIRST_TWO, "orders-5", "orders-6", "orders-8", "orders-9"}
    assert stage.workloads.tried == set()


async def test_without_the_share_all_pods_get_the_values_at_once() -> None:
    """As before there were canaries."""
    stage = TriedStage(rollout={"canary": {"share": "0%"}})
    await stage.cycle()
    assert (len(stage.workloads.writes), stage.canary) == (1, {})


async def test_a_share_that_is_taken_away_ends_it() -> None:
    """A person does not want to wait: its pods go back, and the values are written."""
    stage = await landed()
    stage.policies.edit(ORDERS, rollout={"horizon": "8760h", "canary": {"share": "0%"}})
    await until(stage, lambda: bool(stage.workloads.writes), cycles=40)


async def test_evictions_of_its_members_take_it_back() -> None:
    """Four episodes at its two pods in the first hour, none at the six others."""
    stage = await landed(rollout=FOR_AN_HOUR)
    pods = [pod for pod in worlds.pods(tried.MOST_PODS) if pod.name not in stage.workloads.tried]
    hit = next(pod for pod in stage.workloads.stored[CONSUMER].pods if pod.name in stage.workloads.tried)
    since, end = worlds.NOW - worlds.HOUR, worlds.NOW + 3 * worlds.HOUR
    removed = counters.evicted([hit, *pods], since, end, every_s=1_000.0)
    rest = counters.quiet([pod for pod in stage.workloads.stored[CONSUMER].pods if pod not in (hit, *pods)], since, end)
    stage.prometheus.answers = counters.together(removed, rest)
    await until(stage, lambda: stage.canary.get("phase") == "Failed", cycles=70)
    assert stage.canary["outcome"] == "Worse"
    await until(stage, lambda: stage.canary.get("phase") == "Over", cycles=6)
    assert stage.workloads.writes == []
    assert len(evicted(stage)) == 4


async def test_a_canary_counts_as_a_rollout_while_pods_move() -> None:
    """Another namespace's change waits for the only place, and no longer than pods are replaced."""
    stage = TriedStage()
    await stage.cycle()
    places = stage.operator._holders
    assert places == {("Deployment", ObjectKey("shop", "orders-consumer"))}
    for _ in range(7):
        await stage.cycle()
    assert stage.operator._holders == frozenset()


async def test_what_holds_a_write_holds_what_a_canary_has_next() -> None:
    """Here a paused Deployment; any gate does: no other pod is evicted."""
    stage = await first_evicted()
    stage.workloads.edit(CONSUMER, paused=True)
    for _ in range(3):
        await stage.cycle(MINUTE)
    assert evicted(stage) == ["orders-0"]


async def test_a_stop_of_the_fleet_holds_what_a_canary_has_next() -> None:
    """No other pod is evicted while it stands; a canary whose pods fail is taken back all the same."""
    stage = await first_evicted()
    stage.stops.note = StopNote(FleetStop("a person stopped it"))
    for _ in range(3):
        await stage.cycle()
    assert evicted(stage) == ["orders-0"]
    assert "changes of values are stopped" in stage.message("Applied")
    (name,) = stage.workloads.tried
    stage.workloads.crashing.add(name)
    pods = stage.workloads.stored[CONSUMER].pods
    unready = tuple(dataclasses.replace(pod, ready_since=None) if pod.name == name else pod for pod in pods)
    stage.workloads.edit(CONSUMER, pods=unready)
    await until(stage, lambda: stage.canary.get("phase") == "Over", cycles=5)
    assert evicted(stage) == ["orders-0", name]


async def test_a_cure_has_no_canary() -> None:
    """A group in trouble waits for nothing."""
    stage = TriedStage()
    stage.workloads.edit(CONSUMER, current=worlds.current(worlds.STORM))
    stage.prometheus.answers = counters.stormy(worlds.pods(PODS), worlds.NOW - worlds.HOUR, worlds.NOW + worlds.HOUR)
    await stage.cycle()
    assert (len(stage.workloads.writes), stage.canary) == (1, {})


async def test_an_operator_without_the_right_writes_as_ever() -> None:
    """It is told so by its configuration."""
    stage = TriedStage()
    stages.Stage.restart(stage)
    await stage.cycle()
    assert (len(stage.workloads.writes), stage.canary) == (1, {})
    assert stage.workloads.writes[0].target != BEFORE
