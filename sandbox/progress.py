"""Progress lines with elapsed time: nothing here runs silently for more than two seconds.

Every line reads `[ 12.3 s] kafka: what is going on`, counted from the start of the process, so that a log and a
terminal tell the same story. Used by every part; knows none of them.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Final

QUIET_S: Final = 2.0
"""Work shorter than this needs no line of its own."""

_started = time.monotonic()
_lock = threading.Lock()


def say(part: str, text: str) -> None:
    """Print one progress line for `part`."""
    with _lock:
        print(f"[{time.monotonic() - _started:6.1f} s] {part}: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def step(part: str, doing: str, *, every_s: float = 15.0) -> Iterator[None]:
    """Report long work: a first line after `QUIET_S`, one every `every_s` after that, and the total at the end.

    Work that ends sooner prints nothing. A failure is left to the caller to report.
    """
    began = time.monotonic()
    ended = threading.Event()

    def report() -> None:
        if ended.wait(QUIET_S):
            return
        say(part, f"{doing} …")
        while not ended.wait(every_s):
            say(part, f"{doing} … {time.monotonic() - began:.0f} s so far")

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()
    took = time.monotonic() - began
    if took > QUIET_S:
        say(part, f"{doing}: done in {took:.1f} s")
