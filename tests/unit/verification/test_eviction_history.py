"""What looks of an hour add up to: the same history, however they overlap and whoever looks."""

import itertools
import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.verifications import MOST_EPISODES, MOST_LEFT_OUT, EvictionHistory
from heartbeat_tuner.verification import episodes, eviction_history
from heartbeat_tuner.verification.episodes import WITHIN_S, Stretch

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
NOW_S = NOW.timestamp()
VALUES = LivenessSettings(timedelta(seconds=45), timedelta(seconds=3), timedelta(seconds=1))
GROUP = ("main", "orders")
EMPTY = eviction_history.begun(VALUES, NOW, GROUP)

TIMES = st.lists(st.floats(NOW_S - 3_600, NOW_S + 20_000) | st.integers(-4, 66).map(lambda n: NOW_S + 300.0 * n))
MOMENTS = st.floats(NOW_S - 3_600, NOW_S + 20_000)
CRAZY = st.floats() | st.integers(-100, 1_000).map(lambda n: NOW_S + 450.0 * n)


def history(times_s: Sequence[float], left_out: Sequence[Stretch] = ()) -> EvictionHistory:
    """Return what is known of times and stretches, the stretches first."""
    known = EMPTY
    for since_s, until_s in left_out:
        known = eviction_history.left_out(known, since_s, until_s)
    return eviction_history.with_evictions(known, times_s)


def after(*hours: float) -> tuple[float, ...]:
    """Return moments so many hours after the history begins, in Unix seconds."""
    return tuple(NOW_S + 3_600.0 * hour for hour in hours)


def stretch(since_hours: float, until_hours: float) -> Stretch:
    """Return from and to, so many hours after the history begins, in Unix seconds."""
    return NOW_S + 3_600.0 * since_hours, NOW_S + 3_600.0 * until_hours


def assert_is_consistent(known: EvictionHistory) -> None:
    """Within its bounds and its time; episodes and stretches in order, and apart from each other."""
    begins_s = known.since.timestamp()
    assert len(known.episodes_s) <= MOST_EPISODES
    assert len(known.left_out) <= MOST_LEFT_OUT
    assert all(later >= earlier + WITHIN_S for earlier, later in itertools.pairwise(known.episodes_s))
    assert list(known.left_out) == episodes.merged(known.left_out)
    assert all(at_s >= begins_s for at_s in (*known.episodes_s, *itertools.chain(*known.left_out)))
    assert not any(since_s <= at_s < until_s for at_s in known.episodes_s for since_s, until_s in known.left_out)


def test_it_begins_with_nothing() -> None:
    """But with the values that are set."""
    assert EvictionHistory(NOW, VALUES, group=GROUP) == EMPTY


def test_evictions_begin_episodes() -> None:
    """Those before the history, and what is no number, do not."""
    seen = [*after(1, 0, -0.01, 0.1, 0.25), math.nan, math.inf, -math.inf, 1e300]
    assert history(seen).episodes_s == after(0, 0.25, 1)


@given(TIMES, TIMES)
def test_what_is_known_adds_nothing(times: list[float], others: list[float]) -> None:
    """The same object says that no status has to be written."""
    known = history(times)
    assert eviction_history.with_evictions(known, times[::-1]) is known
    both = eviction_history.with_evictions(known, [*times, *others])
    assert eviction_history.with_evictions(both, times) is both


