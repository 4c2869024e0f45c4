"""From histograms to models: the truth is found, the fleet helps, and what cannot be known is not told."""

import functools

import numpy as np
import pytest
from scipy import stats

from bench import tail_truths
from heartbeat_tuner.tails import histogram
from heartbeat_tuner.tails.fit import dependence, fitness, fleet_prior, growth, likelihood, tail_estimate, threshold
from heartbeat_tuner.tails.fit.exceedances import Exceedances, Normal
from heartbeat_tuner.tails.fit.tail_estimate import Fleet
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S
from heartbeat_tuner.tails.model import Rejected, RejectionReason, TailModel, ThresholdSource

RARE = 1e-6


@functools.cache
def seen(truth: str, groups: int, size: int) -> tuple[np.ndarray, tuple[float, ...]]:
    """Return counts of a fleet of one truth, and each group's true time that one in a million exceeds."""
    rng = np.random.default_rng(size)
    made = [tail_truths.TRUTHS[truth](rng, size) for _ in range(groups)]
    counts = histogram.dense(histogram.Histogram.of(group.values_s) for group in made)
    return counts, tuple(group.quantile(RARE) for group in made)


def accepted(found: list[TailModel | Rejected]) -> list[TailModel]:
    """Return the models among them."""
    return [item for item in found if isinstance(item, TailModel)]


def refused(counts: np.ndarray, **known: np.ndarray) -> RejectionReason:
    """Return why the only group of a fleet has no model."""
    (found,) = tail_estimate.models(Fleet.of(counts, **known))
    assert isinstance(found, Rejected), found
    return found.reason


def counted(*values_s: float) -> np.ndarray:
    """Return the counts of a fleet of one."""
    return histogram.dense([histogram.Histogram.of(values_s)])


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("truth", "size", "error_at_most"), [("exact", 300, 0.85), ("exact", 2_880, 0.6), ("hard", 2_880, 0.55)]
)
def test_rare_quantiles_of_a_fleet(truth: str, size: int, error_at_most: float) -> None:
    """The root mean square of the logarithmic error at 1e-6, and how often the 95 % bound holds."""
    counts, quantiles = seen(truth, 120, size)
    found = accepted(tail_estimate.models(Fleet.of(counts)))
    assert len(found) == 120
    errors = np.log([item.quantile_s(RARE) / exact for item, exact in zip(found, quantiles, strict=True)])
    held = [item.quantile_upper_s(RARE) >= exact for item, exact in zip(found, quantiles, strict=True)]
    assert np.sqrt(np.mean(errors**2)) < error_at_most
    assert np.mean(held) > 0.9


def test_small_groups_borrow_their_threshold() -> None:
    """300 values are too few for a tail of one's own, 2,880 are not; both get a model."""
    small, rich = seen("exact", 120, 300)[0][:20], seen("exact", 120, 2_880)[0]
    found = accepted(tail_estimate.models(Fleet.of(np.concatenate([small, rich]))))
    assert [item.source for item in found] == [ThresholdSource.FLEET] * 20 + [ThresholdSource.OWN] * 120


def frozen(rng: np.random.Generator, groups: int, freezes: float, spread: float = 0.25) -> np.ndarray:
    """Return counts of groups with 1,500 routine pauses around 0.12 s each, and a few freezes around 8 s."""
    return np.concatenate(
        [
            counted(
                *rng.lognormal(rng.normal(-2.1, spread), 0.6, 1_500),
                *rng.lognormal(2.1, 0.6, rng.poisson(freezes)),
            )
            for _ in range(groups)
        ]
    )


def test_rare_freezes_above_routine_pauses_are_the_tail() -> None:
    """Two freezes a group among 1,500 pauses: the law is theirs, of an ordinary shape, and nobody is without."""
    found = accepted(tail_estimate.models(Fleet.of(frozen(np.random.default_rng(5), 100, 2.0))))
    assert len(found) == 100
    assert np.median([model.shape for model in found]) < 0.4
    mean = np.mean([model.samples * model.sf(20.0)[0] for model in found if model.threshold_s < 20.0])
    assert 0.5 < mean / (2.0 * stats.lognorm.sf(20.0, 0.6, scale=np.exp(2.1))) < 2.0


def test_who_saw_no_freeze_expects_what_others_saw() -> None:
    """Pauses alone: the time over which tails are told is the same for all, and the risk hardly less than theirs."""
    counts = frozen(np.random.default_rng(6), 100, 1.0)
    model = accepted(tail_estimate.models(Fleet.of(np.concatenate([counts, counted(*[0.1, 0.2, 0.4] * 500)]))))[-1]
    assert model.source is ThresholdSource.FLEET
    assert 0.02 < model.samples * model.sf(20.0)[0] < 0.2  # theirs: 0.07


