"""Rates and durations of rare events, the gamma law beside SciPy's, and what clusters are worth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from heartbeat_tuner.tails import gamma, histogram, rates
from heartbeat_tuner.tails.fit import dependence


@pytest.mark.parametrize("probability", [0.01, 0.5, 0.95, 0.999])
def test_gamma_quantiles_are_scipy_s(probability: float) -> None:
    """Over all shapes that counts of events can make."""
    shape = np.geomspace(0.05, 10_000, 60)
    assert gamma.quantile(shape, probability) == pytest.approx(stats.gamma.ppf(probability, shape), rel=1e-8)


def test_gamma_quantiles_of_very_many_events_are_near_enough() -> None:
    """The continued fraction is cut off; the law is hardly wider than its mean there."""
    assert gamma.quantile(np.array([1e6]), 0.95) == pytest.approx(stats.gamma.ppf(0.95, 1e6), rel=1e-8)


@given(st.floats(0.01, 10_000), st.floats(-4, 4))
def test_gamma_probabilities_are_scipy_s(shape: float, away: float) -> None:
    """On both sides of the mean."""
    x = np.array([shape * np.exp(away / np.sqrt(shape + 1))])
    assert gamma.cumulative(np.array([shape]), x) == pytest.approx(special.gammainc(shape, x), abs=1e-9)


def test_rates_lie_between_own_and_fleet() -> None:
    """A group with many events speaks for itself, one without any is not free of them."""
    events = np.array([0.0, 1.0, 400.0, 2.0, 0.0])
    exposure = np.array([1.0, 100.0, 100.0, 100.0, 0.0])
    found = rates.rates(events, exposure)
    usual = events.sum() / exposure.sum()
    assert 0 < found.mean[0] < usual * 1.1
    assert 0.01 < found.mean[1] < usual
    assert found.mean[2] == pytest.approx(4.0, rel=0.05)
    assert found.mean[4] == pytest.approx(usual, rel=0.01)
    assert np.all(found.upper > found.mean)


def test_rates_of_a_simulated_fleet() -> None:
    """Nearer to the truth than each group's own count, and under the bound as often as said."""
    rng = np.random.default_rng(4)
    truth = rng.gamma(2.0, 0.05, 4_000)
    exposure = rng.choice([3.0, 30.0, 300.0], truth.size)
    events = rng.poisson(truth * exposure).astype(float)
    found = rates.rates(events, exposure)
    assert np.mean((found.mean - truth) ** 2) < 0.5 * np.mean((events / exposure - truth) ** 2)
    assert np.mean(truth <= found.upper) == pytest.approx(0.95, abs=0.015)
    assert found.mean.mean() == pytest.approx(truth.mean(), rel=0.05)


def test_who_saw_an_event_in_few_days_may_have_many() -> None:
    """A fleet that has seen little does not know by how much its groups differ: one guess of that would be too sure."""
    below, groups = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = 0.01 * rng.lognormal(0.0, 1.2, 54)
        events = rng.poisson(18.0 * truth).astype(float)
        upper, some = rates.rates(events, np.full(54, 18.0)).upper, events > 0
        below, groups = below + int(np.sum(truth[some] <= upper[some])), groups + int(np.sum(some))
    assert groups > 700
    assert below / groups > 0.92


def test_each_group_has_its_own_rate() -> None:
    """Groups of the same count and another exposure, in their order."""
    found = rates.rates(np.array([3.0, 0.0, 3.0]), np.array([10.0, 10.0, 100.0]))
    assert [item.mean for item in found.each] == found.mean.tolist()
    assert [item.upper for item in found.each] == pytest.approx(stats.gamma.ppf(0.95, found.shape) / found.exposure)


def test_a_fleet_without_events_has_a_bound() -> None:
    """Nothing seen in 300 days: under one in about 80, not never."""
    found = rates.rates(np.zeros(10), np.full(10, 30.0))
    assert np.all((found.mean > 0) & (found.mean < 1 / 300))
    assert np.all((found.upper > found.mean) & (found.upper < 1 / 80))


@pytest.mark.parametrize(
    ("events", "exposure", "named"),
    [([-1.0], [1.0], "must not be negative"), ([1.0], [-1.0], "must not be negative"), ([0.0], [0.0], "no group")],
)
def test_no_rates_of_nothing(events: list[float], exposure: list[float], named: str) -> None:
    """An error that says what is wrong."""
    with pytest.raises(ValueError, match=named):
        rates.rates(np.array(events), np.array(exposure))


def lasting(*groups_s: np.ndarray) -> np.ndarray:
    """Return counts of durations."""
    return histogram.dense(histogram.Histogram.of(values) for values in groups_s)


def known(counts: np.ndarray) -> list[rates.Duration]:
    """Return the laws of groups that all have one."""
    found = [duration for duration in rates.durations(counts) if duration is not None]
    assert len(found) == len(counts)
    return found


