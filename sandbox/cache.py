"""Where programs and downloads are kept between runs and between clones.

`HEARTBEAT_TUNER_SANDBOX_CACHE`, or `~/.cache/heartbeat-tuner/sandbox`. An entry is made in a scratch folder and renamed
into place, under a file lock, so that two runs share the work and a crash leaves no half entry.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from sandbox import progress
from sandbox.errors import ChecksumMismatchError

CACHE_VARIABLE: Final = "HEARTBEAT_TUNER_SANDBOX_CACHE"


def root() -> Path:
    """Return the cache folder; it need not exist yet."""
    configured = os.environ.get(CACHE_VARIABLE)
    return Path(configured) if configured else Path.home() / ".cache" / "heartbeat-tuner" / "sandbox"


def key(*parts: str | Path) -> str:
    """Return a short key for what an entry is made from: strings as they are, files by content."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, Path) else part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def path(name: str, entry_key: str) -> Path:
    """Return the folder of an entry, whether it has been made or not."""
    return root() / f"{name}-{entry_key}"


def entry(name: str, entry_key: str, make: Callable[[Path], None]) -> Path:
    """Return the folder `name-entry_key`, made by `make(scratch folder)` if it is not there.

    Args:
        name: what it is, for people who look into the cache.
        entry_key: from `key`; another key is another entry.
        make: fills the scratch folder; when it raises, nothing is kept.
    """
    final = path(name, entry_key)
    if final.is_dir():
        return final
    with lock(name):
        if final.is_dir():  # another run made it while this one waited
            return final
        scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root()))
        try:
            make(scratch)
            scratch.rename(final)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return final


def verify_sha256(folder: Path, pinned: Mapping[str, str]) -> None:
    """Check that `folder` holds exactly the pinned files with the pinned SHA-256 sums.

    Args:
        folder: looked at without its subfolders.
        pinned: file name to hexadecimal SHA-256.

    Raises:
        ChecksumMismatchError: names the first file that is missing, not pinned or different.
    """
    found = {path.name: path for path in folder.iterdir() if path.is_file()}
    for name in sorted(pinned.keys() | found.keys()):
        if name not in found:
            raise ChecksumMismatchError(f"{name} is pinned but was not downloaded into {folder}")
        if name not in pinned:
            raise ChecksumMismatchError(f"{name} was downloaded into {folder} but is not pinned")
        actual = hashlib.sha256(found[name].read_bytes()).hexdigest()
        if actual != pinned[name]:
            raise ChecksumMismatchError(f"{name}: SHA-256 is {actual}, pinned is {pinned[name]}")


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the lock `name` against every other run on this machine; say so when it has to be waited for."""
    root().mkdir(parents=True, exist_ok=True)
    with (root() / f".{name}.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress.step(name, "waiting for another run to finish with it"):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
