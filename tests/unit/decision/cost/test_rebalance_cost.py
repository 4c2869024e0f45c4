"""The barrier beside drawn members, and what the protocols make of it."""

import dataclasses

import numpy as np
import pytest

from heartbeat_tuner.decision.cost.rebalance_cost import (
    QUANTILES,
    JoinDelay,
    RebalanceParticipants,
    after_a_beat,
    rebalance_cost,
    rebalance_cost_in_step,
)
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.tails.law import Law

HANDLERS = Law.lognormal(2.0, 0.8)
CROWD = RebalanceParticipants(stay=5, come=1, partitions=24, orphaned=4, moved=4, settle_s=0.5)


def hearing(cap_s: float = 300.0) -> JoinDelay:
    """Return when members hear that beat every 3 s."""
    return JoinDelay.of(after_a_beat(HANDLERS.remaining(), 3.0), cap_s)


def drawn(count: int) -> np.ndarray:
    """Return t of many members: a beat, then what is left of a gap, which long gaps are met in more often."""
    rng = np.random.default_rng(4)
    gaps = HANDLERS.quantile(rng.random(400_000))
    met = rng.choice(gaps, gaps.size, p=gaps / gaps.sum())
    times = rng.uniform(0, 3, gaps.size) + met * rng.random(gaps.size)
    return times[: times.size // count * count].reshape(-1, count)


@pytest.mark.parametrize("count", [1, 5, 20])
@pytest.mark.parametrize("cap", [8.0, 300.0])
def test_the_barrier_is_the_last_of_drawn_members(count: int, cap: float) -> None:
    """Mean, quantiles, and how many are dropped."""
    last = np.minimum(drawn(count).max(axis=1), cap)
    barrier = hearing(cap).last_of(count)
    assert barrier.mean_s == pytest.approx(last.mean(), rel=0.02)
    assert barrier.quantiles_s == pytest.approx(np.quantile(last, (np.arange(QUANTILES) + 0.5) / QUANTILES), rel=0.04)
    assert barrier.dropped == pytest.approx((drawn(count) > cap).sum(axis=1).mean(), rel=0.05, abs=1e-3)


def test_for_nobody_it_is_over_at_once() -> None:
    """No survivors: nothing to wait for."""
    barrier = hearing().last_of(0)
    assert barrier.mean_s == 0
    assert not barrier.holds


def test_protocols_differ_in_who_stands_still() -> None:
    """Eager all, cooperative what moves for the longest wait, KIP-848 what moves for its own."""
    eager, cooperative, consumer = (
        rebalance_cost(protocol, hearing(), CROWD)
        for protocol in (Rebalancing.EAGER, Rebalancing.COOPERATIVE, Rebalancing.CONSUMER)
    )
    waited = drawn(5)
    last, mean = waited.max(axis=1).mean(), waited.mean()
    assert eager.out == pytest.approx(4 * (last + 0.5) + 20 * (last + 0.5 - mean), rel=0.02)
    assert eager.back == pytest.approx(24 * (last + 0.5 - mean), rel=0.02)
    assert cooperative.out == pytest.approx(4 * (last + 0.5), rel=0.02)
    assert cooperative.back == pytest.approx(4 * (drawn(2).max(axis=1).mean() + 0.5), rel=0.02)
    assert consumer.out == consumer.back == pytest.approx(4 * mean, rel=0.02)
    assert (eager.rounds, cooperative.rounds, consumer.rounds) == (1, 2, 1)
    assert not consumer.barrier.holds


def test_where_nothing_moves_there_is_no_second_round() -> None:
    """Fewer partitions than members: one who joins a cooperative group gets none, and disturbs nobody."""
    idle = RebalanceParticipants(stay=5, come=1, partitions=4, orphaned=4 / 6, moved=0, settle_s=0.5)
    found = rebalance_cost(Rebalancing.COOPERATIVE, hearing(), idle)
    assert (found.back, found.rounds) == (0, 1)


@pytest.mark.parametrize("count", [1, 5, 20])
def test_the_first_and_the_last_of_drawn_members(count: int) -> None:
    """Who returns after an outage: the mean of the shortest and of the longest wait, and how often one is longer."""
    waits = drawn(count)
    first, last = waits.min(axis=1), waits.max(axis=1)
    assert hearing().shortest_s(count) == pytest.approx(first.mean(), rel=0.02)
    assert hearing().longest_s(count) == pytest.approx(last.mean(), rel=0.02)
    assert hearing().any_later(count, 4.0) == pytest.approx((last > 4.0).mean(), abs=0.01)


@pytest.mark.parametrize(("moved", "staying"), [(4, 2), (1, 5), (0, 6), (12, 1)])
def test_those_who_gave_nothing_up_are_waited_for(moved: int, staying: int) -> None:
    """The one that joined, and survivors that keep what they had: one of five gives up one partition at least."""
    assert dataclasses.replace(CROWD, moved=moved).kept == staying


def test_members_in_step_wait_for_handlers_only() -> None:
    """The phase is the same for all survivors; what is left is the spread of their handlers."""
    together = JoinDelay.of(HANDLERS.remaining().sf, 300.0)
    out, back = rebalance_cost_in_step(Rebalancing.EAGER, together, CROWD, period_s=3.0)
    apart = together.last_of(5).mean_s - together.mean_s
    assert back == pytest.approx(24 * (apart + 0.5))
    assert out == pytest.approx(4 * (1.5 + together.mean_s + apart + 0.5) + 20 * (apart + 0.5))
    quick = [
        rebalance_cost_in_step(Rebalancing.COOPERATIVE, together, CROWD, period_s=period)[1] for period in (1.0, 3.0)
    ]
    assert np.diff(quick) == pytest.approx(4 * 2.0)
    single = rebalance_cost(Rebalancing.CONSUMER, hearing(), CROWD)
    step = rebalance_cost_in_step(Rebalancing.CONSUMER, together, CROWD, period_s=3.0)
    assert step == pytest.approx((single.out, single.back), rel=0.01)
