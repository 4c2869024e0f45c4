"""Looks at edited policies between two cycles, on fakes: what they see, and what they leave as it is."""

import copy
import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from heartbeat_tuner.api import parsing
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.errors import MetricsCause, MetricsUnavailableError
from heartbeat_tuner.domain.evidence import Record
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.verdicts import Verdict
from tests.support import counters, fitted, manifests, stages, worlds
from tests.support.fakes import FakeModels
from tests.support.stages import CONSUMER, MINUTE, ORDERS, Stage

G0: Final = ObjectKey("shop", "g0")
G1: Final = ObjectKey("shop", "g1")


def observed(stage: Stage, key: ObjectKey = ORDERS) -> int:
    """Return of which generation a policy's status is."""
    generation: int = stage.policies.status_of(key)["observedGeneration"]
    return generation


def asked(stage: Stage) -> tuple[int, int, int]:
    """Return how often Prometheus and Kafka were asked so far, and how many workloads were looked up."""
    return len(stage.prometheus.queries), len(stage.groups.requests), len(stage.workloads.reads)


async def test_the_status_follows_the_edit_and_nothing_else_is_asked() -> None:
    """What the last cycle read of the group is a minute old at most."""
    stage = stages.fleet(5)
    await stage.cycle()
    before, statuses = asked(stage), copy.deepcopy(stage.policies.stored)
    stage.policies.edit(G0, suspend=True)
    report = await stage.look(G0)
    assert observed(stage, G0) == 2
    assert stage.condition("Applied", G0) == ("False", "Suspended")
    assert asked(stage) == (before[0], before[1], before[2] + 1)
    assert report.status_writes == 1
    assert {key: body for key, body in stage.policies.stored.items() if key != G0} == {
        key: body for key, body in statuses.items() if key != G0
    }


EDITS: Final[dict[str, dict[str, Any]]] = {
    "suspended": {"suspend": True},
    "that may be applied": {"mode": "Apply"},
    "of another group": {"groupId": "g1"},
    "of a group that is not there": {"groupId": "nowhere"},
    "of a workload that is not there": {"workloadRef": {"kind": "Deployment", "name": "gone", "container": "app"}},
    "of another's workload": {"workloadRef": {"kind": "Deployment", "name": "g0-consumer", "container": "app"}},
    "of a cluster that is not there": {"clusterRef": "nowhere"},
    "of another library": {"client": {"library": "java"}},
    "with bounds": {"objective": {"maxDetectionTime": "20s"}},
    "of its own names of metrics": {
        "metrics": {"names": {"rebalances": "my_rebalances_total"}},
    },
}


async def edited(edit: str, look: Callable[[Stage], Any]) -> Stage:
    """Return a fleet in which a policy was edited and then looked at."""
    stage = stages.storms(3)
    for known in list(stage.policies.stored):
        stage.policies.edit(known, mode="Recommend")
    await stage.cycle()
    stage.policies.edit(G1 if edit == "of another's workload" else G0, **EDITS[edit])
    await look(stage)
    return stage


@pytest.mark.parametrize("edit", EDITS)
async def test_an_early_look_says_what_a_cycle_would(edit: str) -> None:
    """The same way, by the same code."""
    key = G1 if edit == "of another's workload" else G0
    early = await edited(edit, lambda stage: stage.look(key, after=timedelta(0)))
    whole = await edited(edit, lambda stage: stage.cycle(after=timedelta(0)))
    assert observed(early, key) == 3
    assert early.policies.status_of(key) == whole.policies.status_of(key)
    assert early.workloads.writes == whole.workloads.writes


@pytest.mark.parametrize("edit", sorted(EDITS.keys() - {"that may be applied"}))
async def test_the_next_cycle_has_nothing_to_add(edit: str) -> None:
    """What was looked at early is not written again."""
    key = G1 if edit == "of another's workload" else G0
    stage = await edited(edit, lambda stage: stage.look(key))
    version = stage.policies.stored[key]["metadata"]["resourceVersion"]
    await stage.cycle(after=timedelta(seconds=10))
    await stage.cycle(after=timedelta(seconds=10))
    assert stage.policies.stored[key]["metadata"]["resourceVersion"] == version


