"""Whole cycles on fakes: what is written, once, and what is not."""

import asyncio
import dataclasses
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.domain.errors import (
    ApiServerError,
    FieldOwnedError,
    MetricsCause,
    MetricsUnavailableError,
    NotLeaderError,
    TunerError,
    WriteConflictError,
)
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Application, ObjectKey
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.metrics.record import STALE_SCRAPES
from tests.support import counters, manifests, stages, worlds
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


async def test_prometheus_down_changes_nothing_but_one_status() -> None:
    """The recommendation stands, the condition names the query, and nothing moves any more."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    before = stage.policies.status_of(ORDERS)
    stage.prometheus.error = MetricsUnavailableError("Prometheus did not answer")
    for _ in range(5):
        await stage.cycle()
    status = stage.policies.status_of(ORDERS)
    assert stage.policies.writes == 2
    assert stage.workloads.writes == []
    assert stage.condition("MetricsAvailable") == ("False", "PrometheusUnreachable")
    assert (status["verdict"], status["reason"]) == ("Unknown", "PrometheusUnreachable")
    assert status["recommendation"] == before["recommendation"]
    assert stage.condition("Recommended") == ("True", "CadenceExceedsSession")


async def test_prometheus_back_is_recovered_from() -> None:
    """The next cycle looks at what is there."""
    stage = stages.storm()
    stage.prometheus.error = MetricsUnavailableError("Prometheus has only part of the data", cause=MetricsCause.PARTIAL)
    await stage.cycle()
    assert stage.condition("MetricsAvailable") == ("False", "PartialData")
    assert stage.workloads.writes == []
    stage.prometheus.error = None
    await stage.cycle()
    assert stage.condition("MetricsAvailable") == ("True", "Fresh")
    assert len(stage.workloads.writes) == 1


async def test_a_broker_that_is_down_costs_only_its_own_policies() -> None:
    """Another cluster's groups are looked at as ever."""
    elsewhere = manifests.policy("elsewhere", spec={"clusterRef": "other"})
    elsewhere["spec"]["workloadRef"]["name"] = "other-consumer"
    stage = Stage([manifests.policy(), elsewhere])
    stage.workloads.stored[ObjectKey("shop", "other-consumer")] = worlds.workload()
    stage.groups.down = {"other"}
    await stage.cycle()
    assert stage.condition("Ready", ObjectKey("shop", "elsewhere")) == ("False", "ClusterUnreachable")
    assert stage.condition("Ready") == ("True", "Watching")
    assert len(stage.workloads.writes) == 1


UNREAD = UnreadableGroup("group orders: not read in time", tells_of_group=False, unread=True)


async def test_a_group_that_was_not_read_in_time_keeps_its_verdict() -> None:
    """At ten thousand groups on a busy machine a part is left over in each cycle: no status write, and no apply."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    before, writes = stage.policies.status_of(ORDERS), stage.policies.writes
    known = stage.groups.groups["main"]["orders"]
    stage.groups.groups["main"]["orders"] = UNREAD
    for _ in range(STALE_SCRAPES):
        report = await stage.cycle()
        assert report.verdicts[Verdict(before["verdict"])] == 1
        assert report.verdicts[Verdict.UNKNOWN] == 0
    assert stage.policies.writes == writes
    assert stage.policies.status_of(ORDERS) == before
    stage.groups.groups["main"]["orders"] = known
    await stage.cycle()
    assert stage.condition("Ready") == ("True", "Watching")
    assert stage.workloads.writes == []


async def test_a_group_that_is_never_read_is_unknown_after_a_while() -> None:
    """What was found out once says nothing about later."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    stage.groups.groups["main"]["orders"] = UNREAD
    for _ in range(STALE_SCRAPES + 1):
        assert stage.condition("Ready") == ("True", "Watching")
        await stage.cycle()
    assert stage.condition("Ready") == ("False", "GroupUnreadable")
    assert stage.message("Ready") == "group orders: not read in time"


async def test_another_leader_leaves_a_status_alone_whose_group_it_has_not_read_yet() -> None:
    """The one before may have read it a minute ago; a large fleet would be written twice for nothing."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    before, writes = stage.policies.status_of(ORDERS), stage.policies.writes
    stage.restart()
    stage.groups.groups["main"]["orders"] = UNREAD
    for _ in range(STALE_SCRAPES):
        await stage.cycle()
        assert (stage.policies.status_of(ORDERS), stage.policies.writes) == (before, writes)
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "GroupUnreadable")


async def test_a_group_that_was_never_read_is_unknown_at_once() -> None:
    """A status without a word would leave its author alone."""
    stage = stages.storm()
    stage.groups.groups["main"]["orders"] = UNREAD
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "GroupUnreadable")
    assert stage.workloads.writes == []


async def test_a_new_leader_leaves_what_it_has_not_read_as_it_stands() -> None:
    """Its first cycle may not reach every group: what the leader before it found out holds as long as its own would."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    before, writes, events = stage.policies.status_of(ORDERS), stage.policies.writes, list(stage.policies.events)
    stage.groups.groups["main"]["orders"] = UNREAD
    stage.restart()
    for _ in range(STALE_SCRAPES):
        report = await stage.cycle()
        assert report.verdicts[Verdict(before["verdict"])] == 1
    assert (stage.policies.status_of(ORDERS), stage.policies.writes) == (before, writes)
    assert stage.policies.events == events
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "GroupUnreadable")


