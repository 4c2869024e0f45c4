"""What groups of one kind saw together."""

import numpy as np
import pytest

from heartbeat_tuner.tails.histogram import EDGES_S, Histogram, dense
from heartbeat_tuner.tails.pool import LEAST_DAYS, LEAST_GROUPS, TIMES_S, Pool

EACH = [[5.0, 0.1], [0.2], [30.0, 3.0, 3.0], [0.1], [0.3]]
DAYS = np.array([10.0, 20.0, 30.0, 40.0, 100.0])


def counts(each: list[list[float]]) -> np.ndarray:
    """Return the values of all groups together, by bucket."""
    return np.asarray(dense(map(Histogram.of, each)).sum(axis=0))


def pool(each: list[list[float]], days: np.ndarray) -> Pool:
    """Return what groups saw, where that is enough."""
    found = Pool.of(counts(each), days)
    assert found is not None
    return found


def test_it_is_the_sum_of_counts_over_the_sum_of_days() -> None:
    """Who was watched longer tells more; a group that saw nothing tells that it saw nothing."""
    found = pool(EACH, DAYS)
    assert (found.days, found.groups) == (200.0, 5)
    assert found.rates(np.array([2.83, 4.0, 8.0, 16.0])) == pytest.approx([4 / 200, 2 / 200, 1 / 200, 1 / 200], rel=0.1)
    assert found.per_day[0] == 4 / 200
    assert found.rates(0.0) == found.per_day[0]


def test_its_times_are_where_buckets_meet() -> None:
    """Half an octave apart, as far as sessions go; so a value is either longer or not."""
    assert len(TIMES_S) == 16
    assert np.isin(TIMES_S, EDGES_S).all()
    assert np.diff(np.log2(TIMES_S)) == pytest.approx(np.full(15, 0.5))
    assert (TIMES_S[0], TIMES_S[-1]) == (pytest.approx(2.83, abs=0.01), 512.0)


def test_beyond_the_largest_of_all_stands_one_event_and_a_heavy_tail() -> None:
    """Also beyond the last time: what nobody has seen yet may come."""
    found = pool(EACH, DAYS)
    twice, far, farther = found.rates(np.array([64.0, 640.0, 6400.0])).tolist()
    assert twice == pytest.approx((30.0 / 64.0) ** 2.5 / 200.0, rel=0.07)
    assert far == pytest.approx(twice / 10**2.5)
    assert farther == pytest.approx(far / 10**2.5)
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
        (EACH[:4], np.full(LEAST_GROUPS - 1, 100.0)),
        (EACH, np.array([100.0, 100.0, 100.0, 100.0, 0.0])),
        (EACH, np.full(5, 0.19 * LEAST_DAYS)),
        ([[]] * 5, DAYS),
    ],
)
def test_of_too_little_nothing_is_told(each: list[list[float]], days: np.ndarray) -> None:
    """Few groups, one of them not watched, few days, or no value in any."""
    assert Pool.of(counts(each), days) is None


def test_it_is_worth_thirty_days() -> None:
    """Alone at first, half after as many days, and less and less."""
    one = pool(EACH, DAYS)
    assert [one.weight(days) for days in (0.0, 30.0, 270.0)] == [1.0, 0.5, pytest.approx(0.1)]
