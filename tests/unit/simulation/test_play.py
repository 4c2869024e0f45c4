"""What a user asks a play: whether it is the same again, and what other settings would do."""

import dataclasses

import pytest

from bench.known_groups import group, settings
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Rebalancing
from heartbeat_tuner.simulation.beats import FetchLoop
from heartbeat_tuner.simulation.chance import Chance
from heartbeat_tuner.simulation.play import simulate
from heartbeat_tuner.tails.law import Law

pytestmark = pytest.mark.no_cover  # plays groups for months

D_S = Law.lognormal(20, 0.5)
MIXED = group(
    pauses=FailureProcess(10.0, Law.lognormal(8, 0.4)),
    crashes=FailureProcess(2.0, D_S),
    restarts=FailureProcess(4.0, D_S),
    hangs=FailureProcess(0.2, Law.constant(400)),
)


def test_the_same_seed_is_the_same_play_and_another_is_another() -> None:
    """Nothing but the arguments decides."""
    first = simulate(MIXED, settings(session_s=12), days=5, seed=3)
    assert simulate(MIXED, settings(session_s=12), days=5, seed=3) == first
    assert simulate(MIXED, settings(session_s=12), days=5, seed=4) != first


def test_nothing_happens_to_a_group_that_nothing_befalls() -> None:
    """No cause, no cost."""
    calm = simulate(group(), settings(), days=5, seed=1)
    assert calm.gross_per_day == calm.rebalances_per_day == calm.false_evictions_per_day == 0


@pytest.mark.parametrize("days", [0.0, -1.0])
def test_days_must_be_positive(days: float) -> None:
    """The error names the field and the value."""
    with pytest.raises(ValueError, match=rf"days {days}: must be positive"):
        simulate(group(), settings(), days=days, seed=1)


def test_what_if_s_were_shorter() -> None:
    """A shorter session finds the dead sooner, and throws out more of the living."""
    long, short = (simulate(MIXED, settings(session_s=s), days=30, seed=2) for s in (45, 12))
    assert short.detections_s["crashes"] < 12 < long.detections_s["crashes"] < 45
    assert short.stalled_per_day["crashes"] < 0.5 * long.stalled_per_day["crashes"]
    assert long.false_evictions_per_day == 0 < short.evictions_per_day["pauses"]


def test_static_or_dynamic() -> None:
    """Static ids spare the rebalances of restarts that are over within the session, and cost their downtime."""
    dynamic = group(restarts=FailureProcess(20.0, D_S))
    static = dataclasses.replace(dynamic, static=True)
    first, second = (simulate(item, settings(session_s=120), days=20, seed=1) for item in (dynamic, static))
    restarts = 20.0 * 6
    assert first.rebalances_per_day == pytest.approx(2 * restarts, rel=0.1)
    assert second.rebalances_per_day < 1
    assert second.stalled_per_day["restarts"] == pytest.approx(4 * D_S.mean_s * restarts, rel=0.1)


def test_what_does_a_rollout_cost() -> None:
    """One after the other, all pods; in step after the first one, which spares the survivors the wait for beats."""
    deploys = group(restarts=FailureProcess(5.0, D_S))
    in_step, apart = (
        simulate(deploys, settings(), days=20, seed=1, rollouts=True, in_step=in_step) for in_step in (True, False)
    )
    assert in_step.rollouts == apart.rollouts
    assert in_step.rebalances_per_day == pytest.approx(12 * in_step.rollouts / 20, rel=0.02)
    assert in_step.gross_per_day < 0.85 * apart.gross_per_day


def test_a_surge_never_leaves_the_group_short() -> None:
    """The new pod joins before the old one leaves, so restarts are rebalances, and nobody's partitions wait for it."""
    surge = simulate(group(restarts=FailureProcess(20.0, D_S), surge=True, partitions=240), settings(), days=5, seed=1)
    assert surge.rebalances_per_day == pytest.approx(240, rel=0.15)


def test_a_beat_in_flight_costs_the_session_however_long_it_is() -> None:
    """Where one beat is in flight with S as its limit, raising S does not help; where beats are late, it does."""
    outages = FailureProcess(40.0, Law.lognormal(8, 0.4))
    stuck = group(outages=outages, delivery=Delivery.ONE_IN_FLIGHT, client="confluent-kafka-python")
    late = dataclasses.replace(stuck, delivery=Delivery.LATE)
    evictions = [
        simulate(item, settings(session_s=s), days=10, seed=1).false_evictions_per_day
        for item in (stuck, late)
        for s in (15, 45)
    ]
    assert evictions[1] == pytest.approx(evictions[0], rel=0.05)
    assert evictions[2] > 1 > evictions[3]


