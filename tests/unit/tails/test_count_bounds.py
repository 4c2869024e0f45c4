"""Bounds of rates beside SciPy's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from heartbeat_tuner.tails import count_bounds


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 200, 10_000, 1_000_000])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.1])
def test_garwood_is_scipy_s_chi_square(count: int, alpha: float) -> None:
    """As it is written in textbooks, chi2(1 - alpha / 2; 2 (n + 1)) / 2 T."""
    bounds = count_bounds.garwood(count, 14.0, alpha=alpha)
    assert bounds.upper == pytest.approx(stats.chi2.ppf(1 - alpha / 2, 2 * (count + 1)) / 28, rel=1e-8)
    lower = stats.chi2.ppf(alpha / 2, 2 * count) / 28 if count else 0.0
    assert bounds.lower == pytest.approx(lower, rel=1e-8)


@given(st.integers(0, 500), st.floats(0.01, 0.2))
def test_garwood_s_bounds_are_those_of_poisson_s_law(count: int, alpha: float) -> None:
    """At the upper rate so few events are as unlikely as alpha / 2 says, at the lower rate so many."""
    bounds = count_bounds.garwood(count, 1.0, alpha=alpha)
    assert stats.poisson.cdf(count, bounds.upper) == pytest.approx(alpha / 2, rel=1e-6)
    if count:
        assert stats.poisson.sf(count - 1, bounds.lower) == pytest.approx(alpha / 2, rel=1e-6)


def test_without_exposure_nothing_is_known_of_a_rate() -> None:
    """Neither a number nor an error."""
    assert count_bounds.garwood(0, 0.0, alpha=0.05) == (0.0, math.inf)
    assert count_bounds.garwood(3, -1.0, alpha=0.05) == (0.0, math.inf)


@given(st.floats(1.0, 20.0))
def test_scattered_days_widen_the_bounds(scatter: float) -> None:
    """Never the other way."""
    plain, wide = (count_bounds.garwood(20, 14, alpha=0.05, dispersion=value) for value in (1.0, scatter))
    assert wide.lower <= plain.lower * (1 + 1e-9)
    assert wide.upper >= plain.upper * (1 - 1e-9)


@given(st.floats(0.005, 1e6), st.floats(1e-6, 1 - 1e-6))
def test_gamma_quantiles_are_scipy_s(shape: float, probability: float) -> None:
    """Of shapes that are counts, and of those that counts are divided into; where the law is so steep, to its root."""
    x = count_bounds.gamma_quantile(shape, probability)
    assert x > 0
    expected = special.gammaincinv(shape, probability)
    if expected > 1e-290:
        assert x == pytest.approx(expected, rel=1e-7)


@given(st.floats(0.01, 1e5), st.floats(-5, 5))
def test_gamma_probabilities_are_scipy_s(shape: float, away: float) -> None:
    """On both sides of the mean."""
    x = shape * math.exp(away / math.sqrt(shape + 1))
    assert count_bounds.gamma_cumulative(shape, x) == pytest.approx(special.gammainc(shape, x), abs=1e-9)


@pytest.mark.parametrize(("shape", "probability"), [(0.3, 1 - 1e-9), (0.05, 1 - 1e-9), (0.01, 1e-6)])
def test_quantiles_are_found_where_newton_s_steps_lead_astray(shape: float, probability: float) -> None:
    """Far out on a steep law, where what is left is halved."""
    found = count_bounds.gamma_quantile(shape, probability)
    assert found == pytest.approx(special.gammaincinv(shape, probability), rel=1e-6, abs=1e-290)
