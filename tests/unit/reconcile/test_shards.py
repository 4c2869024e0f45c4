"""Cycles over a fleet that is divided into shards."""

import re

from heartbeat_tuner.domain.shards import Shard
from tests.support import manifests, stages
from tests.support.stages import Stage
from tests.unit.reconcile.test_heartbeat_budget import stage as with_budget

SHARDS = 3
TEAMS = [f"team-{number}" for number in range(12)]


def teams() -> Stage:
    """Return a policy in each of many namespaces, whose workloads are not there: each has a status to be written."""
    stage = Stage([manifests.policy(namespace=team) for team in TEAMS], workloads={})
    stage.groups.groups = {"main": {}, "other": {}}
    return stage


async def cycle_of(stage: Stage, number: int) -> set[str]:
    """Run a cycle of one shard with nothing remembered; return the namespaces in which it wrote a status."""
    stage.shard = Shard(number, SHARDS)
    stage.restart()
    before = {key: body.get("status") for key, body in stage.policies.stored.items()}
    await stage.cycle()
    return {key.namespace for key, body in stage.policies.stored.items() if body.get("status") != before[key]}


async def test_each_policy_is_looked_after_by_one_shard_and_no_other() -> None:
    """Each shard writes its own policies and asks Kafka of their groups; together they write all."""
    stage = teams()
    written = [await cycle_of(stage, number) for number in range(SHARDS)]
    assert sorted(team for item in written for team in item) == sorted(TEAMS)
    assert all(written)
    assert [await cycle_of(stage, number) for number in range(SHARDS)] == [set()] * SHARDS


async def test_a_shard_reads_the_metrics_of_its_own_namespaces() -> None:
    """Prometheus is asked for the others' series by the others."""
    stage = Stage([manifests.policy(), manifests.policy(namespace="stock")])
    asked = []
    for number in range(SHARDS):
        stage.prometheus.queries.clear()
        await cycle_of(stage, number)
        text = " ".join(stage.prometheus.queries)
        asked.append({name for name in ("shop", "stock") if re.search(rf"\b{name}\b", text)})
    assert asked == [{"shop"}, set(), {"stock"}]


async def test_a_shard_has_its_part_of_the_rollouts() -> None:
    """Two of the fleet's five on three shards, and the sentence says whose they are."""
    stage = stages.storms(4)
    stage.shard = Shard(0, SHARDS)
    stage.restart()
    assert (await stage.cycle()).workload_writes == 2
    applied = {key: stage.condition("Applied", key)[1] for key in stage.policies.stored}
    waiting = next(key for key, reason in applied.items() if reason == "FleetBudgetSpent")
    assert stage.message("Applied", waiting) == (
        "2 rollouts of the tuner's are under way in shard 0 of 3 (Deployment shop/g0-consumer, Deployment "
        "shop/g1-consumer), and rollout.maxConcurrent of the operator's configuration allows 2 in this shard; this "
        "change waits for its turn: reverts first, then cures, then what saves most"
    )


async def test_a_shard_has_its_part_of_a_budget_of_heartbeats() -> None:
    """Equal to the others', and the sentence says so."""
    stage = with_budget(0.3)
    stage.shard = Shard(0, SHARDS)
    stage.restart()
    await stage.cycle()
    assert "have a budget of 0.1 requests a second in this shard, one of 3" in stage.message("Recommended")
