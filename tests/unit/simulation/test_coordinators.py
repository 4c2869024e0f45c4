"""Scenes with few members and no chance in them: what stands still, from when to when."""

import dataclasses
import math

import pytest

from heartbeat_tuner.clients.client import Hung
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.simulation.beats import BeatTimer
from heartbeat_tuner.simulation.chance import Chance
from heartbeat_tuner.simulation.classic_coordinator import ClassicCoordinator
from heartbeat_tuner.simulation.consumer_coordinator import ConsumerCoordinator
from heartbeat_tuner.simulation.coordinator import Coordinator
from heartbeat_tuner.simulation.event_queue import Events
from heartbeat_tuner.simulation.member import SimulatedMember, targets
from heartbeat_tuner.simulation.meter import Cause, Meter
from heartbeat_tuner.simulation.terms import Terms
from heartbeat_tuner.tails.law import Law

POLLS_AT_ONCE = Law.constant(0.001)
NEAR = 0.02  # partition-seconds that such polls make

TERMS = Terms(
    session_s=10.0,
    interval_s=3.0,
    wait_s=0.5,
    turns=POLLS_AT_ONCE,
    period_s=3.0,
    poll_limit_s=math.inf,
    join_limit_s=60.0,
    settle_s=0.5,
    rebalancing=Rebalancing.EAGER,
    static=False,
    leaves_on_close=True,
    hung=Hung.LEAVES,
    in_step=True,
)


@dataclasses.dataclass
class Scene:
    """Four members that beat at 0, 3, 6, ... seconds and share eight partitions."""

    events: Events
    meter: Meter
    group: Coordinator
    members: list[SimulatedMember]

    @classmethod
    def of(cls, rebalancing: Rebalancing, **other: float) -> "Scene":
        """Return a scene of a protocol."""
        terms = dataclasses.replace(TERMS, rebalancing=rebalancing, **other)  # type: ignore[arg-type]
        events = Events()
        meter = Meter(events)
        clock = BeatTimer(Chance(1), period_s=terms.period_s, handlers=POLLS_AT_ONCE, poll_limit_s=1e6)
        kind = ConsumerCoordinator if rebalancing is Rebalancing.CONSUMER else ClassicCoordinator
        group = kind(terms, 8, events=events, meter=meter, cadence=clock)
        members = [SimulatedMember(beat_at=0.0) for _ in range(4)]
        group.settled(members)
        return cls(events, meter, group, members)

    def stalled(self, until_s: float) -> float:
        """Run on, and return the partition-seconds that were not read."""
        self.events.run_until(until_s)
        self.meter.close()
        return sum(self.meter.stalled_s.values())

    def dies(self, member: SimulatedMember) -> None:
        """Let a process die now."""
        member.alive, member.gone_at = False, self.events.now
        self.group.silence(member, Cause.CRASHES)


@pytest.mark.parametrize(
    ("rebalancing", "stalled"),
    [
        (Rebalancing.EAGER, 2 * 2.5 + 6 * 0.5),  # the orphans from 1 to 3.5, all others from the beat at 3
        (Rebalancing.COOPERATIVE, 2 * 2.5),
        (Rebalancing.CONSUMER, 2 * 2.0),  # no barrier, and nothing to settle
    ],
)
def test_a_member_leaves(rebalancing: Rebalancing, stalled: float) -> None:
    """Its partitions stand still until the others have heard; in an eager group so do theirs once they joined."""
    scene = Scene.of(rebalancing)
    scene.events.at(1.0, lambda: scene.group.leave(scene.members[0], Cause.RESTARTS))
    assert scene.stalled(60.0) == pytest.approx(stalled, abs=NEAR)
    assert sum(member.owned for member in scene.group.members) == 8
    assert scene.meter.rebalances == 1


@pytest.mark.parametrize(
    ("rebalancing", "stalled", "rebalances"),
    [
        (Rebalancing.EAGER, 8 * 0.5, 1),
        # One partition moves: given up at 3; those that gave up none hear at 6, for their timers began again at 3.
        (Rebalancing.COOPERATIVE, 1 * 3.5, 2),
        (Rebalancing.CONSUMER, 1 * 1.0, 1),  # given up at 3; the newcomer beats at 4
    ],
)
def test_a_member_joins(rebalancing: Rebalancing, stalled: float, rebalances: int) -> None:
    """What moves to it stands still until its new holder got it; in an eager group all of it from the join on."""
    scene = Scene.of(rebalancing)
    newcomer = SimulatedMember(beat_at=0.0)
    scene.events.at(1.0, lambda: scene.group.join(newcomer, Cause.RESTARTS))
    assert scene.stalled(60.0) == pytest.approx(stalled, abs=NEAR)
    assert newcomer.owned == 1
    assert scene.meter.rebalances == rebalances


