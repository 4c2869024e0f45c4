"""How far the reading is, and what a terminal shows of it."""

import io
from datetime import date

from heartbeat_tuner.cli.fit_run.fit_progress import Terminal, line
from heartbeat_tuner.fitting.reading_progress import Progress


def test_the_rest_takes_as_long_as_what_was_done_says() -> None:
    """Half of the second of four days after 90 s."""
    at = Progress("2026-11-19", 1, 4, 8, 16, 90.0)
    assert at.share == 0.375
    assert at.left_s == 150.0
    assert line(at) == "reading 2026-11-19 (day 2 of 4), slice 8 of 16, about 2m30s left"


def test_nothing_is_guessed_at_the_beginning() -> None:
    """Spark has not said how many slices there are."""
    at = Progress("lake", 0, 1, 0, 0, 2.0)
    assert (at.share, at.left_s) == (0.0, None)
    assert line(at) == "reading lake"


def test_a_terminal_s_line_is_replaced_by_what_the_stage_came_to() -> None:
    """Nothing of it stays behind."""
    stream = io.StringIO()
    terminal = Terminal(stream)
    terminal.progress(Progress("2026-11-19", 0, 2, 1, 4, 3.0))
    terminal.day(date(2026, 11, 19), done=1, days=2)
    terminal.stage("read", days=2, empty=0, failed=0, values=12_345)
    assert stream.getvalue().rpartition("\r\x1b[K")[2] == "read: 2 days, 12,345 values\n"
