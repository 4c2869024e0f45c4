"""Absences that end in an eviction do not show: what is longer than a session must not be called rare for that."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.hidden_ends import MOST_SPREAD, SeenTogether
from heartbeat_tuner.tails.histogram import EDGES_S, Histogram, dense
from heartbeat_tuner.tails.pool import TIMES_S, Pool

EDGES = np.searchsorted(EDGES_S, TIMES_S)
SESSION_S = 43.0
DAYS = 4_000.0
AT_45 = 8
"""45.3 s: the first time beyond that session."""


def absences(groups: int, rng: np.random.Generator, shape: float = 0.1) -> list[Array]:
    """Return what members of so many groups are absent for, half a day apart, beyond 4 s by a Pareto law."""
    return [4.0 + 4.0 / shape * ((1.0 - rng.random(8_000)) ** -shape - 1.0) for _ in range(groups)]


def pool_of(showing: list[Array], hiding: list[Array], *, is_known: bool = True) -> Pool:
    """Return the pool of groups of which some hide what outlasts their session."""
    values = [*showing, *(some[some < SESSION_S] for some in hiding)]
    counts = np.asarray(dense(map(Histogram.of, values)))
    hides = np.arange(len(values)) >= (len(showing) if is_known else len(values))
    days, homes = np.full(len(values), DAYS), np.zeros(len(values), dtype=np.int64)
    return Pool.of_homes(counts, days, homes, hidden=hides)[0]


@pytest.mark.parametrize("showing", [0, 1, 5])
def test_what_hides_is_told_by_who_shows_all_or_by_a_heavy_tail(showing: int) -> None:
    """To count the hiding groups' days as days without an absence promises a fraction of the truth."""
    rng = np.random.default_rng(3)
    every = absences(20, rng)
    truth = np.mean([(some > TIMES_S[AT_45]).sum() for some in every]) / DAYS
    pool = pool_of(every[:showing], every[showing:])
    assert 0.5 * truth <= pool.per_day[AT_45] <= 6.0 * truth
    seen_at_32_s = np.array([pool.per_day[AT_45 - 1] * DAYS] * 2)
    assert truth <= pool.posterior(np.array([32.0, TIMES_S[AT_45] + 0.1]), seen_at_32_s, DAYS)[1][1]
    assert pool_of(every[:showing], every[showing:], is_known=False).per_day[AT_45] < 0.4 * truth
    assert pool.hides_from_s == pytest.approx(TIMES_S[AT_45])


def test_where_all_show_nothing_is_carried_on() -> None:
    """A pool of them is as ever."""
    every = absences(5, np.random.default_rng(3))
    assert pool_of(every, []) == pool_of(every, [], is_known=False)
    assert pool_of(every, []).hides_from_s is None


def test_who_cannot_see_it_is_not_believed_to_have_seen_none() -> None:
    """Of a group that hides, a hundred years without one beyond its session say nothing."""
    hiding = Pool(1e6, 100, (3.0, 30.0, 60.0), (1e-1, 1e-2, 1e-3), (1.0, 1.0, 1.0), 30.0)
    showing = Pool(1e6, 100, (3.0, 30.0, 60.0), (1e-1, 1e-2, 1e-3), (1.0, 1.0, 1.0))
    times_s, own = np.array([30.0, 60.0]), np.array([100.0, 0.0])
    means, _ = hiding.posterior(times_s, own, 1e4)
    assert means == pytest.approx([1e-2, 1e-3], rel=0.02)
    assert showing.posterior(times_s, own, 1e4)[0][1] == pytest.approx(1e-4, rel=0.1)
    rarer, _ = hiding.posterior(times_s, 0.1 * own, 1e4)  # a tenth of the others' at 30 s: so it is at 60 s
    assert rarer == pytest.approx([1e-3, 1e-4], rel=0.12)


@given(st.lists(st.lists(st.floats(0.1, 600.0), max_size=30), min_size=1, max_size=8), st.data())
def test_what_hides_never_makes_anything_rarer(values: list[list[float]], data: st.DataObject) -> None:
    """And rates still fall with time, by no less doubt than the counts show."""
    counts = np.asarray(dense(map(Histogram.of, values)))
    longer = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, EDGES]
    hides = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    seen = SeenTogether.of_groups(longer, hides, EDGES)
    assert (seen.longer >= longer.sum(axis=0) - 1e-9).all()
    assert (np.diff(seen.longer) <= 1e-9).all()
    assert np.isfinite(seen.longer).all()
    spreads = [0.5] * len(TIMES_S)
    assert min(seen.wider(spreads)) >= 0.5
    assert (seen.from_s is None) == (not np.diff(1.0 * longer[hides].sum(axis=0)).any())


def test_far_behind_the_last_that_shows_groups_differ_by_what_a_model_can_have() -> None:
    """A session of a few seconds leaves next to nothing behind the longest times; the model is still written."""
    pool = pool_of([], [np.full(40, TIMES_S[1] + 0.01), np.full(40, TIMES_S[0] + 0.01)] * 4)
    assert pool.hides_from_s is not None
    assert 100.0 < max(pool.spreads) <= MOST_SPREAD


def test_a_value_far_out_of_a_group_whose_collector_shows_it_moves_nothing() -> None:
    """Nothing in the counts tells that it shows in full; by the largest value alone nobody would hide anything."""
    every = absences(20, np.random.default_rng(3))
    counts = np.asarray(dense(map(Histogram.of, [some[some < SESSION_S] for some in every])))
    counts[0, int(np.searchsorted(EDGES_S, 90.0))] += 4
    longer = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, EDGES]
    assert SeenTogether.of_groups(longer, np.ones(20, dtype=np.bool_), EDGES).from_s == pytest.approx(TIMES_S[AT_45])
