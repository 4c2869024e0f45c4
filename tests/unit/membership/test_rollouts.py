"""What a rollout, a crash, a lost node or a scaling does to the ids of a group, played on a world without faults."""

import pytest

from heartbeat_tuner.membership.values import Claimed, GroupProtocol, Replace, SlotRefusal
from tests.unit.membership.shapes import SESSION_S
from tests.unit.membership.world import Body, World, seconds

PROTOCOLS = pytest.mark.parametrize("protocol", list(GroupProtocol))


def start(protocol: GroupProtocol, *, replicas: int = 6, surge: int = 0) -> World:
    """Return a world whose pods run."""
    world = World(protocol, replicas=replicas, surge=surge)
    for _ in range(replicas):
        create(world)
    world.run()
    return world


def create(world: World) -> Body:
    """Create a pod, and see it."""
    [replica, *_] = world.webhooks
    world.watch(replica)
    admission = world.ask(replica)
    assert world.write_claim(admission)
    body = world.store(admission)
    assert body is not None
    return body


def care(world: World) -> None:
    """Let a replica settle and lift, and the nodes start what may start."""
    [_, replica, *_] = world.webhooks
    for _ in range(2):
        world.list_anew(replica)
        world.watch(replica)
        for action in [*world.settle(replica), *world.lift(replica)]:
            world.do(action)
    world.run()


def end(world: World, body: Body, exit_code: int = 143) -> None:
    """End a pod that is Terminating."""
    world.end(body, exit_code)
    world.remove(body)


def running(world: World) -> list[int | None]:
    """Return the ids that run, None for each dynamic member."""
    return sorted((body.pod.slot for body in world.bodies.values() if body.runs), key=str)


@PROTOCOLS
def test_a_rollout_without_surge_keeps_every_id(protocol: GroupProtocol) -> None:
    """No id comes and none goes: nothing to rebalance for."""
    world = start(protocol)
    for old in list(world.bodies.values()):
        world.delete(old)
        new = create(world)
        assert (new.pod.slot, new.pod.gated) == (old.pod.slot, True)
        care(world)
        assert not new.runs, "the holder still runs"
        end(world, old)
        care(world)
        assert new.runs
    assert running(world) == [0, 1, 2, 3, 4, 5]


@PROTOCOLS
def test_a_rollout_with_a_surge_of_one_brings_one_id_and_drops_one(protocol: GroupProtocol) -> None:
    """So it costs at most two rebalances."""
    world = start(protocol, surge=1)
    seen = {6}
    new = create(world)
    assert (new.pod.slot, new.pod.gated) == (6, False)
    care(world)
    for old in list(world.bodies.values())[:6]:
        world.delete(old)
        if old.pod.slot != 5:
            seen.add(create(world).pod.slot or 0)
        end(world, old)
        care(world)
    assert running(world) == [0, 1, 2, 3, 4, 6]
    assert seen == {0, 1, 2, 3, 4, 6}


@PROTOCOLS
def test_two_rollouts_on_top_of_each_other_and_back_keep_every_id(protocol: GroupProtocol) -> None:
    """The second deletes what the first made to wait, and the slot is promised again."""
    world = start(protocol, replicas=2)
    old, other = world.bodies.values()
    world.delete(old)
    first = create(world)
    world.delete(first)
    second = create(world)
    assert (second.pod.slot, second.pod.gated) == (old.pod.slot, True)
    end(world, old)
    care(world)
    world.delete(other)
    back = create(world)
    end(world, other)
    care(world)
    assert second.runs
    assert back.runs
    assert running(world) == [0, 1]


def test_a_killed_pod_is_followed_at_once_in_a_classic_group() -> None:
    """The coordinator maps the id to the new member."""
    world = start(GroupProtocol.CLASSIC, replicas=2)
    old = next(iter(world.bodies.values()))
    world.remove(old)
    new = create(world)
    assert (new.pod.slot, new.pod.gated) == (0, False)


