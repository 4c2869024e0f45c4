"""A whole operator on fakes, and a policy that names a group: what it is shown before and after a proof."""

import copy
import dataclasses
import itertools
from typing import Any

import pytest

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.domain.grants import Grant
from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig, Member, UnreadableGroup
from heartbeat_tuner.reconcile.cycle import CycleReport
from heartbeat_tuner.reconcile.gather.kafka_looks import LOOKS_AGAIN
from heartbeat_tuner.reconcile.gather.owners import MOST_FUTILE
from heartbeat_tuner.reconcile.status import redaction
from tests.support import manifests, worlds
from tests.support.stages import CONSUMER, ORDERS, Stage

THEIRS = Member("payments-1", "10.9.9.9", client_id="payments", instance_id="payments-0", partitions=7)
OURS = worlds.member(worlds.pod(0))
BY_BROKER = GroupConfig(worlds.seconds(46), worlds.seconds(7))
FOREIGN: dict[str, Group | UnreadableGroup | None] = {
    "stable": worlds.group([THEIRS]),
    "rebalancing": worlds.group([THEIRS], rebalancing=True),
    "consumer protocol": dataclasses.replace(worlds.group([THEIRS]), consumer_protocol=True, config=BY_BROKER),
    "empty": worlds.group(),
    "unreadable": UnreadableGroup("grant Describe on the topics of group orders"),
    "missing": None,
}


def stage_with(group: Group | UnreadableGroup | None, *, status: dict[str, Any] | None = None) -> Stage:
    """Return a storm by its metrics, and a group of which nothing is granted."""
    stage = Stage([manifests.policy(spec={}, status=status)], grants={})
    put(stage, group)
    return stage


def put(stage: Stage, group: Group | UnreadableGroup | None) -> None:
    """Let Kafka answer this from now on."""
    stage.groups.groups = {"main": {} if group is None else {"orders": group}}


def status(stage: Stage) -> dict[str, Any]:
    """Return the policy's status as stored."""
    return copy.deepcopy(stage.policies.status_of(ORDERS))


def readable(stage: Stage, report: CycleReport) -> tuple[object, ...]:
    """Return all that anybody can read of the policy."""
    return status(stage), report.points[ORDERS], tuple(stage.policies.events)


async def test_a_foreign_group_is_shown_to_nobody() -> None:
    """Status, metrics and Events are the same whatever Kafka says of it; its storm is not cured either."""
    seen = []
    for group in FOREIGN.values():
        stage = stage_with(group)
        seen.append(readable(stage, await stage.cycle()))
        await stage.cycle()
        assert stage.condition("Ready") == ("False", "GroupNotOwned")
        assert [condition["type"] for condition in status(stage)["conditions"]] == ["Ready"]
        assert stage.workloads.writes == []
    assert all(item == seen[0] for item in seen)


async def test_a_storm_is_seen_though_a_look_may_find_no_member() -> None:
    """KafkaJS with a session of a second: each member is one for a second in five."""
    stage = stage_with(worlds.group(rebalancing=True))

    def joins() -> None:
        put(stage, worlds.group([OURS] if len(stage.pauses) == 3 else [], rebalancing=True))

    stage.meanwhile = joins
    await stage.cycle()
    assert len(stage.pauses) == 3
    assert stage.condition("Ready") == ("True", "Watching")
    assert "groupOwnership" in status(stage)


@pytest.mark.parametrize("group", FOREIGN.values(), ids=FOREIGN)
async def test_others_wait_only_a_few_cycles_for_members_that_never_come(
    group: Group | UnreadableGroup | None,
) -> None:
    """A policy on somebody else's group must not make every cycle longer."""
    stage = stage_with(group)
    for _ in range(10):
        await stage.cycle()
    assert len(stage.pauses) == (0 if isinstance(group, UnreadableGroup) else MOST_FUTILE * LOOKS_AGAIN)


@pytest.mark.parametrize("group", FOREIGN.values(), ids=FOREIGN)
async def test_a_grant_shows_it(group: Group | UnreadableGroup | None) -> None:
    """For the namespace that it names."""
    stage = stage_with(group)
    stage.grants = {"main": (Grant(("shop",), ("ord*",)),)}
    stage.restart()
    await stage.cycle()
    reason = {"unreadable": "GroupUnreadable", "missing": "GroupNotFound"}
    assert stage.condition("Ready")[1] == next((reason[name] for name in reason if FOREIGN[name] is group), "Watching")
    assert "groupOwnership" not in status(stage)