@given(TIMES, st.lists(st.integers(0, 3_600), min_size=1, max_size=40), st.lists(MOMENTS, max_size=4), st.randoms())
def test_windows_that_overlap_give_the_history_of_a_single_pass(
    times: list[float], steps_s: list[int], bounds_s: list[float], random: Random
) -> None:
    """An hour is seen at each look, in any order; looks are an hour apart at most."""
    stretches = list(itertools.pairwise(sorted(bounds_s)))[::2]
    known = history((), stretches)
    looks = [
        *itertools.accumulate(steps_s, initial=NOW_S),
        *range(int(NOW_S + sum(steps_s)), int(NOW_S + 20_000), 3_600),
    ]
    for look in [*looks, NOW_S + 20_000]:
        window = [at_s for at_s in times if look - 3_600 <= at_s <= look]
        random.shuffle(window)
        known = eviction_history.with_evictions(known, window)
    assert known == history(times, stretches)
    outside = [at for at in times if at >= NOW_S and not any(since <= at < until for since, until in stretches)]
    assert list(known.episodes_s) == episodes.starts(outside).tolist()


def test_a_stretch_takes_the_episodes_that_began_in_it() -> None:
    """It holds its beginning and not its end; a later look may see the same evictions again."""
    known = eviction_history.left_out(history(after(1, 2, 3)), *stretch(1, 2))
    assert (known.episodes_s, known.left_out) == (after(2, 3), (stretch(1, 2),))
    assert eviction_history.with_evictions(known, after(1, 1.5)) is known


def test_stretches_that_touch_are_one() -> None:
    """A rollout is seen as it goes on, look by look."""
    known = history((), [stretch(1, 2), stretch(4, 5), stretch(2, 3)])
    assert known.left_out == (stretch(1, 3), stretch(4, 5))
    assert eviction_history.left_out(known, *stretch(1.5, 3)) is known


@pytest.mark.parametrize(
    ("since_s", "until_s"),
    [
        stretch(-2, -1),
        stretch(-1, 0),
        stretch(1, 1),
        stretch(2, 1),
        (NOW_S, math.inf),
        (math.nan, NOW_S + 1),
        (NOW_S, math.nan),
    ],
)
def test_what_is_no_stretch_of_the_history_changes_nothing(since_s: float, until_s: float) -> None:
    """Also one without an end: all evictions to come would be left out."""
    known = history(after(0, 1))
    assert eviction_history.left_out(known, since_s, until_s) is known


def test_a_stretch_that_began_before_the_history_is_cut() -> None:
    """What was before is not in it."""
    assert eviction_history.left_out(EMPTY, -math.inf, NOW_S + 60).left_out == ((NOW_S, NOW_S + 60),)


def test_trimming_drops_what_is_older() -> None:
    """And cuts the stretch across the new beginning."""
    known = history(after(0, 4, 5), [stretch(1, 3), stretch(0.5, 0.6), stretch(6, 7)])
    cut = eviction_history.trimmed(known, NOW + timedelta(hours=2))
    assert cut == EvictionHistory(NOW + timedelta(hours=2), VALUES, after(4, 5), (stretch(2, 3), stretch(6, 7)), GROUP)
    assert eviction_history.trimmed(cut, NOW) is cut
    assert eviction_history.trimmed(known, NOW + timedelta(hours=4)).episodes_s == after(4, 5)


@given(TIMES, st.lists(st.tuples(MOMENTS, MOMENTS), max_size=6), MOMENTS)
def test_a_trimmed_history_is_that_of_its_time(times: list[float], stretches: list[Stretch], at_s: float) -> None:
    """Nothing of it is lost, and nothing is invented."""
    at = datetime.fromtimestamp(at_s, UTC)
    known = history(times, stretches)
    cut = eviction_history.trimmed(known, at)
    assert_is_consistent(cut)
    assert cut.since == max(at, NOW)
    assert set(cut.episodes_s) == {begun_s for begun_s in known.episodes_s if begun_s >= at.timestamp()}


def test_more_episodes_than_it_holds_make_it_begin_later() -> None:
    """Just after the last that does not fit: what it says of its time is still true."""
    times = after(*(0.25 * number for number in range(MOST_EPISODES + 3)))
    known = history(times, [stretch(0.1, 0.2), stretch(0.6, 0.7), stretch(3.1, 3.2)])
    assert known.episodes_s == times[3:]
    assert known.since == datetime.fromtimestamp(times[2] + 1, UTC)
    assert known.left_out == (stretch(0.6, 0.7), stretch(3.1, 3.2))
    assert eviction_history.with_evictions(known, times) is known