@pytest.mark.parametrize(
    ("rebalancing", "stalled"),
    [
        (Rebalancing.EAGER, 2 * 9.5 + 6 * 4.5),  # from 1 to 10.5; the others from the beat at 6 on
        (Rebalancing.COOPERATIVE, 2 * 9.5),
    ],
)
def test_a_newcomer_waits_for_the_dead(rebalancing: Rebalancing, stalled: float) -> None:
    """A process that died and is back as a stranger starts a rebalance that waits for its dead id until S."""
    scene = Scene.of(rebalancing)
    scene.events.at(1.0, lambda: scene.dies(scene.members[0]))
    scene.events.at(5.0, lambda: scene.group.join(SimulatedMember(beat_at=0.0), Cause.CRASHES))
    assert scene.stalled(60.0) == pytest.approx(stalled, abs=NEAR)
    assert scene.meter.detections_s[Cause.CRASHES] == [pytest.approx(9.0)]
    assert scene.meter.rebalances == 1


def test_nobody_waits_for_the_dead_in_kip848() -> None:
    """A newcomer gets what the living can spare; what the dead one held waits for its session alone."""
    scene = Scene.of(Rebalancing.CONSUMER)
    scene.events.at(1.0, lambda: scene.dies(scene.members[0]))
    scene.events.at(5.0, lambda: scene.group.join(SimulatedMember(beat_at=0.0), Cause.CRASHES))
    # One moves from 6 to the beat at 8; two from 1 to 10, and on to the next beat of the newcomer at 11.
    assert scene.stalled(60.0) <= 1 * 2.0 + 2 * 9.0 + 2 * 3.0 + NEAR
    assert sorted(member.owned for member in scene.group.members) == [2, 2, 2, 2]


def test_what_was_given_out_is_read_though_the_next_rebalance_has_begun() -> None:
    """Members that got their partitions at 3 know nothing of one that joins at 3.2 before they beat at 6."""
    scene = Scene.of(Rebalancing.EAGER)
    scene.events.at(1.0, lambda: scene.group.leave(scene.members[0], Cause.RESTARTS))
    scene.events.at(3.2, lambda: scene.group.join(SimulatedMember(beat_at=3.2), Cause.RESTARTS))
    assert scene.stalled(60.0) == pytest.approx(2 * 2.5 + 6 * 0.5 + 8 * 0.5, abs=NEAR)


def test_a_short_silence_costs_only_itself() -> None:
    """A process that stands still for less than S since its last beat keeps its place."""
    scene = Scene.of(Rebalancing.EAGER)
    scene.events.at(1.0, lambda: scene.group.silence(scene.members[0], Cause.PAUSES))
    scene.events.at(9.9, lambda: scene.group.hear(scene.members[0]))
    assert scene.stalled(60.0) == pytest.approx(2 * 8.9)
    assert not scene.meter.evictions
    assert scene.meter.rebalances == 0


@pytest.mark.parametrize(("wakes_s", "rebalances"), [(11.0, 1), (13.0, 2)])
def test_who_is_back_in_time_joins_the_rebalance_that_its_eviction_began(wakes_s: float, rebalances: int) -> None:
    """Evicted at 10, the group waits until the beats at 12: who wakes before makes no second rebalance."""
    scene = Scene.of(Rebalancing.EAGER)
    scene.events.at(1.0, lambda: scene.group.silence(scene.members[0], Cause.PAUSES))
    scene.events.at(wakes_s, lambda: scene.group.hear(scene.members[0]))
    scene.events.run_until(60.0)
    assert scene.meter.evictions == {Cause.PAUSES: 1}
    assert scene.meter.rebalances == rebalances
    assert [member.owned for member in scene.group.members] == [2, 2, 2, 2]


def test_in_kip848_there_is_no_rebalance_to_be_back_in_time_for() -> None:
    """A member evicted for its silence joins again however soon it wakes."""
    scene = Scene.of(Rebalancing.CONSUMER)
    scene.events.at(1.0, lambda: scene.group.silence(scene.members[0], Cause.PAUSES))
    scene.events.at(10.5, lambda: scene.group.hear(scene.members[0]))
    scene.events.run_until(60.0)
    assert scene.meter.rebalances == 2


