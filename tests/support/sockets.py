"""The sockets that this process has open: what a client leaves behind when it is closed.

TLS connections end with a farewell that the other side answers, and asyncio warns of a transport that is still there
when its loop is gone. How long the answer takes is the machine's business: it is waited for, not slept for.
"""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Final

_WITHIN_S: Final = 60.0
"""A server on a busy machine says farewell within seconds; asyncio itself gives up after 30 s."""


def open_sockets() -> frozenset[str]:
    """Return the sockets of this process, by the names that the kernel gives them."""
    links = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the folder itself, or one that was closed a moment ago
            links.add(str(entry.readlink()))
    return frozenset(link for link in links if link.startswith("socket:"))


async def none_but(before: frozenset[str]) -> None:
    """Let the loop go on until no socket is open that was not there before."""
    until_s = time.monotonic() + _WITHIN_S
    while left := open_sockets() - before:
        assert time.monotonic() < until_s, f"{len(left)} sockets are still open after {_WITHIN_S:g} s"
        await asyncio.sleep(0.02)