def test_durations_of_rich_and_poor_groups() -> None:
    """Many durations: their own law. None: the fleet's, and what one group has is not for all."""
    rng = np.random.default_rng(5)
    fleet = [np.exp(rng.normal(np.log(22), 0.4, 30)) for _ in range(40)]
    slow = np.exp(rng.normal(np.log(200), 0.3, 3_000))
    found = known(lasting(*fleet, slow, np.array([])))
    assert found[-2].mean_log == pytest.approx(np.log(200), abs=0.03)
    assert found[-2].sd_log == pytest.approx(0.3, abs=0.05)
    assert found[-2].mean_s == pytest.approx(slow.mean(), rel=0.05)
    assert 22 < found[-1].mean_s < 60
    assert found[-1].worth == 5
    assert found[-2].sf(200.0) == pytest.approx(0.5, abs=0.05)


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=9), st.floats(0.001, 1e5))
def test_durations_are_finite_whatever_was_seen(values_s: list[float], time_s: float) -> None:
    """One duration, or the same one again and again."""
    (law,) = known(lasting(np.array(values_s)))
    assert 0 < law.mean_s < np.inf
    assert 0 <= law.sf(time_s) <= 1
    assert law.sf(2 * time_s) <= law.sf(time_s)


def test_no_durations_at_all() -> None:
    """Nothing is known of any."""
    assert rates.durations(lasting(np.array([]))) == [None]


def test_extremal_index_of_clusters_of_three() -> None:
    """Each stall fills three values in a row: a third of the exceedances begin a cluster."""
    rng = np.random.default_rng(7)
    values = np.repeat(rng.pareto(3.0, 30_000), 3)
    over = np.quantile(values, 0.99)
    exceeding = np.array([np.sum(values > over)], dtype=float)
    repeating = np.array([np.sum(dependence.repeats(values, run=1) > over)], dtype=float)
    assert dependence.extremal_index(exceeding, repeating) == pytest.approx(1 / 3, abs=0.02)
    assert dependence.information(np.array([1 / 3])) == pytest.approx(0.2)


def test_a_longer_run_joins_what_a_short_gap_parts() -> None:
    """Two stalls with one quiet value between them are one cluster, where two quiet values end one."""
    values = np.array([0.0, 9.0, 0.0, 9.0, 0.0, 0.0, 9.0])
    assert dependence.repeats(values, run=1).tolist() == [0.0] * 6
    assert dependence.repeats(values, run=2).tolist() == [0.0, 0.0, 9.0, 0.0, 0.0, 0.0]
    assert dependence.repeats(np.array([1.0]), run=2).tolist() == []
    with pytest.raises(ValueError, match="run 0"):
        dependence.repeats(values, run=0)


def test_independent_values_are_worth_one_each() -> None:
    """And where nothing exceeds, nothing is known of clusters."""
    assert dependence.extremal_index(np.array([100.0, 0.0]), np.array([0.0, 0.0])).tolist() == [1.0, 1.0]
    assert dependence.information(np.array([1.0])).tolist() == [1.0]


def scatter(by_day: np.ndarray) -> rates.DayScatter:
    """Return the scatter of counts; days x groups x times."""
    days = np.full(by_day.shape[1], by_day.shape[0])
    return rates.DayScatter.of(by_day.sum(axis=0), (by_day**2).sum(axis=0), days)


@pytest.mark.parametrize("size", [1.0, 5.0])
def test_events_that_come_together_are_told_from_those_that_come_one_by_one(size: float) -> None:
    """A node that stops takes five members of a group with it."""
    by_day = size * np.random.default_rng(3).poisson(0.1, (14, 300, 2)).astype(float)
    assert scatter(by_day).clumps() == pytest.approx((size, size), rel=0.15)


def test_a_time_of_few_events_has_the_clumps_of_a_shorter_one() -> None:
    """And a first time of which nothing was seen has none."""
    by_day = np.zeros((14, 40, 3))
    by_day[::3, :, 1] = 4.0
    assert scatter(by_day).clumps() == pytest.approx((1.0, *[scatter(by_day).clumps()[1]] * 2))
    assert scatter(by_day).clumps()[1] > 2.0


def test_a_group_of_many_events_and_bad_days_says_little_of_the_others() -> None:
    """It has hundreds on a bad day; one of forty groups has no vote of hundreds."""
    by_day = np.random.default_rng(3).poisson(0.3, (14, 40, 1)).astype(float)
    calm = scatter(by_day).clumps()[0]
    by_day[::7, 0] = 300.0
    assert scatter(by_day).clumps()[0] < calm + 20.0
    by_day[:, :] = by_day[:, :1] * 1e6
    assert scatter(by_day).clumps() == (rates.MOST_CLUMP,)


def test_of_one_day_nothing_is_told_of_clumps() -> None:
    """Nor of none: no day differs from another."""
    assert scatter(np.full((1, 5, 1), 9.0)).clumps() == (1.0,)
    assert rates.DayScatter.of(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(2)).clumps() == (1.0,)


def test_what_clumps_explain_is_no_difference_between_groups() -> None:
    """Alike groups whose events come five at a time scatter five times as much as chance."""
    seen = 5.0 * np.random.default_rng(3).poisson(2.0, 400).astype(np.float64)
    days = np.full(400, 100.0)
    assert rates.spread(seen, days, before=2.0) > 0.3
    assert rates.spread(seen, days, before=2.0, clump=5.0) < 0.1
