"""What the cost must hold whatever a group is, and what it says at the edges."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.clients.catalogue import CLIENTS
from heartbeat_tuner.decision.cost.cost_model import CostModel, Costs, costs, rollout_cost
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Profile, Rebalancing
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.law import TIMES_S, Law
from tests.support.profiles import NEVER, calm, often

SESSIONS = np.geomspace(6.0, 1_800.0, 24)
RATES = ("pauses", "node_pauses", "outages", "crashes", "restarts", "hangs")

happenings = st.builds(often, st.floats(0.0, 10.0), st.floats(0.1, 100.0), st.floats(0.2, 1.5))
groups: st.SearchStrategy[Profile] = st.builds(
    lambda members, more: calm(members=members, partitions=members * 4, **more),
    st.integers(1, 40),
    st.fixed_dictionaries(
        {
            "client": st.sampled_from(sorted(CLIENTS)),
            "rebalancing": st.sampled_from(Rebalancing),
            "static": st.booleans(),
            "node_members": st.integers(1, 4),
            "delivery": st.sampled_from(Delivery),
            "surge": st.booleans(),
            "handlers": st.builds(Law.lognormal, st.floats(0.05, 10.0), st.floats(0.2, 1.0)),
            "settle_s": st.floats(0.0, 3.0),
            "idle_turns": st.floats(0.0, 1.0),
            **dict.fromkeys(RATES, happenings),
        }
    ),
)


def reckon(profile: Profile, sessions: Array = SESSIONS, **changes: Any) -> Costs:
    """Return costs at the settings that are usual."""
    usual = {"interval_s": 3.0, "wait_s": 0.5, "poll_limit_s": 300.0}
    return costs(profile, sessions_s=sessions, **{**usual, **changes})


def same(costs: Costs, other: Costs) -> None:
    """Hold that costs, rebalances and evictions are the same."""
    assert costs.gross_per_day == pytest.approx(other.gross_per_day, abs=1e-9)
    assert costs.rebalances_per_day == pytest.approx(other.rebalances_per_day, abs=1e-9)
    assert costs.evictions_per_month == pytest.approx(other.evictions_per_month, abs=1e-9)


@settings(max_examples=40)
@given(groups)
def test_nothing_is_below_zero_nor_below_what_no_setting_can_change(profile: Profile) -> None:
    """No term is negative, and all of them together are not below the floor."""
    result = reckon(profile)
    assert all(np.all(term >= -1e-9) for term in result.terms.values())
    assert np.all(result.net_per_day >= -1e-6 * result.gross_per_day - 1e-9)
    assert np.all(result.evictions_per_month >= 0)


@settings(max_examples=40)
@given(groups)
def test_a_longer_session_evicts_less(profile: Profile) -> None:
    """False evictions fall with the session, whatever causes them."""
    evictions = reckon(profile).evictions_per_month
    assert np.all(np.diff(evictions) <= 1e-9 * evictions[:-1] + 1e-9)


@settings(max_examples=40)
@given(groups, st.sampled_from(RATES), st.floats(1.0, 3.0))
def test_what_happens_more_often_costs_more(profile: Profile, name: str, factor: float) -> None:
    """No cost and no eviction becomes less because something happens more often."""
    process = getattr(profile, name)
    more = dataclasses.replace(profile, **{name: dataclasses.replace(process, per_day=factor * process.per_day)})
    before, after = reckon(profile), reckon(more)
    assert np.all(after.gross_per_day >= before.gross_per_day * (1 - 1e-9) - 1e-6)
    assert np.all(after.evictions_per_month >= before.evictions_per_month * (1 - 1e-9) - 1e-6)
    assert np.all(after.rebalances_per_day >= before.rebalances_per_day * (1 - 1e-9) - 1e-6)


@settings(max_examples=40)
@given(groups, st.floats(1.0, 5.0))
def test_the_upper_rate_is_that_of_the_upper_tables(profile: Profile, factor: float) -> None:
    """Where one table is so many times the mean, so is what it evicts; where there is none, it is the mean."""
    expected = reckon(profile).evictions_per_month
    assert reckon(profile).evictions_upper_per_month == pytest.approx(expected)
    names = ("pauses", "node_pauses", "outages")
    bounded = {
        name: dataclasses.replace(
            getattr(profile, name),
            upper_per_day=factor * getattr(profile, name).per_day * getattr(profile, name).law.exceedances,
        )
        for name in names
    }
    calm = dataclasses.replace(profile, handlers=Law.constant(0.1), idle_turns=0.0)
    expected = reckon(calm).evictions_per_month
    each = [reckon(dataclasses.replace(calm, **{name: bounded[name]})).evictions_upper_per_month for name in names]
    together = reckon(dataclasses.replace(calm, **bounded)).evictions_upper_per_month
    assert together == pytest.approx(expected + np.sqrt(sum((item - expected) ** 2 for item in each)), abs=1e-6)
    for item in each:
        assert np.all(item <= together * (1 + 1e-9) + 1e-9)
        assert np.all(item <= factor * expected * (1 + 1e-9) + 1e-6)
    assert np.all(together <= factor * expected * (1 + 1e-9) + 1e-6)


@settings(max_examples=40)
@given(groups)
def test_sessions_do_not_touch_each_other(profile: Profile) -> None:
    """Each session costs what it would alone, in whatever order they stand."""
    together, alone = reckon(profile), reckon(profile, SESSIONS[[17]])
    assert together.gross_per_day[17] == pytest.approx(alone.gross_per_day[0])
    backwards = reckon(profile, SESSIONS[::-1])
    assert backwards.net_per_day[::-1] == pytest.approx(together.net_per_day)
    assert backwards.detection_s[::-1] == pytest.approx(together.detection_s)


@settings(max_examples=40)
@given(groups, happenings)
def test_two_causes_cost_what_both_cost(profile: Profile, more: FailureProcess) -> None:
    """A cause that is two in one costs as much as the two, each for itself."""
    first = dataclasses.replace(profile, hangs=NEVER)
    total = first.pauses.per_day + more.per_day
    if total == 0:
        return
    parts = [(first.pauses.per_day / total, first.pauses.law), (more.per_day / total, more.law)]
    both = dataclasses.replace(first, pauses=FailureProcess(total, Law.mixture(parts)))
    alone = reckon(dataclasses.replace(first, pauses=more)).gross_per_day
    without = reckon(dataclasses.replace(first, pauses=NEVER)).gross_per_day
    assert reckon(both).gross_per_day == pytest.approx(reckon(first).gross_per_day + alone - without)


@settings(max_examples=40)
@given(st.floats(0.0, 1.0), happenings)
def test_static_crashes_and_restarts_are_the_same_absences(share: float, absence: FailureProcess) -> None:
    """A static member is away, however it went: two halves of one cause cost as much as the whole."""
    whole = calm(static=True, restarts=absence)
    halves = dataclasses.replace(
        whole,
        restarts=dataclasses.replace(absence, per_day=share * absence.per_day),
        crashes=dataclasses.replace(absence, per_day=(1 - share) * absence.per_day),
    )
    same(reckon(whole), reckon(halves))


@settings(max_examples=40)
@given(happenings)
def test_a_pause_of_a_node_with_one_member_is_a_pause(pause: FailureProcess) -> None:
    """One member on a node is one member."""
    node = dataclasses.replace(pause, per_day=6 * pause.per_day)
    same(reckon(calm(pauses=pause)), reckon(calm(node_pauses=node, node_members=1)))


@pytest.mark.parametrize("client", ["java", "java-kip848", "kafkajs", "sarama"])
def test_a_group_that_nothing_befalls_costs_nothing(client: str) -> None:
    """No events, no cost, no eviction."""
    result = reckon(calm(client=client, handlers=Law.constant(0.1)), poll_limit_s=None)
    assert not result.gross_per_day.any()
    assert result.floor_per_day == 0
    assert not result.evictions_per_month.any()


@settings(max_examples=40)
@given(groups)
def test_an_endless_session_evicts_nobody_by_silence(profile: Profile) -> None:
    """What remains are poll gaps, and vanished requests that no session outlasts."""
    profile = dataclasses.replace(profile, delivery=Delivery.LATE)
    result = reckon(profile, np.array([9e5]))
    assert result.evictions_per_month[0] == pytest.approx(result.poll_evictions_per_month, abs=1e-3)


def test_a_member_alone_stands_still_however_short_its_session_is() -> None:
    """Nobody takes over: only that it has to join again can be saved, by a longer session."""
    result = reckon(calm(members=1, pauses=often(5.0, 8.0, 0.4)))
    assert result.net_per_day[0] == pytest.approx(result.evictions_per_month[0] / 30 * 24 * (3.5 + 0.73), rel=0.01)
    assert result.net_per_day[-1] == pytest.approx(0.0, abs=1e-6)


def test_a_member_alone_that_is_restarted_makes_one_rebalance() -> None:
    """Its return; there is nobody who would have to be told that it went."""
    result = reckon(calm(members=1, restarts=FailureProcess(0.5, Law.constant(20.0))))
    assert result.rebalances_per_day == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changes", "floor"),
    [
        ({"members": 1}, 24 * 0.5 * 20.0),
        ({"members": 1, "surge": True}, 0.0),
        ({"client": "streams"}, 24 * 0.5 * 6.0),
        ({"client": "streams", "surge": True}, 0.0),
        ({"static": True}, 24 * 0.5 * 6.0),
        ({"static": True, "surge": True}, 24 * 0.5 * 6.0),
        ({}, 0.0),
    ],
    ids=["alone", "alone, with surge", "silent", "silent, with surge", "static", "static, with surge", "leaving"],
)
def test_no_setting_changes_what_a_restart_costs_whose_partitions_nobody_takes(
    changes: dict[str, Any], floor: float
) -> None:
    """A lone member is missed for its downtime, one that does not leave for the least session; others hand over."""
    result = reckon(calm(restarts=FailureProcess(0.5, Law.constant(20.0)), **changes))
    assert result.floor_per_day == pytest.approx(floor, rel=0.01)


def test_a_node_that_takes_all_members_away_leaves_nobody_to_take_over() -> None:
    """All members of a group on one node are gone as a member alone is, but that the first of them polls sooner."""
    node = often(5.0, 300.0, 0.4)
    together = reckon(calm(node_pauses=node, node_members=9), np.array([10.0]))
    alone = reckon(calm(members=1, pauses=node), np.array([10.0]))
    assert together.gross_per_day == pytest.approx(alone.gross_per_day, rel=0.003)
    assert together.gross_per_day < alone.gross_per_day
    assert together.evictions_per_month == pytest.approx(6 * alone.evictions_per_month)
    assert together.rebalances_per_day == pytest.approx(2 * alone.rebalances_per_day, rel=0.05)


def test_a_crash_makes_an_eager_group_wait_for_the_dead() -> None:
    """The container is back after 20 s; the whole group stands until the session of the dead one is over."""
    crash = FailureProcess(0.1, Law.constant(20.0))
    eager = reckon(calm(crashes=crash), np.array([15.0, 45.0]))
    cooperative = reckon(calm(crashes=crash, rebalancing=Rebalancing.COOPERATIVE), np.array([15.0, 45.0]))
    assert eager.terms["crashes"][1] > 4 * eager.terms["crashes"][0]
    assert cooperative.terms["crashes"][1] < 4 * cooperative.terms["crashes"][0]


def test_a_stream_that_never_leaves_costs_its_session_at_each_restart() -> None:
    """Kafka Streams does not say that it leaves: a restart is a crash, and with surge its tasks wait for S."""
    restart = often(1.0, 20.0, 0.35)
    leaving, silent = (reckon(calm(client=client, restarts=restart)) for client in ("java", "streams"))
    assert np.ptp(leaving.terms["restarts"]) == 0
    assert silent.terms["restarts"] == pytest.approx(reckon(calm(client="streams", crashes=restart)).terms["crashes"])
    surging = reckon(calm(client="streams", restarts=restart, surge=True), np.array([20.0, 30.0]))
    assert np.diff(surging.terms["restarts"]) == pytest.approx(6 * 10 * (24 - 3) / 6)


def test_an_id_that_is_refused_until_its_session_is_over_saves_no_crash() -> None:
    """KIP-848: a static member that died comes back as late as any other, and one that was closed at once."""
    away = FailureProcess(1.0, Law.constant(2.0))
    static = reckon(
        calm(client="java-kip848", rebalancing=Rebalancing.CONSUMER, static=True, crashes=away, restarts=away)
    )
    assert np.all(np.diff(static.terms["crashes"]) > 0)
    assert np.ptp(static.terms["restarts"]) == pytest.approx(0.0)


def test_who_is_evicted_from_a_group_without_barriers_always_joins_anew() -> None:
    """KIP-848: one out and one in each; in a classic group some are back before the others have gone on."""
    pauses = often(1.0, 8.0, 0.4)
    consumer = reckon(calm(client="java-kip848", rebalancing=Rebalancing.CONSUMER, pauses=pauses))
    assert consumer.rebalances_per_day == pytest.approx(2 * consumer.evictions_per_month / 30, abs=1e-9)
    classic = reckon(calm(pauses=pauses))
    assert classic.rebalances_per_day[0] < 1.9 * classic.evictions_per_month[0] / 30


@pytest.mark.parametrize(
    ("client", "static", "limit", "expected"),
    [
        ("java", False, 60.0, [60.0, 60.0]),
        ("java", True, 60.0, [60.0 + 28.5, 60.0 + 88.5]),
        ("confluent-kafka-javascript", False, 30.0, [60.0, 60.0]),
        ("connect", False, None, [60.0, 60.0]),
        ("kafkajs", False, None, [28.5, 88.5]),
        ("sarama", False, None, [400.0, 400.0]),
    ],
)
def test_a_hung_handler_is_noticed_as_the_card_says(
    client: str, *, static: bool, limit: float | None, expected: list[float]
) -> None:
    """Its partitions stand still until then, after M, M and S, twice M, R, S, or for ever."""
    profile = calm(
        client=client,
        static=static,
        rebalancing=Rebalancing.COOPERATIVE,
        hangs=FailureProcess(1e-3, Law.constant(400.0)),
        handlers=Law.constant(0.01),
        settle_s=0.0,
    )
    result = reckon(profile, np.array([30.0, 90.0]), poll_limit_s=limit)
    out_and_in = 3.0 * 2
    assert result.terms["hangs"] / 6e-3 / 4 == pytest.approx(np.add(expected, out_and_in), abs=6.0)


@pytest.mark.parametrize("client", ["java", "sarama"])
def test_other_rebalances_make_an_eager_group_wait_for_a_hung_member(client: str) -> None:
    """Any rebalance meanwhile waits for it; a cooperative group waits for its partitions alone."""
    hung = {"client": client, "hangs": FailureProcess(1e-3, Law.constant(400.0))}
    busy = often(5.0, 20.0, 0.35)
    eager = [reckon(calm(**hung, restarts=item)).terms["hangs"][0] for item in (NEVER, busy)]
    share = {"rebalancing": Rebalancing.COOPERATIVE}
    cooperative = [reckon(calm(**hung, **share, restarts=item)).terms["hangs"][0] for item in (NEVER, busy)]
    assert eager[1] > eager[0] * 1.1
    assert cooperative[1] == pytest.approx(cooperative[0])


def test_a_beat_that_comes_after_the_session_is_an_eviction_each_time() -> None:
    """H above S: a member is removed once in every period."""
    result = reckon(calm(client="kafka-go"), np.array([2.0, 6.0]), poll_limit_s=None)
    assert result.evictions_per_month == pytest.approx([30 * 6 * 86_400 / 3.0, 0.0])
    assert result.terms["pauses"][0] > 0


def test_idle_turns_longer_than_a_session_evict() -> None:
    """KafkaJS with S below W: the next beat comes after the fetch, too late each time."""
    profile = calm(client="kafkajs", idle_turns=1.0)
    result = reckon(profile, np.array([4.0, 6.0]), wait_s=5.0, poll_limit_s=None)
    assert result.period_s == pytest.approx(5.0)
    assert result.evictions_per_month == pytest.approx([30 * 6 * 86_400 / 5.0, 0.0])


def test_rare_long_handlers_count_as_they_were_measured() -> None:
    """What was measured of long gaps takes the place of the tail of what is usual, with its own bound."""
    law = Law.of(lambda times: np.minimum((60.0 / np.maximum(times, 60.0)) ** 2, 1.0))
    slow = FailureProcess(2.0, law, upper_per_day=5.0 * law.exceedances)
    result = reckon(calm(slow_handlers=slow), poll_limit_s=120.0)
    assert result.poll_evictions_per_month == pytest.approx(30 * 6 * 2.0 / 4, rel=0.01)
    assert result.poll_evictions_upper_per_month == pytest.approx(30 * 6 * 5.0 / 4, rel=0.01)
    assert np.all(result.evictions_per_month == result.poll_evictions_per_month)
    usual, rare = reckon(calm(crashes=often(1, 20, 0.5))), reckon(calm(crashes=often(1, 20, 0.5), slow_handlers=slow))
    assert np.all(rare.rebalancing_share > usual.rebalancing_share)


def test_a_price_of_evictions_is_paid_for_each() -> None:
    """The price joins the cost: it is what makes a cooperative group's session longer."""
    profile = calm(pauses=often(1.0, 8.0, 0.6), rebalancing=Rebalancing.COOPERATIVE)
    priced = reckon(dataclasses.replace(profile, eviction_price=100.0))
    assert priced.terms["evictionPrice"] == pytest.approx(100 * priced.evictions_per_month / 30)
    assert np.argmin(priced.net_per_day) > np.argmin(reckon(profile).net_per_day)


