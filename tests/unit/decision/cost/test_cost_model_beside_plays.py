"""The cost beside plays of the same group: what takes many members away, and chains of two rebalances."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from bench.known_groups import group, settings
from heartbeat_tuner.decision.cost.cost_model import costs
from heartbeat_tuner.models.failure_profile import Delivery, FailureProcess, Rebalancing
from heartbeat_tuner.simulation.play import simulate
from heartbeat_tuner.tails.law import Law

pytestmark = pytest.mark.no_cover  # plays groups for months

EIGHTS = Law.lognormal(8.0, 0.4)
OUTAGES = FailureProcess(60.0, EIGHTS)
NODES = FailureProcess(80.0, EIGHTS)
RESTARTS = FailureProcess(80 / 6, Law.lognormal(20.0, 0.4))
COOPERATIVE = {"rebalancing": Rebalancing.COOPERATIVE}
LIBRDKAFKA = {"client": "confluent-kafka-python", "delivery": Delivery.ONE_IN_FLIGHT}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"restarts": RESTARTS}, id="restarts"),
        pytest.param({"restarts": RESTARTS, "surge": True}, id="restarts with a surge"),
        pytest.param({"restarts": RESTARTS, "partitions": 60, **COOPERATIVE}, id="cooperative restarts"),
        pytest.param(
            {"pauses": FailureProcess(80 / 6, EIGHTS), "handlers": Law.lognormal(6.0, 0.8)}, id="slow handlers"
        ),
        pytest.param({"outages": OUTAGES}, id="outages"),
        pytest.param({"outages": OUTAGES, **COOPERATIVE}, id="cooperative outages"),
        pytest.param({"outages": OUTAGES, "delivery": Delivery.RETRIED}, id="outages and retries"),
        pytest.param({"outages": OUTAGES, **LIBRDKAFKA}, id="outages and one in flight"),
        pytest.param({"node_pauses": NODES, "node_members": 3}, id="half of the group"),
        pytest.param({"node_pauses": NODES, "node_members": 3, **COOPERATIVE}, id="half of a cooperative group"),
        pytest.param({"node_pauses": NODES, "node_members": 6}, id="the whole group"),
        pytest.param({"pauses": FailureProcess(80.0, EIGHTS), "members": 1}, id="a member alone"),
    ],
)
def test_formula_and_play_agree(changes: dict[str, Any]) -> None:
    """Cost, evictions and rebalances are within a tenth of each other; chance is a fiftieth."""
    profile, played = group(**changes), settings(session_s=10)
    play = simulate(profile, played, days=40, seed=1)
    report = costs(profile, interval_s=3.0, wait_s=0.5, poll_limit_s=300.0, sessions_s=np.array([10.0]))
    assert float(report.gross_per_day[0]) == pytest.approx(play.gross_per_day, rel=0.1)
    assert float(report.evictions_per_month[0]) / 30 == pytest.approx(play.false_evictions_per_day, rel=0.1)
    assert float(report.rebalances_per_day[0]) == pytest.approx(play.rebalances_per_day, rel=0.1)


@pytest.mark.parametrize("surge", [False, True])
@pytest.mark.parametrize("members", [4, 8, 20])
@pytest.mark.parametrize("interval_s", [1.0, 10.0])
def test_restarts_in_turn_cost_what_rollouts_do(members: int, interval_s: float, *, surge: bool) -> None:
    """All members beat in step after the first one: priced one by one, an H of 10 s cost 20 members twice as much."""
    shape = {"members": members, "partitions": 4 * members, "surge": surge}
    profile = group(restarts=FailureProcess(4.0, Law.lognormal(22.0, 0.35)), **shape)
    in_force = settings(interval_s=interval_s, session_s=45)
    play = simulate(profile, in_force, days=320 / members, seed=1, rollouts=True)
    in_turn, alone = (
        float(
            costs(item, interval_s=interval_s, wait_s=0.5, poll_limit_s=300.0, sessions_s=np.array([45.0])).terms[
                "restarts"
            ][0]
        )
        for item in (dataclasses.replace(profile, restarts_in_turn=True), profile)
    )
    assert in_turn == pytest.approx(play.stalled_per_day["restarts"], rel=0.1)
    assert alone > in_turn


@pytest.mark.parametrize("rebalancing", [Rebalancing.EAGER, Rebalancing.COOPERATIVE])
def test_a_rebalance_waits_for_the_dead_no_longer_than_r(rebalancing: Rebalancing) -> None:
    """A session of four minutes holds a rebalance up for R, of one minute; nothing of it is waited for beyond."""
    profile = group(crashes=FailureProcess(20 / 6, Law.lognormal(20.0, 0.4)), rebalancing=rebalancing)
    play = simulate(profile, settings(session_s=240, limit_s=60), days=100, seed=1)
    report = costs(profile, interval_s=3.0, wait_s=0.5, poll_limit_s=60.0, sessions_s=np.array([240.0]))
    assert float(report.gross_per_day[0]) == pytest.approx(play.gross_per_day, rel=0.1)


def test_lost_beats_bring_members_back_one_by_one() -> None:
    """Those that stay come first, which the formula does not know: it is an eighth too high."""
    profile = group(outages=OUTAGES, delivery=Delivery.NEXT_TICK)
    play = simulate(profile, settings(session_s=10), days=40, seed=1)
    report = costs(profile, interval_s=3.0, wait_s=0.5, poll_limit_s=300.0, sessions_s=np.array([10.0]))
    assert float(report.gross_per_day[0]) == pytest.approx(1.12 * play.gross_per_day, rel=0.05)
    assert float(report.rebalances_per_day[0]) == pytest.approx(play.rebalances_per_day, rel=0.1)


def test_each_member_of_a_group_without_barriers_leaves_and_joins_by_itself() -> None:
    """KIP-848: an outage moves each of six members out, and in again."""
    profile = group(client="java-kip848", rebalancing=Rebalancing.CONSUMER, outages=OUTAGES)
    report = [
        costs(item, interval_s=5.0, wait_s=0.5, poll_limit_s=300.0, sessions_s=np.array([10.0]))
        for item in (profile, dataclasses.replace(profile, members=3))
    ]
    found = [float(item.rebalances_per_day[0]) / (float(item.evictions_per_month[0]) / 30) for item in report]
    assert found == pytest.approx([2.0, 2.0])
