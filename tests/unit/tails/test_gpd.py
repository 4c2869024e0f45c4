"""The law of tails, beside SciPy's, and what ages and maxima make of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from heartbeat_tuner.tails import gpd

shapes = st.floats(-0.4, 0.95).filter(lambda shape: shape == 0 or abs(shape) > 1e-9)  # SciPy errs between
scales = st.floats(0.01, 100)
excesses = st.floats(0, 1000)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy's own arithmetic, far out
@given(excesses, shapes, scales)
def test_survival_is_scipy_s(excess: float, shape: float, scale: float) -> None:
    """Near the exponential law and beyond an end too."""
    expected = stats.genpareto.sf(excess, shape, scale=scale)
    assert gpd.survival(excess, shape, scale) == pytest.approx(expected, rel=1e-4, abs=1e-15)


@given(st.floats(1e-9, 1), shapes, scales)
def test_excess_is_the_inverse_of_survival(probability: float, shape: float, scale: float) -> None:
    """There and back."""
    excess = gpd.excess_at(probability, shape, scale)
    assert gpd.survival(excess, shape, scale) == pytest.approx(probability, rel=1e-5)


@given(st.lists(excesses, min_size=2), shapes, scales)
def test_survival_falls(sorted_excesses: list[float], shape: float, scale: float) -> None:
    """A longer time is never exceeded more often."""
    survivals = gpd.survival(np.sort(sorted_excesses), shape, scale)
    assert np.all(np.diff(survivals) <= 0)
    assert np.all((survivals >= 0) & (survivals <= 1))


@given(excesses, shapes, scales, st.floats(0.1, 10))
def test_survival_knows_no_unit(excess: float, shape: float, scale: float, factor: float) -> None:
    """Milliseconds or thresholds: the law is the same."""
    other = gpd.survival(excess * factor, shape, scale * factor)
    assert other == pytest.approx(gpd.survival(excess, shape, scale), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 1e-6, 0.2, 0.8])
def test_derivatives_are_those_of_the_exponent(shape: float) -> None:
    """A wrong derivative would send the fit astray."""
    excess, scale, step = np.array([0.0, 0.3, 1.0, 2.0]), 0.7, 1e-5
    _, by_shape, by_scale = gpd.exponent(excess, shape, scale)
    up, down = gpd.exponent(excess, shape + step, scale)[0], gpd.exponent(excess, shape - step, scale)[0]
    assert by_shape == pytest.approx((up - down) / (2 * step), rel=1e-3, abs=1e-4)
    up, down = (gpd.exponent(excess, shape, scale * np.exp(sign * step))[0] for sign in (1, -1))
    assert by_scale == pytest.approx((up - down) / (2 * step), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("shape", [-0.2, 0.0, 0.15, 0.6])
def test_integral_is_the_area_under_the_survival(shape: float) -> None:
    """Between any two ends, and up to infinity: what the cost formulas are made of."""
    area, _ = integrate.quad(lambda y: stats.genpareto.sf(y, shape, scale=2.0), 1.0, 5.0)
    assert gpd.integral(1.0, 5.0, shape, 2.0) == pytest.approx(area, rel=1e-6)
    assert gpd.integral(0.0, np.inf, shape, 2.0) == pytest.approx(stats.genpareto.mean(shape, scale=2.0), rel=1e-6)


def test_ages_of_simulated_gaps() -> None:
    """Who asks at random times sees the law of ages; from it the law and the share of gaps come back."""
    rng = np.random.default_rng(7)
    shape, scale, share, threshold = 0.2, 2.0, 0.05, 5.0
    long = rng.random(2_000_000) < share
    gaps = np.where(long, threshold + stats.genpareto.rvs(shape, scale=scale, size=long.size, random_state=rng), 1.0)
    picked = rng.choice(gaps, size=400_000, p=gaps / gaps.sum())  # a random time falls into a gap by its length
    ages = picked * rng.random(picked.size)
    age_shape, age_scale = gpd.age_law_of_gaps(shape, scale)
    over = ages[ages > threshold] - threshold
    assert over.mean() == pytest.approx(stats.genpareto.mean(age_shape, scale=age_scale), rel=0.03)
    assert np.mean(over > 10) == pytest.approx(gpd.survival(10, age_shape, age_scale), rel=0.1)
    assert gpd.gap_law_of_ages(age_shape, age_scale) == pytest.approx((shape, scale))
    found = gpd.gap_share_of_ages(float(np.mean(ages > threshold)), float(gaps.mean()), age_scale)
    assert found == pytest.approx(share, rel=0.03)


def test_maxima_of_simulated_draws() -> None:
    """A window's maximum exceeds about as many times as often as it has draws."""
    rng = np.random.default_rng(8)
    maxima = rng.random((200_000, 20)).max(axis=1)
    seen = np.mean(maxima > 0.99)
    assert gpd.window_share_of_draws(0.01, 20) == pytest.approx(seen, rel=0.03)
    assert gpd.draw_share_of_maxima(gpd.window_share_of_draws(0.01, 20), 20) == pytest.approx(0.01)
