"""Archives that are the same whenever the same files are packed: no owners, no times, one order."""

import gzip
import io
import tarfile
from collections.abc import Iterable
from typing import NamedTuple


class Entry(NamedTuple):
    """A file of an archive: its path there, its content, and its mode."""

    path: str
    content: bytes
    mode: int = 0o644


def tar_gz(entries: Iterable[Entry], *, level: int = 9) -> bytes:
    """Return a compressed tar of the files, ordered by path."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=level, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for entry in sorted(entries):
            header = tarfile.TarInfo(entry.path)
            header.size, header.mode = len(entry.content), entry.mode
            tar.addfile(header, io.BytesIO(entry.content))
    return packed.getvalue()