async def test_a_policy_that_is_made_is_looked_at_with_its_hour() -> None:
    """Its group and its metrics are read; nobody else's are."""
    stage = stages.fleet(2)
    await stage.cycle()
    new = manifests.policy(
        "g7",
        spec={"groupId": "g7", "workloadRef": {"kind": "Deployment", "name": "g7-consumer", "container": "app"}},
    )
    key = ObjectKey("shop", "g7")
    stage.workloads.stored[ObjectKey("shop", "g7-consumer")] = worlds.workload()
    stage.groups.groups["main"]["g7"] = dataclasses.replace(worlds.group(), group_id="g7")
    stage.prometheus.answers = counters.together(
        stage.prometheus.answers,
        counters.quiet(worlds.pods(), worlds.NOW - worlds.HOUR, worlds.NOW + worlds.HOUR, group="g7"),
    )
    stage.policies.stored[key] = new
    stage.store.show(copy.deepcopy(new))
    await stage.look(key)
    assert stage.condition("MetricsAvailable", key) == ("True", "Fresh")
    assert stage.groups.requests[-1] == ("main", ("g7",))


async def test_a_change_is_written_once() -> None:
    """By the same gates, and the next cycle knows."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    stage.policies.edit(ORDERS, mode="Apply")
    report = await stage.look(ORDERS)
    assert (report.workload_writes, len(stage.workloads.writes)) == (1, 1)
    assert stage.condition("Applied") == ("False", "RollingOut")
    for _ in range(3):
        await stage.cycle()
    assert len(stage.workloads.writes) == 1


async def test_places_for_rollouts_are_the_whole_fleets() -> None:
    """What the last cycle began, and another early look, hold theirs until a cycle sees the end."""
    stage = stages.storms(4, max_rollouts=2)
    for number in (1, 2, 3):
        stage.policies.edit(ObjectKey("shop", f"g{number}"), mode="Recommend")
    await stage.cycle()
    assert len(stage.workloads.writes) == 1
    for number, (written, reason) in enumerate([(2, "RollingOut"), (2, "FleetBudgetSpent")], 1):
        key = ObjectKey("shop", f"g{number}")
        stage.policies.edit(key, mode="Apply")
        await stage.look(key)
        assert (len(stage.workloads.writes), stage.condition("Applied", key)[1]) == (written, reason)
    stage.workloads.roll_out(ObjectKey("shop", "g0-consumer"), stage.clock.now())
    stage.policies.edit(ObjectKey("shop", "g3"), mode="Apply")
    await stage.look(ObjectKey("shop", "g3"))
    assert len(stage.workloads.writes) == 2  # a place that is free is given by a cycle, to who wants it most
    await stage.cycle()
    assert len(stage.workloads.writes) == 3


async def test_the_heartbeats_of_others_are_counted() -> None:
    """A budget that they have spent is spent for an edited policy, too."""
    pods = worlds.pods()
    bodies = [
        manifests.policy(
            name, spec={"workloadRef": {"kind": "Deployment", "name": f"{name}-consumer", "container": "app"}}
        )
        for name in ("orders", "bills")
    ]
    stage = Stage(
        bodies,
        answers=counters.quiet(pods, worlds.NOW - worlds.HOUR, worlds.NOW + worlds.HOUR),
        workloads={
            ObjectKey("shop", f"{name}-consumer"): worlds.workload(worlds.settings()) for name in ("orders", "bills")
        },
        heartbeat_budget=3.5,  # a second would do for one of the two
    )
    members = [dataclasses.replace(worlds.member(pod), partitions=4) for pod in pods]
    stage.groups.groups = {"main": {"orders": worlds.group(members)}}
    stage.models = FakeModels([fitted.fitted()])
    stage.restart()
    await stage.cycle()
    held = stage.message("Recommended")
    assert "have a budget of 3.5 requests a second" in held
    stage.policies.edit(ORDERS, objective={"maxDetectionTime": "59s"})
    await stage.look(ORDERS)
    assert observed(stage) == 2
    assert "have a budget of 3.5 requests a second" in stage.message("Recommended")


async def test_a_policy_that_is_gone_meanwhile_costs_nothing() -> None:
    """Nor does one that was never there."""
    stage = stages.calm()
    await stage.cycle()
    stage.policies.delete_from_watch(ORDERS)
    report = await stage.look(ORDERS, ObjectKey("shop", "never"))
    assert sum(report.verdicts.values()) == report.status_writes == 0


async def test_an_outage_of_prometheus_is_not_tried_again() -> None:
    """The next cycle finds out whether it is over; until then nobody waits for it, and nothing old is called fresh."""
    stage = stages.storm(mode="Recommend")
    await stage.cycle()
    stage.prometheus.error = MetricsUnavailableError("Prometheus did not answer", cause=MetricsCause.TIMEOUT)
    await stage.cycle()
    queries = len(stage.prometheus.queries)
    stage.policies.edit(ORDERS, groupId="bills")
    stage.groups.groups["main"]["bills"] = dataclasses.replace(worlds.group(), group_id="bills")
    await stage.look(ORDERS)
    assert len(stage.prometheus.queries) == queries
    assert observed(stage) == 2
    assert stage.condition("MetricsAvailable") == ("False", "PrometheusUnreachable")


async def test_an_outage_of_a_broker_is_not_tried_again() -> None:
    """Its policies are told what the last cycle was."""
    stage = stages.storm(mode="Recommend")
    stage.groups.down.add("main")
    await stage.cycle()
    requests = len(stage.groups.requests)
    stage.policies.edit(ORDERS, suspend=True)
    await stage.look(ORDERS)
    assert len(stage.groups.requests) == requests
    assert observed(stage) == 2
    assert stage.condition("Ready") == ("False", "ClusterUnreachable")


async def test_a_storm_is_not_waited_for_again() -> None:
    """That it shows no member at most moments was found out by the cycle."""
    stage = Stage([manifests.policy(spec={"mode": "Recommend"})], grants={})
    await stage.cycle()
    await stage.cycle()
    assert stage.pauses
    stage.pauses.clear()
    stage.policies.edit(ORDERS, objective={"maxDetectionTime": "59s"})
    await stage.look(ORDERS)
    assert (observed(stage), stage.pauses) == (2, [])


async def test_a_new_policy_on_a_storm_gets_more_than_one_look() -> None:
    """At most moments its group shows no member, and nothing is known of it yet."""
    stage = Stage([], grants={})
    await stage.cycle()
    new = manifests.policy(spec={"mode": "Recommend"})
    stage.policies.stored[ORDERS] = new
    stage.store.show(copy.deepcopy(new))

    def show_members() -> None:
        members = [worlds.member(pod) for pod in worlds.pods()]
        stage.groups.groups["main"]["orders"] = worlds.group(members, rebalancing=True)

    stage.meanwhile = show_members
    await stage.look(ORDERS)
    assert stage.condition("Ready") == ("True", "Watching")


async def test_a_pod_younger_than_what_was_read_is_not_judged() -> None:
    """Nothing of its time was read yet: the record is of no time, and not of less than that."""
    stage = stages.storm()
    gatherer, policies = stage.gatherer(), [parsing.policy_of(body) for body in stage.store.snapshot()]
    await gatherer.gather(policies)
    young = [worlds.pod(number, started=stage.clock.now() + timedelta(seconds=30)) for number in range(3)]
    stage.workloads.edit(CONSUMER, pods=tuple(young))
    stage.clock.advance(timedelta(seconds=40))
    inputs = (await gatherer.gather_early(policies, policies))[ORDERS]
    assert isinstance(inputs, DecisionInput)
    assert isinstance(inputs.record, Record)
    assert inputs.record.span == timedelta(0)


async def test_a_trouble_that_lasts_is_not_told_again_for_an_early_look() -> None:
    """It shows nothing of others' troubles, which are not over by that."""
    stage = stages.fleet(3)
    stage.workloads.broken.add(ObjectKey("shop", "g2-consumer"))
    with capture_logs() as lines:
        await stage.cycle()
        stage.policies.edit(G0, suspend=True)
        await stage.look(G0)
        await stage.cycle()
    assert [line["policies"] for line in lines if line["log_level"] == "error"] == [["shop/g2"]]


async def test_a_cycle_after_early_looks_is_as_ever() -> None:
    """They leave nothing behind for others: all statuses are those of a fleet that was never looked at early."""
    looked_at, other = stages.fleet(4), stages.fleet(4)
    for stage in (looked_at, other):
        await stage.cycle()
        for number in range(3):
            stage.policies.edit(G0, objective={"maxDetectionTime": f"{50 + number}s"})
            if stage is looked_at:
                await stage.look(G0, after=timedelta(seconds=5))
        stage.clock.advance(MINUTE - timedelta(seconds=15) if stage is looked_at else MINUTE)
        report = await stage.cycle(after=timedelta(0))
        assert sum(report.verdicts.values()) == 4
        assert report.verdicts[Verdict.UNKNOWN] == 4 - sum(
            count for verdict, count in report.verdicts.items() if verdict is not Verdict.UNKNOWN
        )
    for key in looked_at.policies.stored:
        statuses = [stage.policies.status_of(key) for stage in (looked_at, other)]
        assert statuses[0]["verdict"] == statuses[1]["verdict"]
        assert statuses[0]["observedGeneration"] == statuses[1]["observedGeneration"]
