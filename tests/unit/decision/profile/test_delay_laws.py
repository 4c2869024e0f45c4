"""Laws of times from a fit's few numbers: what they say, and that they are laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heartbeat_tuner.decision.profile import delay_laws
from heartbeat_tuner.models.failure_profile import FailureProcess
from heartbeat_tuner.models.group_model import EarlierTail, QuantityModel
from heartbeat_tuner.tails import shape_free
from heartbeat_tuner.tails.law import TIMES_S, Law
from heartbeat_tuner.tails.model import Rejected, RejectionReason
from heartbeat_tuner.tails.pool import Pool
from tests.support import fitted, worlds

SURE = fitted.tail(share_log_sd=1e-4, covariance=(1e-8, 0.0, 1e-8))
BAD = Rejected(RejectionReason.BAD_FIT, "Anderson-Darling 9.1")


@st.composite
def quantities(draw: st.DrawFn) -> QuantityModel:
    """Return quantities as a document may tell of them, reasonable or not, with a value at least."""
    threshold_s = draw(st.floats(1e-4, 1e4))
    values = draw(st.integers(1, 10**8))
    tail = fitted.tail(
        threshold_s=threshold_s,
        share=draw(st.floats(1e-9, 1)),
        share_log_sd=draw(st.floats(0, 2)),
        shape=draw(st.floats(-2, 0.99)),
        log_scale=draw(st.floats(-10, 10)),
    )
    return QuantityModel(
        values=values,
        member_days=draw(st.floats(1e-2, 1e5)),
        group_days=draw(st.floats(1e-2, 1e3)),
        largest_s=draw(st.floats(1e-4, 2**21)),
        tail=draw(st.just(tail) | st.just(BAD)),
        median_s=draw(st.none() | st.floats(0, 1e5)),
    )


def happening(quantity: QuantityModel, *, least_s: float = 0.0) -> FailureProcess:
    """Return what happens to members, where something does."""
    found = delay_laws.failure_process(quantity, quantity.member_days, least_s=least_s)
    assert found is not None
    return found


@given(quantities(), st.floats(0, 100))
def test_what_is_longer_is_rarer_and_a_bound_is_never_under_the_mean(quantity: QuantityModel, least_s: float) -> None:
    """At every time, whatever a model says; the law's own table checks that it falls."""
    found = happening(quantity, least_s=least_s)
    assert found.upper_per_day is not None
    assert np.all(np.diff(found.upper_per_day) <= 1e-9 * found.upper_per_day[:-1])
    assert np.all(found.upper_per_day >= found.per_day * found.law.exceedances * (1 - 1e-9))
    assert math.isfinite(found.law.mean_s)


def test_above_its_threshold_the_law_is_the_tails() -> None:
    """Within 2 % of the exact posterior mean, as near as tables go; and as often a member-day as values are."""
    quantity = fitted.quantity(median_s=0.1)
    found = happening(quantity)
    assert found.per_day == pytest.approx(quantity.values / quantity.member_days)
    for time_s in (1.3, 2.0, 5.0, 10.0, 30.0):
        assert found.law.sf(time_s) == pytest.approx(float(fitted.TAIL.sf(time_s)[0]), rel=0.02)


def test_half_of_the_values_exceed_the_median() -> None:
    """And the law goes on falling from there to the threshold."""
    found = happening(fitted.quantity(median_s=0.1))
    assert found.law.sf(0.1) == pytest.approx(0.5, rel=0.01)
    assert found.law.sf(0.3) == pytest.approx(0.5 * (0.01 / 0.5) ** (math.log(3) / math.log(12.7)), rel=0.03)
    assert found.law.mean_s < 0.3


@pytest.mark.parametrize("median_s", [0.0, 5e-324, 1e-4])
def test_a_median_of_hardly_any_time_is_as_short_as_tables_go(median_s: float) -> None:
    """Bucket 0 holds zero as well: half of the values are no happening at all."""
    found = happening(fitted.quantity(median_s=median_s))
    assert found.per_day == pytest.approx(480.0)
    assert found.per_day * found.law.sf(5e-3) == pytest.approx(960 * 0.5 * 10**-0.5, rel=0.02)


