"""What befalls members that are away together, beside drawn beats."""

import numpy as np
import pytest

from heartbeat_tuner.decision.cost import beat_phase
from heartbeat_tuner.decision.cost.beat_phase import Cadence
from heartbeat_tuner.decision.cost.rate_tables import RateTable
from heartbeat_tuner.decision.cost.rebalance_cost import JoinDelay
from heartbeat_tuner.decision.cost.session_outcomes import Sessions
from heartbeat_tuner.tails.law import Law

CLOCK = beat_phase.by_clock(3.0)
LOOP = beat_phase.in_turns(Law.lognormal(1.0, 0.3), idle=0.0, interval_s=3.0, wait_s=0.5)
AWAY_S = 4.0


def sessions(cadence: Cadence, session_s: float = 6.0) -> Sessions:
    """Return one session of members that are away for four seconds once a day."""
    barrier = JoinDelay.of(Law.constant(1.0).sf, 300.0).last_of(3)
    return Sessions(np.array([session_s]), cadence, RateTable.of([Law.constant(AWAY_S).exceedances]), barrier)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_the_oldest_beat_of_several_members_is_that_of_drawn_beats(count: int) -> None:
    """Of more members the last beat of one is older."""
    ages = np.random.default_rng(4).uniform(0, 3, (100_000, count))
    assert sessions(CLOCK).oldest_by_s(count) == pytest.approx(ages.max(axis=1).mean() - 1.5, rel=0.1)


@pytest.mark.parametrize("cadence", [CLOCK, LOOP], ids=["clock", "loop"])
def test_one_member_alone_has_the_usual_beat(cadence: Cadence) -> None:
    """However it beats; of several the oldest is older."""
    assert sessions(cadence).oldest_by_s(1) == pytest.approx(0.0, abs=0.05)
    assert sessions(cadence).oldest_by_s(4) > sessions(cadence).oldest_by_s(2) > 0.1


@pytest.mark.parametrize("count", [1, 3])
def test_the_first_session_to_end_is_that_of_the_oldest_beat(count: int) -> None:
    """A session of 6 s ends within an absence of 4 s if one of the beats before it is older than 2 s."""
    ages = np.random.default_rng(4).uniform(0, 3, (100_000, count))
    at = sessions(CLOCK)
    first, _ = at.first_and_late(0, count, at.barrier, np.zeros(3))
    assert first[0] == pytest.approx((ages.max(axis=1) > 6.0 - AWAY_S).mean(), abs=0.05)
