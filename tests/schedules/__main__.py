"""Play the fault campaign: `python -m tests.schedules`.

Most of a schedule is waiting, so several processes play a part of the seeds each, every one with parts of its own.
Exits with status 1 if a schedule of any did harm.
"""

import subprocess
import sys
from pathlib import Path

from tests.schedules.at_once import LANES


def main() -> None:
    """Play all seeds."""
    words = (sys.executable, "-m", "pytest", "-q", "--capture=no", str(Path(__file__).parent), "-m", "at_once", "-k")
    running = [subprocess.Popen((*words, f"{lane} or person")) for lane in LANES]  # noqa: S603 - pytest
    statuses = [process.wait() for process in running]
    sys.exit(any(statuses))


if __name__ == "__main__":
    main()