async def test_namespaces_that_the_requests_do_not_reach_keep_their_verdicts() -> None:
    """A new leader that has to read an hour of all of them at once: nobody's status says Unknown for that."""
    stage, answer = stages.teams(16)
    await stage.cycle()
    before = {key: stage.policies.status_of(key) for key in stage.policies.stored}
    writes, events = stage.policies.writes, len(stage.policies.events)
    assert {status["verdict"] for status in before.values()} == {"Unproven"}
    answer.most_samples = 200  # a quarter of an hour of one namespace's quantity: an hour of sixteen takes some cycles
    stage.restart()
    new = ObjectKey("team15", "orders")
    del stage.policies.stored[new]["status"]
    stage.policies.edit(new)
    report = await stage.cycle()
    assert report.verdicts[Verdict.UNPROVEN] == 15
    changed = [key for key in before if stage.policies.status_of(key) != before[key]]
    assert changed == [new]
    assert (stage.policies.writes, len(stage.policies.events)) == (writes + 1, events + 1)
    # The author of a new policy has to know what it waits for.
    assert stage.condition("MetricsAvailable", new) == ("False", "NotReadYet")
    assert (await stage.cycle()).verdicts[Verdict.UNKNOWN] == 1


@pytest.mark.parametrize(
    ("cluster", "group", "reason", "told"),
    [
        ("nowhere", "orders", "ClusterNotConfigured", "clusterRef 'nowhere' names no Kafka cluster"),
        ("mian", "orders", "ClusterNotConfigured", "of the operator's configuration; did you mean main?"),
        ("other", "orders", "GroupNotFound", "Kafka cluster other knows no consumer group orders"),
    ],
)
async def test_names_that_lead_nowhere_are_told(cluster: str, group: str, reason: str, told: str) -> None:
    """A person sees which name to correct."""
    stage = stages.storm(clusterRef=cluster, groupId=group)
    await stage.cycle()
    assert stage.condition("Ready") == ("False", reason)
    assert told in stage.message("Ready")
    assert stage.policies.status_of(ORDERS)["verdict"] == "Unknown"


async def test_a_missing_workload_is_told_and_recovered_from() -> None:
    """A policy may come before its Deployment."""
    stage = stages.storm()
    deployment = stage.workloads.stored.pop(CONSUMER)
    await stage.cycle()
    await stage.cycle()
    assert stage.condition("Ready") == ("False", "WorkloadNotFound")
    assert stage.policies.writes == 1
    stage.workloads.stored[CONSUMER] = deployment
    await stage.cycle()
    assert stage.condition("Ready") == ("True", "Watching")
    assert len(stage.workloads.writes) == 1


async def test_an_api_server_that_refuses_to_read_is_told() -> None:
    """The condition repeats its answer."""
    stage = stages.storm()
    stage.workloads.read_error = ApiServerError("refused with 403")
    await stage.cycle()
    assert (stage.condition("Ready"), stage.message("Ready")) == (("False", "ApiServerError"), "refused with 403")


async def test_the_older_of_two_rivals_holds() -> None:
    """Two policies for one container would undo each other's work."""
    stage = Stage(
        [
            manifests.policy("aaa-younger", creationTimestamp="2026-03-01T12:00:01Z"),
            manifests.policy(creationTimestamp="2026-03-01T12:00:00Z"),
        ]
    )
    younger = ObjectKey("shop", "aaa-younger")
    await stage.cycle()
    assert stage.condition("Ready", younger) == ("False", "Conflict")
    assert "policy shop/orders is older" in stage.message("Ready", younger)
    assert stage.condition("Ready") == ("True", "Watching")
    assert len(stage.workloads.writes) == 1


async def test_a_rival_takes_over_when_the_older_is_deleted() -> None:
    """The conflict is one of today, not for ever."""
    stage = Stage([manifests.policy(), manifests.policy("rival", creationTimestamp="2026-03-01T12:00:01Z")])
    await stage.cycle()
    stage.policies.delete_from_watch(ORDERS)
    await stage.cycle()
    assert stage.condition("Ready", ObjectKey("shop", "rival")) == ("True", "Watching")