def test_of_more_stretches_than_it_holds_the_nearest_become_one() -> None:
    """Of the time between them nothing is learnt, and its episodes go; the history begins where it did."""
    hours = [10.0 * number for number in range(1, MOST_LEFT_OUT + 1)]
    stretches = [stretch(hour, hour + 0.25) for hour in hours] + [stretch(55, 55.25), stretch(306, 306.25)]
    known = EMPTY
    for since_s, until_s in stretches:
        known = eviction_history.with_evictions(known, after(0, 53, 57, 303, 308, 310.5))
        known = eviction_history.left_out(known, since_s, until_s)
    assert len(known.left_out) == MOST_LEFT_OUT
    assert {stretch(50, 55.25), stretch(306, 310.25)} < set(known.left_out)
    assert (known.since, known.episodes_s) == (NOW, after(0, 57, 303, 310.5))


def test_steps_of_scale_at_the_same_hours_of_each_day_erase_no_record() -> None:
    """Three a day for six weeks: the night, the longest time between two, is learnt from every day."""
    known = EMPTY
    for day in range(42):
        for hour in (8, 12, 18):
            known = eviction_history.left_out(known, *stretch(24 * day + hour, 24 * day + hour + 0.25))
    left_out_s = sum(until_s - since_s for since_s, until_s in known.left_out)
    assert (known.since, len(known.left_out)) == (NOW, MOST_LEFT_OUT)
    assert left_out_s < 42 * 86_400 / 3


def test_stretches_as_far_from_each_other_as_all_others_become_pairs() -> None:
    """One stretch that takes in its neighbours one after the other would be the end of the oldest record."""
    known = EMPTY
    for number in range(126):
        known = eviction_history.left_out(known, *stretch(8 * number, 8 * number + 0.25))
    assert max(until_s - since_s for since_s, until_s in known.left_out) <= 3_600 * 8.25


@pytest.mark.no_cover
@given(
    st.lists(st.integers(0, 5_000), min_size=MOST_LEFT_OUT, max_size=3 * MOST_LEFT_OUT),
    st.lists(st.integers(0, 5_000_000), max_size=100),
)
def test_stretches_that_became_one_are_known(starts: list[int], times: list[int]) -> None:
    """Whoever sees them again, and the evictions between them, has no status to write."""
    stretches = [(NOW_S + 1_000.0 * number, NOW_S + 1_000.0 * number + 700.0) for number in starts]
    seen = [NOW_S + at_s for at_s in times]
    known = eviction_history.with_evictions(history(seen, stretches), seen)
    assert_is_consistent(known)
    assert known.since == NOW
    for since_s, until_s in stretches:
        assert eviction_history.left_out(known, since_s, until_s) is known
    assert eviction_history.with_evictions(known, seen) is known


@given(st.lists(st.lists(CRAZY, max_size=400) | st.tuples(CRAZY, CRAZY), max_size=8))
def test_whatever_the_clock_says_it_stays_consistent(seen: list[list[float] | Stretch]) -> None:
    """Times of the future, of before the epoch, and what is no time."""
    known = EMPTY
    for times in seen:
        if isinstance(times, tuple):
            known = eviction_history.left_out(known, *times)
        else:
            known = eviction_history.with_evictions(known, times)
        assert_is_consistent(known)


@pytest.mark.parametrize("apart_s", [0.001, 1.0, 450.5, 901.0])
def test_a_million_times_hold_nobody_up(apart_s: float) -> None:
    """Nor do they fill the status. It takes a quarter of a second, and some more while coverage is measured."""
    times = [NOW_S + apart_s * number + number % 2 for number in range(1_000_000)]
    began = time.process_time()
    known = history(times)
    assert time.process_time() - began < 5.0
    assert_is_consistent(known)