def test_members_that_join_after_the_rebalance_timeout_come_again() -> None:
    """KafkaJS with R 60 s and handlers of minutes: each rebalance drops members, and each that returns makes one."""
    slow = Law.of(lambda times: np.where(times < 1, 1.0, 1e-3 / np.maximum(times, 1.0)))
    restarts = often(1.0, 300.0, 0.1)
    dropping = reckon(calm(client="franz-go", handlers=slow, restarts=restarts), poll_limit_s=None)
    leaving = reckon(calm(client="java", handlers=slow, restarts=restarts), poll_limit_s=60.0)
    assert np.all(dropping.terms["restarts"] > leaving.terms["restarts"])


@pytest.mark.parametrize(("surge", "alone"), [(False, 24 * (20.0 + 3.5)), (True, None)])
def test_a_rollout_of_one_pod_is_one_restart(*, surge: bool, alone: float | None) -> None:
    """One pod without surge is away for its downtime; with surge the other one takes over."""
    profile = calm(members=1, restarts=FailureProcess(0.5, Law.constant(20.0)), surge=surge)
    cost = rollout_cost(profile, interval_s=3.0, wait_s=0.5, session_s=45.0)
    assert cost == pytest.approx(alone or reckon(profile).terms["restarts"][0] / 0.5, rel=0.02)


