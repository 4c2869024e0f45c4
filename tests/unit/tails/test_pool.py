"""What groups of one kind saw together."""

import dataclasses

import numpy as np
import pytest

from heartbeat_tuner.tails.histogram import EDGES_S, Histogram, dense
from heartbeat_tuner.tails.pool import LEAST_ALIKE, LEAST_DAYS, TIMES_S, Pool
from heartbeat_tuner.tails.rates import DayScatter

EACH = [[5.0, 0.1], [0.2], [30.0, 3.0, 3.0], [0.1], [0.3]]
DAYS = np.array([10.0, 20.0, 30.0, 40.0, 100.0])


def counts(each: list[list[float]]) -> np.ndarray:
    """Return the values of each group, by bucket."""
    return np.asarray(dense(map(Histogram.of, each)))


def pool(each: list[list[float]], days: np.ndarray) -> Pool:
    """Return what groups saw, where that is enough."""
    found = Pool.of(counts(each), days)
    assert found is not None
    return found


def test_it_is_the_sum_of_counts_over_the_sum_of_days() -> None:
    """Who was watched longer tells more; a group that saw nothing tells that it saw nothing."""
    found = pool(EACH, DAYS)
    assert (found.days, found.groups) == (200.0, 5)
    assert found.per_day[0] == 4 / 200
    assert found.per_day[1:6] == (2 / 200,) + (1 / 200,) * 4


def test_its_times_are_where_buckets_meet() -> None:
    """Half an octave apart, as far as sessions go; so a value is either longer or not."""
    assert len(TIMES_S) == 16
    assert np.isin(TIMES_S, EDGES_S).all()
    assert np.diff(np.log2(TIMES_S)) == pytest.approx(np.full(15, 0.5))
    assert (TIMES_S[0], TIMES_S[-1]) == (pytest.approx(2.83, abs=0.01), 512.0)


def test_beyond_the_largest_of_all_stands_one_event_and_a_heavy_tail() -> None:
    """Also beyond the last time: what nobody has seen yet may come."""
    found = pool(EACH, DAYS)
    assert found.per_day[TIMES_S.index(64.0)] == pytest.approx((30.0 / 64.0) ** 2.5 / 200.0, rel=0.07)
    beyond = found.posterior(np.array([64.0, 640.0, 6400.0]), np.zeros(3), 0.0)[0]
    assert beyond[1:] / beyond[:-1] == pytest.approx([10**-2.5] * 2)
    quick = pool([[0.1]] * 5, DAYS)
    assert quick.per_day[0] == pytest.approx((0.1 / TIMES_S[0]) ** 2.5 / 200.0, rel=0.07)


def test_the_order_of_groups_changes_nothing() -> None:
    """To the last bit, though sums of floats depend on their order."""
    days = np.random.default_rng(1).uniform(0.1, 30.0, 200)
    each = [[day] for day in days.tolist()]
    assert len({pool(each[start:] + each[:start], np.roll(days, -start)) for start in range(20)}) == 1


@pytest.mark.parametrize(
    ("each", "days"),
    [
        (EACH, np.full(5, 0.19 * LEAST_DAYS)),
        (EACH, np.zeros(5)),
        ([[]] * 5, DAYS),
    ],
)
def test_of_too_little_nothing_is_told(each: list[list[float]], days: np.ndarray) -> None:
    """Few days, none at all, or no value in any."""
    assert Pool.of(counts(each), days) is None


def test_a_pool_of_some_of_a_kind_needs_enough_of_them() -> None:
    """Fewer, or one of them not watched, have that of all of the kind."""
    homes = np.zeros(5, dtype=np.int64)
    for days, enough in ((DAYS, True), (np.array([100.0, 100.0, 100.0, 100.0, 0.0]), False)):
        assert bool(Pool.of_homes(counts(EACH), days, homes, least_groups=LEAST_ALIKE)) is enough
        assert Pool.of(counts(EACH), days) is not None


def alike(spread: float) -> Pool:
    """Return a pool of a great fleet whose groups differ by so much, with an event in ten days each."""
    return Pool(1e8, 1_000_000, (3.0, 100.0), (0.1, 0.1), (spread, spread))


TEN_S = np.array([10.0])


def test_who_was_not_watched_is_as_the_others() -> None:
    """His bound is that of one in twenty of them: of an exponential law, three times the mean."""
    mean, upper = alike(1.0).posterior(TEN_S, np.zeros(1), 0.0)
    assert mean == pytest.approx(0.1)
    assert upper == pytest.approx(0.1 * -np.log(0.05), rel=0.005)


def test_where_events_are_common_a_group_speaks_for_itself() -> None:
    """Thirty events weigh thirty times what a fleet of spread 1 does."""
    mean, upper = alike(1.0).posterior(TEN_S, np.array([30.0]), 100.0)
    assert mean == pytest.approx(31 / 110)
    assert 1.2 * mean < upper < 1.4 * mean


def test_where_they_are_rare_the_others_speak() -> None:
    """None in a day says little of what comes once in ten."""
    assert alike(1.0).posterior(TEN_S, np.zeros(1), 1.0)[0] == pytest.approx(1 / 11)


