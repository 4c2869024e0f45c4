"""A consumer of confluent-kafka that is closed and made again within its process, every REOPEN_EVERY_S seconds or so.

The next is made REOPEN_AFTER_S after the last was closed.
"""

import os
import random
import signal
import threading
import time

from confluent_kafka import Consumer


def main() -> None:
    """Consume until told to end."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    settings = {
        "bootstrap.servers": os.environ["KAFKA_BROKERS"],
        "group.id": os.environ["KAFKA_GROUP_ID"],
        "client.id": os.environ["KAFKA_CLIENT_ID"],
        "session.timeout.ms": int(os.environ["KAFKA_SESSION_TIMEOUT_MS"]),
        "heartbeat.interval.ms": int(os.environ["KAFKA_HEARTBEAT_INTERVAL_MS"]),
    }
    while not stopping.is_set():
        consumer = Consumer(settings)
        consumer.subscribe([os.environ["KAFKA_TOPIC"]])
        every_s = float(os.environ["REOPEN_EVERY_S"]) * random.uniform(0.9, 1.1)  # noqa: S311 - so that pods differ
        until_s = time.monotonic() + every_s
        while time.monotonic() < until_s and not stopping.is_set():
            consumer.poll(0.1)
        consumer.close()
        stopping.wait(float(os.environ["REOPEN_AFTER_S"]))


main()