def test_without_a_median_a_tail_goes_on_as_it_begins() -> None:
    """A model that an older version fitted: at the threshold the line has the tail's own slope."""
    found = happening(fitted.quantity(tail=SURE))
    just_below, at, just_above = np.log(found.law.sf(SURE.threshold_s * np.array([0.9, 1.0, 1.1])))
    assert (just_above - at) / math.log(1.1) == pytest.approx((at - just_below) / -math.log(0.9), rel=0.05)


def test_beyond_the_largest_value_nobody_knows_the_shape() -> None:
    """One in the time watched, falling slowly: the bound where the fit's own is lower."""
    quantity = fitted.quantity(tail=fitted.tail(share=1e-9), largest_s=20.0)
    found = happening(quantity)
    assert found.upper_per_day is not None
    bound = np.interp(40.0, TIMES_S, found.upper_per_day)
    assert bound == pytest.approx(shape_free.beyond_per_day(40.0, 20.0, quantity.member_days)[0], rel=0.01)
    seen = np.interp(15.0, TIMES_S, found.upper_per_day)
    assert seen == pytest.approx((1 + 1.645 + 1.35) / quantity.member_days, rel=0.01)


def test_of_values_that_all_ended_one_beyond_the_largest_is_expected_at_most() -> None:
    """A law of a million short ones expects forty there, and none was; the bound stays, and so does what was seen."""
    heavy = fitted.quantity(tail=fitted.tail(share=0.05, shape=0.45), values=1_000_000, largest_s=20.0)
    days = heavy.member_days
    cut, whole = delay_laws.failure_process(heavy, days), delay_laws.failure_process(heavy, days, all_end=True)
    assert cut is not None
    assert whole is not None
    assert rate(cut, 20.5) * days > 5.0
    assert 0.5 < rate(whole, 20.5) * days <= 1.0
    assert rate(whole, 15.0) == pytest.approx(rate(cut, 15.0))
    assert whole.upper_per_day is not None
    assert cut.upper_per_day is not None
    assert np.array_equal(whole.upper_per_day, cut.upper_per_day)
    light = fitted.quantity(tail=fitted.tail(share=1e-9), largest_s=20.0)
    known = delay_laws.failure_process(light, light.member_days, all_end=True)
    assert known is not None
    assert np.array_equal(known.law.exceedances, happening(light).law.exceedances)


def test_a_bound_is_the_fits_where_that_is_worse() -> None:
    """A heavy tail of which little is known."""
    vague = fitted.tail(shape=0.5, covariance=(0.04, 0.0, 0.04))
    quantity = fitted.quantity(tail=vague)
    found = happening(quantity)
    assert found.upper_per_day is not None
    bound = np.interp(30.0, TIMES_S, found.upper_per_day)
    assert bound == pytest.approx(found.per_day * vague.exceedance_upper(30.0)[0], rel=0.02)


def test_a_shorter_time_is_bounded_no_lower() -> None:
    """The fit's doubt begins at its threshold: what is shorter is no surer."""
    vague = fitted.tail(share_log_sd=1.0)
    upper = happening(fitted.quantity(tail=vague, median_s=0.1)).upper_per_day
    assert upper is not None
    just_below, at = np.interp(vague.threshold_s * np.array([0.9, 1.03]), TIMES_S, upper)
    assert just_below >= at


def test_more_of_the_same_is_no_less_certain() -> None:
    """Ten times the time and the values, the same law: every bound is as low or lower."""
    little = fitted.quantity(values=4_032, member_days=4.2, group_days=1.4)
    much = fitted.quantity(values=40_320, member_days=42.0, group_days=14.0)
    low, high = happening(much).upper_per_day, happening(little).upper_per_day
    assert low is not None
    assert high is not None
    assert np.all(low <= high * (1 + 1e-9))


def test_values_without_a_tail_still_tell_the_largest() -> None:
    """Seven values are too few for a fit: the largest is one in seven, and bounded as a count of one."""
    found = happening(fitted.quantity(tail=BAD, values=7, largest_s=8.0, median_s=2.0))
    assert found.per_day == pytest.approx(7 / 42)
    assert found.law.sf(2.0) == pytest.approx(0.5, rel=0.02)
    assert found.law.sf(8.0) == pytest.approx(1 / 7, rel=0.05)
    assert found.law.sf(16.0) == pytest.approx(2**-2.5 / 7, rel=0.05)


