"""How much days scatter more than chance makes them: as it shows, and as it may be."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heartbeat_tuner.tails.gpd import Array
from heartbeat_tuner.verification import scatter

WEEKS = np.ones(14)
DAYS = st.lists(st.integers(0, 60), min_size=2, max_size=40)


def possible(days: Array) -> float:
    """Return what a record of these days leaves possible."""
    return scatter.possible(days, np.ones(days.size), int(days.sum()), float(days.size))


def test_even_days_show_no_scatter() -> None:
    """No record scatters less than chance makes it."""
    assert scatter.shown(np.full(14, 3.0), WEEKS) == 1.0
    assert scatter.shown(np.zeros(14), WEEKS) == 1.0
    assert scatter.shown(np.array([]), np.array([])) == 1.0


def test_what_shows_is_variance_over_mean_less_chance_and_half_more() -> None:
    """Of days one by one, as good days and bad ones alternate. What is beyond chance rests on rare days."""
    days = np.array([0.0, 10.0] * 7)
    excess = days.var(ddof=1) / days.mean() - 1
    beyond_chance = excess * excess / (excess + math.sqrt(2 / 13))
    assert scatter.shown(days, WEEKS) == pytest.approx(1 + 1.5 * beyond_chance)


def test_bad_days_that_follow_each_other_show_more() -> None:
    """A fortnight of one good and one bad week tells less than 14 days."""
    assert scatter.shown(np.array([0.0] * 7 + [10.0] * 7), WEEKS) > 20.0


def test_a_short_day_is_compared_with_its_own_exposure() -> None:
    """Half a day with half the episodes does not scatter; a day that was not watched is none."""
    days, exposure = np.array([4.0] * 9 + [2.0, 0.0]), np.array([1.0] * 9 + [0.5, 0.0])
    assert scatter.shown(days, exposure) == 1.0
    whole = scatter.possible(days[:-1], exposure[:-1], 38, 9.5)
    assert scatter.possible(days, exposure, 38, 9.5) == whole


def test_few_days_are_taken_to_scatter_as_days_do() -> None:
    """One day shows no scatter of its own, and a record of eight has to speak for itself."""
    usual = scatter.usual(10.0)
    assert scatter.shown(np.array([10.0]), np.ones(1)) > usual
    assert 1.0 < scatter.shown(np.full(4, 10.0), np.ones(4)) < usual
    assert scatter.shown(np.full(8, 10.0), np.ones(8)) == 1.0


def test_without_a_day_to_compare_days_may_be_as_usual() -> None:
    """And follow each other: a half of the rate more, times seven for a correlation of three quarters."""
    assert possible(np.array([3.0])) == pytest.approx(1 + 0.5 * 4.0 * 7.0)
    assert possible(np.zeros(10)) == pytest.approx(1 + 0.5 * 0.1 * 7.0)
    assert scatter.possible(np.array([]), np.array([]), 0, 0.0) == 1.0


def test_even_days_rule_out_much_where_they_are_busy_and_little_where_they_are_not() -> None:
    """By hand, with SciPy's chi-square: even days with 14 % of the scatter that chance makes, one day with the next."""
    days = np.array([8.0, 10.0, 12.0, 10.0] * 3 + [10.0, 10.0])
    single = days.var(ddof=1) / 10.0
    most = single * 13 / stats.chi2.ppf(0.025, 13)
    assert most < 1.0
    assert possible(days) == 1.0
    rare = np.array([0.0, 1.0] * 7)
    variation = 4 * 0.5 / 17
    together = -13 * 0.5
    correlation = (together + 7.5) / 10
    expected = 1 + variation * 8 / 14 * (1 + correlation) / (1 - correlation)
    assert possible(rare) == pytest.approx(expected)


def test_days_of_the_usual_kind_are_added_to_those_that_were_seen() -> None:
    """To a fortnight four, as far as it leaves them possible."""
    days = np.array([5.0, 15.0] * 7)
    single = days.var(ddof=1) / 10.0
    variation = (13 * (single - 1) / 10.0 + 4 * 0.5) / 17
    together, square = -13 * 2.5, 14 * 2.5
    correlation = max(0.0, (together + 7.5 * single) / (square * (single - 1) / single + 10 * single))
    expected = 1 + variation * 141 / 14 * (1 + correlation) / (1 - correlation)
    assert possible(days) == pytest.approx(expected)


def test_a_shorter_record_leaves_more_possible() -> None:
    """Four days instead of twelve of the same kind; to two days six are added, by hand."""
    pair = np.array([6.0, 14.0])
    single = 3.2
    variation = (1 * (single - 1) / 10.0 + 6 * 0.5) / 7
    together, square = -1.6, 3.2
    correlation = (together + 7.5 * single) / (square * (single - 1) / single + 10 * single)
    expected = 1 + variation * 21 / 2 * (1 + correlation) / (1 - correlation)
    assert possible(pair) == pytest.approx(expected)
    assert possible(np.array([5.0, 15.0, 10.0, 10.0])) > possible(np.array([5.0, 15.0, 10.0, 10.0] * 3))


def test_days_that_alternate_do_not_follow_each_other() -> None:
    """The same days in another order: two regimes, or one bad day in two."""
    assert possible(np.array([2.0] * 7 + [20.0] * 7)) > 3 * possible(np.array([2.0, 20.0] * 7))


@given(DAYS)
def test_what_is_possible_is_a_number_of_one_or_more(days: list[int]) -> None:
    """Whatever was seen."""
    for dispersion in (possible(np.array(days, dtype=float)), scatter.shown(np.array(days, float), np.ones(len(days)))):
        assert 1.0 <= dispersion < math.inf
