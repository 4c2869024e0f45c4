"""Groups that rest: what a cycle takes as the one before found it, and what ends that."""

import asyncio
import dataclasses
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from heartbeat_tuner.api import parsing
from heartbeat_tuner.decision.input import DecisionInput
from heartbeat_tuner.domain.evidence import Unknown
from heartbeat_tuner.domain.kafka_groups import GroupOverrides, GroupWrite, Member
from heartbeat_tuner.domain.policies import Application, ObjectKey
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.models.group_model import NO_MODEL, Unfitted
from heartbeat_tuner.reconcile.gather.gathering import Gathered
from heartbeat_tuner.reconcile.gather.resting import EVERY, SMALL, CycleView, Resting
from tests.support import counters, stages, worlds
from tests.support.counters import Answers

pytestmark = pytest.mark.no_cover  # runs hundreds of cycles

KEYS = [worlds.policy().key, *(ObjectKey("shop", f"policy-{number}") for number in range(SMALL))]
KEY = KEYS[0]


def seen() -> CycleView:
    """Return what is at hand of a group."""
    situation = worlds.situation()
    return CycleView(
        situation.policy, situation.workload, situation.group, situation.cluster, NO_MODEL, situation.ownership
    )


CHANGES: dict[str, Callable[[CycleView], CycleView]] = {
    "an edited policy": lambda seen: dataclasses.replace(seen, policy=dataclasses.replace(seen.policy, generation=9)),
    "another workload": lambda seen: dataclasses.replace(seen, workload=dataclasses.replace(seen.workload)),
    "a member that left": lambda seen: dataclasses.replace(
        seen, group=dataclasses.replace(seen.group, members=seen.group.members[1:])
    ),
    "somebody else's member": lambda seen: dataclasses.replace(
        seen, group=dataclasses.replace(seen.group, members=(*seen.group.members, Member("other-1", "10.9.9.9")))
    ),
    "a pod of another policy's": lambda seen: dataclasses.replace(seen, peers=(worlds.pod(9),)),
    "another model": lambda seen: dataclasses.replace(seen, model=Unfitted("no model has come yet")),
}


def rests(
    resting: Resting[DecisionInput], what: CycleView, *, keys: Collection[ObjectKey] = KEYS, healthy: bool = True
) -> list[bool]:
    """Return whether a group rests in each of some cycles, as often as it has two turns."""
    found = []
    for _ in range(2 * EVERY):
        resting.begin(keys, {KEY} if healthy else ())
        found.append(resting.before(KEY, what, now=worlds.NOW) is not None)
    return found


def known(what: CycleView) -> Resting[DecisionInput]:
    """Return a memory of one group."""
    resting = Resting[DecisionInput]()
    resting.found(KEY, what, worlds.situation())
    return resting


def test_a_group_is_looked_at_whole_in_its_turn() -> None:
    """Once in every so many cycles, whatever happens."""
    what = seen()
    found = rests(known(what), what)
    assert found[:EVERY] == found[EVERY:]
    assert found[:EVERY].count(False) == 1


def test_turns_are_spread_over_cycles() -> None:
    """A cycle in which all have their turn would be as long as before."""
    what, resting = seen(), Resting[DecisionInput]()
    for key in KEYS:
        resting.found(key, what, worlds.situation())
    for _ in range(EVERY):
        resting.begin(KEYS, KEYS)
        looked_at = sum(resting.before(key, what, now=worlds.NOW) is None for key in KEYS)
        assert 0.8 < looked_at * EVERY / len(KEYS) < 1.2


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_looked_at_at_once(change: str) -> None:
    """Nothing of it may wait for a turn."""
    what = seen()
    assert not any(rests(known(what), CHANGES[change](what)))


def test_who_is_not_healthy_does_not_rest() -> None:
    """A recommendation depends on the time, too: windows, cooldown, the budget."""
    what = seen()
    assert not any(rests(known(what), what, healthy=False))


def test_small_fleets_do_not_rest() -> None:
    """There is no need."""
    what = seen()
    assert not any(rests(known(what), what, keys=KEYS[:SMALL]))