async def test_containers_of_one_pod_have_a_policy_each() -> None:
    """Rivals are those who would write the same entries."""
    other = manifests.policy("sidecar", creationTimestamp="2026-03-01T12:00:01Z")
    other["spec"]["workloadRef"]["container"] = "sidecar"
    stage = Stage([manifests.policy(mode="Recommend"), other])
    await stage.cycle()
    assert stage.condition("Ready", ObjectKey("shop", "sidecar")) == ("True", "Watching")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (WriteConflictError("the object has been modified"), "ChangedMeanwhile"),
        (FieldOwnedError('conflict with "helm"'), "FieldOwned"),
        (ApiServerError("the API server did not answer"), "ApiServerError"),
    ],
)
async def test_a_write_that_fails_is_told_and_tried_again(error: TunerError, reason: str) -> None:
    """Nothing counts as applied that was not stored, so the next cycle does it."""
    stage = stages.storm()
    stage.workloads.apply_error = error
    report = await stage.cycle()
    assert (report.workload_writes, report.failed_writes) == (0, 1)
    assert (stage.condition("Applied"), stage.message("Applied")) == (("False", reason), str(error))
    assert "applied" not in stage.policies.status_of(ORDERS)
    stage.workloads.apply_error = None
    await stage.cycle()
    assert [write.target for write in stage.workloads.writes] == [CURED]


async def test_a_workload_that_changed_between_reading_and_writing_is_not_written() -> None:
    """A late write rests on a view that is gone: the version that was gathered is not the stored one."""
    stage = stages.storm()
    read = await stage.workloads.read(worlds.policy())
    assert isinstance(read, Workload)
    stage.workloads.stored[CONSUMER] = dataclasses.replace(read, resource_version="101")
    with pytest.raises(WriteConflictError):
        await stage.workloads.apply(worlds.policy(), read, Application(CURED, worlds.STORM, worlds.NOW, read.uid))


async def test_a_workload_whose_version_alone_moves_is_written() -> None:
    """Pods in a storm become ready and cease to be, and each time their workload has a new version."""
    stage = stages.storm()
    stage.prometheus.meanwhile = lambda: stage.workloads.edit(CONSUMER)
    await stage.cycle()
    assert [write.target for write in stage.workloads.writes] == [CURED]
    assert stage.condition("Applied") == ("False", "RollingOut")


@pytest.mark.parametrize(
    "changes",
    [
        {"current": worlds.current(worlds.settings("10s"))},
        {"foreign_env": {Setting.SESSION_TIMEOUT: "helm"}},
        {"kept_env": {"sidecar": {"OTHER": "1"}}},
        {"rolling_out": True},
        {"most_pods": 9},
        {"pods": (worlds.pod(7),)},
        {"uid": "workload-2"},
    ],
    ids=lambda changes: next(iter(changes)),
)
async def test_a_workload_that_changes_while_metrics_are_read_is_not_written(changes: dict[str, Any]) -> None:
    """The decision rests on what was there before; the next cycle makes its own."""
    stage = stages.storm()
    stage.prometheus.meanwhile = lambda: stage.workloads.edit(CONSUMER, **changes)
    report = await stage.cycle()
    assert (stage.workloads.writes, report.failed_writes) == ([], 1)
    assert stage.condition("Applied") == ("False", "ChangedMeanwhile")


async def test_a_workload_that_vanishes_while_metrics_are_read_is_not_written() -> None:
    """Nor is one made of the bare entries."""
    stage = stages.storm()
    stage.prometheus.meanwhile = stage.workloads.stored.clear
    await stage.cycle()
    assert stage.condition("Applied") == ("False", "ChangedMeanwhile")


def let_pass(stage: Stage, seconds: float, group: Group | UnreadableGroup | None) -> None:
    """Let the group be another, and so much time pass, while metrics are read."""

    def pass_once() -> None:
        stage.prometheus.meanwhile = None
        stage.clock.advance(timedelta(seconds=seconds))
        stage.groups.groups = {"main": {} if group is None else {"orders": group}}

    stage.prometheus.meanwhile = pass_once


@pytest.mark.parametrize(
    "group",
    [dataclasses.replace(worlds.group(), consumer_protocol=True), UnreadableGroup("grant Describe"), None],
    ids=["other", "unreadable", "gone"],
)
async def test_no_write_rests_on_a_group_that_was_looked_at_long_before(
    group: Group | UnreadableGroup | None,
) -> None:
    """It is looked at once more, and only then; what is not as it was is for the next cycle."""
    stage = stages.storm()
    let_pass(stage, 20.0, group)
    report = await stage.cycle()
    assert (stage.workloads.writes, report.failed_writes) == ([], 1)
    assert stage.condition("Applied") == ("False", "ChangedMeanwhile")
    assert len(stage.groups.requests) == 2


