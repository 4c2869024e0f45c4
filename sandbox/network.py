"""Loopback addresses and ports for the parts."""

import socket
from typing import Final

LOOPBACK: Final = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return `count` different TCP ports of 127.0.0.1 that were free a moment ago.

    All are held open together while choosing, so that they differ. Another program may still take one before its
    user does; parts report such a clash in their log and readiness check.
    """
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def answers(port: int, host: str = LOOPBACK) -> bool:
    """Whether something accepts TCP connections there."""
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False