def test_a_rebalance_does_not_wait_longer_than_r() -> None:
    """A member that does not poll is left behind after R, and comes when it polls."""
    scene = Scene.of(Rebalancing.EAGER, join_limit_s=20.0)
    scene.members[0].busy_until = 100.0
    scene.events.at(1.0, lambda: scene.group.leave(scene.members[3], Cause.RESTARTS))
    scene.events.run_until(99.0)
    assert scene.meter.evictions == {Cause.SLOW_HANDLERS: 1}
    assert [member.owned for member in scene.group.members] == [4, 4]
    scene.events.run_until(200.0)
    assert sorted(member.owned for member in scene.group.members) == [2, 3, 3]
    assert scene.meter.rebalancing_s == pytest.approx(20.5 + 1.5, abs=3.0)


def test_a_static_member_that_is_back_in_its_session_costs_nobody_else() -> None:
    """The coordinator gives it what it had."""
    scene = Scene.of(Rebalancing.EAGER)
    member = scene.members[0]
    scene.events.at(1.0, lambda: scene.dies(member))

    def back() -> None:
        member.alive = member.working = True
        member.silent, member.gone_at = False, None
        member.stint += 1
        scene.group.metered(member)
        scene.group.returned(member)

    scene.events.at(8.0, back)
    assert scene.stalled(60.0) == pytest.approx(2 * 7.0)
    assert scene.meter.rebalances == 0


def test_an_empty_group_waits_for_others_before_it_begins() -> None:
    """The first member of a group that lost all of them waits three seconds."""
    scene = Scene.of(Rebalancing.EAGER)

    def all_leave() -> None:
        for member in list(scene.group.members):
            scene.group.leave(member, Cause.OUTAGES)

    scene.events.at(1.0, all_leave)
    scene.events.at(10.0, lambda: scene.group.join(scene.members[0], Cause.OUTAGES))
    scene.events.at(11.0, lambda: scene.group.join(scene.members[1], Cause.OUTAGES))
    assert scene.stalled(60.0) == pytest.approx(8 * 12.5)
    assert [member.owned for member in scene.group.members] == [4, 4]


@pytest.mark.parametrize(
    ("held", "partitions", "shares"),
    [([2, 2, 2, 0], 8, [2, 2, 2, 2]), ([3, 3, 2], 7, [3, 2, 2]), ([0, 0, 1], 1, [0, 0, 1]), ([5], 3, [3])],
)
def test_shares_are_even_and_move_as_little_as_can_be(held: list[int], partitions: int, shares: list[int]) -> None:
    """Nobody holds two more than another; what is odd stays with those who hold most."""
    assert targets(held, partitions) == shares


def test_a_rebalance_that_waits_for_a_static_member_ends_when_it_is_back() -> None:
    """It asks to join at once: the group need not wait for its session to end."""
    scene = Scene.of(Rebalancing.EAGER)
    member = scene.members[0]
    scene.events.at(1.0, lambda: scene.dies(member))
    scene.events.at(2.0, lambda: scene.group.join(SimulatedMember(beat_at=0.0), Cause.RESTARTS))

    def back() -> None:
        member.alive = member.working = True
        member.silent, member.gone_at = False, None
        member.stint += 1
        scene.group.returned(member)

    scene.events.at(5.0, back)
    # Its own from 1 to 5.5; the others stand from the beat at 3 to 5.5.
    assert scene.stalled(60.0) == pytest.approx(2 * 4.5 + 6 * 2.5, abs=NEAR)


def test_in_kip848_a_silent_member_gives_up_what_moves_when_it_is_back() -> None:
    """What it shall give up it learns with its first beat."""
    scene = Scene.of(Rebalancing.CONSUMER)
    for member in scene.members[1:]:
        member.owned = 1
    scene.members[0].owned = 5
    scene.events.at(1.0, lambda: scene.group.silence(scene.members[0], Cause.PAUSES))
    newcomer = SimulatedMember(beat_at=0.0)
    scene.events.at(2.0, lambda: scene.group.join(newcomer, Cause.RESTARTS))
    scene.events.at(5.0, lambda: scene.group.hear(scene.members[0]))
    scene.events.run_until(60.0)
    assert [member.owned for member in scene.group.members] == [2, 2, 2, 1, 1]
