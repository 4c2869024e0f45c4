"""How far a rollout is: deadlines, crashes and pods that stay."""

from datetime import timedelta

import pytest

from heartbeat_tuner.domain.rollouts import Failing, Rollout, has_settled
from tests.support.worlds import NOW, seconds


@pytest.mark.parametrize(
    ("age_s", "restarts", "stays"),
    [(None, 0, False), (59, 0, False), (60, 0, True), (60, 1, True), (60, 2, False), (299, 9, False), (300, 2, True)],
)
def test_a_pod_has_settled_when_it_stayed_ready(age_s: float | None, restarts: int, stays: bool) -> None:  # noqa: FBT001 - a table's column
    """For longer where it crashed again and again."""
    assert has_settled(None if age_s is None else NOW - seconds(age_s), restarts, NOW) is stays


@pytest.mark.parametrize(
    ("rollout", "began_s", "overdue"),
    [
        (Rollout(), 599, False),
        (Rollout(), 600, True),
        (Rollout(exceeded=True), 1, True),
        (Rollout(progressed=NOW - seconds(10)), 10_000, False),
        (Rollout(progressed=NOW - seconds(10_000)), 10, False),
        (Rollout(deadline=timedelta(days=30)), 3_600, True),
    ],
)
def test_a_rollout_is_overdue_without_progress(rollout: Rollout, began_s: float, overdue: bool) -> None:  # noqa: FBT001 - a table's column
    """Counted from its begin or its last progress; no deadline is longer than an hour."""
    assert rollout.is_overdue(NOW - seconds(began_s), NOW) is overdue


def test_the_pod_that_crashes_is_named_before_one_that_waits() -> None:
    """And neither if it has stayed ready since."""
    waits, crashes = Failing("a", "waits", 0), Failing("b", "ends", 2)
    assert Rollout(failing=(waits, crashes)).worst(NOW) == crashes
    assert Rollout(failing=(waits,)).worst(NOW) == waits
    assert Rollout(failing=(waits,)).crashing(NOW) is None
    assert Rollout().worst(NOW) is None
    stayed = Failing("c", "ended once", 2, NOW - seconds(300))
    assert not stayed.is_crashing(NOW)
    assert Rollout(failing=(stayed,)).worst(NOW) is None
