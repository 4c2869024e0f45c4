"""What a table of sessions says of what is likelier than not."""

import numpy as np
import pytest

from heartbeat_tuner.decision.cost import cost_model
from heartbeat_tuner.decision.optimize.cost_points import SessionTable
from tests.support.questions import profile, question


def table(expected: list[float], upper: list[float]) -> SessionTable:
    """Return a table of as many sessions."""
    sessions_s = np.linspace(10.0, 60.0, len(expected))
    costs = cost_model.costs(profile(), sessions_s=sessions_s, interval_s=3.0, wait_s=0.5, poll_limit_s=300.0)
    within = np.full(sessions_s.size, fill_value=True)
    return SessionTable(question().current, costs, costs.net_per_day, np.array(expected), np.array(upper), within)


def test_a_mean_above_the_objective_with_a_wide_bound_is_likelier_below_it() -> None:
    """Of the first two one a month is likelier not to be reached; of the last two it is surely, and likely, missed."""
    found = table([1.1, 1.9, 4.4, 1.4], [8.2, 8.7, 13.0, 3.0]).likeliest
    assert (found <= 1.0).tolist() == [True, True, False, False]


def test_what_is_known_is_as_likely_as_expected() -> None:
    """Without doubt the median is the mean; none is none."""
    found = table([2.0, 0.0], [2.0, 0.0]).likeliest
    assert found.tolist() == pytest.approx([2.0, 0.0])
