"""What means and bounds say of what is likelier than not, and of what is sure."""

import numpy as np
import pytest

from heartbeat_tuner.decision.cost import cost_model
from heartbeat_tuner.decision.optimize.cost_points import CostPoint, SessionTable
from tests.support.questions import profile, question


def table(expected: list[float], upper: list[float]) -> SessionTable:
    """Return a table of as many sessions."""
    sessions_s = np.linspace(10.0, 60.0, len(expected))
    costs = cost_model.costs(profile(), sessions_s=sessions_s, interval_s=3.0, wait_s=0.5, poll_limit_s=300.0)
    within = np.full(sessions_s.size, fill_value=True)
    return SessionTable(question().current, costs, costs.net_per_day, np.array(expected), np.array(upper), within)


def point(expected: float, upper: float) -> CostPoint:
    """Return values with so many evictions a month."""
    return CostPoint(question().current, 100.0, 0.0, expected, upper, 43.0, 0.0, 1.0, 0.0)


@pytest.mark.parametrize(("expected", "upper", "is_met"), [(1.1, 8.2, True), (1.9, 8.7, True), (4.4, 13.0, False)])
def test_a_mean_above_the_objective_with_a_wide_bound_is_likelier_below_it(
    expected: float, upper: float, *, is_met: bool
) -> None:
    """Of the first two one a month is likelier not to be reached than reached."""
    assert (point(expected, upper).likeliest_per_month <= 1.0) is is_met


def test_an_objective_is_surely_missed_only_where_little_is_in_doubt() -> None:
    """Of 4.4 a month, at most 13, one a month is likely missed, and not surely."""
    found = table([1.1, 4.4, 4.4], [8.2, 13.0, 7.0]).least
    assert (found <= 1.0).tolist() == [True, True, False]


def test_what_is_known_is_as_likely_as_expected() -> None:
    """Without doubt all quantiles are the mean; none is none."""
    assert table([2.0, 0.0], [2.0, 0.0]).least.tolist() == pytest.approx([2.0, 0.0])
    assert point(2.0, 2.0).likeliest_per_month == pytest.approx(2.0)
    assert point(0.0, 0.0).likeliest_per_month == pytest.approx(0.0)