@pytest.mark.parametrize("rebalancing", Rebalancing)
@pytest.mark.parametrize("surge", [False, True])
def test_a_rollout_costs_about_as_much_as_a_restart_of_each(rebalancing: Rebalancing, *, surge: bool) -> None:
    """In step or not, a rollout is a restart of each, within a third."""
    profile = calm(restarts=often(1.0, 20.0, 0.35), rebalancing=rebalancing, surge=surge)
    cost = rollout_cost(profile, interval_s=3.0, wait_s=0.5, session_s=45.0)
    assert cost == pytest.approx(reckon(profile).terms["restarts"][0], rel=0.35)


def test_a_rollout_of_loops_meets_members_that_have_just_begun_a_turn() -> None:
    """KafkaJS: handlers of ten seconds make a rollout many times as dear as those of a tenth."""
    quick, slow = (
        rollout_cost(
            calm(client="kafkajs", restarts=often(1.0, 20.0, 0.35), handlers=Law.lognormal(median, 0.5)),
            interval_s=3.0,
            wait_s=0.5,
            session_s=45.0,
        )
        for median in (0.1, 10.0)
    )
    assert slow > 3 * quick


def test_a_static_rollout_costs_the_downtime() -> None:
    """Static members take their places again: m times D for each, within the session."""
    profile = calm(static=True, restarts=FailureProcess(1.0, Law.constant(20.0)))
    cost = rollout_cost(profile, interval_s=3.0, wait_s=0.5, session_s=300.0)
    assert cost == pytest.approx(24 * 20.0, rel=0.02)


