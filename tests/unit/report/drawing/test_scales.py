"""Places and round values of an axis."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.report.drawing import scales
from heartbeat_tuner.report.drawing.scales import Scale


@given(low=st.floats(1e-9, 1e12), ratio=st.floats(1.001, 1e9), is_log=st.booleans())
def test_an_axis_has_a_few_round_values_within_it(*, low: float, ratio: float, is_log: bool) -> None:
    """At least one, unless it is so short that none is round; never so many that they overlap."""
    scale = Scale(low, low * ratio, 0.0, 100.0, is_log=is_log)
    ticks = scale.ticks()
    assert len(ticks) <= 16
    assert ticks == sorted(ticks)
    assert all(low * 0.99 <= tick <= low * ratio * 1.01 for tick in ticks)
    assert all(0.0 <= scale.place(tick) <= 100.0 for tick in ticks)


@pytest.mark.parametrize(("high", "top"), [(0.0, 1.0), (0.07, 0.08), (1.0, 1.0), (11, 15), (96, 100), (101, 150)])
def test_a_linear_axis_ends_at_a_round_value(high: float, top: float) -> None:
    """The highest value is on it."""
    assert scales.linear(high, 0, 1).high == pytest.approx(top)


@pytest.mark.parametrize(
    ("value_s", "words"),
    [
        (0.5, "0.5 s"),
        (45, "45 s"),
        (60, "1 min"),
        (90, "90 s"),
        (120, "2 min"),
        (7200, "2 h"),
        (86400, "1 d"),
        (259200, "3 d"),
    ],
)
def test_times_are_shown_in_the_unit_that_fits(value_s: float, words: str) -> None:
    """As an axis labels them."""
    assert scales.seconds_label(value_s) == words


def test_a_value_outside_is_drawn_at_the_edge() -> None:
    """No line leaves the figure."""
    scale = Scale(1.0, 100.0, 50.0, 400.0, is_log=True)
    assert (scale.place(0.0), scale.place(10.0), scale.place(1e9)) == (50.0, 225.0, 400.0)
