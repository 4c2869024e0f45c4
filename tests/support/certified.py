"""Certificates as the webhook makes them, and a client that trusts them."""

import ssl
from datetime import UTC, datetime

from heartbeat_tuner.adapters.certificate import certificates
from heartbeat_tuner.adapters.certificate.certificates import Certificates
from sandbox.network import LOOPBACK


def fresh(old: Certificates | None = None, *, now: datetime | None = None) -> Certificates:
    """Return certificates of this machine's loopback address."""
    return certificates.renewed(old, [LOOPBACK], now=now or datetime.now(UTC))


def serving(made: Certificates) -> ssl.SSLContext:
    """Return the context of a server that shows them."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_into(context)
    return context


def trusting(bundle: bytes) -> ssl.SSLContext:
    """Return the context of a client that trusts a bundle."""
    return ssl.create_default_context(cadata=bundle.decode())
