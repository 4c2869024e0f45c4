"""The steps of an installation's life as they go, and how long each took."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox import progress
from tests.support.documents import CHECKOUT

RESULT: Final = CHECKOUT / "build" / "install.json"


class Stopwatch:
    """Announces steps, and writes down how long they took.

    Args:
        result: the file that gets the seconds of the steps that are done, by name.
    """

    def __init__(self, result: Path) -> None:
        self._result = result
        self._seconds: dict[str, float] = {}
        self._result.parent.mkdir(exist_ok=True)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step; one that fails is not written down."""
        progress.say("install", f"── {name}")
        began = time.monotonic()
        yield
        self._seconds[name] = round(time.monotonic() - began, 1)
        self._result.write_text(json.dumps(self._seconds, indent=2) + "\n")


def summary(result: Path = RESULT) -> str:
    """Return in one line what a finished run took."""
    seconds: dict[str, float] = json.loads(result.read_text())
    steps = ", ".join(f"{name} {took:.0f} s" for name, took in seconds.items())
    return f"installed, used, upgraded, rolled back and removed in {sum(seconds.values()):.0f} s: {steps}"


if __name__ == "__main__":
    if not RESULT.exists():
        sys.exit("Nothing was installed; the lines above say why.")
    print(summary())  # noqa: T201 - the last line of `make e2e-install`
