"""How a run of `fit` is followed: one line that moves on a terminal, JSON lines elsewhere; both on stderr."""

import sys
import time
from datetime import date, timedelta
from typing import Final, TextIO

import structlog

from heartbeat_tuner.cli.wording import WIDTH
from heartbeat_tuner.domain import durations
from heartbeat_tuner.fitting.reading_progress import Progress

_ERASE: Final = "\r\x1b[K"


class JsonLines:
    """One line for each stage and each day."""

    def __init__(self) -> None:
        self._log = structlog.get_logger()
        self._began = time.monotonic()

    def stage(self, name: str, **facts: object) -> None:
        """Log that a stage has ended."""
        self._log.info(name, seconds=self._lap(), **facts)

    def day(self, day: date, *, done: int, days: int) -> None:
        """Log that a day was read; the stage's own time goes on."""
        self._log.info("day", day=day.isoformat(), done=done, days=days)

    def progress(self, at: Progress) -> None:
        """Say nothing: nobody looks."""

    def _lap(self) -> float:
        now = time.monotonic()
        took, self._began = now - self._began, now
        return round(took, 3)


class Terminal:
    """One line that is written over again, and one that stays for each stage."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._values = 0

    def stage(self, name: str, **facts: object) -> None:
        """Leave a line that says what a stage came to."""
        sentence = ", ".join(f"{value:,} {fact}" for fact, value in facts.items() if value not in {0, None})
        self._stream.write(f"{_ERASE}{name}: {sentence or 'nothing'}\n")
        self._stream.flush()

    def day(self, day: date, *, done: int, days: int) -> None:
        """Say nothing: the line moves by itself."""

    def progress(self, at: Progress) -> None:
        """Write over the line."""
        self._stream.write(f"{_ERASE}{line(at)[: WIDTH - 1]}")
        self._stream.flush()


def line(at: Progress) -> str:
    """Return how far the reading is, as a line."""
    slices = f", slice {at.slices_done} of {at.slices}" if at.slices else ""
    step = f" (day {at.steps_done + 1} of {at.steps})" if at.steps > 1 else ""
    left = "" if at.left_s is None else f", about {durations.show(timedelta(seconds=max(1, round(at.left_s))))} left"
    return f"reading {at.what}{step}{slices}{left}"
