"""Asks Spark how far it is, while another thread waits for what it does."""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from heartbeat_tuner.fitting.reading_progress import Progress

EVERY_S: Final = 0.5


class Watch:
    """Tells how far a session is.

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
            best = max(best, seen, key=lambda progress: progress.share)  # the last step of a job begins at none again
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
        except (Py4JError, OSError):  # the call that waits for the result says so
            return 0, 0
        return done, slices
