"""Whether a decision still stands when its group has been looked at again."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta

import pytest

from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig, Member
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.reconcile.deciding import Decider
from heartbeat_tuner.reconcile.liveness.progress import nobody_looks
from heartbeat_tuner.reconcile.outcomes import Decided
from tests.support import worlds

KEY = worlds.policy().key

CHANGES: dict[str, tuple[Callable[[Group], Group], bool]] = {
    "nothing": (lambda group: group, True),
    "its state": (lambda group: dataclasses.replace(group, state=worlds.group(rebalancing=True).state), True),
    "a member that left": (lambda group: dataclasses.replace(group, members=group.members[1:]), True),
    "somebody else's member": (
        lambda group: dataclasses.replace(group, members=(*group.members, Member("batch-1", "10.9.9.9"))),
        False,
    ),
    "its protocol": (lambda group: dataclasses.replace(group, consumer_protocol=True), False),
    "what the broker prescribes": (
        lambda group: dataclasses.replace(group, config=GroupConfig(worlds.seconds(45), worlds.seconds(5))),
        False,
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_decision_stands_while_the_same_would_be_written(change: str) -> None:
    """In a storm members come and go all the time: that alone must not hold its cure back for ever."""
    seen = worlds.record(span=timedelta(minutes=10), rebalances=8.0, share=0.6, beats=0)
    situation = worlds.situation(now=worlds.STORM, seen=seen)
    decider = Decider({}, nobody_looks)
    outcome = (await decider.decided({situation.policy.key: situation}))[situation.policy.key]
    assert isinstance(outcome, Decided)
    assert outcome.decision.to_apply is not None
    changed, stands = CHANGES[change]
    assert decider.stands(outcome, changed(situation.group)) is stands


async def test_what_all_is_well_with_is_not_decided_again() -> None:
    """A group that rests has the same situation in the next cycle; one that is looked at again has another."""
    well = worlds.situation(seen=worlds.record(span=worlds.HOUR))
    decider = Decider({}, nobody_looks)
    first = (await decider.decided({KEY: well}))[KEY]
    assert set(decider.healthy) == {KEY}
    assert (await decider.decided({KEY: well}))[KEY] is first
    again = (await decider.decided({KEY: dataclasses.replace(well)}))[KEY]
    assert again == first
    assert again is not first


async def test_what_waits_to_be_written_is_decided_in_each_cycle() -> None:
    """Whether it may be written depends on the time."""
    seen = worlds.record(span=timedelta(minutes=10), rebalances=8.0, share=0.6, beats=0)
    situation = worlds.situation(now=worlds.STORM, seen=seen)
    decider = Decider({}, nobody_looks)
    first, again = [(await decider.decided({KEY: situation}))[KEY] for _ in range(2)]
    assert not decider.healthy
    assert again is not first


async def test_an_early_look_leaves_others_well() -> None:
    """They may rest in the next cycle, and are not decided again for it; whoever was looked at is as it is now."""
    other = ObjectKey("shop", "other")
    well = worlds.situation(seen=worlds.record(span=worlds.HOUR))
    decider = Decider({}, nobody_looks)
    first = await decider.decided({KEY: well, other: well})
    assert set(await decider.decided({KEY: Finding(Reason.CONFLICT, "it is another's")}, early=True)) == {KEY}
    assert set(decider.healthy) == {other}
    assert (await decider.decided({other: well}))[other] is first[other]
