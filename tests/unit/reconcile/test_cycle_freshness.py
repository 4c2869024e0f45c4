"""Whole cycles on fakes: no write rests on what was read too long before, or has changed since."""

import dataclasses
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.domain.errors import (
    ApiServerError,
    FieldOwnedError,
    TunerError,
    WriteConflictError,
)
from heartbeat_tuner.domain.evidence import Workload
from heartbeat_tuner.domain.kafka_groups import Group, UnreadableGroup
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Application
from tests.support import stages, worlds
from tests.support.stages import CONSUMER, ORDERS, Stage

CURED = worlds.settings("30s", "1s", "1s")


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