@pytest.mark.parametrize(
    "quantity",
    [fitted.quantity(tail=BAD, values=0, largest_s=None), fitted.quantity(tail=BAD, largest_s=None)],
    ids=["nothing seen", "no largest"],
)
def test_what_was_not_seen_is_no_happening(quantity: QuantityModel) -> None:
    """Watched in vain, or told by somebody who forgot the largest."""
    assert delay_laws.failure_process(quantity, 42.0) is None


def test_short_times_do_not_count() -> None:
    """Only what lasts a second: as many as that, and each lasts that long at least."""
    quantity = fitted.quantity(median_s=0.01)
    every, long = happening(quantity), happening(quantity, least_s=2.0)
    assert long.per_day == pytest.approx(every.per_day * every.law.sf(2.0), rel=0.01)
    assert long.law.sf(1.9) == pytest.approx(1.0)
    assert long.per_day * long.law.sf(7.0) == pytest.approx(every.per_day * every.law.sf(7.0), rel=0.01)
    assert long.upper_per_day is not None
    assert every.upper_per_day is not None
    assert long.upper_per_day[0] == pytest.approx(np.interp(2.0, TIMES_S, every.upper_per_day))


@pytest.mark.parametrize("median_s", [0.05, 0.4, 3.0, 12.0, 50.0])
def test_the_largest_gap_of_a_block_is_as_it_was_seen(median_s: float) -> None:
    """From gaps between polls to blocks and back: the law of one gap is found again."""
    gaps = stats.lognorm(0.6, scale=median_s)
    seen_s = float(gaps.ppf(0.5 ** (gaps.mean() / 90.0)))
    assert delay_laws.handlers(seen_s).quantile(0.5) == pytest.approx(median_s, rel=0.03)


def test_a_gap_that_is_longer_than_its_block_is_the_gap() -> None:
    """There is one in a block at most."""
    assert delay_laws.handlers(200.0).quantile(0.5) == pytest.approx(200.0, rel=0.02)


def test_gaps_of_no_time_at_all_are_short() -> None:
    """Bucket 0 holds zero as well."""
    assert delay_laws.handlers(0.0).mean_s < 1e-3


def test_a_kept_tail_has_the_rate_of_its_own_days() -> None:
    """The newest fit has none, and saw few values: 1,000 a day of the group were seen when it had one."""
    stored = EarlierTail(fitted.TAIL, 1000.0, fitted.UNTIL, fitted.UNTIL, worlds.NOW)
    found = happening(fitted.quantity(tail=BAD, kept=stored, values=5))
    assert found.per_day == pytest.approx(1000 * 14 / 42)


POOL = Pool(1e9, 20, (3.0, 10.0, 30.0), (0.5, 0.05, 0.01), (1.0, 1.0, 1.0))
LONG_S = 1e6
FREEZES = FailureProcess(20.0, Law.lognormal(0.2, 0.6))


def rate(process: FailureProcess, time_s: float) -> float:
    """Return how often a day it lasts longer."""
    return process.per_day * float(process.law.sf(time_s))


def usual(time_s: float) -> float:
    """Return how often a day groups of the pool exceed a time."""
    return float(POOL.posterior(np.array([time_s]), np.zeros(1), 0.0)[0][0])


def test_own_and_pool_weigh_the_same_when_as_many_events_are_behind_them() -> None:
    """One of the pool's, whose spread is 1, and one that the group is expected to have seen."""
    own = FailureProcess(0.1, Law.lognormal(20.0, 0.6))
    for time_s in (4.0, 10.0, 25.0, 60.0):
        alone, others = rate(own, time_s), usual(time_s)
        days = 1.0 / others
        together = delay_laws.pooled(own, POOL, days, largest_s=LONG_S, whole=True)
        assert rate(together, time_s) == pytest.approx((alone + others) / 2, rel=0.01)
        nothing, much = (delay_laws.pooled(own, POOL, days, largest_s=LONG_S, whole=True) for days in (0.0, 1e9))
        assert rate(nothing, time_s) == pytest.approx(others, rel=0.01)
        assert rate(much, time_s) == pytest.approx(alone, rel=0.01)


