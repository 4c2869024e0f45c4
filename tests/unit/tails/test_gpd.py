"""The law of tails, beside SciPy's, and what ages and maxima make of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

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
