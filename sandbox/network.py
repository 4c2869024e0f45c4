"""Loopback addresses and ports for the parts, and what answers there."""

import socket
import urllib.error
import urllib.request
from typing import Final

LOOPBACK: Final = "127.0.0.1"
PAGE_TIMEOUT_S: Final = 2.0


def free_ports(count: int) -> list[int]:
    """Return `count` different TCP ports of 127.0.0.1 that were free a moment ago.

    All are held open together while choosing, so that they differ. Another program may still take one before its
    user does; parts report such a clash in their log and readiness check.
    """
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for item in sockets:
            item.bind((LOOPBACK, 0))
        return [socket.getsockname()[1] for socket in sockets]
    finally:
        for item in sockets:
            item.close()


def answers(port: int, host: str = LOOPBACK) -> bool:
    """Whether something accepts TCP connections there."""
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False


def page(port: int, path: str, *, timeout_s: float = PAGE_TIMEOUT_S) -> str:
    """Return what a page on loopback says; empty when nobody answers, or not well, or not in time."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}", timeout=timeout_s) as got:
            body: bytes = got.read()
            return body.decode()
    except (urllib.error.URLError, OSError):
        return ""
