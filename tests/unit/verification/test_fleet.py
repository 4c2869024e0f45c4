"""Many groups that are harmed too little to be seen one by one."""

import dataclasses

import numpy as np
import pytest

from heartbeat_tuner.verification import e_process, fleet, references
from heartbeat_tuner.verification.exposure import EVEN, Clock
from heartbeat_tuner.verification.verify import Counted

DAY = 86_400.0
CLOCK = Clock(EVEN, ())
RECORD = references.before(np.arange(14) * DAY + 600.0, 0.0, 14 * DAY, CLOCK)


def group(episodes: int) -> Counted:
    """Return a group with one episode a day before, and so many in the day after."""
    times = 14 * DAY + np.arange(episodes) * 1_000.0
    return Counted(RECORD, times, CLOCK.days(14 * DAY, times), CLOCK, 14 * DAY, 15 * DAY)


def test_no_groups_say_nothing() -> None:
    """Nor do groups that were not watched before."""
    unknown = dataclasses.replace(group(20), before=dataclasses.replace(RECORD, days=0.0, episodes=0))
    assert fleet.log_mean([]) == 0.0
    assert fleet.log_mean([unknown]) == 0.0
    assert not fleet.must_stop([unknown] * 10)


def test_the_mean_is_the_mean_of_what_each_shows() -> None:
    """With bounds that hold for all of two at once."""
    upper = RECORD.upper * 1.0
    single = fleet.log_mean([group(6)])
    assert single == pytest.approx(float(e_process.log_e(6, upper, e_process.HARMFUL)), rel=1e-3)
    pair = fleet.log_mean([group(6), group(0)])
    assert pair < single


def test_a_little_harm_in_each_of_many_groups_stops_the_fleet() -> None:
    """No group alone reaches its threshold."""
    assert e_process.log_e(8, RECORD.upper, e_process.HARMFUL) > 0
    assert not fleet.must_stop([group(2)] * 30)
    assert fleet.must_stop([group(14)] * 30)


def test_what_no_float_can_hold_is_a_mean_all_the_same() -> None:
    """One group in a storm of thousands."""
    assert fleet.must_stop([group(50_000), *[group(0)] * 99])
