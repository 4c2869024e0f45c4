"""The timeouts that are compared."""

import numpy as np
import pytest

from heartbeat_tuner.limits import grid


def test_all_can_be_written_and_lie_close_together() -> None:
    """Whole seconds, then whole steps, each less than a tenth more than the one before from ten seconds on."""
    values = grid.SETTABLE_S
    assert values[0] == 1.0
    assert (np.diff(values) > 0).all()
    assert (values == np.round(values)).all()
    long = values[values >= 10.0]
    assert (long[1:] / long[:-1]).max() <= 1.1 + 1e-9


@pytest.mark.parametrize(
    ("low_s", "high_s", "values"), [(9.5, 12.0, [10.0, 11.0, 12.0]), (9.2, 9.4, [9.4])], ids=["some", "none between"]
)
def test_those_between_two_limits_are_compared(low_s: float, high_s: float, values: list[float]) -> None:
    """Or the upper limit alone."""
    assert grid.settable(low_s, high_s).tolist() == values
