"""The commit that a release is made from."""

import dataclasses
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[1]


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """The files of one commit, apart from the checkout.

    Attributes:
        commit: its id.
        epoch_s: when it was committed, in seconds since 1970: what stands in a release instead of the time of the day.
        folder: where its files are.
        left_out: what the checkout has beside it: files that are changed, or not committed.
    """

    commit: str
    epoch_s: int
    folder: Path
    left_out: tuple[str, ...] = ()


def export(folder: Path, *, checkout: Path = CHECKOUT) -> Source:
    """Write the files of the newest commit into a folder.

    Args:
        folder: an empty folder, or one to be made.
        checkout: a clone of the project.
    """
    folder.mkdir(parents=True, exist_ok=True)
    commit, epoch = _git(checkout, "log", "-1", "--format=%H %ct").decode().split()
    with tarfile.open(fileobj=BytesIO(_git(checkout, "archive", "--format=tar", commit))) as tar:
        tar.extractall(folder, filter="data")
    changed = _git(checkout, "status", "--porcelain").decode().splitlines()
    return Source(commit, int(epoch), folder, tuple(line[3:] for line in changed))


def _git(checkout: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", checkout, *words], stdout=subprocess.PIPE, check=True, timeout=60).stdout