@pytest.mark.no_cover
def test_strata_choose_for_themselves() -> None:
    """Freezes in one client family do not take the threshold of another that has none: 2 % of it are enough."""
    rng = np.random.default_rng(7)
    counts = np.concatenate([seen("exact", 120, 2_880)[0], frozen(rng, 100, 2.0, spread=0.8)])
    strata = np.repeat([0, 1], [120, 100])
    found = accepted(tail_estimate.models(Fleet.of(counts, strata=strata)))
    assert np.median([model.fraction for model in found[:120]]) >= 0.02
    assert np.median([model.threshold_s for model in found[120:]]) > 3.0


def test_a_fleet_of_one_gets_a_cautious_model() -> None:
    """Alone, with a few hundred values: what is usual for delays, and a bound far beyond it."""
    counts, quantiles = seen("exact", 120, 300)
    (found,) = accepted(tail_estimate.models(Fleet.of(counts[:1])))
    assert found.quantile_upper_s(RARE) > quantiles[0]
    assert found.quantile_upper_s(RARE) > 2 * found.quantile_s(RARE)


def test_order_of_groups_does_not_matter() -> None:
    """A group's model is its own, wherever it stands."""
    counts, _ = seen("exact", 120, 2_880)
    there = accepted(tail_estimate.models(Fleet.of(counts)))
    back = accepted(tail_estimate.models(Fleet.of(counts[::-1])))[::-1]
    assert [item.shape for item in there] == pytest.approx([item.shape for item in back], abs=1e-6)


def test_doubling_all_times_doubles_the_model() -> None:
    """An octave is 32 buckets: nothing but the unit changes."""
    counts, _ = seen("exact", 120, 2_880)
    long = counts[counts[:, :49].sum(axis=1) == 0]  # without values in the buckets of whole milliseconds
    assert len(long) > 20
    before = accepted(tail_estimate.models(Fleet.of(long)))
    after = accepted(tail_estimate.models(Fleet.of(np.roll(long, 32, axis=1))))
    doubled = [2 * item.quantile_s(RARE) for item in before]
    assert [item.quantile_s(RARE) for item in after] == pytest.approx(doubled, rel=1e-6)


def test_evictions_are_not_lost() -> None:
    """A timeout that removes members cuts their values off; counted in the open cell they still tell."""
    counts, quantiles = seen("exact", 120, 2_880)
    cut = np.argmax(threshold.above(counts) <= 8, axis=1)
    clipped = counts.copy()
    for row, bucket in zip(clipped, cut, strict=True):
        row[bucket] = row[bucket:].sum()
        row[bucket + 1 :] = 0
    stored = accepted(tail_estimate.models(Fleet.of(clipped, cut=cut)))
    dropped = clipped.copy()
    dropped[np.arange(120), cut] = 0
    lost = accepted(tail_estimate.models(Fleet.of(dropped)))
    bias = [
        np.mean([np.log(item.quantile_s(RARE) / exact) for item, exact in zip(found, quantiles, strict=False)])
        for found in (stored, lost)
    ]
    assert abs(bias[0]) < 0.4
    assert bias[1] < bias[0] - 0.3


@pytest.mark.parametrize(
    ("values_s", "reason"),
    [
        ([], RejectionReason.NO_VALUES),
        ([1.0] * 10, RejectionReason.TOO_FEW_VALUES),
        ([0.002] * 5_000, RejectionReason.NO_TAIL),
        ([0.001] + [0.002] * 5_000, RejectionReason.NO_TAIL),
        ([*np.geomspace(1, 2, 4_999), 3e5], RejectionReason.BAD_FIT),
    ],
)
def test_what_has_no_tail_has_a_reason(values_s: list[float], reason: RejectionReason) -> None:
    """Nothing, hardly anything, all the same, and one value a million times as long as all others."""
    assert refused(counted(*values_s)) is reason


def pareto(shape: float, size: int) -> np.ndarray:
    """Return the counts of one group whose values are Pareto throughout."""
    values = stats.genpareto.rvs(shape, scale=shape * 0.1, size=size, random_state=np.random.default_rng(2)) + 0.1
    return counted(*values)


def test_a_tail_without_a_mean_is_refused() -> None:
    """Shape 1.3: every cost would be infinite."""
    assert refused(pareto(1.3, 200_000)) is RejectionReason.TOO_HEAVY