def test_the_more_alike_groups_are_the_more_they_tell_of_each_other() -> None:
    """One that saw ten times as much as they do is believed the less."""
    seen = np.array([10.0])
    means = [float(alike(spread).posterior(TEN_S, seen, 10.0)[0][0]) for spread in (0.1, 1.0, 10.0)]
    assert means == sorted(means)
    assert means[0] < 0.2
    assert means[1] > 0.5


def test_a_fleet_that_saw_little_is_sure_of_little() -> None:
    """What twenty member-days had one of may be rarer or more frequent; of a million, it may not."""
    few = Pool(10.0, 5, (3.0, 100.0), (0.1, 0.1), (0.1, 0.1))
    assert few.posterior(TEN_S, np.zeros(1), 0.0)[1] > 1.5 * alike(0.1).posterior(TEN_S, np.zeros(1), 0.0)[1]


def test_by_how_much_groups_differ_is_known_from_few() -> None:
    """A dozen groups of lognormal rates: a bound that takes their spread at its word holds for 0.91 of them."""
    rng = np.random.default_rng(8)
    days, hold = np.full(12, 60.0), 0
    for _ in range(100):
        rates = 0.02 * rng.lognormal(-0.245, 0.7, 12)
        seen = rng.poisson(rates * days)
        fleet = pool([[50.0] * count for count in seen.tolist()], days)
        _, uppers = fleet.posterior(np.full(12, 32.0), seen.astype(np.float64), 60.0)
        hold += int((rates <= uppers).sum())
    assert hold / 1_200 > 0.94


def test_of_very_many_events_the_bound_is_a_normal_one() -> None:
    """Beyond what tables hold, without a step."""
    seen = np.array([9_998.0, 10_001.0, 1e6])
    mean, upper = alike(1.0).posterior(np.full(3, 10.0), seen, 1e4)
    assert upper / mean == pytest.approx(1 + 1.645 / np.sqrt(seen), rel=2e-4)


def test_spreads_are_seen_where_counts_are_many() -> None:
    """Groups that are all alike, groups of which one in ten has all, and groups of which nobody saw enough to tell."""
    rng = np.random.default_rng(5)
    days = np.full(200, 10.0)
    same = [[5.0] * n for n in rng.poisson(20.0, 200).tolist()]
    apart = [[5.0] * (n if place % 10 == 0 else 0) for place, n in enumerate(rng.poisson(200.0, 200).tolist())]
    few = [[5.0]] * 5 + [[]] * 195
    at_4_s = TIMES_S.index(4.0)
    assert pool(same, days).spreads[at_4_s] < 0.02
    assert pool(apart, days).spreads[at_4_s] == pytest.approx(9.0, rel=0.1)
    assert pool(few, days).spreads[at_4_s] == pytest.approx(1.0, rel=0.1)


def test_five_events_at_a_time_are_one() -> None:
    """As many days without a node's stop show a fifth of what they would of members that stop one by one."""
    seen, days = np.zeros(1), 100.0
    single, clumped = alike(1.0), dataclasses.replace(alike(1.0), clumps=(5.0, 5.0))
    assert clumped.posterior(TEN_S, seen, days)[1] == pytest.approx(
        single.posterior(TEN_S, seen, days / 5)[1], rel=1e-3
    )
    of_ten = single.posterior(TEN_S, np.array([10.0]), days / 5)
    for figure, other in zip(clumped.posterior(TEN_S, np.array([50.0]), days), of_ten, strict=True):
        assert figure == pytest.approx(other, rel=1e-3)


def test_clumps_are_seen_from_day_to_day() -> None:
    """Of the namespace's own groups, at each time, and in the days behind its rate, too."""
    seen, days = counts([[10.0] * 5] * 20 + [[]] * 20), np.full(40, 30.0)
    longer = np.where(np.array(TIMES_S) < 10.0, seen.sum(axis=1)[:, None], 0.0)
    homes = np.zeros(40, dtype=np.int64)
    at_once = DayScatter.of(longer, longer**2, np.full(40, 14.0))
    clumped = Pool.of_homes(seen, days, homes, scatter=at_once)[0]
    single = Pool.of_homes(seen, days, homes)[0]
    assert clumped.clumps is not None
    assert clumped.clumps[0] == pytest.approx(4.8, abs=0.2)
    assert clumped.spreads[0] < single.spreads[0]
    assert clumped.posterior(TEN_S, np.zeros(1), 30.0)[1] > 1.2 * single.posterior(TEN_S, np.zeros(1), 30.0)[1]


def test_a_few_groups_that_make_the_mean_vouch_for_no_other() -> None:
    """By a gamma law of spread 8 who saw none in 65 days has next to none; it may be as most of the others are."""
    fleet = Pool(1e6, 1_000_000, (3.0, 100.0), (0.046, 0.046), (8.0, 8.0))
    mean, upper = fleet.posterior(TEN_S, np.zeros(1), 65.0)
    assert mean < 0.002
    assert 0.02 < upper < 3.0 / 65.0
    many = fleet.posterior(TEN_S, np.array([400.0]), 65.0)
    assert many[1] / many[0] == pytest.approx(1 + 1.645 / np.sqrt(400.0), rel=0.02)
