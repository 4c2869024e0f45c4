"""The same done for many, by processes, with a word now and then of how far it is."""

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from sandbox import progress


def each(pool: ProcessPoolExecutor, what: str, function: Any, asked: Sequence[Any]) -> list[Any]:
    """Return what a function makes of each, two at a time, and say how far it is."""
    found = []
    began = reported_s = time.monotonic()
    for item in pool.map(function, asked, chunksize=max(1, min(10, len(asked) // 20))):
        found.append(item)
        if time.monotonic() - reported_s > 10:  # noqa: PLR2004 - seconds between two lines
            reported_s = time.monotonic()
            progress.say("quality", f"{what}: {len(found)} of {len(asked)}")
    progress.say("quality", f"{what}: {len(asked)} in {time.monotonic() - began:.0f} s")
    return found
