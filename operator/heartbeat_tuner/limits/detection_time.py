"""How late a crash may be noticed where nobody says it: the default of `maxDetectionTime`, by client library.

A session that is shorter than a handler takes evicts a member for its work where the heartbeat waits for handlers, as
KafkaJS' does. Of such groups hardly any can keep its members with a session of a minute (design note 0013).
"""

from datetime import timedelta
from typing import Final

from heartbeat_tuner.clients.client import Client

USUAL: Final = timedelta(seconds=60)
"""Kafka's own default session is 45 s; this leaves room above it."""

BEHIND_HANDLERS: Final = timedelta(minutes=5)
"""As long as Kafka allows between two polls by default (max.poll.interval.ms): there a slow handler is no failure."""


def usual(client: Client) -> timedelta:
    """Return how late a crash may be noticed in a group of a client library.

    Args:
        client: its card.
    """
    return BEHIND_HANDLERS if client.handler_delays_beat else USUAL