async def test_nor_one_on_a_group_that_cannot_be_looked_at_again() -> None:
    """And the status says why."""
    stage = stages.storm()
    let_pass(stage, 20.0, None)
    down = stage.prometheus.meanwhile
    assert down is not None

    def cut() -> None:
        down()
        stage.groups.down = {"main"}

    stage.prometheus.meanwhile = cut
    await stage.cycle()
    assert stage.workloads.writes == []
    assert stage.condition("Applied") == ("False", "ChangedMeanwhile")
    assert "Kafka cluster main did not answer describe" in stage.message("Applied")


async def test_a_storm_goes_on_and_is_cured_whoever_has_joined_meanwhile() -> None:
    """The group that needs it most is another at every look."""
    stage = stages.storm()
    let_pass(stage, 20.0, worlds.group([worlds.member(worlds.pod(0), 7)], rebalancing=True))
    await stage.cycle()
    assert [write.target for write in stage.workloads.writes] == [CURED]
    assert len(stage.groups.requests) == 2


async def test_a_report_says_how_old_the_oldest_look_at_a_group_was() -> None:
    """When decisions were made: what is read for a write comes later."""
    stage = stages.calm()
    assert (await stage.cycle()).oldest_look_s == 0.0
    stage.prometheus.meanwhile = lambda: stage.clock.advance(timedelta(seconds=1))
    asked = len(stage.prometheus.queries)
    report = await stage.cycle()
    assert 0 < report.oldest_look_s <= len(stage.prometheus.queries) - asked


async def test_a_look_of_a_few_seconds_ago_will_do() -> None:
    """Each look costs the broker."""
    stage = stages.storm()
    let_pass(stage, 5.0, None)
    await stage.cycle()
    assert [write.target for write in stage.workloads.writes] == [CURED]
    assert len(stage.groups.requests) == 1


async def test_only_a_workload_that_is_about_to_be_written_is_read_twice() -> None:
    """What has to wait for the fleet's budget costs no more than what has nothing to do."""
    stage = stages.storms(3, max_rollouts=1)
    await stage.cycle()
    (written,) = {write.key for write in stage.workloads.writes}
    assert Counter(stage.workloads.reads) == {key: 1 + (key == written) for key in stage.workloads.stored}


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


async def test_a_surprise_costs_one_policy_one_cycle() -> None:
    """Whatever raises while one policy is looked at, the others are served, and its own status says that much."""
    broken = manifests.policy("broken")
    broken["spec"]["workloadRef"]["name"] = "broken-consumer"
    stage = Stage([broken, manifests.policy()])
    stage.workloads.broken = {ObjectKey("shop", "broken-consumer")}
    report = await stage.cycle()
    assert len(stage.workloads.writes) == 1
    assert report.failed_writes == 1
    assert stage.condition("Ready", ObjectKey("shop", "broken")) == ("False", "InternalError")
    stage.workloads.broken = set()
    await stage.cycle()
    assert stage.condition("Ready", ObjectKey("shop", "broken")) == ("False", "WorkloadNotFound")


async def test_a_surprise_in_writing_costs_one_policy_one_cycle() -> None:
    """An apply that raises something unforeseen neither counts as done nor stops the others."""
    stage = stages.storm()
    stage.workloads.apply_error = RuntimeError("a surprise")
    report = await stage.cycle()
    assert (report.workload_writes, report.failed_writes) == (0, 1)
    assert "RuntimeError" in stage.message("Ready")
    stage.workloads.apply_error = None
    assert (await stage.cycle()).workload_writes == 1


@pytest.mark.parametrize("part", ["groups", "prometheus"])
async def test_a_surprise_of_kafka_or_prometheus_ends_no_cycle(part: str) -> None:
    """Their libraries raise what nobody foresaw; everybody concerned is told, and the next cycle looks again."""
    stage = stages.storm()
    getattr(stage, part).error = RuntimeError("a surprise")
    report = await stage.cycle()
    assert (report.workload_writes, report.failed_writes) == (0, 1)
    assert stage.condition("Ready") == ("False", "InternalError")
    getattr(stage, part).error = None
    assert (await stage.cycle()).workload_writes == 1


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


@pytest.mark.parametrize("change", ["suspended", "deleted"])
async def test_a_policy_that_changed_behind_the_watch_writes_nothing(change: str) -> None:
    """The emergency brake works at once, however far the watch lags behind."""
    stage = stages.storm()
    (stored,) = stage.policies.stored.values()
    if change == "deleted":
        stage.policies.stored.clear()
    else:
        stored["spec"]["suspend"] = True
        stored["metadata"]["generation"] += 1
    await stage.cycle()
    assert stage.workloads.writes == []


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