def test_a_tail_that_the_timeout_cuts_below_its_threshold_is_refused() -> None:
    """A tenth of the values are evictions: what lies beyond is anybody's guess."""
    counts = pareto(0.3, 20_000)
    cut = np.array([int(np.argmax(threshold.above(counts)[0] < 2_000))])
    assert refused(counts, cut=cut) is RejectionReason.CUT_BELOW_THRESHOLD


@pytest.mark.parametrize("times", [(8_000, 200, 120, 80), (8_000, 400, 200, 100)])
def test_a_tail_in_steps_is_refused(times: tuple[int, ...]) -> None:
    """Back-off that doubles leaves delays of 20, 40, 80 and 160 s and none between: no Pareto tail at any threshold."""
    steps = np.repeat([20.0, 40.0, 80.0, 160.0], times)
    assert refused(counted(*np.random.default_rng(3).lognormal(-2, 0.3, 200_000), *steps)) is RejectionReason.NO_TAIL


def test_no_groups_no_models() -> None:
    """An empty fleet is no error."""
    assert tail_estimate.models(Fleet.of(np.zeros((0, BUCKETS)))) == []


@pytest.mark.parametrize(
    ("counts", "known", "named"),
    [
        (np.zeros((1, 5)), {}, r"counts of shape \(1, 5\)"),
        (np.zeros(BUCKETS), {}, "counts of shape"),
        (np.full((1, BUCKETS), -1.0), {}, "counts: must be finite"),
        (np.full((1, BUCKETS), np.nan), {}, "counts: must be finite"),
        (np.zeros((1, BUCKETS)), {"cut": np.zeros(2, dtype=np.int64)}, "cut of shape"),
        (np.zeros((1, BUCKETS)), {"strata": np.zeros(2, dtype=np.int64)}, "strata of shape"),
        (np.zeros((1, BUCKETS)), {"weight": np.zeros(1)}, "weight: must be"),
    ],
)
def test_fleets_that_are_none(counts: np.ndarray, known: dict[str, np.ndarray], named: str) -> None:
    """The sentence names the array."""
    with pytest.raises(ValueError, match=named):
        Fleet.of(counts, **known)


def test_dependence_widens_bounds() -> None:
    """Values worth a third each: the same middle, a wider bound."""
    counts, _ = seen("exact", 120, 2_880)
    plain = accepted(tail_estimate.models(Fleet.of(counts)))
    weight = np.full(120, float(dependence.information(np.array([0.5]))[0]))
    doubted = accepted(tail_estimate.models(Fleet.of(counts, weight=weight)))
    wider = [b.share_log_sd > a.share_log_sd for a, b in zip(plain, doubted, strict=False)]
    assert np.mean(wider) == 1.0


def over(first: int, *values_s: np.ndarray) -> Exceedances:
    """Return the exceedances of one threshold."""
    return Exceedances.over(
        histogram.dense(histogram.Histogram.of(values) for values in values_s), np.full(len(values_s), first)
    )


def drawn(rng: np.random.Generator, shape: float, scale: float, size: int) -> np.ndarray:
    """Return values over 1 s."""
    return 1 + np.asarray(stats.genpareto.rvs(shape, scale=scale, size=size, random_state=rng))


ONE_SECOND = int(np.searchsorted(EDGES_S, 1.0))


def test_a_fleet_s_population_is_found() -> None:
    """From groups of which each tells next to nothing: mean and spread of shape and scale, each stratum its own."""
    rng = np.random.default_rng(4)
    light = [drawn(rng, shape, 0.5, 30) for shape in rng.normal(0.05, 0.05, 300)]
    heavy = [drawn(rng, shape, 1.0, 30) for shape in rng.normal(0.4, 0.05, 300)]
    strata = np.repeat([0, 1], 300)
    belief, _ = fleet_prior.learn(over(ONE_SECOND, *light, *heavy), strata=strata, weight=np.ones(600))
    assert belief.mean[0] == pytest.approx([0.05, np.log(0.5)], abs=0.06)
    assert belief.mean[-1] == pytest.approx([0.4, 0.0], abs=0.06)
    assert np.all(belief.sd < [0.16, 0.3])  # rounds are few, and stop on the safe side


def test_another_round_would_find_the_same_population() -> None:
    """Learning ends where what is believed says of its groups what they say of it, and five of a wide belief."""
    rng = np.random.default_rng(8)
    groups = [drawn(rng, shape, 0.5, 2_000) for shape in rng.normal(0.3, 0.1, 200)]
    belief, fits = fleet_prior.learn(over(ONE_SECOND, *groups), strata=np.zeros(200, np.int64), weight=np.ones(200))
    of_fleet = (fits.theta.sum(axis=0) + 5 * fleet_prior.WIDE.mean) / 205
    of_stratum = (fits.theta.sum(axis=0) + 20 * of_fleet) / 220
    assert np.abs(of_stratum - belief.mean[0]) == pytest.approx([0, 0], abs=2e-3 * float(belief.sd[0].min()))


