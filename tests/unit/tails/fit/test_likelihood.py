"""Fits in buckets find what was put in, and what SciPy finds in the raw values."""

import numpy as np
import pytest
from scipy import stats

from heartbeat_tuner.tails import histogram
from heartbeat_tuner.tails.fit import exceedances, likelihood
from heartbeat_tuner.tails.fit.exceedances import Exceedances, Normal
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S

RNG = np.random.default_rng


def draws(rng: np.random.Generator, first: int, shape: float, scale: float, size: int) -> np.ndarray:
    """Return values in seconds over the lower edge of a bucket; the scale is in thresholds."""
    threshold = EDGES_S[first]
    return np.asarray(threshold * (1 + stats.genpareto.rvs(shape, scale=scale, size=size, random_state=rng)))


def counts_of(*values_s: np.ndarray) -> np.ndarray:
    """Return a row of counts for each array."""
    return histogram.dense(histogram.Histogram.of(values) for values in values_s)


def over(first: int, *values_s: np.ndarray, cut: int | None = None) -> Exceedances:
    """Return the exceedances of one threshold by several groups."""
    firsts = np.full(len(values_s), first)
    return Exceedances.over(counts_of(*values_s), firsts, cut=None if cut is None else np.full(len(values_s), cut))


@pytest.mark.parametrize("first", [3, 30, 100, 400])
@pytest.mark.parametrize("shape", [-0.2, 0.0, 0.3])
def test_fit_is_that_of_the_raw_values(first: int, shape: float) -> None:
    """Buckets lose next to nothing: a seventh of a standard error from SciPy's maximum."""
    values = draws(RNG(first), first, shape, 0.6, 20_000)
    fits = likelihood.fit(over(first, values))
    exact_shape, _, exact_scale = stats.genpareto.fit(values / EDGES_S[first] - 1, floc=0)
    errors = np.sqrt(np.diag(fits.covariance[0]))
    assert fits.converged[0]
    tolerance = 0.15 if first > 10 else 1.0  # at 3 ms a bucket is a third of the threshold
    assert np.all(np.abs(fits.theta[0] - [exact_shape, np.log(exact_scale)]) < tolerance * errors)


def test_whole_milliseconds_do_not_bias() -> None:
    """A gauge that rounds to whole milliseconds near 2 ms: SciPy on the rounded values is far off, buckets are not."""
    values = draws(RNG(5), 2, 0.15, 0.6, 40_000)
    rounded = np.round(values * 1000) / 1000
    shape, log_scale = likelihood.fit(over(2, rounded)).theta[0]
    assert (shape, np.exp(log_scale)) == pytest.approx((0.15, 0.6), abs=0.05)


def test_scale_moves_with_the_unit() -> None:
    """The same values 8 times as long: the same shape, and the same scale in thresholds."""
    values = draws(RNG(1), 100, 0.2, 0.5, 500)
    fits = likelihood.fit(over(100, values)), likelihood.fit(over(196, 8 * values))
    assert fits[0].theta == pytest.approx(fits[1].theta, abs=1e-6)


def test_groups_do_not_disturb_each_other() -> None:
    """A group's fit is the same alone and in a crowd of more than one chunk."""
    rng = RNG(2)
    values = [draws(rng, 120, rng.normal(0.15, 0.1), 0.5, 200) for _ in range(exceedances.CHUNK + 40)]
    together = likelihood.fit(over(120, *values))
    for number in (0, 7, exceedances.CHUNK + 39):
        alone = likelihood.fit(over(120, values[number]))
        assert together.theta[number] == pytest.approx(alone.theta[0], abs=1e-9)
        assert together.covariance[number] == pytest.approx(alone.covariance[0], rel=1e-6)


