"""Play the fault campaign, or what is left of it: `python -m tests.schedules`.

Most of a schedule is waiting, so several processes play a part of the seeds each, every one with parts of its own.
Exits with status 1 if a schedule of any did harm.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

from sandbox import progress
from tests.schedules import results
from tests.schedules.at_once import SEEDS

PROCESSES: Final = 4

_FILE: Final = Path(__file__).with_name("test_at_once.py")
_OF_A_SEED: Final = f"{_FILE}::test_nothing_that_happens_at_once_does_harm[seed{{}}]"
_UNDISTURBED: Final = f"{_FILE}::test_what_a_person_took_back_stays_so"


def main() -> None:
    """Play all seeds that are left."""
    text = results.RESULT.read_text() if results.RESULT.exists() else ""
    seeds = results.seeds_left(text, results.operator_tree())
    if len(seeds) == len(SEEDS):
        results.RESULT.unlink(missing_ok=True)
    progress.say("fault-campaign", f"{len(seeds)} of {len(SEEDS)} schedules have to be played")
    words = (sys.executable, "-m", "pytest", "-q", "--capture=no", "-m", "at_once", _UNDISTURBED)
    shares = [seeds[place::PROCESSES] for place in range(min(PROCESSES, len(seeds)))]
    running = [subprocess.Popen((*words, *map(_OF_A_SEED.format, share))) for share in shares]  # noqa: S603 - pytest
    statuses = [process.wait() for process in running]
    sys.exit(any(statuses))


if __name__ == "__main__":
    main()
