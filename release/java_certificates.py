"""Java's store of certificates without the time of day: the same certificates give the same file.

Debian makes `/etc/ssl/certs/java/cacerts` when it installs a Java, and notes for each certificate when it was added.
The Dockerfile runs this in the same step, by the base's own Python and without packages:
`python java_certificates.py FILE`. The format is that of Java's `sun.security.provider.JavaKeyStore` (JKS), version 2:
entries, and a SHA-1 of these with the store's password, which is public (`changeit`). The SHA-1 shows damage, no more.
"""

import hashlib
import struct
import sys
from pathlib import Path

PASSWORD = "changeit"  # noqa: S105 - Java's own for its public certificates
MAGIC, VERSION, CERTIFICATE = 0xFEEDFEED, 2, 2
HEAD = struct.Struct(">III")
"""Magic, version, and how many entries follow."""

ADDED_MS = 0
"""When each certificate is said to have been added, in milliseconds since 1970."""


def digest(store: bytes, password: str) -> bytes:
    """Return what follows the entries of a store."""
    return hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + store, usedforsecurity=False).digest()


def timeless(store: bytes, password: str = PASSWORD) -> bytes:
    """Return a store with the same certificates, in one order, all added at one time.

    Raises:
        ValueError: it is no JKS store, it holds keys, or its password is another.
    """
    content, checked = store[:-20], store[-20:]
    if len(store) < HEAD.size or digest(content, password) != checked:
        raise ValueError("not a JKS store with this password")
    magic, version, count = HEAD.unpack_from(content)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError(f"not a JKS store of version {VERSION}")
    entries, at = [], HEAD.size
    for _ in range(count):
        entry, at = _entry(content, at)
        entries.append(entry)
    written = HEAD.pack(MAGIC, VERSION, count) + b"".join(sorted(entries))
    return written + digest(written, password)


def _entry(content: bytes, begin: int) -> tuple[bytes, int]:
    """Return the entry that begins at an offset, without its time, and where the next begins."""
    (tag,) = struct.unpack_from(">I", content, begin)
    if tag != CERTIFICATE:
        raise ValueError("the store holds keys, not only certificates")
    name_end = _end(content, begin + 4, ">H")
    kind_begin = name_end + 8
    end = _end(content, _end(content, kind_begin, ">H"), ">I")
    return content[begin:name_end] + struct.pack(">Q", ADDED_MS) + content[kind_begin:end], end


def _end(content: bytes, begin: int, length: str) -> int:
    """Return where the bytes end whose number stands at an offset."""
    return begin + struct.calcsize(length) + int(struct.unpack_from(length, content, begin)[0])


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_bytes(timeless(path.read_bytes()))
