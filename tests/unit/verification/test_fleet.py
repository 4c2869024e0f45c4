"""Many groups that are harmed too little to be seen one by one."""

import dataclasses

import numpy as np
import pytest

from heartbeat_tuner.tails import count_bounds
from heartbeat_tuner.verification import e_process, fleet, references
from heartbeat_tuner.verification.exposure import EVEN, ExposureClock
from heartbeat_tuner.verification.verify import EpisodeCount

DAY = 86_400.0
CLOCK = ExposureClock(EVEN, ())
RECORD = references.before(np.linspace(0, 13, 14) * DAY + 600.0, 0.0, 14 * DAY, CLOCK)


def group(episodes: int) -> EpisodeCount:
    """Return a group with one episode a day before, and so many in the day after."""
    times = np.linspace(14 * DAY, 15 * DAY, episodes + 2)[1:-1]
    return EpisodeCount(RECORD, times, CLOCK.days(14 * DAY, times), CLOCK, 14 * DAY, 15 * DAY)


def test_no_groups_say_nothing() -> None:
    """Nor do groups that were not watched before."""
    unknown = dataclasses.replace(group(20), before=dataclasses.replace(RECORD, days=0.0, episodes=0))
    assert fleet.log_evidence([]) == 0.0
    assert fleet.log_evidence([unknown]) == 0.0
    assert not fleet.must_stop([unknown] * 10)


def test_the_mean_is_the_mean_of_what_each_shows() -> None:
    """With bounds that hold for all of two at once: one group in a storm counts half."""
    single = fleet.log_mean([group(6)])
    assert single == pytest.approx(float(e_process.log_e(6, RECORD.upper, e_process.HARMFUL)))
    upper = count_bounds.garwood(14, 14.0, alpha=0.025).upper
    each = e_process.log_e([6, 0], [upper, upper], e_process.HARMFUL)
    assert fleet.log_mean([group(6), group(0)]) == pytest.approx(float(np.log(np.exp(each).mean())))


def test_a_little_harm_in_each_of_many_groups_stops_the_fleet() -> None:
    """Three where there was one: no group alone shows anything, thirty of them do."""
    assert float(e_process.harm(group(3).days * RECORD.upper).max()) < e_process.THRESHOLD
    assert not fleet.must_stop([group(3)])
    assert fleet.must_stop([group(3)] * 30)
    assert not fleet.must_stop([group(1)] * 30)


def test_a_bad_day_that_all_share_is_no_harm_where_there_were_such_days_before() -> None:
    """The days of all groups together scatter as no group's do."""
    shared = np.sort(np.concatenate([np.arange(0, 14, 3) + 0.01 * place for place in range(3)])) * DAY
    record = references.before(shared, 0.0, 14 * DAY, CLOCK)
    assert not fleet.must_stop([dataclasses.replace(group(3), before=record)] * 30)


def test_groups_that_never_had_an_episode_have_a_bound_together() -> None:
    """420 quiet days, and then one in every group."""
    quiet = references.before(np.array([]), 0.0, 14 * DAY, CLOCK)
    assert fleet.must_stop([dataclasses.replace(group(1), before=quiet)] * 30)
    assert not fleet.must_stop([dataclasses.replace(group(0), before=quiet)] * 30)


def test_what_no_float_can_hold_is_evidence_all_the_same() -> None:
    """One group in a storm of thousands."""
    assert fleet.must_stop([group(50_000), *[group(0)] * 99])
