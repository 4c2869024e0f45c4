"""Laws of times, beside SciPy's and beside what they must hold whatever they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heartbeat_tuner.tails.law import TIMES_S, Law

MEDIANS = st.floats(0.01, 1_000.0)
SIGMAS = st.floats(0.05, 2.0)


@given(MEDIANS, SIGMAS, st.floats(0.001, 5_000.0))
def test_a_lognormal_law_is_scipys_within_what_the_table_leaves_out(median: float, sigma: float, time: float) -> None:
    """A lognormal law is SciPy's, to one step of the table."""
    law, true = Law.lognormal(median, sigma), stats.lognorm(sigma, scale=median)
    below, above = true.sf(time * 1.02), true.sf(time / 1.02)
    assert below - 1e-9 <= law.sf(time) <= above + 1e-9


@given(MEDIANS, SIGMAS, st.lists(st.floats(-10.0, 2e6), min_size=2, max_size=2).map(sorted))
def test_the_integral_is_that_of_the_exceedance(median: float, sigma: float, ends: list[float]) -> None:
    """What lies between two times is the area under the exceedance."""
    law = Law.lognormal(median, sigma)
    points = np.unique(
        np.concatenate((ends, TIMES_S[np.searchsorted(TIMES_S, ends[0]) : np.searchsorted(TIMES_S, ends[1])]))
    )
    area = np.trapezoid(law.sf(points), points)
    grown = law.integral(ends[1]) - law.integral(ends[0])
    if ends[0] >= 0:
        assert grown == pytest.approx(area, rel=1e-6, abs=1e-6)


def test_before_zero_everything_is_longer() -> None:
    """A time below zero is always exceeded: sessions shorter than the age of a beat."""
    law = Law.lognormal(1.0, 0.5)
    assert law.sf(-1.0) == 1.0
    assert law.integral(-2.0) == -2.0


def test_the_mean_of_a_capped_time_is_the_integral() -> None:
    """Drawn times, capped, have the integral as their mean."""
    law = Law.lognormal(8.0, 0.6)
    drawn = law.quantile(np.random.default_rng(1).random(200_000))
    assert np.minimum(drawn, 10.0).mean() == pytest.approx(law.integral(10.0), rel=0.01)
    assert law.mean_s == pytest.approx(8.0 * np.exp(0.18), rel=0.01)


def test_the_largest_of_some_times_is_longer_than_a_limit_where_one_of_them_is() -> None:
    """The largest of three is beyond a limit where one of them is."""
    law = Law.lognormal(2.0, 0.7)
    assert law.largest_of(3).sf(4.0) == pytest.approx(1 - (1 - law.sf(4.0)) ** 3, rel=0.01)


def test_a_mixture_is_each_of_its_kinds_as_often_as_it_says() -> None:
    """A mixture is each of its kinds as often as it says."""
    short, long = Law.constant(1.0), Law.constant(300.0)
    law = Law.mixture([(0.9, short), (0.1, long)])
    assert law.sf(10.0) == pytest.approx(0.1)
    assert law.mean_s == pytest.approx(30.9, rel=0.02)


@pytest.mark.parametrize("exceedances", [TIMES_S, np.full(TIMES_S.size, 1.5), np.full(TIMES_S.size, -0.1)])
def test_a_table_that_is_no_law_is_refused(exceedances: np.ndarray) -> None:
    """What rises, or is no share, is no law."""
    with pytest.raises(ValueError, match="exceedances: must fall"):
        Law.table(exceedances)


def test_what_is_left_of_a_time_at_a_random_moment_leans_to_the_long_ones() -> None:
    """Its mean is E X^2 / (2 E X): of a time that is always the same, half of it."""
    assert Law.constant(4.0).remaining().mean_s == pytest.approx(2.0, rel=0.02)
    assert Law.lognormal(1.0, 0.5).remaining().mean_s == pytest.approx(np.exp(0.5) / (2 * np.exp(0.125)), rel=0.01)


def test_nothing_is_left_of_no_time() -> None:
    """A time that is always 0 has nothing left of it."""
    assert Law.constant(0.0).remaining().mean_s == 0
