"""A member of a group with confluent-kafka for Python, which hands out librdkafka's statistics."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import Consumer

STATISTICS_EVERY_MS: Final = 5000
_SETTINGS: Final = {
    "session.timeout.ms": "KAFKA_SESSION_TIMEOUT_MS",
    "heartbeat.interval.ms": "KAFKA_HEARTBEAT_INTERVAL_MS",
    "max.poll.interval.ms": "KAFKA_MAX_POLL_INTERVAL_MS",
    "group.protocol": "KAFKA_GROUP_PROTOCOL",
}


def consume(on_statistics: Callable[[str], None]) -> None:
    """Consume until told to end.

    Args:
        on_statistics: gets librdkafka's statistics, JSON, every `STATISTICS_EVERY_MS` - while messages are polled.
    """
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ["KAFKA_BROKERS"],
            "group.id": os.environ["KAFKA_GROUP_ID"],
            "client.id": os.environ["KAFKA_CLIENT_ID"],
            "auto.offset.reset": "earliest",
            "statistics.interval.ms": STATISTICS_EVERY_MS,
            "stats_cb": on_statistics,
            **{name: os.environ[variable] for name, variable in _SETTINGS.items() if variable in os.environ},
        }
    )
    consumer.subscribe([os.environ["KAFKA_TOPIC"]])
    while not stopping.is_set():
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            _handle(message.value())
    consumer.close()


def _handle(value: bytes | None) -> None:
    """Do what a story's message asks: "for MS" takes so long, "until MS" until that time since 1970."""
    found = re.fullmatch(rb"(for|until) (\d{1,15})", value or b"")
    if found is not None:
        word, ms = found[1], int(found[2])
        time.sleep(max(0.0, ms / 1000 - (time.time() if word == b"until" else 0.0)))