def test_a_lost_beat_is_worse_than_a_late_one() -> None:
    """Until the next tick comes, more sessions are over than where the beat comes at once, or soon."""
    base = group(outages=FailureProcess(40.0, Law.lognormal(8, 0.4)))
    late, tried, tick = (
        simulate(dataclasses.replace(base, delivery=item), settings(session_s=10), days=20, seed=1).evictions_per_day
        for item in (Delivery.LATE, Delivery.RETRIED, Delivery.NEXT_TICK)
    )
    assert late["outages"] < tried["outages"] < tick["outages"]


def test_a_hung_handler_is_noticed_after_m_and_a_static_one_after_s_more() -> None:
    """Java's members leave at M; a static one stops beating then."""
    hangs = group(hangs=FailureProcess(5.0, Law.constant(400)))
    limits = settings(session_s=30, limit_s=60)
    assert simulate(hangs, limits, days=5, seed=1).detections_s["hangs"] == pytest.approx(60, rel=0.01)
    static = dataclasses.replace(hangs, static=True)
    assert simulate(static, limits, days=5, seed=1).detections_s["hangs"] == pytest.approx(90, rel=0.01)


def test_a_library_may_wait_longer_than_m_says() -> None:
    """confluent-kafka-javascript waits twice as long."""
    hangs = group(client="confluent-kafka-javascript", hangs=FailureProcess(5.0, Law.constant(400)))
    played = simulate(hangs, settings(session_s=30, limit_s=60), days=5, seed=1)
    assert played.detections_s["hangs"] == pytest.approx(120, rel=0.02)


def test_a_hung_handler_that_nobody_notices_stands_still_until_it_is_over() -> None:
    """A library without a poll limit keeps the partitions of a handler that hangs."""
    played = simulate(
        group(client="franz-go", hangs=FailureProcess(5.0, Law.constant(400))), settings(limit_s=None), days=20, seed=1
    )
    assert not played.detections_s
    assert played.gross_per_day == pytest.approx(30 * 400 * 4, rel=0.15)


def test_evictions_have_a_price() -> None:
    """What an eviction costs beside the standstill is counted for each."""
    dear = dataclasses.replace(MIXED, eviction_price=100.0)
    played = simulate(dear, settings(session_s=10), days=5, seed=1)
    assert played.stalled_per_day["evictionPrice"] == pytest.approx(100 * played.false_evictions_per_day)


def test_own_absences_are_the_floor() -> None:
    """Pauses below the shortest session cost the same under all settings: net of them nothing is left."""
    short = group(pauses=FailureProcess(100.0, Law.lognormal(1, 0.3)))
    played = simulate(short, settings(), days=5, seed=1)
    assert played.gross_per_day > 1_000
    assert played.net_per_day == pytest.approx(0, abs=1e-6)


def test_an_outage_alone_costs_nothing_that_settings_change() -> None:
    """What is not read because the cluster is away is not counted, if nobody is evicted."""
    played = simulate(group(outages=FailureProcess(20.0, Law.constant(20))), settings(), days=5, seed=1)
    assert played.gross_per_day == 0


def test_a_slow_poll_costs_a_place_but_not_its_own_time() -> None:
    """A handler longer than M is at work; what stands still is the rebalances of its leaving and coming back."""
    slow = group(slow_handlers=FailureProcess(10.0, Law.constant(100)))
    played = simulate(slow, settings(limit_s=60), days=10, seed=1)
    assert played.evictions_per_day["slowHandlers"] == pytest.approx(60, rel=0.15)
    assert played.rebalances_per_day == pytest.approx(120, rel=0.15)
    assert played.gross_per_day < 60 * 2 * 24 * 6


def test_beats_of_an_idle_loop_wait_for_the_fetch() -> None:
    """KafkaJS at H 3 s: turns of 5 s beat every 5 s, turns of 2 s every 4 s, after the second."""
    for turn_s, between_s in ((5.0, 5.0), (2.0, 4.0)):
        loop = FetchLoop(Chance(1), interval_s=3.0, turns=Law.constant(turn_s))
        beats = [loop.beat(0.0) for _ in range(100)]
        assert [beat.age_s + beat.rest_s for beat in beats] == pytest.approx([between_s] * 100, abs=0.2)
        assert max(loop.age_at_start() for _ in range(100)) == pytest.approx(between_s - turn_s, abs=0.1)


