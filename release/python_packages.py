"""The Python packages: source and wheel. The wheel is the light core; `[operator]` and `[fit]` are its extras."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from release.source import Source

_TIMEOUT_S: Final = 300


def make(source: Source, folder: Path) -> list[Path]:
    """Build the source distribution and the wheel into a folder; return their paths."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--target", "wheel", "--directory", folder],
        cwd=source.folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch_s)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=_TIMEOUT_S,
    )
    return sorted([*folder.glob("*.tar.gz"), *folder.glob("*.whl")])