def test_covariance_is_how_far_fits_scatter() -> None:
    """The stated standard errors are those that repetition shows."""
    rng = RNG(3)
    fits = likelihood.fit(over(120, *(draws(rng, 120, 0.15, 0.5, 400) for _ in range(400))))
    stated = fits.covariance.mean(axis=0)
    assert np.cov(fits.theta.T) == pytest.approx(stated, rel=0.2)
    assert fits.theta.mean(axis=0) == pytest.approx([0.15, np.log(0.5)], abs=0.02)


def test_values_that_a_timeout_cut_are_not_lost() -> None:
    """Beyond the cut only the number is known: without those values the tail would be far too short."""
    rng, cut = RNG(4), 200
    values = draws(rng, 120, 0.3, 0.6, 30_000)
    open_ended = likelihood.fit(over(120, values)).theta[0]
    clipped = np.minimum(values, EDGES_S[cut] * 1.001)
    censored = likelihood.fit(over(120, clipped, cut=cut)).theta[0]
    assert likelihood.fit(over(120, values, cut=cut)).theta[0] == pytest.approx(censored)  # beyond it all are alike
    dropped = likelihood.fit(over(120, values[values < EDGES_S[cut]])).theta[0]
    assert censored == pytest.approx(open_ended, abs=0.06)
    assert dropped[0] < open_ended[0] - 0.1


def test_half_weight_is_twice_the_variance() -> None:
    """Values that come in pairs tell half as much."""
    exceedances = over(120, draws(RNG(5), 120, 0.15, 0.5, 1_000))
    whole, half = likelihood.fit(exceedances), likelihood.fit(exceedances, weight=np.array([0.5]))
    assert half.theta == pytest.approx(whole.theta, abs=1e-3)
    assert half.covariance == pytest.approx(2 * whole.covariance, rel=1e-2)


def test_prior_speaks_where_data_are_silent() -> None:
    """No exceedance: the prior. Many: next to none of it. Few: between."""
    prior = Normal(np.full((3, 2), [0.4, 0.5]), np.full((3, 2), 0.1))
    rng = RNG(6)
    exceedances = over(120, *(draws(rng, 120, 0.1, 0.5, size) for size in (0, 20, 200_000)))
    fits = likelihood.fit(exceedances, prior=prior)
    assert fits.converged.all()
    assert fits.theta[0] == pytest.approx([0.4, 0.5])
    assert np.sqrt(np.diag(fits.covariance[0])) == pytest.approx([0.1, 0.1])
    assert 0.1 < fits.theta[1, 0] < 0.45
    assert fits.theta[2] == pytest.approx([0.1, np.log(0.5)], abs=0.03)


@pytest.mark.parametrize("values_s", [[], [0.3] * 50])
def test_what_has_no_tail_does_not_converge(values_s: list[float]) -> None:
    """Nothing, or one bucket only: no number."""
    first = 100
    assert not likelihood.fit(over(first, np.array(values_s))).converged[0]


def test_a_shape_on_the_rim_is_found_under_a_prior() -> None:
    """Values that end abruptly, as those of members that are removed later do: the least shape, not no law at all."""
    values = RNG(12).uniform(EDGES_S[200], 1.5 * EDGES_S[200], 5_000)
    prior = Normal(np.array([[0.15, np.log(0.5)]]), np.array([[0.15, 0.5]]))
    fits = likelihood.fit(over(200, values), prior=prior)
    assert fits.converged[0]
    assert fits.theta[0, 0] == likelihood.SHAPES[0]
    assert np.all(np.isfinite(fits.covariance))


def test_totals() -> None:
    """Counted from the threshold on, whatever lies below."""
    exceedances = over(100, np.array([EDGES_S[100], EDGES_S[101], 9.0]))
    assert exceedances.totals.tolist() == [2]
    assert len(exceedances) == 1


def test_cells_reach_the_end_of_the_contract() -> None:
    """A threshold in the last bucket, and values in it."""
    (chunk,) = over(BUCKETS - 1, np.array([EDGES_S[-1]])).chunks
    assert chunk.edges.shape == (1, 2)
    assert chunk.counts.tolist() == [[1]]
