"""An event whose end nobody saw was longer than what it outlasted: by how much, those tell whose end was seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.tails import open_ends
from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.tails.histogram import BUCKETS, EDGES_S, bucket_of


def cut(values: Array, session_s: float) -> tuple[Array, Array]:
    """Return the counts of one group's values, those beyond a session cut off there, and how many these are."""
    counts, unended = np.zeros(BUCKETS), np.zeros(BUCKETS)
    np.add.at(counts, bucket_of(np.minimum(values, session_s)), 1.0)
    np.add.at(unended, bucket_of(np.full(int((values > session_s).sum()), session_s)), 1.0)
    return counts, unended


def longer_than(time_s: float, groups: list[tuple[Array, Array]]) -> Array:
    """Return how many values of each group are longer than a time."""
    counts, unended = (np.array(column) for column in zip(*groups, strict=True))
    return np.asarray(open_ends.longer(counts, unended)[:, np.searchsorted(EDGES_S, time_s)])


def test_groups_with_longer_sessions_tell_how_long_the_others_were_absent() -> None:
    """Counted as if they ended in the eviction, those of the group with S 20 s were none at 30 s."""
    values = np.random.default_rng(1).lognormal(np.log(8.0), 0.8, (2, 20_000))
    found = longer_than(30.0, [cut(values[0], 20.0), cut(values[1], 45.0)])
    assert found == pytest.approx((values > 30.6).sum(axis=1), rel=0.1)


def test_beyond_all_sessions_they_fall_as_what_nobody_has_seen() -> None:
    """As a Pareto tail of shape 0.4 does: heavier than delays are."""
    values = np.random.default_rng(1).lognormal(np.log(8.0), 0.8, 20_000)
    (found,) = longer_than(90.0, [cut(values, 45.0)])
    assert (values > 90.0).sum() < found < (values > 45.0).sum()
    assert found == pytest.approx((values > 45.0).sum() * 2.0**-2.5, rel=0.1)


def test_one_event_without_an_end_stays_one_for_all_that_it_outlasted() -> None:
    """Also where nothing but it was seen, and where what it outlasted is not known at all."""
    assert longer_than(30.0, [cut(np.array([60.0]), 40.0)]) == pytest.approx([1.0])
    nothing_known = np.zeros((1, BUCKETS))
    nothing_known[0, 0] = 1.0
    assert np.isfinite(open_ends.longer(nothing_known, nothing_known)).all()


@given(
    st.lists(st.tuples(st.lists(st.floats(0.01, 1_000.0), max_size=20), st.floats(1.0, 300.0)), min_size=1, max_size=5)
)
def test_longer_events_are_never_more_and_all_are_counted(groups: list[tuple[list[float], float]]) -> None:
    """Whatever sessions cut off: each event is longer than nothing, and none comes back at a later time."""
    cuts = [cut(np.array(values), session_s) for values, session_s in groups]
    counts, unended = (np.array(column) for column in zip(*cuts, strict=True))
    found = open_ends.longer(counts, unended)
    assert found[:, 0] == pytest.approx(counts.sum(axis=1))
    assert (np.diff(found, axis=1) <= 1e-9).all()
    assert (found >= np.cumsum((counts - unended)[:, ::-1], axis=1)[:, ::-1] - 1e-9).all()
