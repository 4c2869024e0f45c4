"""What a model says of a time: ordered, monotone, and nothing where it knows nothing."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heartbeat_tuner.tails import drift, histogram, shape_free
from heartbeat_tuner.tails.drift import DriftVerdict
from heartbeat_tuner.tails.histogram import EDGES_S
from heartbeat_tuner.tails.model import Rejected, RejectionReason, TailModel, ThresholdSource

SURE = TailModel(
    threshold_s=float(EDGES_S[200]),
    share=0.01,
    share_log_sd=1e-4,
    shape=0.2,
    log_scale=float(np.log(0.5)),
    covariance=(1e-8, 0.0, 1e-8),
    fraction=0.01,
    source=ThresholdSource.OWN,
    samples=100_000,
    exceedances=1_000,
    largest_s=9.0,
    anderson_darling=0.4,
    distance=0.01,
)
UNSURE = dataclasses.replace(SURE, share_log_sd=0.3, covariance=(0.02, -0.01, 0.05))

excesses = st.lists(st.floats(0, 1e4), min_size=2, max_size=5).map(sorted)
uncertain = st.builds(
    lambda sd, shape, scale, across: dataclasses.replace(
        SURE, share_log_sd=sd, shape=shape, covariance=(scale**2, across * scale * 0.2, 0.04)
    ),
    st.floats(0.01, 1),
    st.floats(-0.3, 0.9),
    st.floats(0.001, 0.3),
    st.floats(-0.95, 0.95),
)


def test_a_sure_model_is_its_law() -> None:
    """Without doubt the mean, the bound and the quantile are those of the distribution."""
    time_s = SURE.threshold_s + np.array([0.0, 1.0, 5.0])
    exact = 0.01 * stats.genpareto.sf(time_s - SURE.threshold_s, 0.2, scale=0.5)
    assert SURE.sf(time_s) == pytest.approx(exact, rel=1e-3)
    assert SURE.exceedance_upper(time_s) == pytest.approx(exact, rel=2e-3)
    assert SURE.quantile_s(1e-6) == pytest.approx(SURE.threshold_s + stats.genpareto.isf(1e-4, 0.2, scale=0.5))
    assert SURE.quantile_upper_s(1e-6) == pytest.approx(SURE.quantile_s(1e-6), rel=2e-3)
    assert SURE.scale_s == pytest.approx(0.5)


@given(uncertain, excesses)
def test_bounds_are_ordered_and_fall(model: TailModel, excess: list[float]) -> None:
    """A longer time is exceeded less often, and never more often than the bound says."""
    times = model.threshold_s + np.array(excess)
    mean, upper = model.sf(times), model.exceedance_upper(times)
    assert np.all(mean <= upper)
    assert np.all(upper <= 1)
    assert np.all(np.diff(mean) <= 1e-15)
    assert np.all(np.diff(upper) <= 1e-15)


@given(uncertain, st.floats(1e-9, 0.009))
def test_quantiles_are_ordered(model: TailModel, exceeded: float) -> None:
    """The bound of a time lies beyond the time, and what is rarer is longer."""
    assert model.threshold_s <= model.quantile_s(exceeded) <= model.quantile_upper_s(exceeded) * (1 + 1e-9)
    assert model.quantile_s(exceeded) <= model.quantile_s(exceeded / 2)


def test_upper_bound_is_the_95_percent_quantile_of_the_posterior() -> None:
    """Beside as many draws from the posterior as it takes."""
    rng = np.random.default_rng(1)
    theta = rng.multivariate_normal([0.2, np.log(0.5)], [[0.02, -0.01], [-0.01, 0.05]], 200_000)
    share = 0.01 * np.exp(0.3 * rng.standard_normal(200_000))
    for excess in (1.0, 5.0):
        drawn = share * stats.genpareto.sf(excess, theta[:, 0], scale=np.exp(theta[:, 1]))
        time_s = UNSURE.threshold_s + excess
        assert UNSURE.exceedance_upper(time_s)[0] == pytest.approx(np.quantile(drawn, 0.95), rel=0.08)
        assert UNSURE.sf(time_s)[0] == pytest.approx(drawn.mean(), rel=0.02)


def test_a_tail_says_nothing_below_its_threshold() -> None:
    """An error, not a number."""
    with pytest.raises(ValueError, match="nothing below its threshold"):
        SURE.sf(SURE.threshold_s / 2)
    for exceeded in (0.0, 0.02):
        with pytest.raises(ValueError, match="between 0 and the threshold's share"):
            SURE.quantile_s(exceeded)


def test_a_rejection_says_why() -> None:
    """One sentence for the status."""
    assert str(Rejected(RejectionReason.TOO_FEW_VALUES, "3")) == "too few values for a reference (3)"


def row(*values_s: float) -> np.ndarray:
    """Return counts of some times."""
    return np.asarray(histogram.dense([histogram.Histogram.of(values_s)])[0])


@pytest.mark.parametrize(("days", "factor"), [(1.0, 3.9), (14.0, 1.36), (30.0, 1.0)])
def test_shape_free_bound_of_one_a_month(days: float, factor: float) -> None:
    """The factors that the simulated fleet was safe with."""
    counts = row(1.0, 10.0)
    largest_s = EDGES_S[histogram.bucket_of(10.0) + 1]
    assert shape_free.least_s(1 / 30, counts, days) == pytest.approx(factor * largest_s, rel=5e-3)


def test_shape_free_bound_within_the_data_counts() -> None:
    """Nine a day are no promise of under nine a day."""
    counts = row(*[1.0] * 9, 10.0)
    assert shape_free.upper_per_day([0.5, 5.0, 1000.0], counts, 1.0) == pytest.approx(  # type: ignore[arg-type]
        [10 + 1.645 * 10**0.5 + 1.35, 1 + 1.645 + 1.35, (1000 / EDGES_S[histogram.bucket_of(10.0) + 1]) ** -2.5],
        rel=1e-3,
    )
    assert shape_free.least_s(4.0, counts, 1.0) == 1.0  # nine are as long as that, one is longer


@given(st.lists(st.floats(0, 100), max_size=20), st.floats(0.1, 100))
def test_shape_free_bound_falls_with_time(values_s: list[float], days: float) -> None:
    """And is at least what was counted, a day."""
    counts = row(*values_s)
    upper = shape_free.upper_per_day(EDGES_S, counts, days)
    seen = np.append(np.cumsum(counts[::-1])[::-1], 0)
    assert np.all(np.diff(upper) <= 0)
    assert np.all(upper * days >= seen)


def test_what_was_not_seen_is_not_safe() -> None:
    """Nothing seen in ten days is not never; nothing watched is no bound."""
    nothing = row()
    assert shape_free.upper_per_day(5.0, nothing, 10.0).tolist() == [0.135]
    with pytest.raises(ValueError, match="counts: no value"):
        shape_free.least_s(1.0, nothing, 10.0)
    with pytest.raises(ValueError, match="days 0"):
        shape_free.upper_per_day(5.0, nothing, 0.0)
    with pytest.raises(ValueError, match="objective_per_day 0"):
        shape_free.least_s(0.0, row(1.0), 10.0)


def new_values(model: TailModel, size: int, factor: float) -> np.ndarray:
    """Return counts of new values whose tail is that of the model, times a factor in time."""
    uniform = np.random.default_rng(3).random(size)
    beyond = model.threshold_s + stats.genpareto.isf(np.minimum(uniform / 0.01, 1), 0.2, scale=0.5)
    return row(*(np.where(uniform < 0.01, beyond, 0.01) * factor))


@pytest.mark.parametrize(
    ("size", "factor", "verdict"),
    [
        (20_000, 1.0, DriftVerdict.SAME),
        (20_000, 2.5, DriftVerdict.LONGER),
        (20_000, 0.4, DriftVerdict.SHORTER),
        (400_000, 1.2, DriftVerdict.SAME),  # sure, and too small to matter
        (50, 2.5, DriftVerdict.UNKNOWN),
    ],
)
def test_drift(size: int, factor: float, verdict: DriftVerdict) -> None:
    """Sure and large, or not told."""
    assert drift.measure_drift(SURE, new_values(SURE, size, factor)).verdict is verdict


def test_drift_of_values_in_clusters_is_less_sure() -> None:
    """A few clusters are no new law."""
    new = new_values(SURE, 3_000, 2.5)
    assert drift.measure_drift(SURE, new).verdict is DriftVerdict.LONGER
    assert drift.measure_drift(SURE, new, weight=0.34).verdict is DriftVerdict.SAME
