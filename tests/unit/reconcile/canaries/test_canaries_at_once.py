"""Canaries of many policies: one whose evictions are answered late keeps nobody else waiting."""

import asyncio
from datetime import timedelta

from heartbeat_tuner.api import canary_notes
from heartbeat_tuner.domain.rollouts import CanaryPods, Rollout
from heartbeat_tuner.domain.verifications import Canary, CanaryPhase
from heartbeat_tuner.reconcile.at_broker.group_writer import ValueTargets
from heartbeat_tuner.reconcile.budget import FleetLimits
from heartbeat_tuner.reconcile.cycle import Cycle
from heartbeat_tuner.reconcile.policy_store import StorePart
from tests.support import stages, worlds
from tests.support.fakes import FakeWorkloads
from tests.support.stages import Stage
from tests.support.worlds import NOW

ENDED = Canary(
    since=NOW - timedelta(hours=1),
    until=NOW - timedelta(minutes=5),
    values=worlds.settings("20s"),
    previous=worlds.settings(),
    entries={"KAFKA_SESSION_TIMEOUT_MS": "20000"},
    pods=1,
    workload_uid="workload-1",
    template="t",
    spec="s",
    phase=CanaryPhase.ENDED,
    ticket=1,
    replaced="uid-0",
    replaced_at=NOW - timedelta(minutes=5),
)


class LateWorkloads(FakeWorkloads):
    """Deployments behind an admission webhook for evictions, which answers none before all have been asked."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.workloads.stored)
        self.all_asked = asyncio.Barrier(len(self.stored))
        self.evicted = 0

    async def evict(self, namespace: str, pod: str, uid: str) -> None:
        """Wait for the others."""
        assert (namespace, pod, uid) == ("shop", "orders-0", "uid-0")
        await self.all_asked.wait()
        self.evicted += 1


async def test_evictions_of_several_policies_are_under_way_beside_each_other() -> None:
    """An answer may take as long as a request may: in turn, a cycle would take that for each of them."""
    stage = stages.fleet(3)
    stage.workloads = workloads = LateWorkloads(stage)
    for key in workloads.stored:
        tried = CanaryPods({"orders-0": "uid-0"}, Rollout(wanted=3, pods=frozenset({"orders-0"})), 3)
        workloads.edit(key, canary=tried)
    for key in stage.policies.stored:
        noted = canary_notes.canary_status(ENDED).model_dump(mode="json", by_alias=True, exclude_none=True)
        stage.policies.have_status(key, {"canary": noted})
    stage.operator = Cycle(
        store=StorePart(stage.store, stage.shard),
        gatherer=stage.gatherer(),
        targets=ValueTargets(workloads, stage.groups),
        policies=stage.policies,
        slots=stage.slots,
        stops=stage.stops,
        clock=stage.clock,
        limits=FleetLimits(stage.max_rollouts, may_evict=True),
    )
    async with asyncio.timeout(10):
        await stage.cycle()
    assert workloads.evicted == 3
