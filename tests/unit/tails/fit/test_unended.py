"""Values whose end nobody saw: evictions. They raise a tail, and never by saying that it ends where they were cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_tuner.tails import gpd
from heartbeat_tuner.tails.fit import fleet_prior, likelihood, tail_estimate
from heartbeat_tuner.tails.fit.exceedances import Exceedances, Fits, Normal
from heartbeat_tuner.tails.fit.tail_estimate import Fleet
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, Histogram, bucket_of, dense
from heartbeat_tuner.tails.model import TailModel

FIRST = int(np.searchsorted(EDGES_S, 2.0))
PRIOR = Normal(np.array([[0.15, np.log(0.5)]]), np.array([[0.15, 0.5]]))


def cut_at(values_s: Array, session_s: float) -> tuple[Array, Array]:
    """Return counts, and those without an end, where values longer than a session end in an eviction."""
    seen = np.where(values_s > session_s, session_s, values_s)
    counts = dense([Histogram.of(seen)])
    unended = np.zeros_like(counts)
    unended[0, int(bucket_of(session_s))] = np.count_nonzero(values_s > session_s)
    return counts, unended


def drawn(shape: float, scale_s: float, size: int, seed: int) -> Array:
    """Return values of a law that begins at 2 s."""
    uniform = np.random.default_rng(seed).uniform(0.0, 1.0, size)
    return np.asarray(2.0 + gpd.excess_at(uniform, shape, scale_s))


def fit(counts: Array, unended: Array | None) -> Fits:
    """Return shape and log scale over 2 s."""
    exceedances = Exceedances.over(counts, np.array([FIRST]), unended=unended)
    return likelihood.posterior(exceedances, likelihood.fit(exceedances, prior=PRIOR), prior=PRIOR)


def survival(fits: Fits, time_s: float) -> float:
    """Return how much of what exceeds 2 s exceeds a time."""
    threshold_s = float(EDGES_S[FIRST])
    return float(gpd.survival(time_s / threshold_s - 1.0, fits.theta[0, 0], np.exp(fits.theta[0, 1])))


@pytest.mark.parametrize("session_s", [6.0, 10.0])
def test_a_law_that_is_cut_is_found_again(session_s: float) -> None:
    """Dropped values say that nothing lies beyond; those without an end, how much did."""
    values = drawn(0.2, 1.5, 4_000, seed=3)
    counts, unended = cut_at(values, session_s)
    whole, cut, dropped = fit(dense([Histogram.of(values)]), None), fit(counts, unended), fit(counts - unended, None)
    true = float(np.mean(values > 20.0))
    assert survival(whole, 20.0) == pytest.approx(true, rel=0.3)
    assert survival(cut, 20.0) == pytest.approx(true, rel=0.9)
    assert survival(dropped, 20.0) < 0.1 * true


def test_what_cannot_be_seen_makes_a_law_less_certain() -> None:
    """As many values, cut: less is known of the shape, not as much."""
    values = drawn(0.2, 1.5, 2_000, seed=5)
    counts, unended = cut_at(values, 5.0)
    assert fit(counts, unended).covariance[0, 0, 0] > 1.5 * fit(dense([Histogram.of(values)]), None).covariance[0, 0, 0]


def test_the_information_without_cuts_is_that_of_cells() -> None:
    """The two ways to write it agree."""
    counts = dense([Histogram.of(drawn(0.1, 2.0, 500, seed=8))])
    plain, cut = fit(counts, None), fit(counts, np.where(np.arange(BUCKETS) == FIRST, np.minimum(counts, 1e-9), 0.0))
    assert cut.theta == pytest.approx(plain.theta, rel=1e-3)
    assert cut.covariance == pytest.approx(plain.covariance, rel=1e-2)


@settings(max_examples=25, deadline=None)
@given(evictions=st.integers(1, 300), more=st.integers(1, 300), session_s=st.floats(4.0, 40.0))
def test_more_evictions_never_make_a_lighter_tail(evictions: int, more: int, session_s: float) -> None:
    """Where they were cut, at the most likely law."""
    counts = dense([Histogram.of(np.minimum(drawn(0.1, 1.0, 400, seed=2), session_s))])
    rates = []
    for count in (0, evictions, evictions + more):
        unended = np.zeros_like(counts)
        unended[0, int(bucket_of(session_s))] = count
        exceedances = Exceedances.over(counts + unended, np.array([FIRST]), unended=unended)
        fits = likelihood.fit(exceedances, prior=PRIOR)
        edge_s = float(EDGES_S[int(bucket_of(session_s))])
        rates.append(exceedances.totals[0] * survival(fits, edge_s))
    assert rates == sorted(rates)


@settings(max_examples=25, deadline=None)
@given(evictions=st.integers(1, 100), session_s=st.floats(4.0, 30.0), later_s=st.floats(0.5, 30.0))
def test_what_outlasted_more_never_makes_a_lighter_tail(evictions: int, session_s: float, later_s: float) -> None:
    """As many evictions at a longer session, beyond which both may be asked."""
    counts = dense([Histogram.of(drawn(0.1, 1.0, 400, seed=2))])
    beyond = []
    for cut_s in (session_s, session_s + later_s):
        unended = np.zeros_like(counts)
        unended[0, int(bucket_of(cut_s))] = evictions
        exceedances = Exceedances.over(counts + unended, np.array([FIRST]), unended=unended)
        beyond.append(survival(likelihood.fit(exceedances, prior=PRIOR), session_s + later_s))
    assert beyond[0] <= beyond[1] * (1 + 1e-6)


def test_evictions_before_the_threshold_count_as_exceedances() -> None:
    """Nobody knows that they are none."""
    counts, unended = np.zeros((1, BUCKETS)), np.zeros((1, BUCKETS))
    counts[0, FIRST + 10] = 50.0
    counts[0, 3] = unended[0, 3] = 7.0
    assert Exceedances.over(counts, np.array([FIRST]), unended=unended).totals.tolist() == [57.0]
    assert Exceedances.over(counts, np.array([FIRST])).totals.tolist() == [50.0]


def test_a_fleet_without_evictions_is_fitted_as_before() -> None:
    """To the last bit: zeros beside the counts change nothing."""
    counts = dense([Histogram.of(drawn(0.1, 1.0, 3_000, seed=seed)) for seed in range(6)])
    plain, zeros = (tail_estimate.models(Fleet.of(counts, unended=some)) for some in (None, np.zeros_like(counts)))
    assert plain == zeros
    assert all(isinstance(tail, TailModel) for tail in plain)


def test_a_group_that_evicts_for_most_of_its_long_absences_has_a_tail_that_says_so() -> None:
    """At the session half of them are gone; before, the law ended there."""
    values = np.concatenate([drawn(0.1, 2.0, 2_000, seed=4), np.full(0, 1.0)])
    counts, unended = cut_at(values, 5.0)
    (cut,) = tail_estimate.models(Fleet.of(counts, unended=unended))
    (dropped,) = tail_estimate.models(Fleet.of(counts - unended))
    assert isinstance(cut, TailModel)
    true = float(np.mean(values > 12.0))
    assert float(cut.sf(12.0)[0]) == pytest.approx(true, rel=0.8)
    assert float(cut.exceedance_upper(12.0)[0]) > true
    assert not isinstance(dropped, TailModel) or float(dropped.sf(12.0)[0]) < 0.1 * true


@pytest.mark.parametrize("wrong", [np.zeros((2, BUCKETS)), np.full((1, BUCKETS), -1.0), np.full((1, BUCKETS), 9.0)])
def test_what_is_no_part_of_the_counts_is_refused(wrong: Array) -> None:
    """Shape, sign and size."""
    with pytest.raises(ValueError, match="unended: must be a part of counts"):
        Fleet.of(np.ones((1, BUCKETS)), unended=wrong)


def test_a_fleet_learns_from_groups_that_evict() -> None:
    """Their values without an end are among what they tell."""
    counts, unended = cut_at(drawn(0.2, 1.5, 400, seed=1), 6.0)
    exceedances = Exceedances.over(counts, np.array([FIRST]), unended=unended)
    belief, fits = fleet_prior.learn(exceedances, strata=np.zeros(1, dtype=np.int64), weight=np.ones(1))
    assert fits.converged.all()
    assert np.isfinite(belief.mean).all()
