"""Whether cycles keep the pace of the interval."""

from datetime import timedelta

from structlog.testing import capture_logs

from heartbeat_tuner.reconcile.liveness.pace import Pace


def test_by_how_much_a_cycle_took_longer() -> None:
    """As long as the interval is in time."""
    pace = Pace(timedelta(seconds=60))
    assert [pace.overrun_s(duration_s) for duration_s in (59.0, 60.0, 75.5, 0.1)] == [0.0, 0.0, 15.5, 0.0]


def test_the_log_is_told_when_it_begins_and_when_it_ends() -> None:
    """One line each, however many cycles there are in between."""
    pace = Pace(timedelta(seconds=60))
    with capture_logs() as lines:
        for duration_s in (10.0, 61.0, 90.0, 200.0, 30.0, 20.0, 70.0):
            pace.overrun_s(duration_s)
    assert [(line["log_level"], line["cycle_s"]) for line in lines] == [
        ("warning", 61.0),
        ("info", 30.0),
        ("warning", 70.0),
    ]
