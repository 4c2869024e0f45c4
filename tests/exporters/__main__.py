"""`python -m tests.exporters [NAME...]`: play the story with these exporters, or all, and write their recordings.

Takes about five minutes for three exporters beside each other, and the machine's attention: it is no part of CI, which
replays what was recorded.
"""

import argparse
import itertools
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from sandbox import progress
from sandbox.errors import SandboxError
from tests.exporters.catalogue import EXPORTERS
from tests.exporters.stage import record

AT_A_TIME: Final = 3


def main() -> None:
    """Record what the command line names; exit with status 1 if one could not be recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.exporters", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPORTERS)}")
    parser.add_argument("--at-a-time", type=int, default=AT_A_TIME, help="stories beside each other")
    parser.add_argument("--keep", action="store_true", help="keep the logs and say where they are")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in EXPORTERS]
    if unknown:
        sys.exit(f"there is no exporter {unknown[0]!r}; there are {', '.join(EXPORTERS)}")
    chosen = [EXPORTERS[name] for name in asked.names or EXPORTERS]
    failed = []
    with ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="exporters-")
        if asked.keep:
            progress.say("exporters", f"logs are in {folder}")
        else:
            stack.callback(shutil.rmtree, folder)
        # The kernel ends a child with the thread that started it: these threads live as long as their stories.
        with ThreadPoolExecutor(asked.at_a_time) as threads:
            numbers = itertools.count(1)
            playing = {threads.submit(record, row, Path(folder), next(numbers)): row.name for row in chosen}
            for item in as_completed(playing):
                try:
                    written = item.result()
                except SandboxError as error:
                    failed.append(playing[item])
                    progress.say(playing[item], f"was not recorded: {error}")
                else:
                    size = sum(file.stat().st_size for file in written.folder.iterdir())
                    progress.say(written.name, f"recorded: {written.meta['series']} series, {size / 1000:.0f} kB")
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