def test_under_kip_848_a_killed_pod_s_id_is_left_until_its_session_is_over() -> None:
    """Who comes sooner is a dynamic member, and the next one has the id again."""
    world = start(GroupProtocol.CONSUMER, replicas=2)
    world.remove(next(iter(world.bodies.values())))
    sooner = create(world)
    care(world)
    assert running(world) == [1, None]
    world.delete(sooner)
    end(world, sooner)
    world.now += seconds(SESSION_S + 11)
    care(world)
    assert create(world).pod.slot == 0


def test_under_kip_848_who_was_promised_the_slot_of_a_pod_that_is_killed_waits_for_its_session() -> None:
    """It is refused otherwise, fatally; nobody is gated for ever, and here not for long."""
    world = start(GroupProtocol.CONSUMER, replicas=1)
    [old] = world.bodies.values()
    world.delete(old)
    new = create(world)
    end(world, old, exit_code=137)
    for _ in range(11):
        care(world)
        assert not new.runs
        world.now += seconds(5)
    world.now += seconds(5)
    care(world)
    assert new.runs


@PROTOCOLS
def test_a_lost_node_costs_its_pods_their_ids_and_nothing_else(protocol: GroupProtocol) -> None:
    """Who was promised the slot of a pod that does not go is replaced, and its successor starts as a dynamic member."""
    world = start(protocol, replicas=2)
    lost = next(iter(world.bodies.values()))
    world.delete(lost)
    waiting = create(world)
    assert waiting.pod.gated
    world.now += seconds(45)
    [_, replica, *_] = world.webhooks
    world.list_anew(replica)
    [replaced] = world.lift(replica)
    assert isinstance(replaced, Replace)
    assert replaced.reason is SlotRefusal.HOLDER_STAYS
    world.do(replaced)
    successor = create(world)
    assert successor.pod.slot is None
    world.remove(lost)
    care(world)
    world.now += seconds(SESSION_S + 11)
    care(world)
    assert create(world).pod.slot == 0


@PROTOCOLS
@pytest.mark.parametrize("later_s", [0, SESSION_S + 11])
def test_scaled_in_and_out_again_the_ids_are_the_same(protocol: GroupProtocol, later_s: float) -> None:
    """5, 3, 5; those beyond the pool are remembered while partitions are parked under their ids."""
    world = start(protocol, replicas=5)
    world.replicas = 3
    for old in list(world.bodies.values())[3:]:
        world.delete(old)
        end(world, old)
    care(world)
    world.now += seconds(later_s)
    care(world)
    assert sorted(world.leases) == [0, 1, 2] + ([] if later_s else [3, 4])
    world.replicas = 5
    assert [create(world).pod.slot for _ in range(2)] == [3, 4]


def test_a_create_that_a_quota_refuses_costs_its_slot_for_75_s() -> None:
    """Then it is free again; meanwhile who comes is a dynamic member."""
    world = start(GroupProtocol.CLASSIC, replicas=1)
    world.replicas = 2
    [replica, *_] = world.webhooks
    world.watch(replica)
    refused = world.ask(replica)
    assert world.write_claim(refused)
    world.admissions.remove(refused)
    world.now += seconds(70)
    care(world)
    assert create(world).pod.slot is None
    world.now += seconds(5)
    care(world)
    assert create(world).pod.slot == 1


def test_a_pod_that_is_stored_too_late_is_told_from_the_holder() -> None:
    """An API server with a longer request timeout breaks the assumption: two have one id, until the second is ended."""
    world = start(GroupProtocol.CLASSIC, replicas=1)
    [holder] = world.bodies.values()
    world.bodies["late"] = Body(holder.pod.__class__("late", "late", "1", world.now, "t-late", 0), revision=0)
    [replica, *_] = world.webhooks
    world.now += seconds(8)
    world.list_anew(replica)
    assert world.settle(replica) == []
    assert world.lift(replica) == [Replace(world.bodies["late"].pod, SlotRefusal.NOT_THE_HOLDER)]


def test_the_answer_to_a_lost_answer_is_the_same() -> None:
    """The Lease was written and the replica died, or the API server asked twice."""
    world = World(GroupProtocol.CLASSIC, replicas=2)
    [first, second, *_] = world.webhooks
    admission = world.ask(first)
    assert world.write_claim(admission)
    world.watch(second)
    world.ask_again(admission, second)
    assert admission.answer == Claimed(0, gated=False, write=None)