def test_a_small_stratum_leans_on_the_fleet() -> None:
    """Two groups are no population of their own."""
    rng = np.random.default_rng(5)
    many = [drawn(rng, 0.1, 0.5, 100) for _ in range(200)]
    two = [drawn(rng, 0.5, 0.5, 100) for _ in range(2)]
    belief, _ = fleet_prior.learn(
        over(ONE_SECOND, *many, *two), strata=np.array([0] * 200 + [1] * 2), weight=np.ones(202)
    )
    assert belief.mean[-1, 0] < 0.3


def test_posterior_means_are_those_of_the_posterior() -> None:
    """Beside a fine grid over shape and scale, with as few as eight exceedances."""
    values = drawn(np.random.default_rng(6), 0.2, 0.5, 8)
    prior = Normal(np.array([[0.15, -0.7]]), np.array([[0.15, 0.4]]))
    exceedances = over(ONE_SECOND, values)
    top = likelihood.fit(exceedances, prior=prior)
    found = likelihood.posterior(exceedances, top, prior=prior)
    shape, log_scale = np.meshgrid(np.linspace(-0.4, 1.0, 281), np.linspace(-2.5, 1.5, 321), indexing="ij")
    heights = stats.genpareto.logpdf((values - 1)[:, None, None], shape, scale=np.exp(log_scale)).sum(axis=0)
    heights += stats.norm.logpdf(shape, 0.15, 0.15) + stats.norm.logpdf(log_scale, -0.7, 0.4)
    shares = np.exp(heights - heights.max())
    shares /= shares.sum()
    exact = np.array([(shares * shape).sum(), (shares * log_scale).sum()])
    assert found.theta[0] == pytest.approx(exact, abs=0.01)
    assert np.abs(top.theta[0] - exact).max() > 0.015  # the top is not the mean
    assert np.sqrt(found.covariance[0, 0, 0]) == pytest.approx(
        np.sqrt((shares * (shape - exact[0]) ** 2).sum()), rel=0.1
    )


def test_fitness_of_true_and_of_wrong_laws() -> None:
    """The true law is doubted about as rarely as its critical value says; a wrong one by all groups together."""
    rng = np.random.default_rng(7)
    exceedances = over(ONE_SECOND, *(drawn(rng, 0.15, 0.5, 60) for _ in range(500)))
    weight, everyone = np.ones(500), np.ones(500, dtype=bool)
    true = fitness.measure_fitness(exceedances, np.tile([0.15, np.log(0.5)], (500, 1)))
    assert np.mean(true.anderson_darling > 2.492) == pytest.approx(0.05, abs=0.025)  # known law: 5 % lie above
    assert true.pooled_distance(everyone) < 0.02
    wrong = fitness.measure_fitness(exceedances, np.tile([0.15, np.log(0.6)], (500, 1)))
    assert wrong.pooled_distance(everyone) > 0.04
    assert not wrong.refuted(weight).all()
    absurd = fitness.measure_fitness(exceedances, np.tile([0.15, np.log(2.5)], (500, 1)))
    assert absurd.refuted(weight).all()
    assert not absurd.refuted(weight / 100).any()  # a hundredth of the values is no proof
    assert absurd.doubted.all()


def test_fitness_of_nothing() -> None:
    """No exceedance: no misfit."""
    nothing = fitness.measure_fitness(over(ONE_SECOND, np.array([])), np.array([[0.1, 0.0]]))
    assert (nothing.anderson_darling[0], nothing.distance[0], nothing.pooled_distance(np.array([True]))) == (0, 0, 0)


def test_thresholds_leave_what_they_should_over_them() -> None:
    """As many as were asked for, or fewer where values share a bucket; never more."""
    rng = np.random.default_rng(8)
    counts = np.concatenate([counted(*rng.lognormal(0, 1, 10_000)), counted(*[1.0] * 50, 2.0), counted(*[2e6] * 9)])
    first = threshold.edges_over(counts, np.array([100.0, 5.0, 5.0]))
    beyond = threshold.above(counts)[np.arange(3), first]
    assert 95 <= beyond[0] <= 100
    assert beyond[1] == 1
    assert first[2] < BUCKETS


def test_thresholds_leave_exactly_as_many_values_in_buckets_of_their_own() -> None:
    """Not one less."""
    counts = counted(*1.1 ** np.arange(60))
    first = threshold.edges_over(counts, np.array([5.0]))
    assert threshold.above(counts)[0, first[0]] == 5