@pytest.mark.parametrize(("static", "whole"), [(False, 24 * (20.0 + 3.5)), (True, 24 * 20.0)])
def test_a_rollout_of_all_at_once_stops_all_partitions(*, static: bool, whole: float) -> None:
    """For as long as pods take to be back; the group begins again unless its members keep their places."""
    profile = calm(static=static, restarts=FailureProcess(1.0, Law.constant(20.0)), at_once=True)
    asked = {"interval_s": 3.0, "wait_s": 0.5, "session_s": 300.0}
    assert rollout_cost(profile, **asked) == pytest.approx(whole, rel=0.02)
    never = calm(static=static, restarts=FailureProcess(0.0, Law.constant(20.0)), at_once=True)
    assert rollout_cost(never, **asked) == pytest.approx(whole, rel=0.02)


def test_one_reckoner_serves_many_intervals() -> None:
    """What is kept between two asks changes neither."""
    profile = calm(pauses=often(1.0, 8.0, 0.6), crashes=often(0.1, 20.0, 0.5))
    reckoner = CostModel(profile)
    for interval in (1.0, 5.0, 1.0):
        stored = reckoner.costs(interval_s=interval, wait_s=0.5, poll_limit_s=300.0, sessions_s=SESSIONS)
        same(stored, reckon(profile, interval_s=interval))
        assert stored.period_s == pytest.approx(interval + 0.01)


