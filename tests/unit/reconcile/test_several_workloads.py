"""Whole cycles on fakes: one policy that names several Deployments writes and takes back one after another."""

from tests.support import several, worlds
from tests.support.several import CURED, FIRST, SECOND
from tests.support.stages import ORDERS


async def test_a_change_goes_to_the_next_workload_when_the_pods_before_it_stayed_ready() -> None:
    """One rollout at a time, in the policy's order; the whole has landed when the last one has."""
    stage = several.storm()
    await stage.cycle()
    assert several.writes(stage) == [("orders-a", CURED)]
    for _ in range(3):
        await stage.cycle()
    assert several.writes(stage) == [("orders-a", CURED)]
    several.roll_out(stage, FIRST)
    await stage.cycle(worlds.seconds(30))
    assert several.writes(stage) == [("orders-a", CURED)]
    assert "landed" not in stage.policies.status_of(ORDERS)["verification"]
    await stage.cycle()
    assert several.writes(stage) == [("orders-a", CURED), ("orders-b", CURED)]
    several.roll_out(stage, SECOND)
    await stage.cycle()
    await stage.cycle()
    assert stage.condition("Applied") == ("True", "Applied")
    assert "landed" in stage.policies.status_of(ORDERS)["verification"]
    for _ in range(5):
        await stage.cycle()
    assert len(stage.workloads.writes) == 2