def test_a_threshold_of_one_s_own_leaves_at_least_five() -> None:
    """A quarter percent of 1,000 values would be two or three: too few to fit, and to judge; the fleet's it is."""
    fleet = Fleet.of(counted(*np.random.default_rng(11).lognormal(0, 1, 1_000)))
    own, shared = tail_estimate._fit(fleet, 0.01), tail_estimate._fit(fleet, 0.0025)
    assert own.candidate.exceedances.totals[0] >= 5
    assert (own.pooled[0], shared.pooled[0]) == (False, True)


def test_thresholds_do_not_crowd_the_first_cell() -> None:
    """Five of the largest values lie over a threshold as any five over it would, not one of them just beyond."""
    rng = np.random.default_rng(10)
    values = 1 + rng.exponential(1.0, (2_000, 60))
    counts = histogram.dense(map(histogram.Histogram.of, values))
    edges = EDGES_S[threshold.edges_over(counts, np.full(2_000, 5.0))][:, None]
    beyond = np.exp(edges - values)[values > edges]
    assert beyond.mean() == pytest.approx(0.5, abs=0.01)


def test_growth_thresholds_stand_for_their_share() -> None:
    """Groups alike but for their unit: a threshold from 60 values is one that about one in 200 exceeds."""
    rng = np.random.default_rng(9)
    units = np.exp(rng.normal(0, 1, 300))
    counts = np.concatenate([counted(*(unit * rng.lognormal(0, 0.5, 60))) for unit in units])
    found = growth.thresholds(counts, 0.005, strata=np.zeros(300, dtype=int), weight=np.ones(300), least=5.0)
    shares = stats.lognorm.sf(EDGES_S[found.first] / units, 0.5)
    assert np.exp(np.mean(np.log(shares))) == pytest.approx(0.005, rel=0.6)
    assert np.all((found.certainty > 0.1) & (found.certainty < 15))  # no surer than 15 values over a reference


def test_growth_without_values() -> None:
    """Nobody tells: the threshold is out of reach."""
    found = growth.thresholds(np.zeros((2, BUCKETS)), 0.01, strata=np.zeros(2, dtype=int), weight=np.ones(2), least=5.0)
    assert found.first.tolist() == [BUCKETS - 1] * 2


def test_a_share_that_nobody_knows_is_no_share() -> None:
    """Small groups, one of which has a tail as no other: none of theirs lies so high, and it says nothing of them."""
    rng = np.random.default_rng(1)
    alike = [histogram.Histogram.of(rng.lognormal(0.0, 0.3, 40)) for _ in range(30)]
    odd = histogram.Histogram.of(np.concatenate([rng.lognormal(0.0, 0.3, 35), rng.lognormal(3.0, 0.3, 5)]))
    fleet = Fleet.of(histogram.dense([*alike, odd]))
    found = tail_estimate._model_of(fleet, 0, [tail_estimate._fit(fleet, 0.0025)])
    assert isinstance(found, Rejected)
    assert found.reason is RejectionReason.NO_TAIL
    assert "neither they nor the fleet say how many do" in found.detail


def test_a_fleet_whose_tails_are_heavy_wherever_they_begin_is_told_so() -> None:
    """A deeper threshold does not make them lighter, and a light tail would be a lie."""
    rng = np.random.default_rng(1)
    drawn = [np.minimum(0.1 * rng.random(20_000) ** -1.5, 1e6) for _ in range(25)]
    found = accepted(tail_estimate.models(Fleet.of(np.concatenate([counted(*values) for values in drawn]))))
    assert np.median([model.shape for model in found]) > 0.5


def test_a_threshold_beyond_all_that_a_group_saw_is_not_its_own() -> None:
    """A few groups with far longer delays move the fleet's one time to where this one has no value.

    What its law said of shorter times was a straight line up to there.
    """
    rng = np.random.default_rng(2)
    calm = [rng.lognormal(np.log(4.0), 0.45, 900) for _ in range(6)]
    long = [rng.lognormal(np.log(20.0), 0.6, 900) for _ in range(3)]
    fleet = Fleet.of(np.concatenate([counted(*values) for values in (*calm, *long)]))
    found = tail_estimate._model_of(fleet, 0, [tail_estimate._fit(fleet, 0.0006)])
    assert isinstance(found, TailModel)
    assert found.threshold_s < max(calm[0])
    assert found.source is ThresholdSource.OWN
    truth = stats.lognorm.sf(16.0 / 4.0, 0.45)
    assert truth / 4 < found.sf(16.0)[0] < 4 * truth