@pytest.mark.parametrize(("ago", "rested"), [(timedelta(minutes=59), False), (timedelta(minutes=61), True)])
def test_who_was_written_lately_does_not_rest(ago: timedelta, *, rested: bool) -> None:
    """What a change did has to be seen as soon as it shows, at the broker too."""
    at, values = worlds.NOW - ago, GroupOverrides(timedelta(seconds=20))
    writes: tuple[dict[str, Any], ...] = (
        {"application": Application(worlds.settings(), worlds.STORM, at, "uid")},
        {"group_write": GroupWrite("main", "orders", values, GroupOverrides(), at, spec="s", answered=True)},
    )
    for write in writes:
        what = dataclasses.replace(seen(), policy=dataclasses.replace(seen().policy, **write))
        assert any(rests(known(what), what)) is rested


def test_who_is_gone_is_forgotten() -> None:
    """A policy that is made again under the same name is another one."""
    what, resting = seen(), known(seen())
    resting.found(KEY, what, worlds.situation())
    resting.begin(KEYS[1:], KEYS)
    assert not any(rests(resting, what))


G0 = ObjectKey("shop", "g0")
MOVES = {
    "a join": Quantity.REBALANCES,
    "time spent in joins": Quantity.REBALANCE_TIME,
    "a notice of a rebalance": Quantity.REBALANCE_NOTICES,
}


def calm() -> Answers:
    """Return what is measured of one group of a fleet, to which nothing happens."""
    return counters.quiet(worlds.pods(), worlds.NOW - worlds.HOUR, worlds.NOW + worlds.HOUR, group="g0")


def moved(answers: Answers, quantity: Quantity, *, after: timedelta) -> Answers:
    """Return the same with one more of something after a while, in one pod."""
    first, *rest = answers[quantity]
    from_s = (worlds.NOW + after).timestamp()
    more = Series.from_raw(first.labels, [(at_s, value + (at_s > from_s)) for at_s, value in first.samples.pairs()])
    return {**answers, quantity: [more, *rest]}


async def gathered(answers: Answers, cycles: int) -> list[Gathered]:
    """Return what is gathered of the measured group in each of some cycles; the fleet is just large enough."""
    stage = stages.fleet(SMALL + 1)
    stage.prometheus.answers = answers
    gatherer = stage.gatherer()
    policies = [parsing.policy_of(body) for body in stage.store.snapshot()]
    found = []
    for _ in range(cycles):
        stage.clock.advance(stages.MINUTE)
        found.append((await gatherer.gather(policies, healthy={G0}))[G0])
    return found


def is_as_before(found: Sequence[Gathered]) -> list[bool]:
    """Return for each but the first whether it is the very same."""
    return [later is earlier for earlier, later in pairwise(found)]


@pytest.fixture(scope="module")
def rested() -> list[bool]:
    """Return in which of some cycles a group to which nothing happens rests: of a thousand others, so only once."""
    return is_as_before(asyncio.run(gathered(calm(), 2 + EVERY)))


def test_a_group_to_which_nothing_happens_rests(rested: list[bool]) -> None:
    """What it rests on is the same object, which nobody decides on again."""
    assert rested.count(True) >= EVERY - 1
    assert rested.count(False) >= 1


async def test_early_looks_take_nobodys_turn(rested: list[bool]) -> None:
    """A group that rests between them is looked at whole as often as ever, and rests as before."""
    stage = stages.fleet(SMALL + 1)
    stage.prometheus.answers = calm()
    gatherer, found = stage.gatherer(), list[Gathered]()
    policies = [parsing.policy_of(body) for body in stage.store.snapshot()]
    edited = [policy for policy in policies if policy.key != G0][:1]
    for _ in range(2 + EVERY):
        stage.clock.advance(stages.MINUTE)
        found.append((await gatherer.gather(policies, healthy={G0}))[G0])
        for _ in range(2):
            assert (await gatherer.gather_early(policies, edited)).keys() == {policy.key for policy in edited}
    assert is_as_before(found) == rested


@pytest.mark.parametrize("what", MOVES)
async def test_what_is_counted_ends_the_rest_at_once(what: str, rested: list[bool]) -> None:
    """Whatever happens to a member ends with a join, and shows in the very next cycle."""
    cycle = rested.index(True) + 1
    found = await gathered(moved(calm(), MOVES[what], after=cycle * stages.MINUTE), cycle + 1)
    assert not is_as_before(found)[-1]


async def test_metrics_that_end_end_the_rest() -> None:
    """What is not measured any more is unknown, never as before."""
    answers = {
        quantity: [Series(item.labels, item.samples.between(0, worlds.NOW.timestamp())) for item in group]
        for quantity, group in calm().items()
    }
    found = await gathered(answers, 3)
    assert not any(is_as_before(found))
    assert isinstance(found[-1], DecisionInput)
    assert isinstance(found[-1].record, Unknown)