def test_turns_that_find_nothing_make_the_beats_of_a_loop_slow() -> None:
    """With a fetch wait that the session cannot bear, idle members are thrown out again and again."""
    idle = group(client="kafkajs", handlers=Law.lognormal(0.2, 0.3), idle_turns=0.5)
    waits = dataclasses.replace(settings(session_s=6, limit_s=None), fetch_wait=settings(session_s=8).session_timeout)
    assert simulate(idle, waits, days=0.2, seed=1).evictions_per_day["slowHandlers"] > 1_000
    assert simulate(idle, settings(session_s=6, limit_s=None), days=0.2, seed=1).false_evictions_per_day == 0


@pytest.mark.parametrize("rebalancing", list(Rebalancing))
def test_partitions_neither_vanish_nor_multiply(rebalancing: Rebalancing) -> None:
    """However much happens to a group at once, no more stands still than there is."""
    crowded = dataclasses.replace(
        MIXED,
        rebalancing=rebalancing,
        client="java-kip848" if rebalancing is Rebalancing.CONSUMER else "java",
        pauses=FailureProcess(2_000.0, Law.lognormal(8, 0.6)),
        node_pauses=FailureProcess(500.0, Law.lognormal(12, 0.6)),
        node_members=4,
        outages=FailureProcess(100.0, Law.lognormal(12, 0.6)),
        crashes=FailureProcess(200.0, D_S),
        restarts=FailureProcess(200.0, D_S),
        hangs=FailureProcess(20.0, Law.constant(400)),
        slow_handlers=FailureProcess(50.0, Law.lognormal(60, 0.5)),
    )
    played = simulate(crowded, settings(session_s=10, limit_s=60), days=0.5, seed=1)
    assert 0 < played.gross_per_day < 24 * 86_400


def test_in_an_outage_the_clock_stands() -> None:
    """A group that lost its members in an outage pays from its end on: three seconds, a poll and the settling."""
    played = simulate(group(outages=FailureProcess(20.0, Law.constant(300))), settings(), days=5, seed=1)
    outages = played.evictions_per_day["outages"] / 6
    assert outages == pytest.approx(20, rel=0.3)
    assert 24 * 3.5 <= played.gross_per_day / outages < 24 * 12


def test_a_surge_keeps_a_lone_member_company() -> None:
    """The new pod joins before the old one is closed: a group of one is never without a member."""
    lone = group(members=1, partitions=4, restarts=FailureProcess(20.0, Law.constant(100)))
    surge = dataclasses.replace(lone, surge=True)
    without, with_it = (simulate(item, settings(), days=5, seed=1) for item in (lone, surge))
    assert with_it.gross_per_day < 0.2 * without.gross_per_day


def test_short_downtimes_of_static_members_are_part_of_the_floor() -> None:
    """Who is back within the shortest session costs what no setting changes."""
    static = group(static=True, restarts=FailureProcess(20.0, Law.constant(5.0)))
    played = simulate(static, settings(), days=5, seed=1)
    assert played.gross_per_day > 1_000
    assert played.net_per_day == pytest.approx(0, abs=0.05 * played.gross_per_day)


def test_a_long_turn_of_a_loop_is_work() -> None:
    """A turn that ends within the session costs nothing, though no beat comes while it lasts."""
    turns = group(client="kafkajs", handlers=Law.constant(3.1), slow_handlers=FailureProcess(50.0, Law.constant(18.0)))
    assert simulate(turns, settings(session_s=20, limit_s=None), days=5, seed=1).gross_per_day == 0


def test_a_loop_that_was_stopped_reads_on_before_it_beats() -> None:
    """What a pause costs is the pause, not the rest of the turn."""
    stopped = group(client="kafkajs", handlers=Law.constant(3.1), pauses=FailureProcess(50.0, Law.constant(4.0)))
    played = simulate(stopped, settings(limit_s=None), days=5, seed=1)
    assert played.net_per_day == pytest.approx(0, abs=0.05 * played.gross_per_day)


def test_the_id_of_a_dead_static_member_is_refused_in_kip848() -> None:
    """However soon it is back, it must wait for its own session to end."""
    static = group(
        client="java-kip848",
        rebalancing=Rebalancing.CONSUMER,
        static=True,
        crashes=FailureProcess(10.0, Law.constant(5.0)),
    )
    played = simulate(static, settings(), days=5, seed=1)
    assert 42 <= played.detections_s["crashes"] <= 45


def test_hours_lie_between_restarts_but_not_between_the_pods_of_a_rollout() -> None:
    """A restart by itself finds clocks that have drifted apart; the pods of a rollout find them in step."""
    restarts = group(restarts=FailureProcess(20.0, D_S))
    alone = simulate(restarts, settings(), days=20, seed=1)
    rolled = simulate(restarts, settings(), days=20, seed=1, rollouts=True)
    assert alone.gross_per_day / alone.rebalances_per_day > 1.07 * rolled.gross_per_day / rolled.rebalances_per_day