async def test_a_member_in_a_pod_shows_it_and_is_noted() -> None:
    """Once; nothing is written while nothing happens."""
    stage = stage_with(worlds.group([OURS, THEIRS]))
    await stage.cycle()
    assert stage.condition("Ready") == ("True", "Watching")
    noted = status(stage)["groupOwnership"]
    assert (noted["clusterRef"], noted["groupId"], noted["workloadUid"]) == ("main", "orders", "workload-1")
    for _ in range(3):
        await stage.cycle()
        assert status(stage)["groupOwnership"] == noted


async def test_a_workload_without_pods_keeps_its_group_through_a_change_of_leaders() -> None:
    """By the note, whatever Kafka says of the group meanwhile; with pods again it has to be seen again."""
    stage = stage_with(FOREIGN["stable"])
    stage.workloads.stored[CONSUMER] = worlds.workload(worlds.STORM, running=[])
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "GroupNotOwned")

    stage = stage_with(worlds.group([OURS]))
    await stage.cycle()
    stage.restart()
    with_pods = stage.workloads.stored[CONSUMER]
    stage.workloads.stored[CONSUMER] = dataclasses.replace(with_pods, pods=())
    seen = []
    for group in FOREIGN.values():
        put(stage, group)
        await stage.cycle()
        assert stage.condition("Ready") == ("True", "Watching")
        seen.append(status(stage))
    assert all(item == seen[0] for item in seen)
    stage.workloads.stored[CONSUMER] = with_pods
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "GroupNotOwned")


async def test_a_storm_without_members_is_cured() -> None:
    """At the look that would cure it all members have just been removed: the group is the policy's all the same."""
    stage = stage_with(worlds.group([OURS], rebalancing=True))
    answers, stage.prometheus.answers = stage.prometheus.answers, {}
    await stage.cycle()
    await stage.cycle()
    stage.prometheus.answers = answers
    put(stage, worlds.group([THEIRS], rebalancing=True))
    await stage.cycle()
    assert stage.condition("Ready") == ("True", "Watching")
    assert len(stage.workloads.writes) == 1


async def test_what_an_older_version_showed_is_taken_back() -> None:
    """It did not ask whose the group was; what was written to the workload stays known."""
    stage = stage_with(worlds.group([worlds.member(pod) for pod in worlds.pods()], rebalancing=True))
    await stage.cycle()
    before = status(stage)
    assert before["applied"]
    shown = {name: part for name, part in before.items() if name != "groupOwnership"}
    assert {"groupProtocol", "recommendation", "model", "summary"} <= set(shown)

    stage = stage_with(FOREIGN["stable"], status=shown)
    await stage.cycle()
    after = status(stage)
    assert set(after) == {"observedGeneration", "verdict", "reason", "applied", "conditions"}
    assert (after["applied"], after["verdict"]) == (before["applied"], "Unknown")
    assert [condition["reason"] for condition in after["conditions"]] == ["GroupNotOwned"]


async def test_what_new_pods_depend_on_outlasts_a_proof() -> None:
    """They would lose their static ids for the time in which no member of theirs is seen."""
    stage = stage_with(worlds.group([OURS]))
    await stage.cycle()
    before = status(stage)
    stage.restart()
    put(stage, FOREIGN["stable"])
    await stage.cycle()
    after = status(stage)
    assert after["reason"] == "GroupNotOwned"
    assert (after["groupProtocol"], after["groupOwnership"]) == (before["groupProtocol"], before["groupOwnership"])
    assert "recommendation" not in after

    stage.policies.edit(ORDERS, mode="Recommend")
    await stage.cycle()
    assert "groupProtocol" not in status(stage)


async def test_a_replaced_workload_has_to_prove_it_anew() -> None:
    """Somebody else's pods may run under its name; when one of them is a member, the note is about them."""
    stage = stage_with(worlds.group([OURS]))
    await stage.cycle()
    stage.workloads.stored[CONSUMER] = dataclasses.replace(stage.workloads.stored[CONSUMER], uid="workload-2")
    put(stage, worlds.group())
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "GroupNotOwned")
    put(stage, worlds.group([OURS]))
    await stage.cycle()
    assert stage.condition("Ready") == ("True", "Watching")
    assert status(stage)["groupOwnership"]["workloadUid"] == "workload-2"


def test_each_field_of_a_status_is_known_to_be_shown_or_hidden() -> None:
    """Whoever adds one decides whether it says anything of the group."""
    lists = (redaction.OF_OUR_WRITES, redaction.FOR_NEW_PODS, redaction.OF_ITS_OWN_TIME, redaction.OF_THE_GROUP)
    assert sorted([*itertools.chain(*lists), "conditions"]) == sorted(Status.model_fields)