def test_beyond_its_largest_value_a_group_saw_nothing() -> None:
    """However heavy its law: the pool, and the days without any, say what is there."""
    own = FailureProcess(0.1, Law.lognormal(20.0, 0.6))
    found = delay_laws.pooled(own, POOL, 100.0, largest_s=15.0, whole=True)
    assert rate(found, 20.0) == pytest.approx(1 / (1 / usual(20.0) + 100.0), rel=0.01)
    assert rate(found, 12.0) == pytest.approx((1 + 100 * rate(own, 12.0)) / (1 / usual(12.0) + 100.0), rel=0.01)


def test_without_values_of_its_own_the_pool_speaks_alone() -> None:
    """The days without any count; nothing shorter than its first time is known."""
    found = delay_laws.pooled(FailureProcess(0.0, Law.constant(0.0)), POOL, 2.0, largest_s=0.0, whole=True)
    assert found.per_day == pytest.approx(0.25, rel=0.02)
    assert found.law.sf(np.array([1.0, 10.0])) == pytest.approx([1.0, (1 / 22) / 0.25], rel=0.02)
    assert found.upper_per_day is not None
    assert found.upper_per_day[0] == pytest.approx(0.75, rel=0.02)


def test_what_is_usual_stays_the_groups_own() -> None:
    """A pool of rare freezes says nothing of short pauses, neither their number nor their length."""
    found = delay_laws.pooled(FREEZES, POOL, 1.0, largest_s=LONG_S, whole=True)
    for time_s in (0.0, 0.1, 0.3, 0.5):
        assert rate(found, time_s) == pytest.approx(rate(FREEZES, time_s), rel=1e-6)
    assert rate(found, 2.9) == pytest.approx(1 / (2 + 1), rel=0.02)


def test_where_long_values_may_not_show_a_bound_of_its_own_stays_where_it_is_higher() -> None:
    """Nobody's history says that there are none; where all show, the fleet's does."""
    high = FailureProcess(FREEZES.per_day, FREEZES.law, np.where(TIMES_S < 20.0, 30.0, 1e-6))
    hidden, shown = (
        delay_laws.pooled(high, POOL, 1.0, largest_s=LONG_S, whole=whole).upper_per_day for whole in (False, True)
    )
    assert hidden is not None
    assert shown is not None
    assert np.interp([15.0, 30.0], TIMES_S, hidden) == pytest.approx([30.0, np.interp(30.0, TIMES_S, shown)])
    assert np.interp(15.0, TIMES_S, shown) < 0.2
    assert shown[0] == hidden[0] == 30.0


@pytest.mark.parametrize("per_day", [0.05, 0.1, 0.2, 0.3, 0.6, 0.7, 3.0, 5.0, 7.0])
def test_a_pool_may_be_level(per_day: float) -> None:
    """Where nothing lies between two times, rounding must not make the longer one the more frequent."""
    found = delay_laws.pooled(
        FailureProcess(0.0, Law.constant(0.0)),
        Pool(100.0, 5, (3.0, 30.0), (per_day, per_day), (1.0, 1.0)),
        0.0,
        largest_s=0.0,
        whole=True,
    )
    assert rate(found, 20.0) == pytest.approx(per_day)


@given(
    quantities(),
    st.lists(st.floats(1e-3, 2**21), min_size=1, max_size=16, unique=True),
    st.floats(5e-324, 1e15),
    st.floats(1e-3, 1e3),
    st.floats(0, 1e5),
    st.booleans(),
)
def test_any_pool_that_a_document_may_hold_gives_a_law(
    quantity: QuantityModel,
    times: list[float],
    first: float,
    spread: float,
    days: float,
    whole: bool,  # noqa: FBT001 - hypothesis draws it
) -> None:
    """With a bound that is never under the mean, and falls."""
    rates = tuple(max(first / 3**place, 5e-324) for place in range(len(times)))
    pool = Pool(100.0, 5, tuple(sorted(times)), rates, (spread,) * len(times))
    for own in (happening(quantity), FailureProcess(0.0, Law.constant(0.0))):
        found = delay_laws.pooled(own, pool, days, largest_s=quantity.largest_s or 0.0, whole=whole)
        assert found.upper_per_day is not None
        assert np.all(np.diff(found.upper_per_day) <= 1e-9 * found.upper_per_day[:-1])
        assert np.all(found.upper_per_day >= found.per_day * found.law.exceedances * (1 - 1e-9))
