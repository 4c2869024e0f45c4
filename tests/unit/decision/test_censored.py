"""Evictions are absences that did not show."""

import numpy as np
import pytest

from heartbeat_tuner.decision.censored import with_evictions
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.profile import Happening

SHORT = Happening(20.0, Law.lognormal(0.1, 0.5), 20.0 * Law.lognormal(0.1, 0.5).exceedances)


def test_without_evictions_nothing_is_added() -> None:
    """The record has nothing to say."""
    assert with_evictions(SHORT, 0, 14.0, session_s=30.0, period_s=4.0) is SHORT


def test_evictions_are_as_often_longer_than_the_session_less_half_a_period() -> None:
    """Ten in 40 member-days, at a session of 30 s: a law of 0.1 s alone would say never."""
    found = with_evictions(SHORT, 10, 40.0, session_s=30.0, period_s=4.0)
    assert found.per_day * found.law.exceedance(28.0) == pytest.approx(0.25, rel=0.01)
    assert found.per_day * found.law.exceedance(280.0) == pytest.approx(0.25 / 10**2.5, rel=0.05)
    assert found.upper_per_day is not None
    assert np.interp(27.0, TIMES_S, found.upper_per_day) == pytest.approx((10 + 1.645 * 10**0.5 + 1.35) / 40, rel=0.01)


def test_what_was_seen_to_be_more_often_stays() -> None:
    """Short absences are as they were; so are long ones that show in full."""
    found = with_evictions(SHORT, 1, 40.0, session_s=30.0, period_s=4.0)
    assert found.per_day * found.law.exceedance(0.1) == pytest.approx(10.0, rel=0.01)
    many = Happening(20.0, Law.constant(60.0))
    kept = with_evictions(many, 1, 40.0, session_s=30.0, period_s=4.0)
    assert kept.per_day * kept.law.exceedance(50.0) == pytest.approx(20.0)
    assert kept.upper_per_day is None
