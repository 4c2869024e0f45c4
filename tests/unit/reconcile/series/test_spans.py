"""Spans of time: what was read, and what is missing."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.reconcile.series import spans
from heartbeat_tuner.reconcile.series.spans import Span, Spans

WITHIN = Span(0.0, 20.0)

some_spans = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda pair: Span(float(pair[0]), float(min(20, sum(pair)))))
).map(lambda several: [item for item in several if item.length_s > 0])


def moments(several: Spans) -> set[float]:
    """Return the whole seconds that spans cover: without a span's first, with its last."""
    return {float(at) for at in range(21) for item in several if item.after_s < at <= item.until_s}


def joined(several: list[Span]) -> Spans:
    """Return spans put together one by one."""
    found: Spans = ()
    for item in several:
        found = spans.with_span(found, item)
    return found


@given(some_spans)
def test_spans_put_together_cover_what_each_covers(several: list[Span]) -> None:
    """Nothing is lost or added, and none of them touches another."""
    found = joined(several)
    assert moments(found) == moments(tuple(several))
    assert all(item.until_s < other.after_s for item, other in itertools.pairwise(found))


@given(some_spans)
def test_what_is_missing_is_the_newest_stretch_that_nothing_covers(several: list[Span]) -> None:
    """It ends at the newest moment that is not covered, and begins where something is covered again."""
    found = joined(several)
    uncovered = {float(at) for at in range(1, 21)} - moments(found)
    missing = spans.newest_missing(found, WITHIN)
    assert (missing is None) == (not uncovered)
    if missing is not None:
        assert missing.until_s == max(uncovered)
        assert moments((missing,)) <= uncovered
        assert missing.after_s == 0.0 or missing.after_s not in uncovered


@given(some_spans, st.integers(0, 20))
def test_older_time_is_cut_off(several: list[Span], at_s: int) -> None:
    """What comes after stays."""
    found = joined(several)
    assert moments(spans.only_after(found, at_s)) == {moment for moment in moments(found) if moment > at_s}


@given(some_spans, st.integers(1, 20))
def test_reach_ends_at_the_first_hole(several: list[Span], until_s: int) -> None:
    """A record must not claim a time beyond it."""
    covered = moments(joined(several))
    reach_s = spans.reach_s(joined(several), until_s)
    assert (reach_s is None) == (float(until_s) not in covered)
    if reach_s is not None:
        assert reach_s not in covered
        assert {float(at) for at in range(round(reach_s) + 1, until_s + 1)} <= covered
