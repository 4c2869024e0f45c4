"""How far the reading of days is, and how long it may yet take."""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

EVERY_S: Final = 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """A moment in the reading of days.

    Attributes:
        what: what is being read: a day, or a folder.
        steps_done: days that have been read.
        steps: that are to be read, at least 1.
        slices_done: of the one under way.
        slices: of it; 0 while it is not known.
        elapsed_s: since the reading began, in seconds.
    """

    what: str
    steps_done: int
    steps: int
    slices_done: int
    slices: int
    elapsed_s: float

    @property
    def share(self) -> float:
        """How much of it is done, 0 to 1."""
        within = self.slices_done / self.slices if self.slices else 0.0
        return min((self.steps_done + within) / self.steps, 1.0)

    @property
    def left_s(self) -> float | None:
        """How long it may yet take, in seconds, if days take alike; None while nothing is known."""
        return self.elapsed_s * (1 - self.share) / self.share if self.share > 0 else None


class Watch:
    """Asks Spark how far it is, and tells.

    Args:
        spark: the session that works.
        steps: how many days are to be read.
        tell: is called from a thread of its own, every half second and at each beginning.
    """

    def __init__(self, spark: SparkSession, steps: int, tell: Callable[[Progress], None]) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._steps = steps
        self._tell = tell
        self._began = time.monotonic()

    @contextlib.contextmanager
    def over(self, what: str, number: int) -> Iterator[None]:
        """Watch Spark reading the step of this number, from 0, until the block ends."""
        ended = threading.Event()
        watching = threading.Thread(target=self._watch, args=(what, number, ended), daemon=True)
        watching.start()
        try:
            yield
        finally:
            ended.set()
            watching.join()

    def _watch(self, what: str, number: int, ended: threading.Event) -> None:
        best = Progress(what, number, self._steps, 0, 0, 0.0)
        while True:
            done, slices = self._slices()
            seen = Progress(what, number, self._steps, done, slices, time.monotonic() - self._began)
            best = max(best, seen, key=lambda one: one.share)  # the last step of a job begins at none again
            self._tell(dataclasses.replace(best, elapsed_s=seen.elapsed_s))
            if ended.wait(EVERY_S):
                return

    def _slices(self) -> tuple[int, int]:
        """Return how many tasks are done, and how many there are, of what Spark does now."""
        done = slices = 0
        try:
            for stage in self._tracker.getActiveStageIds():
                info = self._tracker.getStageInfo(stage)
                if info is not None:
                    done, slices = done + info.numCompletedTasks, slices + info.numTasks
        except (Py4JError, OSError):  # whoever waits for the result will say it
            return 0, 0
        return done, slices