def test_the_floor_follows_the_brokers_least_session() -> None:
    """A broker that allows shorter sessions leaves less that no setting can change."""
    profile = calm(pauses=FailureProcess(1.0, Law.constant(100.0)))
    least = [reckon(profile, floor_s=floor).floor_per_day for floor in (6.0, 1.0)]
    assert least == pytest.approx([24 * 6.0, 24 * 1.0])
    assert TIMES_S[-1] > 9e5


@pytest.mark.parametrize("rebalancing", list(Rebalancing))
@pytest.mark.parametrize("members", [2, 12])
def test_what_one_eviction_stalls_is_what_a_long_pause_costs_beyond_the_wait(
    rebalancing: Rebalancing, members: int
) -> None:
    """Each of these evicts: until the removal the member's own partitions stand still, then come out and in."""
    profile = calm(members=members, partitions=24, rebalancing=rebalancing, pauses=often(0.1, 2_000.0, 0.2))
    asked = reckon(profile, np.array([10.0, 45.0, 120.0]))
    whole = asked.terms["pauses"] / (asked.evictions_per_month / 30.0)
    until_removed = 24 / members * asked.detection_s
    assert asked.stalled_per_eviction == pytest.approx(whole - until_removed, rel=1e-3)


def test_the_eviction_of_a_member_alone_stalls_until_its_group_begins_again() -> None:
    """Nobody takes over: beyond its absence come the broker's delay for an empty group, the settling and its poll."""
    law = often(0.1, 2_000.0, 0.2)
    asked = reckon(calm(members=1, partitions=24, pauses=law), np.array([10.0, 45.0]))
    whole = asked.terms["pauses"] / (asked.evictions_per_month / 30.0)
    assert asked.stalled_per_eviction == pytest.approx(whole - 24 * law.law.mean_s, rel=1e-2)


