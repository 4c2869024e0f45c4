"""The demo's figures are what the request log says."""

from pathlib import Path

import pytest

from sandbox import request_log
from sandbox.demo.measuring import GroupWatch
from sandbox.request_log import Heartbeat


def _beats(*arrivals_s: float, client_id: str = "pod") -> list[Heartbeat]:
    return [Heartbeat(at, client_id, "orders", "member", 1, request_log.UNKNOWN_MEMBER_ID) for at in arrivals_s]


def test_a_beat_refused_once_per_partition_is_one_beat() -> None:
    """Repetitions within a turn of the loop do not make the period look short."""
    beats = _beats(0.0, 0.01, 0.02, 5.0, 5.01, 10.0)
    assert request_log.beat_periods_s(beats, "pod") == pytest.approx([5.0, 5.0])


def test_a_group_without_heartbeats_has_no_period(tmp_path: Path) -> None:
    """What was not seen is not a number."""
    measured = GroupWatch(tmp_path / "absent.log", "orders").measure(0.0, 60.0)
    assert measured.beat_period_s is None
    assert measured.rebalances_per_minute == 0.0
