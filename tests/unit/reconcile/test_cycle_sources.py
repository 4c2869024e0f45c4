"""Whole cycles on fakes where Prometheus or a broker does not answer, or not in time."""

import pytest

from heartbeat_tuner.domain.errors import (
    MetricsCause,
    MetricsUnavailableError,
)
from heartbeat_tuner.domain.kafka_groups import UnreadableGroup
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verdicts import Verdict
from heartbeat_tuner.metrics.record import STALE_SCRAPES
from tests.support import manifests, stages, worlds
from tests.support.stages import ORDERS, Stage


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