def test_what_one_eviction_stalls_where_no_absence_is_known_is_both_ways() -> None:
    """Out and in: a member that comes later than the others have gone on."""
    known = reckon(calm(members=4, partitions=16, pauses=often(2.0, 2_000.0, 0.3)))
    unknown = reckon(calm(members=4, partitions=16))
    assert unknown.stalled_per_eviction[0] == pytest.approx(known.stalled_per_eviction[0], rel=0.02)
    assert np.isfinite(unknown.stalled_per_eviction).all()


@given(groups)
@settings(max_examples=20)
def test_what_one_eviction_stalls_is_a_number(profile: Profile) -> None:
    """Whatever the group is, so that a status can have it."""
    each = reckon(profile).stalled_per_eviction
    assert np.isfinite(each).all()
    assert (each >= 0.0).all()


def test_a_member_that_has_a_node_for_itself_is_away_as_the_node_is() -> None:
    """A node's pauses are counted for all nodes, those of members for each; a chosen case of what is drawn above."""
    each, all_six = often(2.0, 20.0, 0.8), often(12.0, 20.0, 0.8)
    same(reckon(calm(pauses=each)), reckon(calm(node_pauses=all_six, node_members=1)))


def test_a_member_alone_that_was_cut_off_joins_once() -> None:
    """There is nobody whose going or coming would be a rebalance more."""
    result = reckon(calm(members=1, outages=often(2.0, 20.0, 0.8)))
    assert np.all(result.rebalances_per_day > 0)
    assert result.rebalances_per_day == pytest.approx(result.evictions_per_month / 30)


def test_after_an_outage_a_cooperative_group_stands_less_still_and_moves_more_often() -> None:
    """In an eager group all wait for who comes late; in a cooperative one each who comes has its partitions moved."""
    outages = often(2.0, 20.0, 0.8)
    eager, cooperative = (
        reckon(calm(outages=outages, rebalancing=how)) for how in (Rebalancing.EAGER, Rebalancing.COOPERATIVE)
    )
    assert np.all(cooperative.gross_per_day < eager.gross_per_day)
    assert np.all(cooperative.rebalances_per_day > eager.rebalances_per_day)


def test_a_member_alone_that_hangs_is_missed_for_as_long_whatever_is_set() -> None:
    """Nobody takes over: no session changes what it costs, and none evicts."""
    result = reckon(calm(members=1, hangs=FailureProcess(0.5, Law.constant(20.0))))
    assert result.terms["hangs"] == pytest.approx(24 * 0.5 * 20.0, rel=0.01)
    assert np.ptp(result.terms["hangs"]) == 0
